"""``python -m studies.defaults``: candidates for the library's defaults, on development data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from isthmus._core.validation import check_choice
from isthmus.cli.process import run_command
from isthmus.study.board import Board, TextTable
from studies.defaults import settings
from studies.defaults.settings_tables import SETTINGS_TABLES
from studies.defaults.specification import PAIRS, study
from studies.defaults.tables import TABLES

PROGRAM = "python -m studies.defaults"
DESCRIPTION = """\
Which settings should the systems have by default? Candidates on pairs of views, and the tables of docs/defaults.md:

  settings     MLHD, ARC, CCA, KCCA, alone and with ITML: pair weight, alignment weight, bounds, bandwidths, rule,
               principal axes, preparation of rows, one factor at a time; 140 fits on each of 8 pairs of views, with
               1 and with 3 labels per class, 20 source rows per class; 5 splits; about 8 minutes on one core
  together     what mattered alone, in combinations: 56 fits, the same pairs and splits; about 4 minutes
  sizes        MLHD by total weight with 5, 20 and 60 source rows per class, 1 label; 4 pairs, 3 splits; 3 minutes

and, which rule bounds="auto" should follow, with the tables of docs/bounds.md, on ten pairs:

  rules        19 rules at λ1 = λ2 = 1, with 1 label per class, and with 3 on every second split; 10 splits
  weights      five of them at other weights, 1 label per class; 5 splits
  convergence  the rule before the study, over a grid of weights, 1 label per class; 1 split

Fits are JSON lines in the folder --out, kept a split at a time: a run that was stopped goes on where it was when the
same command is given again. Needs the data sets mfeat, snareseq and debian.
"""
SPLITS = {"settings": 5, "together": 5, "sizes": 3, "rules": 10, "weights": 5, "convergence": 1}
FIRST = {name: 100 for name in SETTINGS_TABLES}
"""The first seed, where it is not zero: seeds from 100 on are for development."""
EVERY_PAIR = {name: settings.PAIRS for name in SETTINGS_TABLES} | {"sizes": settings.PAIRS[::2]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    options = parser().parse_args(arguments)
    return run_command(PROGRAM, lambda: _run(options), "Whole splits are kept; the same command goes on from there.")


def parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        PROGRAM, description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("study", choices=tuple(SPLITS), help="what to ask")
    add("--data", type=Path, metavar="FOLDER", help="where the data are ($ISTHMUS_DATA, or a cache of the user)")
    add("--splits", type=int, metavar="N", help="of each pair (as above)")
    every = dict.fromkeys(settings.PAIRS + PAIRS)
    add("--pairs", nargs="+", metavar="PAIR", help=f"some of those of the study: {'; '.join(every)} (all)")
    add("--jobs", type=int, default=2, metavar="N", help="splits side by side (%(default)s)")
    add("--out", type=Path, default=Path("defaults-runs"), metavar="FOLDER", help="the fits (%(default)s)")
    return parser


def _run(options: argparse.Namespace) -> None:
    name, known = options.study, EVERY_PAIR.get(options.study, PAIRS)
    pairs = [check_choice(pair, "--pairs", known) for pair in options.pairs or known]
    first = FIRST.get(name, 0)
    seeds = range(first, first + (SPLITS[name] if options.splits is None else options.splits))
    running = {"n_jobs": options.jobs, "folder": options.out, "progress": True}
    tables = _tables(name, options.data, pairs, seeds, running)
    print("\n\n".join(table.markdown for table in tables))


def _tables(
    name: str, folder: Path | None, pairs: Sequence[str], seeds: range, running: dict[str, object]
) -> list[TextTable]:
    if name in SETTINGS_TABLES:
        design = settings.settings_study(name, folder, pairs)
        parts = dict.fromkeys(design.variants, seeds)
    else:
        design = study(name, folder, pairs)
        # Three labels per class take longer.
        parts = {"1": seeds, "3": seeds[::2]} if name == "rules" else {"1": seeds}
    boards: list[Board] = [
        design.run(some, variants=(variant,), **running)  # type: ignore[arg-type]
        for variant, some in parts.items()
    ]
    return (SETTINGS_TABLES | TABLES)[name](boards)


if __name__ == "__main__":
    sys.exit(main())
