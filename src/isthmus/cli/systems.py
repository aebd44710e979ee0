"""``isthmus systems``: list the systems, filtered by what your data contain."""

from __future__ import annotations

import argparse

from isthmus.cli.console import Console
from isthmus.cli.options import add_output_options

EXAMPLES = """\
examples:
  isthmus systems
  isthmus systems --no-pairs --no-equal-features      # only systems that need neither known pairs nor equal columns
  isthmus systems --no-labels --no-controls
  isthmus fit a.csv b.csv --label kind --system mlhd-rbf -o kinds.isthmus        # use a name from the list
"""
FILTERS = {
    "labels": "labels in both collections",
    "pairs": "known pairs of rows",
    "unlabelled": "target rows without a label",
    "equal_features": "equal columns in both collections",
}
FIELDS = (
    *("name", "learns", "uses", "needs", "control", "reference", "best_for"),
    *("takes_pairs", "needs_pairs", "equal_features", "needs_unlabelled", "transductive"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the filters, one per argument of :func:`isthmus.systems`."""
    group = parser.add_argument_group("your data", "The --no- form omits the systems that need it.")
    either = argparse.BooleanOptionalAction
    for name, about in FILTERS.items():
        group.add_argument(f"--{name.replace('_', '-')}", action=either, help=f"your data have {about}")
    parser.add_argument("--controls", action=either, help="list only the controls, or no controls")
    add_output_options(parser)


def run(options: argparse.Namespace) -> None:
    """Print the table."""
    from isthmus.study.registry import systems

    console = Console.of(options)
    found = systems(**{name: getattr(options, name) for name in FILTERS}, control=options.controls)
    console.say(*str(found).splitlines())
    console.answer({"systems": [{field: getattr(system, field) for field in FIELDS} for system in found]})
