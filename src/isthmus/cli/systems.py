"""``isthmus systems``: list the systems, and what each needs.

Examples
--------
  isthmus systems
  isthmus systems --json
  isthmus fit a.csv b.csv --label kind --system mlhd-rbf -o kinds.isthmus        # use a name from the list

In Python, isthmus.systems(pairs=False) and the like omit the systems that need what your data have not.
"""

from __future__ import annotations

import argparse

from isthmus.cli.arguments import add_output_options
from isthmus.cli.console import Console

FIELDS = (
    *("name", "learns", "uses", "needs", "control", "reference", "best_for"),
    *("takes_pairs", "needs_pairs", "equal_features", "needs_unlabelled", "transductive"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the form of the output."""
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> None:
    """Print the table."""
    from isthmus.study.registry import systems

    found = systems()
    console.say(*str(found).splitlines())
    console.answer({"systems": [{field: getattr(system, field) for field in FIELDS} for system in found]})
