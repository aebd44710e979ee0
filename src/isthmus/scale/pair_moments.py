r"""Means and second moments of pairs of rows that are never in one place, and few pairs that have the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, IntArray, Matrix, is_sparse
from isthmus._validation import ordinary_moments
from isthmus.exceptions import InputError
from isthmus.linalg import pivoted_cholesky
from isthmus.scale.row_pairs import Layout, RowPairs

SIDES = "X_source", "X_target"


@dataclass(frozen=True, eq=False)
class PairMoments:
    r"""All that closed forms over pairs z = [x; y] want to know: their mean m, and what is around it.

    .. math:: S = \sum_i w_i (z_i - m) (z_i - m)^T, \qquad w = \sum_i w_i.

    Parameters
    ----------
    layout : Layout
        Where x ends and y begins.
    weight : float
        w.
    mean : array (d,)
        m.
    scatter : array (d, d)
        S.
    """

    layout: Layout
    weight: float
    mean: FloatArray
    scatter: FloatArray

    def without(self, Z: Matrix, weights: FloatArray) -> PairMoments:
        """The moments of all pairs but these: rows Z (n, d), with their weights (n,)."""
        block = CentredRows.of(Z, self.mean, weights)
        left, off = self.weight - float(weights.sum()), -block.sums
        return PairMoments(
            self.layout, left, self.mean + off / left, self.scatter - block.scatter - np.outer(off, off) / left
        )

    def representative_pairs(self) -> tuple[FloatArray, FloatArray]:
        """Return at most 2 d pairs of equal weight with the same mean and covariance: x (n, d_s) and y (n, d_t).

        Whatever is a function of the moments is the same of them.

        Examples
        --------
        >>> found = pair_moments(RowPairs.of(np.array([[1.0], [3.0], [8.0]]), np.array([[0.0], [0.0], [3.0]])))
        >>> X, Y = found.representative_pairs()
        >>> [float(each.mean().round(9)) for each in (X, X * X, X * Y)]  # 12 / 3, (1 + 9 + 64) / 3, 24 / 3
        [4.0, 24.666666667, 8.0]
        """
        Z = self.mean + points_with_covariance(self.scatter / self.weight)
        source, target = self.layout.sides
        return Z[:, source], Z[:, target]


def points_with_covariance(C: FloatArray) -> FloatArray:
    r"""Return at most 2 d points (n, d) around the origin whose covariance is C (d, d).

    With :math:`C = F F^T` they are plus and minus :math:`\sqrt r` times each of the r columns of F, or the
    origin where C is zero.

    Examples
    --------
    >>> points_with_covariance(np.array([[4.0]]))
    array([[ 2.],
           [-2.]])
    """
    F, _ = pivoted_cholesky(C, None)
    R = np.sqrt(max(1, F.shape[1])) * F.T
    return np.vstack([R, -R, np.zeros((0 if len(R) else 1, len(C)))])


@dataclass(frozen=True, eq=False)
class CentredRows:
    """A block of rows around a mean, which is never taken off sparse ones.

    Parameters
    ----------
    Z : array or CSR (n, d)
        Dense rows are centred, and times the roots of their weights; sparse ones are only that.
    mean : array (d,)
        What has still to be taken off: zeros for dense rows.
    root : array (n,)
        The roots of the weights.
    """

    Z: Matrix
    mean: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, Z: Matrix, mean: FloatArray, weights: FloatArray) -> CentredRows:
        """Rows of double precision, and their weights (n,)."""
        root = np.sqrt(weights)
        if is_sparse(Z):
            return cls(Z.multiply(root[:, None]).tocsr(), mean, root)
        Z = Z - mean
        Z *= root[:, None]
        return cls(Z, np.zeros_like(mean), root)

    def part(self, columns: slice) -> CentredRows:
        """Some columns."""
        return CentredRows(self.Z[:, columns], self.mean[columns], self.root)

    def times(self, M: FloatArray) -> FloatArray:
        """√w (z - m)ᵀ M of each row (n, k)."""
        product = np.asarray(self.Z @ M)
        return product - np.outer(self.root, self.mean @ M) if is_sparse(self.Z) else product

    @property
    def lengths(self) -> FloatArray:
        """Weighted squared lengths, w |z - m|², of the rows (n,)."""
        if not is_sparse(self.Z):
            return np.asarray(np.einsum("ij,ij->i", self.Z, self.Z))
        squares: Any = self.Z.multiply(self.Z).sum(axis=1)
        w, across = self.root**2, self.root * (self.Z @ self.mean)
        lengths = np.asarray(squares).ravel() - 2.0 * across + w * float(self.mean @ self.mean)
        return np.asarray(np.maximum(lengths, 0.0))

    @property
    def sums(self) -> FloatArray:
        """Σ w (z - m) (d,)."""
        return np.asarray(self.Z.T @ self.root - float(self.root @ self.root) * self.mean)

    @property
    def scatter(self) -> FloatArray:
        """Σ w (z - m)(z - m)ᵀ (d, d)."""
        if not is_sparse(self.Z):
            return np.asarray(self.Z.T @ self.Z)
        cross = np.outer(self.Z.T @ self.root, self.mean)
        S = (self.Z.T @ self.Z).toarray() - cross - cross.T
        return np.asarray(S + float(self.root @ self.root) * np.outer(self.mean, self.mean))


@dataclass(frozen=True)
class _Sums:
    layout: Layout

    def __call__(self, Z: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
        """Σ w z (d,) and Σ w ()."""
        rows, w = self.layout.parts(Z)
        return np.asarray(rows.T @ w), np.asarray(w.sum())


@dataclass(frozen=True, eq=False)
class _Scatter:
    layout: Layout
    mean: FloatArray

    def __call__(self, Z: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
        """The scatter (d, d) around a mean, and the sum (d,) of what is left of the rows."""
        rows, w = self.layout.parts(Z)
        block = CentredRows.of(rows, self.mean, w)
        return block.scatter, block.sums


def pair_moments(pairs: RowPairs) -> PairMoments:
    """The moments of all pairs, in two passes: the mean, and what is around it.

    Examples
    --------
    >>> found = pair_moments(RowPairs.of(np.array([[1.0], [3.0], [8.0]]), np.array([[0.0], [0.0], [3.0]])))
    >>> found.mean, found.scatter.round(9)
    (array([4., 1.]), array([[26., 12.],
           [12.,  6.]]))
    """
    layout = pairs.layout
    with np.errstate(over="ignore", invalid="ignore"):
        sums, weight = pairs.rows.total(_Sums(layout))
        mean = sums / weight
        _require_finite(mean, layout)
        scatter, rest = pairs.rows.total(_Scatter(layout, mean))
        for columns, name in zip(layout.sides, SIDES, strict=True):
            ordinary_moments(mean[columns], np.diagonal(scatter)[columns] / weight, name)
    # A long sum is off by more than the rounding of its terms: what is left of the mean is taken off, too.
    scatter -= np.outer(rest, rest) / weight
    return PairMoments(layout, float(weight), mean + rest / weight, 0.5 * (scatter + scatter.T))


def _require_finite(values: FloatArray, layout: Layout) -> None:
    for columns, name in zip(layout.sides, SIDES, strict=True):
        if not np.isfinite(values[columns]).all():
            raise InputError(f"{name}: expected finite numbers without NaN or inf, got others.")
