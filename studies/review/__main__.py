"""``python -m studies.review``: run reviews that the truth answers, or render runs that are there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from isthmus._core.files import write_text
from isthmus.cli.process import run_command
from isthmus.exceptions import InputError
from isthmus.study.records import Record, RecordStore
from studies.linkage.tasks import TABLES, draw_task
from studies.options import choose_parts, parse_seeds
from studies.review import duplicates
from studies.review.trials import (
    ANSWERS,
    DEDUPE,
    DEDUPED,
    ESTIMATED,
    EXPERIMENT,
    POLICIES,
    REVIEWS,
    SAMPLED,
    TASKS,
    match_task,
    measure_coverage,
    run_dedupe,
    run_policy,
)

PROGRAM = "python -m studies.review"
HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "answers.md"
NAME = "records"
Key: TypeAlias = tuple[str, str, str, int, str, str]
NAMES = tuple(dict.fromkeys([*(name for name, _ in ESTIMATED), *TABLES]))
NOTHING = np.zeros((0, 2), np.intp)
DESCRIPTION = """\
What an answer is worth: F1 and recall over the number of answers, for questions that are chosen and for random ones;
and how often the intervals on the page contain the truth.

  run         what is missing of the records
  dedupe      the same of dedupe's active learning, in an environment of its own
  duplicates  known duplicates, found by isthmus.dedupe and isthmus.find_clusters
  page        the pages from the records; runs nothing
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(
        PROGRAM, description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("command", choices=("run", "dedupe", "duplicates", "page"), help="what to do")
    add("--tasks", default=",".join(NAMES), metavar="T,…", help="the data sets (%(default)s)")
    add("--seeds", type=parse_seeds, default=range(1), metavar="A:B", help="draws A to B - 1 (0:1)")
    add("--data", type=Path, metavar="FOLDER", help="where the data are ($ISTHMUS_DATA, or a cache of the user)")
    add("--records", type=Path, default=HERE, metavar="FOLDER", help="where the records are (studies/review)")
    add("--page", type=Path, default=PAGE, metavar="FILE", help="the page (docs/answers.md)")
    options = parser.parse_args(arguments)
    action = _render if options.command == "page" else _run
    return run_command(
        PROGRAM, lambda: action(options), "Whole trials are kept; the same command goes on from there."
    )


RUNS: dict[str, Callable[..., Iterable[list[Record]]]] = {
    "run": lambda *given: run_missing(*given),
    DEDUPE: lambda *given: run_missing_dedupe(*given),
    duplicates.EXPERIMENT: lambda *given: duplicates.run_missing(*given),
}


def _run(options: argparse.Namespace) -> None:
    own = duplicates.EXPERIMENT if options.command == duplicates.EXPERIMENT else NAME
    store, names = RecordStore(options.records, own), choose_parts(options.tasks, NAMES)
    run = RUNS[options.command]
    with store.lock():
        kept = store.read()
        try:
            for seed in options.seeds:
                for name in names:
                    for records in run(name, seed, {key for key in kept}, options.data):
                        store.add(records)
                        print(*map(describe, records), sep="\n", flush=True)
        finally:
            store.merge()


def run_missing(name: str, seed: int, kept: set[Key], data: Path | None) -> Iterable[list[Record]]:
    """Run the trials of a task that have no records, and yield these."""
    for variant in (variant for other, variant in ESTIMATED if other == name):
        settings = {"estimate": f"{SAMPLED} sampled rows"}
        if TASKS.get(name) == variant:
            settings |= dict.fromkeys(POLICIES, f"{ANSWERS[-1]} answers")
        missing = [s for s, last in settings.items() if (EXPERIMENT, name, variant, seed, s, last) not in kept]
        if not missing:
            continue
        task = draw_task(name, variant, seed, data)
        first = match_task(task, NOTHING, NOTHING)
        for system in missing:
            yield (
                [measure_coverage(task, name, variant, first)]
                if system == "estimate"
                else list(run_policy(task, name, system, first))
            )


def run_missing_dedupe(name: str, seed: int, kept: set[Key], data: Path | None) -> Iterable[list[Record]]:
    """Run the active learning of dedupe on a task where it has no records, and yield these."""
    last = f"{ANSWERS[-1]} answers"
    if name in DEDUPED and (EXPERIMENT, name, TASKS[name], seed, DEDUPE, last) not in kept:
        yield list(run_dedupe(draw_task(name, TASKS[name], seed, data), name))


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
    copied = list(RecordStore(options.records, duplicates.EXPERIMENT).read().values())
    if copied:
        known = options.page.with_name("review.md")
        write_text(known, duplicates.replace_table(known.read_text(encoding="utf-8"), duplicates.write_table(copied)))
        print(known)


def page(records: Sequence[Record]) -> str:
    """Return the page on what an answer is worth."""
    found = {(r.group, r.system, r.setting, r.seed): r for r in records}
    seeds = sorted({r.seed for r in records})

    def mean(name: str, system: str, n: int, figure: str | None) -> str:
        some = [found.get((name, system, f"{n} answers", seed)) for seed in seeds]
        values = [r.score if figure is None else (r.figures or {})[figure] for r in some if r is not None]
        return f"{np.mean([v for v in values if v is not None]):.3f}" if values else "–"

    names = [name for name in TASKS if any(r.group == name for r in records)]
    lines = [
        (name, system)
        for name in names
        for system in (*POLICIES, DEDUPE)
        if any((r.group, r.system) == (name, system) for r in records)
    ]
    head = ["data", "questions", *(f"{n} answers" for n in ANSWERS)]
    tables = [
        _table(head, [[*line, *(mean(*line, n, figure) for n in ANSWERS)] for line in lines])
        for figure in (None, "recall", "rest")
    ]
    rows = []
    order = {what: k for k, what in enumerate(ESTIMATED)}
    estimates = [r for r in records if r.system == "estimate" and r.figures]
    for r in sorted(estimates, key=lambda r: (order[r.group, r.variant], r.seed)):
        cells = []
        for share in ("precision", "recall"):
            f = r.figures or {}
            width = f"{f[share + ' width']:.2f}" if share in f else "–"
            cells += [f"{f['true ' + share]:.3f}", f"{f[share]:.0%}" if share in f else "–", width]
        rows.append([f"{r.group}, {r.variant}", *cells])
    covered = _table(
        ["data", *(word for share in ("precision", "recall") for word in (share, "covered", "width"))], rows
    )
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
        dedupe="; ".join(f"{name}: {mean(name, DEDUPE, few, None)} and {mean(name, DEDUPE, most, None)}"
                         for name in names if (name, DEDUPE) in lines),
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
to *random* questions it is {random}. dedupe reaches, with {few} and {most} answers to its own questions, {dedupe}.
The 95 % intervals on the page contain the true precision and recall in
{covered} of the simulated reviews.

**Limits.** The answers are the truth; people make mistakes. One to three draws per data set: differences of a few
thousandths mean nothing. Where hardly any match is right (F1 of 0 without answers), answers about matches find no
true pair and change nothing: look for ten true pairs in another way. If partners are often not among the first three
candidates of a row, the recall on the page is too high, and only the low end of its range allows for them: the range
is wide where many rows have no partner.

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
Those of dedupe 3.0.3 are its active learner's, and its matcher is trained with the answers; it needs some to begin
with (`python -m studies.review dedupe`, in an environment of its own).
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

How often the 95 % interval on the page contains the true share of all rows, and how wide it is on average, over
{reviews} reviews with {sampled} sampled rows each, before any answer was learned from. The recall on the page is the
share among partners that were shown, at most three candidates of a row. Partners further back are seen by nobody, so
the low end of its interval counts every row without a partner among its candidates as missed, and the high end as a
row without a partner. Until this was so, the interval of the digits held the truth in 86 % of the reviews. The last
two lines are the hard cases: few rows have a partner, or many have one that is no candidate.

{covered}

Not measured: dedupe's active learning on DBLP–ACM; two collections that share nothing, or only noisy numbers.
"""


if __name__ == "__main__":
    sys.exit(main())
