"""The page on known pairs: every number and every verdict on it comes from the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from isthmus.study.board import Board
from isthmus.study.records import Record
from isthmus.study.study import Study
from isthmus.view.canvas import save_figure
from studies.pairs import matching, migration, retrieval, transfer
from studies.pairs.figures import curves
from studies.pairs.sections import (
    ORACLE,
    SHARED,
    compare_with_copies,
    names,
    retrieval_section,
    transfer_section,
    use_section,
)
from studies.pairs.tables import Cell, boards, cells
from studies.pairs.uses import FAILED_BELOW, WORKED_FROM, list_runs, matching_section, migration_section

STUDIES = {
    "retrieval": retrieval.study,
    "matching": matching.study,
    "matching-null": matching.null_study,
    "migration": migration.study,
    "transfer": transfer.study,
}
"""The parts of the study, in the order of the page."""
FIGURE = "recall"
WITHIN = f"ridge, {retrieval.WITHIN}"
LEAST = 0.1
"""The recall@1 that some system must reach with some number of pairs for a data set to count in the summary."""


def page(records: Mapping[str, Sequence[Record]], pictures: str) -> str:
    """The page in Markdown.

    Parameters
    ----------
    records : mapping of str to sequence of Record
        By the name of the part.
    pictures : str
        The folder of the figures, as the page calls it.
    """
    found = {name: boards(make(), records[name], seeds_of(records[name])) for name, make in STUDIES.items()}
    picture = f"![Recall@1 over the number of known pairs]({pictures}/{FIGURE}.png)"
    every = [record for some in records.values() for record in some]
    return f"""\
# Known pairs: what they teach, and which system to use

{summarize_results(found)}\
Made by `python -m studies.pairs` from the records in `studies/pairs/records`. \
{"; ".join(dict.fromkeys(record.versions for record in every))}. Settings are the defaults of the library, fixed on \
other seeds.

{use_section(found["retrieval"])}
{retrieval_section(found["retrieval"], picture)}
{matching_section(found["matching"], found["matching-null"])}
{migration_section(found["migration"])}
{transfer_section(found["transfer"])}
## How it was done

{HOW}

{endings(every, [make() for make in STUDIES.values()])}
"""


SUMMARY = """\
## Summary

**Question.** Some rows of two collections are known to be the same object. How many such pairs are needed to find \
the partners of other rows, and which system makes the most of them?

**Answer.** Recall@1 of the best system, as a mean over the {tested} data sets where pairs teach anything, is \
{recall}. `{few_best}` is the best system, or not significantly worse than it, in {few_count} of {few_cells} cells \
with at most {middle} pairs; with {most} pairs `{most_best}` is, in {most_count} of {most_cells}. `isthmus.match` \
found the partners of at least half of the rows in {worked} runs and called {success} of them a success; of {failed} \
runs with a recall below {below:.0%} it called {misled} a success.

**Limits.** {nothing}Columns that both collections share need no pair: on the Debian texts they find {shared}, more \
than any map from {middle} pairs. To *classify* target rows no map may be needed: a classifier of the target alone \
that learns from labels copied through the pairs is as good as the best map in {copied} of {transfers} cells.

**What to do.** Compare shared columns first, if there are any. Otherwise collect at least {middle} pairs, of the \
rows that matter and not of the easy ones; start with `MLHD` and try `RidgeMap` from {most} pairs on. Keep a part of \
the pairs for the measurement: the ranking of systems differs from one collection to the next. Include shuffled \
pairs as a control.

