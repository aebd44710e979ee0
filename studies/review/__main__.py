"""``python -m studies.review``: run reviews that the truth answers, or render runs that are there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from isthmus._core.files import write_text
from isthmus.cli.process import run_command
from isthmus.exceptions import InputError
from isthmus.study.records import Record, RecordStore
from studies.linkage.tasks import draw_task
from studies.options import choose_parts, parse_seeds
from studies.review.trials import (
    ANSWERS,
    EXPERIMENT,
    POLICIES,
    REVIEWS,
    SAMPLED,
    TASKS,
    match_task,
    measure_coverage,
    run_policy,
)

PROGRAM = "python -m studies.review"
HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "answers.md"
NAME = "records"
NOTHING = np.zeros((0, 2), np.intp)
DESCRIPTION = """\
What an answer is worth: F1 and recall over the number of answers, for questions that are chosen and for random ones;
and how often the intervals on the page contain the truth.

  run   what is missing of the records
  page  the page from the records; runs nothing
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(
        PROGRAM, description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("command", choices=("run", "page"), help="what to do")
    add("--tasks", default=",".join(TASKS), metavar="T,…", help="the data sets (%(default)s)")
    add("--seeds", type=parse_seeds, default=range(1), metavar="A:B", help="draws A to B - 1 (0:1)")
    add("--data", type=Path, metavar="FOLDER", help="where the data are ($ISTHMUS_DATA, or a cache of the user)")
    add("--records", type=Path, default=HERE, metavar="FOLDER", help="where the records are (studies/review)")
    add("--page", type=Path, default=PAGE, metavar="FILE", help="the page (docs/answers.md)")
    options = parser.parse_args(arguments)
    action = _run if options.command == "run" else _render
    return run_command(
        PROGRAM, lambda: action(options), "Whole trials are kept; the same command goes on from there."
    )


def _run(options: argparse.Namespace) -> None:
    store, names = RecordStore(options.records, NAME), choose_parts(options.tasks, TASKS)
    with store.lock():
        kept = store.read()
        try:
            for seed in options.seeds:
                for name in names:
                    for records in run_missing(name, seed, {key for key in kept}, options.data):
                        store.add(records)
                        print(*map(describe, records), sep="\n", flush=True)
        finally:
            store.merge()


def run_missing(
    name: str, seed: int, kept: set[tuple[str, str, str, int, str, str]], data: Path | None
) -> Iterable[list[Record]]:
    """Run the trials of a task that have no records, and yield these."""
    settings = {"estimate": f"{SAMPLED} sampled rows", **dict.fromkeys(POLICIES, f"{ANSWERS[-1]} answers")}
    missing = [s for s, last in settings.items() if (EXPERIMENT, name, TASKS[name], seed, s, last) not in kept]
    if not missing:
        return
    task = draw_task(name, TASKS[name], seed, data)
    first = match_task(task, NOTHING, NOTHING)
    for system in missing:
        yield (
            [measure_coverage(task, name, first)]
            if system == "estimate"
            else list(run_policy(task, name, system, first))
        )


def describe(record: Record) -> str:
    """Return a record in one line."""
    figures = ", ".join(f"{key} {value:.3f}" for key, value in (record.figures or {}).items())
    f1 = "" if record.score is None else f"F1 {record.score:.3f}, "
    where = f"{record.group}, seed {record.seed}, {record.system}, {record.setting}"
    return f"{where}: {f1}{figures}, {record.seconds:.1f} s"


def _render(options: argparse.Namespace) -> None:
    records = list(RecordStore(options.records, NAME).read().values())
    if not records:
        raise InputError(f"--records: expected a folder with {NAME}.jsonl, got {options.records}.")
    write_text(options.page, page(records))
    print(options.page)


def page(records: Sequence[Record]) -> str:
    """Return the page on what an answer is worth."""
    found = {(r.group, r.system, r.setting, r.seed): r for r in records}
    seeds = sorted({r.seed for r in records})

    def mean(name: str, system: str, n: int, figure: str | None) -> str:
        some = [found.get((name, system, f"{n} answers", seed)) for seed in seeds]
        values = [r.score if figure is None else (r.figures or {})[figure] for r in some if r is not None]
        return f"{np.mean([v for v in values if v is not None]):.3f}" if values else "–"

    names = [name for name in TASKS if any(r.group == name for r in records)]
    head = ["data", "questions", *(f"{n} answers" for n in ANSWERS)]
    tables = []
    for figure in (None, "recall", "rest"):
        rows = [
            [name, policy, *(mean(name, policy, n, figure) for n in ANSWERS)] for name in names for policy in POLICIES
        ]
        tables.append(_table(head, rows))
    rows = []
    for r in records:
        if r.system == "estimate" and r.figures:
            f = r.figures
            ends = (f"{f[key]:.0%}" if key in f else "–" for key in ("precision", "recall"))
            shares = [
                word
                for name, end in zip(("precision", "recall"), ends, strict=True)
                for word in (f"{f['true ' + name]:.3f}", end)
            ]
            rows.append([r.group, *shares])
    covered = _table(["data", "true precision", "covered", "true recall", "covered"], rows)
    seconds = sum(r.seconds for r in records)
    least, few, *_, most = ANSWERS
    worked = [name for name in names if found.get((name, "chosen", f"{most} answers", seeds[0]))]
    summary = SUMMARY.format(
        few=few,
        most=most,
        chosen="; ".join(f"{name}: {mean(name, 'chosen', least, None)}, {mean(name, 'chosen', few, None)}, "
                         f"{mean(name, 'chosen', most, None)}" for name in worked),
        random="; ".join(f"{name}: {mean(name, 'random', most, None)}" for name in worked),
        covered=" to ".join(_find_range(records)),
    )  # fmt: skip
    return TEXT.format(
        summary=summary if worked else "",
        f1=tables[0], recall=tables[1], rest=tables[2], covered=covered, reviews=REVIEWS, sampled=SAMPLED,
        seeds=", ".join(map(str, seeds)), minutes=f"{seconds / 60:.0f}",
    )  # fmt: skip


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _find_range(records: Sequence[Record]) -> tuple[str, str]:
    """Return the lowest and the highest share of intervals that contain the truth."""
    estimates = [r.figures for r in records if r.system == "estimate" and r.figures]
    shares = [figures[name] for figures in estimates for name in ("precision", "recall") if name in figures]
    return f"{min(shares, default=0.0):.0%}", f"{max(shares, default=0.0):.0%}"


SUMMARY = """\
## Summary

**Question.** How much better does a matching become when a person answers questions on the review page, and can the
precision and recall shown there be trusted?

**Answer.** F1 with 0, {few} and {most} answers to chosen questions is, by data set, {chosen}. With {most} answers
to *random* questions it is {random}. The 95 % intervals on the page contain the true precision and recall in
{covered} of the simulated reviews.

**Limits.** The answers are the truth; people make mistakes. One to three draws per data set: differences of a few
thousandths mean nothing. Where hardly any match is right (F1 of 0 without answers), answers about matches find no
true pair and change nothing: look for ten true pairs in another way. If the true partners are often not among the
first three candidates of a row, the recall on the page is too high.

**What to do.** Answer ten questions before you use a matching: they are chosen where the answer changes most. Stop
when the intervals on the page are narrow enough for your purpose; on clean tables a hundred more answers change
little.

"""
TEXT = """\
# What an answer is worth

{summary}\
`python -m studies.review page` writes this page from the committed records; `run` makes them. Questions are answered
by the truth instead of a person, and matches are made again after 10, 30 and 100 answers, with confirmed and rejected
pairs. Chosen questions are those of `isthmus.next_questions`; random ones are matches at random, claimed or not.
Seeds: {seeds}; processor time: {minutes} min. With so few draws, differences of a few thousandths say nothing.

## F1 of all claims, answers included

{f1}

## Recall

{recall}

## F1 on the rows that no answer is about

What answers teach beyond themselves: rows of A that were asked about do not count. Chosen questions take the most
doubtful rows away, so what is left is easier: compare the columns of one line, not the lines.

{rest}

## Is the estimate on the page right?

How often the 95 % interval on the page contains the true share of all rows, over {reviews} reviews with {sampled}
sampled rows each, before any answer was learned from. Recall counts partners among the first three candidates of a
row: where partners are often further back, the interval is too high.

{covered}

Not measured: the active learning of dedupe, and two collections that share nothing, or only noisy numbers.
"""


if __name__ == "__main__":
    sys.exit(main())
