"""What is asked, as a value: both collections checked, their classes as codes, and how far the labels reach."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, Matrix
from isthmus.data.domains import KnownPairs, TwoDomains
from isthmus.estimators.shared_columns import SharedColumns
from isthmus.evidence.held_out import wilson_interval
from isthmus.exceptions import DataWarning, InputError
from isthmus.geometry.similarity import prepare_rows, scale_rows
from isthmus.study.trial_rows import Trial, TrialRows

STEPS = (1, 3, 10, 30)
"""Labels per class that are tried, as far as the labels reach."""
FEWEST_TESTED = 20
"""Rows that have to be left for testing: an interval from fewer says nothing."""
FEWEST_CLASSES = 4
"""With fewer, hiding half of the classes leaves one name to give, or one class to learn from."""
LABELS_FOR_NAMING = 3
"""Labels per class of the classes that are not hidden."""


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
        """The classes that some target row is labelled with, and that the source has."""
        return np.intersect1d(np.flatnonzero(self.counts), self.y_source)

    @property
    def unnamed(self) -> int:
        """How many classes of the source no target row is labelled with."""
        return int(np.count_nonzero(self.counts[np.unique(self.y_source)] == 0))

    @cached_property
    def coordinates(self) -> FloatArray:
        """Target rows (n_t, k) as rules that never see the source get them: on one scale, along principal axes."""
        return prepare_rows(scale_rows(self.X_target), "X_target").centred.astype(np.float64)

    def taken(self, k: int) -> IntArray:
        """Labels of each class (C,) that a fit may see, of k that are wanted: half of them stay for testing."""
        return np.minimum(k, np.maximum(self.counts // 2, np.minimum(self.counts, 1)))

    def tested(self, k: int) -> int:
        """How many rows are then left to test."""
        return int(np.sum(self.counts - self.taken(k)))

    @property
    def steps(self) -> tuple[int, ...]:
        """Labels per class that can be tried: most classes have twice as many, and enough rows are left to test."""
        typical = float(np.median(self.counts[self.counts > 0])) / 2.0
        return tuple(k for k in STEPS if k <= typical and self.tested(k) >= FEWEST_TESTED)

    @property
    def can_hide(self) -> bool:
        """Whether there are enough labelled classes to hide half of them."""
        return len(self.named) >= FEWEST_CLASSES


def make_question(X_source: Any, y_source: Any, X_target: Any, y_target: Any, pairs: Any = None) -> Question:
    """Check what was given.

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


NAMING = "naming"
"""The group of trials in which half of the classes are hidden; others are named by their labels per class."""


@dataclass(frozen=True, eq=False)
class SplitRows(TrialRows):
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
        pairs, test = split_pairs(q.pairs, test, rng)
        y = np.where(kept, q.y_target, UNLABELLED)
        X, y_test = q.X_target, q.y_target[test]
        return SplitRows(q.X_source, q.y_source, X, y, X[test], y_test, test, pairs)


def split_pairs(
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


MOST = 10**6
"""Labels per class that are shown: half of those there are, however many."""
TIMES = {2000: 3, 20_000: 2}
"""How often labels are hidden, up to so many rows of both domains together; once beyond."""


@dataclass(frozen=True)
class HeldOutLabels:
    """What was found of labels that were hidden.

    Parameters
    ----------
    tested : int
        How many rows were tested, each at least once.
    times : int
        How often labels were hidden.
    accuracy : float
        The share of them that got their class, the mean over rows.
    interval : (float, float)
        Its 95 % interval (Wilson), as far as so few rows can tell.
    shared : float or None
        The same of linear support vectors on the columns that both domains share; None where they share none.
    """

    tested: int
    times: int
    accuracy: float
    interval: tuple[float, float]
    shared: float | None


def hold_out_labels(
    X_source: Any,
    y_source: Any,
    X_target: Any,
    y_target: Any,
    system: Any,
    *,
    pairs: Any = None,
    shared: tuple[Matrix, Matrix] | None = None,
    times: int | None = None,
    random_state: int = 0,
    progress: Callable[[int, int], None] = lambda done, times: None,
) -> HeldOutLabels | None:
    """Hide half of the labels of each class of the target, fit, and ask for them; some times.

    Parameters
    ----------
    X_source, y_source, X_target, y_target, pairs
        As for :func:`~isthmus.does_source_help`.
    system : estimator over two domains
        It is cloned, and fitted anew each time.
    shared : (matrix (n_s, m), matrix (n_t, m)), optional
        The columns that both domains have.
    times : int, optional
        How often; None: by the number of rows.
    random_state : int
        Which labels are hidden.
    progress : function
        Told, before each time, how many are done, and of how many.

    Returns
    -------
    HeldBack or None
        None where no class has two labels in the target, so that none can be hidden.

    Examples
    --------
    >>> from isthmus import ARC
    >>> from isthmus.data.datasets import load_toy
    >>> toy = load_toy()
    >>> found = hold_out_labels(toy.X_source, toy.y_source, toy.X_test, toy.y_test, ARC(), times=1)
    >>> found.tested, found.shared is None
    (200, True)
    """
    asked = make_question(X_source, y_source, X_target, y_target, pairs)
    if not asked.tested(MOST):
        return None
    n = asked.X_source.shape[0] + asked.X_target.shape[0]
    J = next((often for most, often in TIMES.items() if n <= most), 1) if times is None else times
    splits = Splits(asked, tuple(np.random.SeedSequence(random_state).generate_state(J).tolist()))
    right, plain = (np.full((J, asked.X_target.shape[0]), np.nan) for _ in range(2))
    for split, seed in enumerate(splits.seeds):
        progress(split, J)
        rows = splits(Trial(str(MOST), "", seed))
        if not len(rows.test):  # all of them were in pairs
            return None
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "y_target: .* no labelled row", DataWarning)
            model = clone(system).fit(*rows.fit, **({} if rows.pairs is None else {"pairs": rows.pairs}))
            right[split, rows.test] = model.predict(rows.X_test) == rows.y_test
            if shared is not None:
                S, T = shared
                columns = np.repeat(np.arange(S.shape[1])[:, None], 2, axis=1)
                control = SharedColumns(columns).fit(S, rows.y_source, T, rows.y_target)
                plain[split, rows.test] = control.predict(T[rows.test]) == rows.y_test
    tested = int(np.any(~np.isnan(right), axis=0).sum())
    accuracy = _mean(right)
    interval = wilson_interval(accuracy * tested, tested)
    return HeldOutLabels(tested, J, accuracy, interval, None if shared is None else _mean(plain))


def _mean(right: FloatArray) -> float:
    """Over rows, of the mean over the times that a row was tested."""
    counts = np.count_nonzero(~np.isnan(right), axis=0)
    return float(np.mean((np.nansum(right, axis=0) / np.maximum(counts, 1))[counts > 0]))
