"""``python -m studies.defaults``: candidates for the automatic bounds, on development data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from isthmus._validation import choice
from isthmus.cli.ending import exit_status
from studies.defaults.specification import PAIRS, study
from studies.defaults.tables import TABLES

PROGRAM = "python -m studies.defaults"
DESCRIPTION = """\
Which rule should bounds="auto" follow? Every candidate on ten pairs of views, and the tables of docs/bounds.md.

  rules        19 rules at λ1 = λ2 = 1, with 1 label per class, and with 3 on every second split; 10 splits
  weights      five of them at other weights, 1 label per class; 5 splits
  convergence  the rule before the study, over a grid of weights, 1 label per class; 1 split

Fits are JSON lines in the folder --out, kept a split at a time: a run that was stopped goes on where it was when the
same command is given again. Needs the data sets mfeat, snareseq and debian.
"""
SPLITS = {"rules": 10, "weights": 5, "convergence": 1}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    options = parser().parse_args(arguments)
    return exit_status(PROGRAM, lambda: _run(options), "Whole splits are kept; the same command goes on from there.")


def parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        PROGRAM, description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("study", choices=tuple(TABLES), help="what to ask")
    add("--data", type=Path, metavar="FOLDER", help="where the data are ($ISTHMUS_DATA, or a cache of the user)")
    add("--splits", type=int, metavar="N", help="of each pair (10, 5 and 1, as above)")
    add("--pairs", nargs="+", default=PAIRS, metavar="PAIR", help=f"some of: {'; '.join(PAIRS)} (all)")
    add("--jobs", type=int, default=2, metavar="N", help="splits side by side (%(default)s)")
    add("--out", type=Path, default=Path("defaults-runs"), metavar="FOLDER", help="the fits (%(default)s)")
    return parser


def _run(options: argparse.Namespace) -> None:
    pairs = [choice(pair, "--pairs", PAIRS) for pair in options.pairs]
    design = study(options.study, options.data, pairs)
    seeds = range(SPLITS[options.study] if options.splits is None else options.splits)
    # Three labels per class take longer.
    parts = {"1": seeds, "3": seeds[::2]} if options.study == "rules" else {"1": seeds}
    running = {"n_jobs": options.jobs, "folder": options.out, "progress": True}
    boards = [design.run(some, variants=(variant,), **running) for variant, some in parts.items()]
    print("\n\n".join(table.markdown() for table in TABLES[options.study](boards)))


if __name__ == "__main__":
    sys.exit(main())
