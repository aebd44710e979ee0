"""The command line, one file per command, imported when it is asked for."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from io import StringIO
from typing import NoReturn

from isthmus._core.files import escape_for_terminal
from isthmus._version import __version__
from isthmus.cli.process import BAD_INPUT, print_error, print_output, run_command, silence_libraries
from isthmus.exceptions import InputError

COMMANDS = {
    "match": "find the rows of two files that are the same object",
    "label": "give classes to the rows of one file, by another with other columns",
    "evaluate": "tell whether the other file helps to classify, on your own labels",
    "fit": "learn one metric over two files, and keep it in a file",
    "search": "find the nearest rows across the two collections of a model, or to a typed text",
    "embed": "write rows as points of a model's common space",
    "export": "write the maps of a model as ONNX files, for other programs",
    "inspect": "tell what a model file holds, without opening it in earnest",
    "report": "write what the other commands found as one page for the browser",
    "migrate": "keep an old index of vectors usable under a new model",
    "systems": "list the systems and controls, and what each learns from",
    "datasets": "list the data sets that come with the library",
    "completion": "print a script that makes a shell complete commands, options and files",
}
PARAMETERS = {
    "n_jobs": "jobs",
    "random_state": "seed",
    "reject_below": "reject_below",
    "n_splits": "splits",
    "system": "system",
    "kind": "kind",
    "engine": "engine",
    "sep": "sep",
    "decimal": "decimal",
}
"""The options that parameters of functions have here."""
DESCRIPTION = "Join two collections that are described by different features."
EPILOG = """\
Files: CSV, TSV or JSON lines (also .gz), Parquet, NPY, NPZ, .h5ad. `isthmus COMMAND --help` has examples.

exit status:
  0    done
  1    a mistake of ours, with a traceback: please report it
  2    bad input, or no room for the output: one sentence on standard error, nothing on standard output
  130  stopped by Ctrl-C (143 by SIGTERM, 129 by SIGHUP)
Whatever happens, input files stay as they are, and output files are whole, or as they were before.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C, as ``isthmus --help`` says."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return run_command("isthmus", lambda: _run(given), "Nothing was written.", tell_written=True)


def _run(arguments: list[str]) -> None:
    options = make_parser(arguments).parse_args(arguments)
    run = import_module(f"isthmus.cli.{options.command}").run
    words = StringIO()
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _warn(str(message), quiet=getattr(options, "quiet", False))
        # A person sees words as they come; in a pipe or a file they are an answer, which there is at the end or not.
        on_terminal = sys.stdout is None or sys.stdout.isatty()
        with silence_libraries(), nullcontext() if on_terminal else redirect_stdout(words):
            try:
                run(options)
            except InputError as error:
                raise InputError(_name_options(str(error), options)) from None
    print_output(words.getvalue())


def _name_options(sentence: str, options: argparse.Namespace) -> str:
    """The same about the option, where it speaks of the parameter of a function that the option stands for."""
    name, colon, rest = sentence.partition(":")
    option = PARAMETERS.get(name, "")
    return f"--{option.replace('_', '-')}{colon}{rest}" if option and hasattr(options, option) else sentence


def _warn(message: str, *, quiet: bool) -> None:
    if not quiet:
        print_error(f"isthmus: mind: {escape_for_terminal(message)}")


class Parser(argparse.ArgumentParser):
    """One whose complaints are one sentence, too."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the words of a command, and end."""
        self.exit(BAD_INPUT, f"isthmus: {message}; `{self.prog} --help` tells what there is.\n")


def make_parser(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The options of all commands; without arguments, or with a command among them, those of that one."""
    raw = argparse.RawDescriptionHelpFormatter
    found = Parser("isthmus", description=DESCRIPTION, epilog=EPILOG, formatter_class=raw)
    found.add_argument("--version", action="version", version=f"isthmus {__version__}")
    commands = found.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    for name, about in COMMANDS.items():
        description = f"{about[0].upper()}{about[1:]}."
        command = commands.add_parser(name, help=about, description=description, formatter_class=raw)
        if not arguments or name in arguments:  # the others are only named
            module = import_module(f"isthmus.cli.{name}")
            command.epilog = getattr(module, "EXAMPLES", None)
            module.add_arguments(command)
    return found
