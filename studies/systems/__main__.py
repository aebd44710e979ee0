"""``python -m studies.systems``: run all systems on four real pairs, or render runs that are there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from isthmus.cli.ending import exit_status
from isthmus.exceptions import InputError
from isthmus.storage.files import write_text
from isthmus.study.records import InFolder
from studies.systems import old_records, page, study

PROGRAM = "python -m studies.systems"
DESCRIPTION = """\
Every system and control of isthmus.systems() on four real pairs of views: two tables, and what they say.

  render  the page from runs that are there: those of this folder, or of the folder --records
  run     what is missing of the runs in the folder --out, then its page; 20 splits take about two minutes

Runs are JSON lines, kept a split at a time: a run that was stopped, by Ctrl-C or otherwise, goes on where it was when
the same command is given again. Needs the data sets mfeat, debian, snareseq and reuters600.
"""
EXAMPLES = """\
examples:
  python -m studies.systems render --page studies/systems/page.md
  python -m studies.systems run --data ~/data --splits 20 --jobs 2
  python -m studies.systems render --records systems-runs
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    options = parser().parse_args(arguments)
    return exit_status(PROGRAM, lambda: _run(options), "Whole splits are kept; the same command goes on from there.")


def parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        PROGRAM, description=DESCRIPTION, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("command", choices=("run", "render"), nargs="?", default="render", help="what to do (%(default)s)")
    add("--data", type=Path, metavar="FOLDER", help="where the data are ($ISTHMUS_DATA, or a cache of the user)")
    add("--splits", type=int, default=10, metavar="N", help="at least 2 (%(default)s)")
    add("--jobs", type=int, default=2, metavar="N", help="splits side by side (%(default)s)")
    add("--out", type=Path, default=Path("systems-runs"), metavar="FOLDER", help="runs and page (%(default)s)")
    add("--records", type=Path, metavar="FOLDER", help="render the runs of this folder (the committed ones)")
    add("--page", type=Path, metavar="FILE", help="write the page there too")
    return parser


def _run(options: argparse.Namespace) -> None:
    design = study(options.data)
    if options.command == "run":
        if options.splits < 2:
            raise InputError(f"--splits: expected at least 2, got {options.splits}.")
        design.run(range(options.splits), n_jobs=options.jobs, folder=options.out, progress=True)
    folder = options.out if options.command == "run" else options.records
    records = list(old_records() if folder is None else InFolder(folder, design.name).read().values())
    if not records:
        raise InputError(f"--records: expected a folder with {design.name}.jsonl, got {folder}.")
    text = page(design, records) if folder is None else page(design, records, f"{design.name}.jsonl")
    for path in (options.page, options.out / "page.md" if options.command == "run" else None):
        if path is not None:
            write_text(path, text)
    print(text, end="")


if __name__ == "__main__":
    sys.exit(main())
