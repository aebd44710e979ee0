"""``python -m studies.systems``: run all systems on real pairs of domains, or render runs that are there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from isthmus._core.files import write_text
from isthmus.cli.process import run_command
from isthmus.exceptions import InputError
from isthmus.study.records import Record, RecordStore
from studies.options import add_run_options, choose_parts
from studies.systems import STUDIES, packed, page

PROGRAM = "python -m studies.systems"
HERE = Path(__file__).parent
RECORDS, PAGE, RUNS = HERE / "records", HERE / "page.md", Path("systems-runs")
DESCRIPTION = """\
Every system and control of isthmus.systems() on real pairs of domains: with labels in both, each taught by its true
source and by three spoilt ones (labels); with 100 known pairs, true and shuffled (pairs). A page of tables, and what
they say.

  run     what is missing of the runs in the folder --records; renders nothing
  render  the page from the runs of that folder, or the committed ones; runs nothing
  pack    the runs of that folder into few lines, as they are committed

Runs are JSON lines, kept a trial at a time: a run that was stopped, by Ctrl-C or otherwise, goes on where it was when
the same command is given again. Ten splits take about 40 minutes of one core. Needs the data sets mfeat, debian,
snareseq, reuters600 and office_caltech (surf800, googlenet1024); gw, fgw and coot need POT.
"""
EXAMPLES = """\
examples:
  python -m studies.systems render
  python -m studies.systems run --seeds 0:10 --jobs 2
  python -m studies.systems run --parts pairs --seeds 100:102 --records systems-runs
  python -m studies.systems render --records systems-runs --page systems-runs/page.md
  python -m studies.systems pack --records systems-runs
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    options = parser().parse_args(arguments)
    action = {"run": _run, "render": _render, "pack": _pack}[options.command]
    return run_command(
        PROGRAM, lambda: action(options), "Whole trials are kept; the same command goes on from there."
    )


def parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        PROGRAM, description=DESCRIPTION, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "render", "pack"), help="what to do")
    add_run_options(parser, STUDIES, RUNS)
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help="the page (studies/systems/page.md)")
    return parser


def _run(options: argparse.Namespace) -> None:
    for part in choose_parts(options.parts, STUDIES):
        design = STUDIES[part](options.data)
        design.run(options.seeds, n_jobs=options.jobs, folder=options.records or RUNS, progress=True)


def _render(options: argparse.Namespace) -> None:
    records = committed_records() if options.records is None else runs(options.records)
    write_text(options.page, page(records))
    print(options.page)


def _pack(options: argparse.Namespace) -> None:
    folder = options.records or RUNS
    for part in STUDIES:
        some = [record for record in runs(folder) if record.experiment == part]
        write_text(RECORDS / f"{part}.jsonl", packed.pack_records(some))
        print(RECORDS / f"{part}.jsonl")


def runs(folder: Path) -> list[Record]:
    """The records of both parts in a folder."""
    found = [record for part in STUDIES for record in RecordStore(folder, part).read().values()]
    if not found:
        raise InputError(f"--records: expected a folder with {next(iter(STUDIES))}.jsonl, got {folder}.")
    return found


def committed_records() -> list[Record]:
    """Those that the committed page is made of."""
    return [record for part in STUDIES for record in packed.read(RECORDS / f"{part}.jsonl")]


if __name__ == "__main__":
    sys.exit(main())
