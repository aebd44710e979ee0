"""The question whether a source helps: both collections, their classes as codes, and the splits that hide labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, Matrix
from isthmus.data.domains import KnownPairs, TwoDomains
from isthmus.exceptions import InputError
from isthmus.geometry.similarity import prepare_rows, scale_rows
from isthmus.study.trial_rows import Trial, TrialRows

# Labels per class that are tried, as far as there are labels.
STEPS = (1, 3, 10, 30)
# Rows needed for testing: an interval from fewer is too wide to say anything.
FEWEST_TESTED = 20
# With fewer, hiding half of the classes leaves one class to name, or one to learn from.
FEWEST_CLASSES = 4
# The group of trials in which half of the classes are hidden; others are named by their labels per class.
NAMING = "naming"
# Labels per class of the classes that are not hidden.
LABELS_FOR_NAMING = 3


@dataclass(frozen=True, eq=False)
class Question:
    """Two collections: rows as numbers, classes as codes of both together, -1 where a target row has no label."""

    X_source: Matrix
    y_source: IntArray
    X_target: Matrix
    y_target: IntArray
    classes: NDArray[Any]
    pairs: KnownPairs | None = None

    @cached_property
    def labelled(self) -> IntArray:
        """The numbers of the labelled target rows."""
        return np.flatnonzero(self.y_target != UNLABELLED)

    @cached_property
    def counts(self) -> IntArray:
        """Labelled target rows of each class (C,)."""
        return np.bincount(self.y_target[self.labelled], minlength=len(self.classes))

    @property
    def named(self) -> IntArray:
        """The classes with a labelled target row that the source has, too."""
        return np.intersect1d(np.flatnonzero(self.counts), self.y_source)

    @property
    def unnamed(self) -> int:
        """The number of classes of the source without a labelled target row."""
        return int(np.count_nonzero(self.counts[np.unique(self.y_source)] == 0))

    @cached_property
    def coordinates(self) -> FloatArray:
        """Target rows (n_t, k) for rules that never see the source: on one scale, along principal axes."""
        return prepare_rows(scale_rows(self.X_target), "X_target").centred.astype(np.float64)

    def shown_labels(self, k: int) -> IntArray:
        """Return the labels of each class (C,) that a fit sees, at most k: half of them stay for testing."""
        return np.minimum(k, np.maximum(self.counts // 2, np.minimum(self.counts, 1)))

    def tested_rows(self, k: int) -> int:
        """Return the number of labelled rows that are then left for testing."""
        return int(np.sum(self.counts - self.shown_labels(k)))

    @property
    def steps(self) -> tuple[int, ...]:
        """The labels per class that can be tried: most classes have twice as many, enough rows stay for testing."""
        typical = float(np.median(self.counts[self.counts > 0])) / 2.0
        return tuple(k for k in STEPS if k <= typical and self.tested_rows(k) >= FEWEST_TESTED)

    @property
    def can_hide(self) -> bool:
        """Whether there are enough labelled classes to hide half of them."""
        return len(self.named) >= FEWEST_CLASSES


def make_question(X_source: Any, y_source: Any, X_target: Any, y_target: Any, pairs: Any = None) -> Question:
    """Check the rows and labels, and return the question.

    Examples
    --------
    >>> q = make_question([[0.0], [1.0], [2.0]], ["a", "b", "c"], [[1.0], [2.0], [3.0]], ["a", "b", None])
    >>> q.y_target, q.unnamed, q.steps
    (array([ 0,  1, -1]), 1, ())
    """
    domains = TwoDomains.of(X_source, y_source, X_target, y_target, pairs, own_classes=True)
    source, target = domains.source.y, domains.target.y
    if missing := int(np.count_nonzero(source == UNLABELLED)):
        raise InputError(f"y_source: expected a label for every row, got {missing} without.")
    present = len(np.unique(target[target != UNLABELLED]))
    if present < 2:
        raise InputError(f"y_target: expected labels of at least two classes, got {present}.")
    if len(np.unique(source)) < 2:
        raise InputError("y_source: expected at least two classes, got 1.")
    return Question(domains.source.X, source, domains.target.X, target, domains.classes, domains.pairs)


@dataclass(frozen=True, eq=False)
class SplitRows(TrialRows):
    """Rows of a trial, the numbers of those that are tested, and the pairs that a fit may see."""

    test: IntArray
    pairs: KnownPairs | None = None


@dataclass(frozen=True, eq=False)
class Splits:
    """The rows of each trial, given its group (labels per class, or :data:`NAMING`) and its seed.

    A fit sees all rows, with fewer labels: rows whose label is hidden are unlabelled rows. Splits of one seed are
    nested: more labels per class include those of fewer.
    """

    question: Question
    seeds: tuple[int, ...]

    def hide_classes(self, seed: int) -> IntArray:
        """Return the classes that are hidden where naming is tested: half of those that are labelled.

        Every second split hides the other half, so that each class is hidden about as often as any other.
        """
        named, place = self.question.named, self.seeds.index(seed)
        order = np.random.default_rng([self.seeds[place - place % 2], 1]).permutation(named)
        half = len(named) // 2
        return order[:half] if place % 2 == 0 else order[-half:]

    def __call__(self, trial: Trial) -> SplitRows:
        """Return the rows of a trial."""
        q, rng = self.question, np.random.default_rng(trial.seed)
        lots = rng.random(len(q.y_target))
        shown = q.shown_labels(LABELS_FOR_NAMING if trial.group == NAMING else int(trial.group))
        if trial.group == NAMING:
            shown[self.hide_classes(trial.seed)] = 0
        kept = np.zeros(len(q.y_target), dtype=bool)
        for c in np.flatnonzero(shown):
            rows = np.flatnonzero(q.y_target == c)
            kept[rows[np.argsort(lots[rows])[: shown[c]]]] = True
        test = q.labelled[~kept[q.labelled]]
        pairs, test = split_pairs(q.pairs, test, rng)
        y, X = np.where(kept, q.y_target, UNLABELLED), q.X_target
        return SplitRows(q.X_source, q.y_source, X, y, X[test], q.y_target[test], test, pairs)


def split_pairs(
    pairs: KnownPairs | None, test: IntArray, rng: np.random.Generator
) -> tuple[KnownPairs | None, IntArray]:
    """Return the pairs that a fit sees, and the rows that are tested.

    A tested row has no partner, because the partner's class would give it away: of hidden rows with a partner every
    second is tested, and their pairs are held out.
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
    """The rows of a trial for rules that never see the source: source rows are replaced by labelled target rows."""

    coordinates: FloatArray

    def __call__(self, rows: SplitRows, seed: int) -> SplitRows:
        """Return the rows, on the target's own axes."""
        Z, known = self.coordinates, rows.labelled
        return SplitRows(Z[known], rows.y_target[known], Z, rows.y_target, Z[rows.test], rows.y_test, rows.test)
