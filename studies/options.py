"""What the commands of several studies have in common: their options, and how these are read."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path

from isthmus.exceptions import InputError

MOST_SEEDS = 10_000


def add_run_options(parser: argparse.ArgumentParser, parts: Collection[str], runs: Path) -> None:
    """Which parts are run, on which draws of which data, and where the runs are kept."""
    add = parser.add_argument
    add("--parts", default=",".join(parts), metavar="P,…", help="which parts are run (%(default)s)")
    add("--seeds", type=parse_seeds, default=range(10), metavar="A:B", help="draws A to B - 1 (0:10)")
    add("--data", type=Path, metavar="FOLDER", help="where the data are ($ISTHMUS_DATA, or a cache of the user)")
    add("--jobs", type=int, default=2, metavar="N", help="trials side by side (%(default)s)")
    where = f"where the runs are (render: the committed ones; run: {runs})"
    add("--records", type=Path, metavar="FOLDER", help=where)


def choose_parts(text: str, parts: Collection[str]) -> list[str]:
    """The parts that the option names, each of which there must be."""
    chosen = text.split(",")
    for part in chosen:
        if part not in parts:
            raise InputError(f"--parts: expected some of {', '.join(parts)}, got {part!r}.")
    return chosen


def parse_seeds(text: str) -> range:
    """Draws, as the option names them.

    Examples
    --------
    >>> parse_seeds("100:103")
    range(100, 103)
    """
    first, colon, last = text.partition(":")
    if not (colon and first.isdigit() and last.isdigit() and int(first) < int(last) <= MOST_SEEDS):
        raise argparse.ArgumentTypeError(f"expected seeds such as 0:10, got {text!r}")
    return range(int(first), int(last))
