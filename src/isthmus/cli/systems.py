"""``isthmus systems``: the registry as a table."""

from __future__ import annotations

import argparse

from isthmus.cli.arguments import add_speech
from isthmus.cli.screen import Screen

EXAMPLES = """\
examples:
  isthmus systems
  isthmus systems --json
  isthmus fit a.csv b.csv --label kind --system mlhd-rbf -o kinds.isthmus        # a name from the first column
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How it speaks."""
    add_speech(parser)


def run(options: argparse.Namespace) -> None:
    """Print every system and control."""
    screen = Screen.of(options)
    from isthmus.registry import systems

    found = systems()
    screen.say(*str(found).splitlines())
    told = ("name", "learns", "uses", "control", "reference", "best_for", "takes_pairs", "needs_pairs")
    screen.answer({"systems": [{part: getattr(system, part) for part in told} for system in found]})
