"""What every loader returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class DomainPair:
    """Two collections described by different features, and held-out rows of the second.

    Parameters
    ----------
    name, description : str
        What the data are and where they come from, the latter in one line.
    X_source, y_source : array (n_s, d_s), array (n_s,)
        The source: every row has its label.
    X_target, y_target : array (n_t, d_t), array (n_t,)
        The target: a few labels, -1 where there is none.
    X_test, y_test : array (n_test, d_t), array (n_test,)
        Held-out target rows, for scoring only.
    source_features, target_features : sequence of str
        The names of the d_s and the d_t columns.
    source_ids, target_ids, test_ids : array of int
        Which objects of the original collection the rows are: no object is in two of the three.
    target_classes : array (n_t,), optional
        The true classes of all target rows, for pictures and for scoring only.
    licence : str
        The terms of use, as far as they are stated.

    Examples
    --------
    >>> from isthmus.datasets import load_digits
    >>> print(load_digits())
    digits: source 300 rows x 64 features, all labelled; target 600 rows x 36 features, 20 labelled
    (2 a class), 580 unlabelled; test 897 rows; 10 classes
    """

    name: str
    description: str
    X_source: FloatArray
    y_source: IntArray
    X_target: FloatArray
    y_target: IntArray
    X_test: FloatArray
    y_test: IntArray
    source_features: Sequence[str]
    target_features: Sequence[str]
    source_ids: IntArray
    target_ids: IntArray
    test_ids: IntArray
    target_classes: IntArray | None = None
    licence: str = "not stated"

    @property
    def classes(self) -> IntArray:
        """The distinct labels of the source, sorted."""
        return np.unique(self.y_source)

    @property
    def n_labelled(self) -> int:
        """How many target rows have a label."""
        return int(np.count_nonzero(self.y_target != -1))

    def __str__(self) -> str:
        (n_s, d_s), (n_t, d_t) = self.X_source.shape, self.X_target.shape
        a_class = sorted(set(np.bincount(self.y_target[self.y_target != -1]).tolist()) - {0})
        return (
            f"{self.name}: source {n_s} rows x {d_s} features, all labelled; "
            f"target {n_t} rows x {d_t} features, {self.n_labelled} labelled "
            f"({' or '.join(map(str, a_class))} a class), {n_t - self.n_labelled} unlabelled; "
            f"test {self.X_test.shape[0]} rows; {len(self.classes)} classes"
        )

    __repr__ = __str__
