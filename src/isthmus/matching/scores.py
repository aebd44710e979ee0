"""A table of scores between the rows of two collections, known by its factors; only blocks of it are written out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray, IntArray

CELLS = 4_000_000
"""Cells of a table that are held at once."""


@dataclass(frozen=True, eq=False)
class Scores:
    r""":math:`S = L R^T`: one row per row of A (n), one column per row of B (m).

    Sums, multiples, offsets per row or column, and standardisation are all of this form, with some more columns in
    the factors: a table of 20,000 by 20,000 scores is two slim arrays.

    Parameters
    ----------
    left : array (n, q)
        L.
    right : array (m, q)
        R.

    Examples
    --------
    >>> Scores(np.array([[1.0], [2.0]]), np.array([[3.0], [5.0]])).shifted(rows=np.array([0.0, 1.0])).table()
    array([[ 3.,  5.],
           [ 7., 11.]])
    """

    left: FloatArray
    right: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns (n, m)."""
        return len(self.left), len(self.right)

    def table(self) -> FloatArray:
        """All scores (n, m)."""
        return np.asarray(self.left @ self.right.T)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Some rows after others: which, and their scores."""
        n, m = self.shape
        step = max(1, CELLS // max(1, m))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, self.left[rows] @ self.right.T

    def at(self, i: IntArray, j: IntArray) -> FloatArray:
        """The scores of pairs of a row and a column."""
        return np.asarray(np.einsum("ij,ij->i", self.left[i], self.right[j]))

    def among(self, rows: IntArray, columns: IntArray) -> Scores:
        """The table of some rows and columns."""
        return Scores(self.left[rows], self.right[columns])

    def __add__(self, other: Scores) -> Scores:
        return Scores(np.hstack([self.left, other.left]), np.hstack([self.right, other.right]))

    def __rmul__(self, factor: float) -> Scores:
        return Scores(self.left.dtype.type(factor) * self.left, self.right)

    def shifted(self, rows: FloatArray | float = 0.0, columns: FloatArray | float = 0.0) -> Scores:
        """The same plus a number per row and a number per column."""
        (n, m), kind = self.shape, self.left.dtype
        left = np.stack([np.broadcast_to(rows, n), np.ones(n)], axis=1).astype(kind)
        right = np.stack([np.ones(m), np.broadcast_to(columns, m)], axis=1).astype(kind)
        return self + Scores(left, right)

    def standardised(self) -> Scores:
        """The same with mean 0 and deviation 1 over all cells; a constant table becomes zero."""
        (a, K), (b, H) = (_moments(F) for F in (self.left, self.right))
        mean = float(a @ b)
        variance = float((K * H).sum() + b @ K @ b + a @ H @ a)
        factor = 1.0 / np.sqrt(variance) if variance > 1e-12 * max(mean**2, 1e-12) else 0.0
        return (factor * self).shifted(rows=-factor * mean)


def _moments(F: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of rows. Of centred rows: a difference of two large sums would lose the spread."""
    mean = F.mean(axis=0, dtype=np.float64)
    centred = F - mean.astype(F.dtype)
    return mean, (centred.T @ centred).astype(np.float64) / len(F)
