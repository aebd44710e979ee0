"""Means and variances of rows that are never in one place, from sums over blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._arrays import FloatArray, IntArray, Matrix, is_sparse
from isthmus._rows import Rows
from isthmus._validation import ordinary_moments
from isthmus.exceptions import InputError


@dataclass(frozen=True, eq=False)
class Moments:
    """What a fit wants to know of all rows together.

    Parameters
    ----------
    counts : array (C,)
        How many rows of each code there are.
    means : array (C, d)
        Their means; zeros where there are none.
    variances : array (d,)
        Of each column, around the mean of all rows.
    zeros : int
        How many rows are nothing but zeros.
    sparse : bool
        Whether blocks are sparse.
    """

    counts: IntArray
    means: FloatArray
    variances: FloatArray
    zeros: int
    sparse: bool

    @property
    def mean(self) -> FloatArray:
        """Of all rows (d,)."""
        return np.asarray(self.counts @ self.means / self.counts.sum())

    @property
    def squared(self) -> float:
        """The mean squared length of a row."""
        return float(self.variances.sum() + self.mean @ self.mean)


@dataclass(frozen=True)
class _ClassSums:
    n_classes: int

    def __call__(self, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
        """Sums (C, d) and counts (C,) by code, rows of zeros (), sparse blocks ()."""
        if len(codes) and not 0 <= int(codes.min()) <= int(codes.max()) < self.n_classes:
            found = int(codes.max()) if codes.max() >= self.n_classes else int(codes.min())
            raise InputError(f"codes: expected numbers from 0 to {self.n_classes - 1}, one per class, got {found}.")
        member = sp.csr_array(
            (np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(self.n_classes, len(codes))
        )
        sums: Any = member @ (sp.csr_array(X) if is_sparse(X) else X)
        sums = sums.toarray() if is_sparse(sums) else sums
        lengths: Any = abs(X).max(axis=1).toarray() if is_sparse(X) else np.abs(X).max(axis=1, initial=0.0)
        zeros, counts = np.count_nonzero(lengths == 0.0), np.bincount(codes, minlength=self.n_classes)
        return sums, counts.astype(np.float64), np.asarray(1.0 * zeros), np.asarray(1.0 * is_sparse(X))


@dataclass(frozen=True, eq=False)
class _Deviations:
    mean: FloatArray

    def __call__(self, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
        """Squared deviations from the mean, summed (d,)."""
        if is_sparse(X):
            D, mean = sp.csr_array(X).astype(np.float64), self.mean
            sums, squares = (np.asarray(S.sum(axis=0)).ravel() for S in (D, D.multiply(D)))
            return (squares - 2.0 * mean * sums + X.shape[0] * mean**2,)
        D = X - self.mean
        return (np.einsum("ij,ij->j", D, D),)


def moments(rows: Rows, n_classes: int, name: str = "X_source") -> Moments:
    """The moments of all rows, in two passes.

    Examples
    --------
    >>> from isthmus._rows import ArrayRows
    >>> found = moments(ArrayRows(np.array([[1.0], [3.0], [8.0]]), np.array([0, 0, 1])), 2)
    >>> found.means.ravel(), found.mean, found.variances.round(2)
    (array([2., 8.]), array([4.]), array([8.67]))
    """
    if not rows.n:
        raise InputError(f"{name}: expected at least 1 row(s), got 0.")
    with np.errstate(over="ignore", invalid="ignore"):
        sums, counts, zeros, sparse = rows.total(_ClassSums(n_classes))
        mean = sums.sum(axis=0) / rows.n
        if not np.isfinite(mean).all():
            raise InputError(f"{name}: expected finite numbers without NaN or inf, got others.")
        (squares,) = rows.total(_Deviations(mean))
        ordinary_moments(mean, squares / rows.n, name)
    means, variances = sums / np.maximum(counts, 1.0)[:, None], np.maximum(squares, 0.0) / rows.n
    return Moments(counts.astype(np.intp), means, variances, int(zeros), bool(sparse))
