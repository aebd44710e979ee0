"""What is asked, as a value: both collections checked, their classes as codes, and how far the labels reach."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray, IntArray, Matrix
from isthmus.domains import UNLABELLED, KnownPairs, TwoDomains
from isthmus.exceptions import InputError
from isthmus.matching.preparation import prepared, scaled

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
        return prepared(scaled(self.X_target), "X_target").centred.astype(np.float64)

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


def question(X_source: Any, y_source: Any, X_target: Any, y_target: Any, pairs: Any = None) -> Question:
    """Check what was given.

    Examples
    --------
    >>> q = question([[0.0], [1.0], [2.0]], ["a", "b", "c"], [[1.0], [2.0], [3.0]], ["a", "b", None])
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
