"""``python -m studies.labels``: run the study of few labels, or render runs that are there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from isthmus._core.files import write_text, write_whole
from isthmus._core.validation import check_choice
from isthmus.cli.process import run_command
from isthmus.exceptions import InputError
from isthmus.study.records import Record, RecordStore
from isthmus.study.study import Study
from studies.labels import STUDIES, error_rates_command, verdicts
from studies.labels.data import set_of
from studies.labels.error_rates import PAIRS
from studies.labels.page import known_gains, page
from studies.labels.rows import Drawn
from studies.options import add_run_options, choose_parts

PROGRAM = "python -m studies.labels"
HERE = Path(__file__).parent
RECORDS, PAGE = HERE / "records", HERE.parents[1] / "docs" / "labels.md"
RUNS = Path("labels-runs")
ERROR_RATES, VERDICTS = "error-rates", "verdicts"
DESCRIPTION = """\
What a source is worth where labels are few: classes nobody labelled (naming), the paper's size (few), real sizes
(real); a page of tables.

  run     what is missing of the runs in the folder --records; renders nothing
  render  the page from the runs of that folder, or the committed ones; runs nothing
  verdicts  what does_source_help says of each data set, and its curve over labels per class
  error-rates  how often does_source_help says "helps" of spoilt sources; error-rates --help has its options

Runs are JSON lines, kept a trial at a time: a run that was stopped, by Ctrl-C or otherwise, goes on where it was when
the same command is given again. Needs the data sets mfeat, reuters600, debian, snareseq, office31_released and
office_caltech (surf800, googlenet1024), or those of them that --only names.
"""
EXAMPLES = """\
examples:
  python -m studies.labels render
  python -m studies.labels run --seeds 0:10 --jobs 2
  python -m studies.labels run --parts naming,few --only Reuters,SNARE --seeds 100:102 --records labels-runs
  python -m studies.labels render --records labels-runs --page labels-runs/page.md
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == [ERROR_RATES]:  # with options of its own
        return error_rates_command.main(given[1:])
    options = parser().parse_args(given)
    action = {"run": _run, "render": _render, VERDICTS: _ask}[options.command]
    return run_command(
        PROGRAM, lambda: action(options), "Whole trials are kept; the same command goes on from there."
    )


def parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        PROGRAM, description=DESCRIPTION, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("command", choices=("run", "render", VERDICTS, ERROR_RATES), help="what to do")
    add("--only", metavar="D,…", help="which data sets, or groups of them, are run (all)")
    add_run_options(parser, STUDIES, RUNS)
    add("--page", type=Path, default=PAGE, metavar="FILE", help="the page (docs/labels.md)")
    return parser


def _run(options: argparse.Namespace) -> None:
    studies = [STUDIES[part](options.data) for part in choose_parts(options.parts, STUDIES)]
    narrow = [study if options.only is None else select_groups(study, options.only.split(",")) for study in studies]
    chosen = [study for study in narrow if study is not None]
    if not chosen:
        known = dict.fromkeys(set_of(group) for study in studies for group in study.groups)
        raise InputError(f"--only: expected some of {', '.join(known)}, or groups of them, got {options.only!r}.")
    for study in chosen:
        study.run(options.seeds, n_jobs=options.jobs, folder=options.records or RUNS, progress=True)


def select_groups(study: Study, names: Sequence[str]) -> Study | None:
    """The same with the groups of some data sets, or some groups by name; None where it has none of them."""
    groups = tuple(group for group in study.groups if group in names or set_of(group) in names)
    if not groups:
        return None
    rows = study.rows
    assert isinstance(rows, Drawn)
    return replace(study, groups=groups, rows=replace(rows, needed=groups))  # the others' data may be missing


def _ask(options: argparse.Namespace) -> None:
    chosen = (
        PAIRS if options.only is None else [check_choice(name, "--only", PAIRS) for name in options.only.split(",")]
    )
    first, jobs = options.seeds[0], options.jobs
    for said in verdicts.ask(options.data, options.records or RUNS, chosen, seed=first, n_jobs=jobs):
        print(said, flush=True)


def _render(options: argparse.Namespace) -> None:
    folder = options.records or RECORDS
    write_text(options.page, render_page(folder))
    print(options.page)
    if kept := verdicts.read(folder):
        picture = options.page.parent / verdicts.PICTURE
        picture.parent.mkdir(exist_ok=True)
        write_whole(picture, verdicts.picture(kept))
        print(picture)


def render_page(folder: Path = RECORDS) -> str:
    """The page of the records in a folder."""
    first, errors = (list(RecordStore(folder, name).read().values()) for name in ("few-first", "error_rates"))
    records = committed_records(folder)
    return page(records, verdicts.section(verdicts.read(folder), errors, known_gains(records)), first, errors)


def committed_records(folder: Path = RECORDS) -> dict[str, list[Record]]:
    """The records of every part in a folder."""
    found = {part: list(RecordStore(folder, part).read().values()) for part in STUDIES}
    if not any(found.values()):
        raise InputError(f"--records: expected a folder with {next(iter(STUDIES))}.jsonl, got {folder}.")
    return found


if __name__ == "__main__":
    sys.exit(main())