"""

HOW = """\
- Data: scikit-learn's digits by their pixels and by the 19 shape features that are not linear in the pixels (the \
sums of rows, of columns and of all pixels are left out: any linear map finds them); mfeat by fac216 and kar64, and \
by fac216 and pix240; Reuters600 in English and French; the Debian descriptions in three languages, paired by \
package; SNARE-seq, genes and chromatin of the same cells.
- Rows: text is scaled to rows of length one; numbers are standardised, then scaled to rows of length one. Either \
side is prepared by its own training rows. Nothing is cut to principal components.
- The objects are permuted by the seed; the test is the same for every number of pairs, and fewer pairs are among \
more.
- Seeds draw anew from the same objects: intervals are about the draw and about these data, not about others."""


def summarize_results(found: Mapping[str, Mapping[str, Board]]) -> str:
    """The summary for practitioners; empty where a record that it needs is missing."""
    boards_, systems = found["retrieval"], names(next(iter(found["retrieval"].values())))
    every = cells(boards_, systems, ORACLE)
    taught = [cell for cell in every if cell.above]
    groups = {cell.group for cell in every}
    # A data set counts if pairs find more than one row in ten in some cell.
    learned = [group for group in groups if max(c.score for c in every if c.group == group) > LEAST]
    *_, middle, most = list(boards_)
    few, many = ([c for c in taught if (c.variant == most) is last] for last in (False, True))
    runs = [run for board in found["matching"].values() for run in list_runs(board, matching.MATCH)]
    shared = {
        group: 100 * float(boards_[middle].scores(SHARED)[k].mean()) for k, group in enumerate(boards_[middle].groups)
    }
    if not few or not many or not runs or len(every) < len(boards_) * len(shared):
        return ""
    recall = {
        variant: 100 * sum(c.score for c in every if c.variant == variant and c.group in learned) / len(learned)
        for variant in boards_
    }
    worked = [said for score, said in runs if score >= WORKED_FROM]
    failed = [said for score, said in runs if score < FAILED_BELOW]
    (few_best, few_count), (most_best, most_count) = (_find_most_frequent(some, systems) for some in (few, many))
    above_copied = [
        above for board in found["transfer"].values() for above in compare_with_copies(board, systems).values()
    ]
    unlearned = [group for group in shared if group not in learned]
    return SUMMARY.format(
        tested=len(learned),
        recall=", ".join(f"{value:.0f} % with {variant} pairs" for variant, value in recall.items()),
        few_best=few_best,
        few_count=few_count,
        few_cells=len(few),
        most_best=most_best,
        most_count=most_count,
        most_cells=len(many),
        middle=middle,
        most=most,
        worked=len(worked),
        success=worked.count(1.0),
        failed=len(failed),
        below=FAILED_BELOW,
        misled=failed.count(1.0),
        nothing=f"On {', '.join(unlearned)} pairs teach next to nothing, with any system. " if unlearned else "",
        copied=sum(not above for above in above_copied),
        transfers=len(above_copied),
        shared=", ".join(f"{value:.0f} % ({group})" for group, value in shared.items() if value == value),
    )


def _find_most_frequent(some: Sequence[Cell], systems: Sequence[str]) -> tuple[str, int]:
    """The system that is not worse than the best in most of some cells, and in how many."""
    counts = {name: sum(name in cell.level for cell in some) for name in systems}
    return max(counts.items(), key=lambda item: item[1])


def endings(records: Iterable[Record], studies: Iterable[Study]) -> str:
    """What failed, what was not certified, and what is out of date."""
    every = list(records)
    failed = [record for record in every if record.score is None]
    missed = [record for record in every if record.score is not None and not record.certified]
    said = [f"{len(every)} records; {len(failed)} failed, {len(missed)} were not certified"]
    said += [f"{name}: {n}" for name, n in _count_records([*failed, *missed]).items()]
    old = sum(
        board.count_outdated_records()
        for study in studies
        for board in boards(study, [r for r in every if r.experiment == study.name], seeds_of(every)).values()
    )
    return (
        "; ".join(said)
        + "."
        + (f" {old} records are of another version, or of other systems or rows." if old else "")
    )


def _count_records(records: Iterable[Record]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in records:
        words = f"{record.system} ({record.status[:60]})"
        counts[words] = counts.get(words, 0) + 1
    return counts


def seeds_of(records: Iterable[Record]) -> list[int]:
    """The seeds of some records."""
    return sorted({record.seed for record in records})


def figures(records: Mapping[str, Sequence[Record]]) -> dict[str, Any]:
    """The figures of the page, by the stem of their files."""
    study = retrieval.study()
    found = boards(study, records[study.name], seeds_of(records[study.name]))
    shown = names(next(iter(found.values())))
    title = "Recall@1 of the true partner over the number of known pairs; bars are 95 % intervals over seeds"
    return {FIGURE: curves(found, shown, [ORACLE, WITHIN, SHARED], title, "recall@1, per cent")}


def write_figures(records: Mapping[str, Sequence[Record]], folder: Path) -> list[Path]:
    """Draw the figures and write them as PNG and SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    return [path for stem, figure in figures(records).items() for path in save_figure(figure, folder / stem)]
