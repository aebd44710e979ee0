"""The command line: ``main`` parses the options and runs one command.

Each command is a module of this package, imported only when it is used, so that ``--help`` is fast. The docstring of
the module, without its first line, is the end of the command's ``--help``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from io import StringIO
from typing import Any, NoReturn

from isthmus._core.files import escape_for_terminal, show_path
from isthmus._version import __version__
from isthmus.cli.arguments import name_file
from isthmus.cli.console import Console, PlanWrittenError
from isthmus.cli.process import BAD_INPUT, print_error, print_output, run_command, silence_libraries
from isthmus.exceptions import InputError

COMMANDS = {
    "match": "find rows of two files that describe the same object",
    "review": "confirm and reject matches or classes on a local page, chosen so that answers teach most",
    "dedupe": "find the rows of one file that describe the same object",
    "label": "classify the rows of one file with the labels of another file that has other columns",
    "evaluate": "measure on your own labels whether the other file helps to classify",
    "fit": "learn a common metric for two files and save the model",
    "search": "find the nearest rows of the other file, for given rows or for a typed text",
    "embed": "write rows as points of a model's common space",
    "inspect": "show what a model file contains, without loading the model",
    "report": "write the results of other commands as one HTML page",
    "migrate": "learn a map that lets queries of a new embedding model search an old vector index",
    "systems": "list the systems and controls, and what each learns from",
}
# The command-line option of each function parameter, for error messages.
PARAMETERS = {name: name for name in ("reject_below", "system", "kind", "engine", "sep", "decimal", "shared", "k")}
PARAMETERS |= {"n_jobs": "jobs", "random_state": "seed", "n_splits": "splits"}
DESCRIPTION = "Match, classify and search across two tables that describe their rows by different columns."
EPILOG = """\
Input files: CSV, TSV or JSON lines (also .gz), Parquet, NPY, .h5ad, .h5mu. For examples: `isthmus COMMAND --help`.

exit status:
  0    success
  1    internal error; please report the traceback
  2    wrong option, bad input or unwritable output: one sentence on standard error, nothing on standard output
  3    the gate of `migrate` was not reached
  130  interrupted by Ctrl-C (143 by SIGTERM, 129 by SIGHUP)
Input files are never changed. An output file is written completely or not at all.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status, as listed in ``isthmus --help``."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return run_command("isthmus", lambda: _run(given), "Nothing was written.", name_written=True)


def _run(arguments: list[str]) -> int:
    options = make_parser(arguments).parse_args(arguments)
    run = import_module(f"isthmus.cli.{options.command}").run
    buffered = StringIO()
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _warn(name_file(str(message), options), quiet=options.quiet)
        # On a terminal, lines appear as they are printed. A pipe or file gets all of them after success, or nothing.
        # So does the address of a review: it is of no use after the review has ended.
        on_terminal = sys.stdout is None or sys.stdout.isatty() or options.command == "review"
        with silence_libraries(), nullcontext() if on_terminal else redirect_stdout(buffered):
            try:
                status = run(options, Console(options.json, options.quiet))
            except PlanWrittenError:
                status = 0
            except InputError as error:
                raise InputError(_name_options(str(error), options)) from None
    print_output(buffered.getvalue())
    return status or 0


def _name_options(sentence: str, options: argparse.Namespace) -> str:
    """Replace a parameter name at the start of an error message by the option that sets it."""
    name, colon, rest = sentence.partition(":")
    if name in ("y_source", "y_target") and getattr(options, "label", None):
        return f"{show_path(getattr(options, name[2:]))}, column {show_path(repr(options.label)[:60])}{colon}{rest}"
    option = PARAMETERS.get(name, "")
    if not (option and hasattr(options, option)):
        return name_file(sentence, options)
    return f"{'-' if len(option) == 1 else '--'}{option.replace('_', '-')}{colon}{rest}"


def _warn(message: str, *, quiet: bool) -> None:
    if not quiet:
        print_error(f"isthmus: warning: {escape_for_terminal(message)}")


class Parser(argparse.ArgumentParser):
    """Argument parser whose errors are one sentence and exit status 2; files may stand around options."""

    _split = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse options before files: argparse takes the first files it sees for all, where their number varies."""
        if self._split or self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        self._split = True  # parsing options and files apart comes here for each
        try:
            found, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._split = False
        if unknown:  # the parser of all commands, which gets them otherwise, would point to its own --help
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Print the error and exit."""
        self.exit(BAD_INPUT, f"isthmus: {message}; see `{self.prog} --help`.\n")


def make_parser(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of all commands; given arguments, only the commands named there get their options."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("isthmus", description=DESCRIPTION, epilog=EPILOG, formatter_class=raw)
    parser.add_argument("--version", action="version", version=f"isthmus {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    for name, about in COMMANDS.items():
        description = f"{about[0].upper()}{about[1:]}."
        command = commands.add_parser(name, help=about, description=description, formatter_class=raw)
        if not arguments or name in arguments:  # importing the others would take time
            module = import_module(f"isthmus.cli.{name}")
            _, _, examples = (module.__doc__ or "").partition("\n\n")
            command.epilog = examples.replace("Examples\n--------", "examples:")
            module.add_arguments(command)
    return parser
