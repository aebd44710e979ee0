"""``python -m studies.linkage``: run linkers on tables, or render runs that are there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from isthmus._core.files import write_text, write_whole
from isthmus.cli.process import run_command
from isthmus.exceptions import InputError
from isthmus.study.records import Key, Record, RecordStore
from studies.linkage.methods import METHODS, TIME_LIMIT, LinkerError, Method, run_method
from studies.linkage.page import PICTURE, draw_reliability, page
from studies.linkage.scoring import score_answer
from studies.linkage.tasks import KNOWN, VARIANTS, Task, draw_task
from studies.linkage.unrelated import read_records
from studies.options import choose_parts, parse_seeds

PROGRAM = "python -m studies.linkage"
HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "linkage.md"
NAME = "records"
DESCRIPTION = """\
Linking two tables: isthmus beside tf-idf, splink, dedupe and recordlinkage; whole tables and spoilt ones.

  run   what is missing of the records; other linkers get environments of their own, which are built when needed
  page  the page and its figure from the records; runs nothing

Records are JSON lines, kept a run at a time: a run that was stopped goes on where it was when the same command is
given again. Needs the folders record_linkage, debian_descriptions and mfeat of the data.
"""
EXAMPLES = """\
examples:
  python -m studies.linkage page
  python -m studies.linkage run --methods isthmus --seeds 0:5
  python -m studies.linkage run --methods tfidf-words,splink --tasks Abt–Buy --variants full,dirty --seeds 100:102
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    options = parser().parse_args(arguments)
    action = _run if options.command == "run" else _render
    return run_command(PROGRAM, lambda: action(options), "Whole runs are kept; the same command goes on from there.")


def parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        PROGRAM, description=DESCRIPTION, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    variants = dict.fromkeys(variant for some in VARIANTS.values() for variant in some)
    add("command", choices=("run", "page"), help="what to do")
    add("--methods", default=",".join(METHODS), metavar="M,…", help="the linkers (%(default)s)")
    add("--tasks", default=",".join(VARIANTS), metavar="T,…", help="the data sets (%(default)s)")
    add("--variants", default=",".join(variants), metavar="V,…", help="their variants (all)")
    add("--known", default=",".join(map(str, KNOWN)), metavar="N,…", help="numbers of known pairs (%(default)s)")
    add("--seeds", type=parse_seeds, default=range(5), metavar="A:B", help="draws A to B - 1 (0:5)")
    add("--limit", type=int, default=TIME_LIMIT, metavar="S", help="processor seconds of a run (%(default)s)")
    add("--again", action="store_true", help="set records of these runs aside and run them again")
    add("--data", type=Path, metavar="FOLDER", help="where the data are ($ISTHMUS_DATA, or a cache of the user)")
    add("--records", type=Path, default=HERE, metavar="FOLDER", help="where the records are (studies/linkage)")
    add("--page", type=Path, default=PAGE, metavar="FILE", help="the page (docs/linkage.md)")
    return parser


def _run(options: argparse.Namespace) -> None:
    names = choose_parts(options.methods, METHODS)
    tasks = choose_parts(options.tasks, VARIANTS)
    known = [int(n) for n in choose_parts(options.known, tuple(map(str, KNOWN)))]
    wanted = options.variants.split(",")
    store = RecordStore(options.records, NAME)
    with store.lock():
        kept = store.read()
        if options.again:
            old = {k for k in kept if is_chosen(k, names, tasks, wanted, known, options.seeds)}
            store.set_aside(old)
            kept = {key: record for key, record in kept.items() if key not in old}
        try:
            for seed in options.seeds:
                for name in tasks:
                    for variant in (each for each in VARIANTS[name] if each in wanted):
                        task = draw_task(name, variant, seed, options.data)
                        for record in run_missing(task, (name, variant), names, known, kept, options.limit):
                            store.add([record])
                            print(describe(record), flush=True)
        finally:
            store.merge()


def is_chosen(
    key: Key, names: Sequence[str], tasks: Sequence[str], variants: Sequence[str], known: Sequence[int], seeds: range
) -> bool:
    """Return whether a record is of the chosen runs."""
    _, task, variant, seed, name, setting = key
    chosen = name in names and task in tasks and variant in variants and seed in seeds
    return chosen and int(setting.split()[0]) in known


def run_missing(
    task: Task,
    place: tuple[str, str],
    names: Sequence[str],
    known: Sequence[int],
    kept: dict[Key, Record],
    limit: int = TIME_LIMIT,
) -> Iterator[Record]:
    """Run the linkers whose records are missing, and yield these."""
    for name in names:
        method = METHODS[name]
        missing = [
            n
            for n in known
            if method.takes(task) and n in method.known and task.allows(n)
            if _key(place, task.seed, name, n) not in kept
        ]
        for some in [missing] if method.together and missing else [[n] for n in missing]:
            yield from _run_together(method, name, task, place, some, limit)


def _key(place: tuple[str, str], seed: int, name: str, known: int) -> Key:
    return ("linkage", *place, seed, name, f"{known} pairs")


def _run_together(
    method: Method, name: str, task: Task, place: tuple[str, str], known: Sequence[int], limit: int
) -> Iterator[Record]:
    try:
        answers = run_method(method, task, known, limit)
    except LinkerError as error:
        for n in known:
            yield Record(*_key(place, task.seed, name, n), {}, None, 0.0, str(error), None, method.versions)
        return
    for n, answer in zip(known, answers, strict=True):
        figures = score_answer(task, n, answer, oracle=method.oracle)
        rounded = {key: round(value, 5) for key, value in figures.items()}
        score, seconds, key = rounded.pop("f1"), round(answer.seconds, 2), _key(place, task.seed, name, n)
        yield Record(*key, {}, score, seconds, "done", None, method.versions, figures=rounded)


def describe(record: Record) -> str:
    """Return a record in one line."""
    where = f"{record.group}, {record.variant}, seed {record.seed}, {record.setting}: {record.system}"
    if record.score is None:
        return f"{where}: failed: {record.status}"
    return f"{where}: F1 {record.score:.3f} in {record.seconds:.1f} s"


def _render(options: argparse.Namespace) -> None:
    records = list(RecordStore(options.records, NAME).read().values())
    if not records:
        raise InputError(f"--records: expected a folder with {NAME}.jsonl, got {options.records}.")
    picture = options.page.parent / PICTURE
    picture.parent.mkdir(parents=True, exist_ok=True)
    write_whole(picture, draw_reliability(records))
    write_text(options.page, page(records, read_records()))
    print(options.page, picture, sep="\n")


if __name__ == "__main__":
    sys.exit(main())
