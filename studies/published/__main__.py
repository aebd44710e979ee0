"""``python -m studies.published``: run what is missing of the published protocols, or write the page from records."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from isthmus._core.files import write_text
from isthmus.cli.process import run_command
from isthmus.exceptions import InputError
from isthmus.study.records import Record, RecordStore
from isthmus.study.study import RunPlan, run_plan
from studies.options import add_run_options, choose_parts
from studies.published.cells import run_cells
from studies.published.page import page
from studies.published.protocols import CELLS, GROUPS, ONCE, study

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "published.md"
PARTS = (*GROUPS, CELLS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser("python -m studies.published", description=__doc__)
    parser.add_argument("command", choices=("run", "render"), help="run the trials, or write the page")
    add_run_options(parser, PARTS, HERE)
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help="the page (docs/published.md)")
    options = parser.parse_args(arguments)
    action = _run if options.command == "run" else _render
    return run_command(parser.prog, lambda: action(options), "Whole trials are kept; run it again to go on.")


def _run(options: argparse.Namespace) -> None:
    store = RecordStore(options.records or HERE, "records")
    for part in choose_parts(options.parts, PARTS):
        if part == CELLS:
            run_cells(store, options.seeds, options.data)
            continue
        seeds = tuple(seed for seed in options.seeds if part not in ONCE or seed == 0)
        plan = RunPlan(study(options.data, (part,)), ("",), ("default",), seeds)
        run_plan(plan, store, n_jobs=options.jobs, progress=True)


def _render(options: argparse.Namespace) -> None:
    write_text(options.page, page(read_records(options.records or HERE)))
    print(options.page)


def read_records(folder: Path = HERE) -> list[Record]:
    """The records of a folder."""
    found = list(RecordStore(folder, "records").read().values())
    if not found:
        raise InputError(f"--records: expected a folder with records.jsonl, got {folder}.")
    return found


if __name__ == "__main__":
    sys.exit(main())
