"""What the records say, by data set: scores, and paired differences with tests that know what belongs together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.evidence.comparison import Difference, format_points, paired_difference
from isthmus.study.board import (
    ABSENT,
    HOLDS,
    OPEN,
    REVERSED,
    Board,
    Claim,
    TextTable,
    adjust_claims,
    mean_cell,
)
from isthmus.study.records import Record
from isthmus.study.study import Study
from studies.labels.parts import sets_of

FEWEST_GROUPS = 10
"""With fewer clusters no adjusted sign test can reach 5 %: they would silence every test, those for harm too."""
BEST = "best target-only"
"""Stands for whichever target-only control is best on the data set, by its own score."""
CLUSTERED = (
    "Differences are means over all groups and seeds of a data set. Their 95 % intervals and p-values are clustered "
    f"by seed and, where it has at least {FEWEST_GROUPS} groups, by group too, whichever is more cautious; p-values "
    "are adjusted for all comparisons of a data set in a table (Holm). Bold: the sign is shown. Seeds draw anew from "
    "the same objects: intervals are about the draw, not about other data."
)


@dataclass(frozen=True, eq=False)
class Results:
    """The records of one part and variant, by data set."""

    board: Board
    target_only: tuple[str, ...]

    @property
    def sets(self) -> dict[str, list[int]]:
        """The data sets, and the places of their groups."""
        return sets_of(self.board.design)  # type: ignore[arg-type]

    def scores(self, name: str, data: str, figure: str | None = None) -> FloatArray:
        """Scores, or another number of each record, as shares (groups, seeds) of a data set."""
        found = self.board.scores(name) if figure is None else self.board.figures(name, figure)
        return np.asarray(found[self.sets[data]])

    def mean(self, name: str, data: str, figure: str | None = None) -> float:
        """The mean over groups and seeds in per cent; NaN where a trial is missing."""
        return float(100.0 * self.scores(name, data, figure).mean())

    def best(self, data: str) -> str:
        """The target-only control with the largest mean score on a data set."""
        means = {name: self.mean(name, data) for name in self.target_only}
        there = {name: mean for name, mean in means.items() if np.isfinite(mean)}
        return max(there, key=lambda name: there[name]) if there else self.target_only[0]

    def resolve(self, name: str, data: str) -> str:
        """A control by its name, or whichever is the best."""
        return self.best(data) if name == BEST else name

    def difference(self, a: str, b: str, data: str) -> Difference | None:
        """Of two systems on a data set; None where trials are missing, or there is one only."""
        names = (self.resolve(name, data) for name in (a, b))
        return compare_scores(*(self.scores(name, data) for name in names))


def compare_scores(a: FloatArray, b: FloatArray) -> Difference | None:
    """The difference of two arrays (groups, seeds), clustered by seed, and by group where there are enough.

    Examples
    --------
    >>> a = np.array([[0.5, 0.6, 0.7, 0.6, 0.5, 0.6]])
    >>> print(compare_scores(a, a - 0.1))
    +10.0 [10.0, 10.0], p = .031
    """
    if a.shape[1] < 2 or not np.isfinite(a - b).all():
        return None
    group, seed = np.indices(a.shape)
    clusters = [seed.ravel(), *([group.ravel()] if len(a) >= FEWEST_GROUPS else [])]
    return paired_difference(a.ravel(), b.ravel(), clusters)


def results(study: Study, records: Iterable[Record], target_only: Sequence[str]) -> dict[str, Results]:
    """One for each variant."""
    found = list(records)
    seeds = sorted({record.seed for record in found})
    return {v: Results(study.board(found, seeds, v), tuple(target_only)) for v in study.variants}


def score_table(found: Results, names: Sequence[str], title: str, figure: str | None = None) -> TextTable:
    """Systems by data sets: mean ± standard deviation over the seeds of the mean over the groups, in per cent."""
    rows = [(name, *(_mean_cell(found, name, data, figure) for data in found.sets)) for name in names]
    return TextTable(title, ("system", *found.sets), tuple(rows))


def _mean_cell(found: Results, name: str, data: str, figure: str | None) -> str:
    scores = 100.0 * found.scores(name, data, figure)
    mark = "†" if found.board.uncertified_groups(name)[found.sets[data]].any() else ""
    return mean_cell(scores.mean(axis=0)) + mark if np.isfinite(scores).any() else ABSENT


def claims(found: Results, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str, str], Claim]:
    """That the first of each pair is better, by (first, second, data set); those of a data set are a family."""
    return {
        (*pair, data): claim
        for data in found.sets
        for pair, claim in zip(
            pairs,
            adjust_claims([(f"{a} > {b}, {data}", found.difference(a, b, data)) for a, b in pairs]),
            strict=True,
        )
    }


def difference_table(found: Results, pairs: Sequence[tuple[str, str]], title: str) -> TextTable:
    """Paired differences in points with intervals: a row for each comparison, a column for each data set."""
    every = claims(found, pairs)
    rows = [(f"{a} less {b}", *(difference_cell(every[a, b, data]) for data in found.sets)) for a, b in pairs]
    return TextTable(title, ("difference", *found.sets), tuple(rows))


def difference_cell(claim: Claim) -> str:
    """A difference in points with its interval; bold where its sign is shown."""
    d = claim.difference
    if d is None:
        return ABSENT
    low, high = (format_points(100 * value).removeprefix("+") for value in (d.low, d.high))
    mark = "" if claim.verdict == OPEN else "**"
    return f"{mark}{format_points(100 * d.mean)}{mark} [{low}, {high}]"


WORDS = {HOLDS: "above it", REVERSED: "**below it**", OPEN: "not shown to differ from it"}
"""What a verdict says of the first of two systems."""
