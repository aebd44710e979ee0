"""Rankings that learn nothing, as systems of the study: what others have to be better than."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import normalize

from isthmus._core.validation import FloatArray
from isthmus.exceptions import InputError
from studies.pairs.rows import PairedRows


class Ranking(BaseEstimator):  # type: ignore[misc]
    """The base: nothing is learned, and the similarities of the objects held out follow from their rows."""

    def fit(self, X_source: Any, y_source: Any, X_target: Any, y_target: Any, *, pairs: Any = None) -> Self:
        """Do nothing."""
        return self

    def similarities(self, rows: PairedRows) -> FloatArray:
        """Of the objects held out (n, n): rows of the source against rows of the target."""
        raise NotImplementedError


class Chance(Ranking):
    """All alike: every order of the rows is as likely."""

    def similarities(self, rows: PairedRows) -> FloatArray:
        """Zeros."""
        n = len(rows.y_test)
        return np.zeros((n, n))


class ClassOracle(Ranking):
    """Rows of the same class first, in any order: what knowing the class of every row, and no more, is worth."""

    def similarities(self, rows: PairedRows) -> FloatArray:
        """One for the same class, else zero."""
        return np.equal.outer(rows.y_test, rows.y_test).astype(float)


class SharedColumns(Ranking):
    """Cosines over the columns that have the same name in both domains, as they are."""

    def similarities(self, rows: PairedRows) -> FloatArray:
        """Cosines; an error where no column has the same name."""
        if not len(rows.shared):
            raise InputError("columns: expected some that have the same name in both domains, got none.")
        A, B = (normalize(Q[:, k]) for Q, k in zip((rows.Q_source, rows.Q_target), rows.shared.T, strict=True))
        S = A @ B.T
        return np.asarray(S.toarray() if hasattr(S, "toarray") else S)
