"""The command line: ``isthmus systems`` and ``isthmus datasets``, one file each, imported when they are asked for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module

from isthmus._version import __version__
from isthmus.cli.ending import exit_status

COMMANDS = {
    "systems": "list the systems and controls, and what each learns from",
    "datasets": "list the data sets that come with the library",
}
DESCRIPTION = "Learn one metric across two collections that are described by different features."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    return exit_status("isthmus", lambda: _run(arguments))


def _run(arguments: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser("isthmus", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"isthmus {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    for name, about in COMMANDS.items():
        commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
    import_module(f"isthmus.cli.{parser.parse_args(arguments).command}").run()
