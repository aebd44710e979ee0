"""``isthmus completion``: print a script that makes a shell complete commands, options and files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from isthmus.cli.process import print_output
from isthmus.exceptions import import_extra

EXAMPLES = """\
examples:
  eval "$(isthmus completion bash)"                                              # in ~/.bashrc
  isthmus completion zsh > ~/.zfunc/_isthmus                                     # a folder in $fpath
  isthmus completion tcsh > ~/.isthmus.tcsh                                      # then: source ~/.isthmus.tcsh
"""
SHELLS = "bash", "zsh", "tcsh"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the name of the shell."""
    parser.add_argument("shell", choices=SHELLS, help="your shell")


def run(options: argparse.Namespace) -> None:
    """Print the script, generated from the parser of all commands."""
    from isthmus.cli.main import make_parser

    shtab, parser = import_extra("shtab", "completion", "Completion needs"), make_parser()
    _complete_files(parser, shtab)
    print_output(shtab.complete(parser, shell=options.shell) + "\n")


def _complete_files(parser: argparse.ArgumentParser, shtab: Any) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, shtab)
        elif action.type is Path:
            action.complete = shtab.DIRECTORY if action.metavar == "FOLDER" else shtab.FILE  # type: ignore[attr-defined]
