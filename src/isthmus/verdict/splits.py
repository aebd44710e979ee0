"""The rows of a trial: some labels of the target are shown, the others are hidden and tested."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.domains import UNLABELLED, KnownPairs
from isthmus.study import Rows, Trial
from isthmus.verdict.question import LABELS_FOR_NAMING, Question

NAMING = "naming"
"""The group of trials in which half of the classes are hidden; others are named by their labels per class."""


@dataclass(frozen=True, eq=False)
class SplitRows(Rows):
    """Rows of a trial, the numbers of those that are tested, and the pairs that a fit may see."""

    test: IntArray
    pairs: KnownPairs | None = None


@dataclass(frozen=True, eq=False)
class Splits:
    """The rows of each trial, given its group (labels per class, or :data:`NAMING`) and its seed.

    A fit sees the same rows as in earnest, with fewer labels: rows whose label is hidden stay among the unlabelled
    ones, as the rows do that are to be named. Splits of one seed are nested: more labels are further labels.
    """

    question: Question
    seeds: tuple[int, ...]

    def hidden(self, seed: int) -> IntArray:
        """The classes that are hidden where names are tested: half of those that are labelled.

        Every second split hides the other half, so that each class is hidden about as often as any other.
        """
        named, place = self.question.named, self.seeds.index(seed)
        order = np.random.default_rng([self.seeds[place - place % 2], 1]).permutation(named)
        half = len(named) // 2
        return order[:half] if place % 2 == 0 else order[-half:]

    def __call__(self, trial: Trial) -> SplitRows:
        """The rows of a trial."""
        q, rng = self.question, np.random.default_rng(trial.seed)
        lots = rng.random(len(q.y_target))
        shown = q.taken(LABELS_FOR_NAMING if trial.group == NAMING else int(trial.group))
        if trial.group == NAMING:
            shown[self.hidden(trial.seed)] = 0
        kept = np.zeros(len(q.y_target), dtype=bool)
        for c in np.flatnonzero(shown):
            rows = np.flatnonzero(q.y_target == c)
            kept[rows[np.argsort(lots[rows])[: shown[c]]]] = True
        test = q.labelled[~kept[q.labelled]]
        pairs, test = held_back(q.pairs, test, rng)
        y = np.where(kept, q.y_target, UNLABELLED)
        X, y_test = q.X_target, q.y_target[test]
        return SplitRows(q.X_source, q.y_source, X, y, X[test], y_test, test, pairs)


def held_back(
    pairs: KnownPairs | None, test: IntArray, rng: np.random.Generator
) -> tuple[KnownPairs | None, IntArray]:
    """The pairs that a fit may see, and the rows that are tested.

    A tested row has no partner, since its partner's class would give it away: of hidden rows with a partner every
    second is tested, and the pairs of these are held back.
    """
    if pairs is None:
        return None, test
    paired = np.intersect1d(test, pairs.target)
    spared = rng.permutation(paired)[: len(paired) // 2]
    tested = np.setdiff1d(test, spared)
    keep = ~np.isin(pairs.target, tested)
    return (KnownPairs(pairs.rows[keep], pairs.weights[keep]) if keep.any() else None), tested


@dataclass(frozen=True, eq=False)
class WithoutSource:
    """The same trial for rules that never see the source: its rows are replaced by labelled target rows."""

    coordinates: FloatArray

    def __call__(self, rows: SplitRows, seed: int) -> SplitRows:
        """The rows, on the target's own axes."""
        Z, known = self.coordinates, rows.labelled
        return SplitRows(Z[known], rows.y_target[known], Z, rows.y_target, Z[rows.test], rows.y_test, rows.test)
