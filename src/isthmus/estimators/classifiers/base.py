"""What systems share that end in a classifier of target rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray, Matrix
from isthmus.domains import TwoDomains
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.exceptions import InputError


class TargetClassifier(TwoDomainEstimator):
    """The base of systems whose outcome is a score of each class for target rows.

    A subclass has a method :meth:`_scores`. There is no space in which rows of both domains meet: the points of
    :meth:`transform` are the scores.
    """

    def _scores(self, rows: Matrix) -> FloatArray:
        """The scores (n, C) of target rows, the larger the better; minus infinity for classes without any."""
        raise NotImplementedError

    def _rows(self, X: Any, domain: str, name: str = "X") -> Matrix:
        if domain == "source":
            raise InputError(f"domain: expected 'target', whose rows {type(self).__name__} classifies, got 'source'.")
        return super()._rows(X, domain, name)

    def decision_function(self, X: Any, domain: str = "target") -> FloatArray:
        """A score for each class (n, C), the larger the better; of two classes that of the second less the first."""
        scores = self._scores(self._rows(X, domain))
        return scores if scores.shape[1] != 2 else scores[:, 1] - scores[:, 0]

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The class of the largest score for each target row (n,)."""
        best = self._scores(self._rows(X, domain)).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """The scores of the classes (n, C): there is no other space."""
        rows = self._rows(X, domain)
        return self._scores(rows).astype(rows.dtype, copy=False)

    def _dimension(self) -> int:
        return len(self.classes_)


def require_classes(domains: TwoDomains) -> None:
    """Raise unless there are two classes to tell apart."""
    if len(domains.classes) < 2:
        raise InputError(f"y_source: expected at least two classes to tell apart, got {len(domains.classes)}.")


def require_equal_features(domains: TwoDomains, instead: str) -> None:
    """Raise unless both domains have as many features; the sentence says what to take ``instead``."""
    d_source, d_target = domains.source.X.shape[1], domains.target.X.shape[1]
    if d_source != d_target:
        raise InputError(
            f"X_target: expected {d_source} columns, the features of X_source, got {d_target}; "
            f"{instead} learns across domains with different features."
        )
