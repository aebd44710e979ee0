"""Cross-validation where most rows have no label: a splitter for scikit-learn's tools."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold

from isthmus._arrays import BoolArray, IntArray
from isthmus._validation import length, number, shown
from isthmus.domains import as_labels, is_unlabelled
from isthmus.exceptions import InputError


class SemiSupervisedSplit(BaseEstimator):  # type: ignore[misc]
    """Split the labelled rows; put every unlabelled row into every training part and into no test part.

    Parameters
    ----------
    cv : int or splitter
        How the labelled rows are split: a number of stratified folds, or any splitter of scikit-learn.

    Examples
    --------
    >>> train, test = next(iter(SemiSupervisedSplit(2).split(None, [0, 0, 1, 1, -1, -1])))
    >>> train, test
    (array([1, 3, 4, 5]), array([0, 2]))
    """

    def __init__(self, cv: Any = 5) -> None:
        self.cv = cv

    def _splitter(self, n_labelled: float = np.inf) -> Any:
        if isinstance(self.cv, numbers.Integral) and not isinstance(self.cv, bool):
            return StratifiedKFold(int(number(self.cv, "cv", low=2, high=max(2, n_labelled), whole=True)))
        if not (hasattr(self.cv, "split") and hasattr(self.cv, "get_n_splits")):
            raise InputError(f"cv: expected a number of folds or a splitter of scikit-learn, got {shown(self.cv)}.")
        return self.cv

    def _labelled(self, y: Any, groups: Any) -> tuple[BoolArray, tuple[Any, Any, Any]]:
        """Which rows are labelled, and (X, y, groups) of those alone for the splitter."""
        if y is None:
            raise InputError("y: expected labels, got None.")
        kept = ~is_unlabelled(y)
        if not kept.any():
            raise InputError("y: expected at least one labelled row to split, got none.")
        labels = np.array(as_labels(y, "y")[kept].tolist())
        if groups is not None:
            groups = as_labels(groups, "groups", "group")
            length(groups, len(kept), "groups", "y")
        return kept, (np.zeros((len(labels), 1)), labels, None if groups is None else groups[kept])

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Pairs of training and test row numbers."""
        kept, inner = self._labelled(y, groups)
        labelled, unlabelled = np.flatnonzero(kept), np.flatnonzero(~kept)
        for train, test in self._splitter(len(labelled)).split(*inner):
            yield np.sort(np.concatenate([labelled[train], unlabelled])), labelled[test]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of splits, which for some splitters depends on the labelled rows."""
        inner = (None, None, None) if y is None else self._labelled(y, groups)[1]
        return int(self._splitter().get_n_splits(*inner))
