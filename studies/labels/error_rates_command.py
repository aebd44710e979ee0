"""``python -m studies.labels error-rates``: how often the verdict on a source is wrong."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from isthmus._core.validation import check_choice
from isthmus.cli.process import run_command
from studies.labels.error_rates import PAIRS, QUESTIONS, VARIANTS, rates, study
from studies.options import parse_seeds

PROGRAM = "python -m studies.labels error-rates"
DESCRIPTION = """\
How often does_source_help says "helps" of sources that were spoilt on purpose, and of true ones.

Runs are JSON lines in the folder --out, kept one at a time: a run that was stopped goes on where it was when the same
command is given again. Needs the data sets mfeat, debian, reuters600 and snareseq.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    options = parser().parse_args(arguments)
    return run_command(PROGRAM, lambda: _error_rates(options), "Runs are kept; the same command goes on from there.")


def parser() -> argparse.ArgumentParser:
    """The options."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(PROGRAM, description=DESCRIPTION, formatter_class=raw)
    add = parser.add_argument
    add("--data", type=Path, metavar="FOLDER", help="where the data are ($ISTHMUS_DATA, or a cache of the user)")
    add("--seeds", type=parse_seeds, default=range(7), metavar="A:B", help="draws of rows, A to B - 1 (0:7)")
    add("--pairs", nargs="+", default=list(PAIRS), metavar="PAIR", help=f"some of: {'; '.join(PAIRS)} (all)")
    add("--questions", nargs="+", default=list(QUESTIONS), metavar="WORD", help="few, names (both)")
    add(
        "--sources", nargs="+", default=["noise", "permuted", "renamed"], metavar="KIND", help="or true (spoilt ones)"
    )
    add("--system", default="auto", metavar="NAME", help="what is tried (%(default)s)")
    add("--splits", type=int, metavar="N", help="how often labels are hidden in one run (by the number of rows)")
    add("--jobs", type=int, default=2, metavar="N", help="runs side by side (%(default)s)")
    add("--out", type=Path, default=Path("labels-runs"), metavar="FOLDER", help="the runs (%(default)s)")
    return parser


def _error_rates(options: argparse.Namespace) -> None:
    pairs = [check_choice(pair, "--pairs", PAIRS) for pair in options.pairs]
    wanted = [f"{question}, {kind}" for question in options.questions for kind in options.sources]
    variants = [check_choice(variant, "--questions, --sources", VARIANTS) for variant in wanted]
    design = study(options.data, pairs, options.system, options.splits)
    running = {"n_jobs": options.jobs, "folder": options.out, "progress": True}
    boards = {each: design.run(options.seeds, variants=(each,), **running) for each in variants}
    sys.stdout.write(f"{rates(boards).markdown}\n")
