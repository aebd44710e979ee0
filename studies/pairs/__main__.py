"""``python -m studies.pairs``: run the study of known pairs, or render runs that are there."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from isthmus._core.files import write_text
from isthmus.cli.process import run_command
from isthmus.exceptions import InputError
from isthmus.study.records import Record, RecordStore
from studies.options import add_run_options, choose_parts
from studies.pairs import STUDIES, page, write_figures

PROGRAM = "python -m studies.pairs"
HERE = Path(__file__).parent
RECORDS, FIGURES, PAGE = HERE / "records", HERE / "figures", HERE.parents[1] / "docs" / "pairs.md"
RUNS = Path("pairs-runs")
DESCRIPTION = """\
What known pairs of rows teach: search, label transfer, matching and migration, with controls; a page of tables.

  run     what is missing of the runs in the folder --records; renders nothing
  render  the page and its figures from the runs of that folder, or the committed ones; runs nothing

Runs are JSON lines, kept a trial at a time: a run that was stopped, by Ctrl-C or otherwise, goes on where it was when
the same command is given again. Needs the data sets mfeat, reuters600, debian and snareseq.
"""
EXAMPLES = """\
examples:
  python -m studies.pairs render
  python -m studies.pairs run --seeds 0:10 --jobs 2
  python -m studies.pairs run --parts retrieval --seeds 100:103 --records pairs-runs
  python -m studies.pairs render --records pairs-runs --page pairs-runs/page.md --figures pairs-runs
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    options = parser().parse_args(arguments)
    action = _run if options.command == "run" else _render
    return run_command(
        PROGRAM, lambda: action(options), "Whole trials are kept; the same command goes on from there."
    )


def parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        PROGRAM, description=DESCRIPTION, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("command", choices=("run", "render"), help="what to do")
    add_run_options(parser, STUDIES, RUNS)
    add("--page", type=Path, default=PAGE, metavar="FILE", help="the page (docs/pairs.md)")
    add("--figures", type=Path, default=FIGURES, metavar="FOLDER", help="its figures (studies/pairs/figures)")
    return parser


def _run(options: argparse.Namespace) -> None:
    for part in choose_parts(options.parts, STUDIES):
        study = STUDIES[part](options.data)
        study.run(options.seeds, n_jobs=options.jobs, folder=options.records or RUNS, progress=True)


def _render(options: argparse.Namespace) -> None:
    records = committed_records(options.records or RECORDS)
    folder = os.path.relpath(options.figures, options.page.parent)
    for path in write_figures(records, options.figures):
        print(path)
    write_text(options.page, page(records, Path(folder).as_posix()))
    print(options.page)


def committed_records(folder: Path = RECORDS) -> dict[str, list[Record]]:
    """The records of every part in a folder."""
    found = {name: list(RecordStore(folder, name).read().values()) for name in STUDIES}
    if missing := [name for name, some in found.items() if not some]:
        raise InputError(f"--records: expected a folder with {missing[0]}.jsonl, got {folder}.")
    return found


if __name__ == "__main__":
    sys.exit(main())
