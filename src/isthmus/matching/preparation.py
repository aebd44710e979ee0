"""Rows of one collection as they are compared: features on one scale, then coordinates along the principal axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import normalize

from isthmus._arrays import FloatArray, Matrix, as_dense, is_sparse
from isthmus.exceptions import InputError
from isthmus.linalg import PrincipalAxes, principal_axes

AXES = 200
"""The most principal axes that are used."""
EXACT = 2500
"""With more rows and more columns than this, the axes are found by products with few vectors."""
CONSTANT = 1e-12
"""A column whose deviation is below this share of its largest value is constant but for rounding."""
SPARE, POWERS = 40, 6
"""Vectors more than axes, and rounds, of that."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """One collection, ready to be matched.

    Parameters
    ----------
    features : array or CSR (n, d)
        Rows of unit length.
    centred : array (n, k)
        Their coordinates along the principal axes, of most variance first.
    squares : array (n,)
        The squared length of each centred row, in all directions.
    """

    features: Matrix
    mean: FloatArray
    centred: FloatArray
    squares: FloatArray

    @property
    def points(self) -> FloatArray:
        """The coordinates with unit length (n, k), in single precision."""
        return unit(self.centred)


def unit(X: FloatArray) -> FloatArray:
    """Rows of unit length; a row of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    return X / np.where(lengths > 0.0, lengths, 1.0).astype(X.dtype)[:, None]


def of_unit_length(X: Matrix) -> Matrix:
    """Rows, dense or sparse, of unit length in double precision, however small they are; a row of zeros stays."""
    rows = X.astype(np.float64)
    return normalize(rows) if is_sparse(rows) else unit(rows)


def scaled(X: Matrix) -> Matrix:
    """Rows of unit length; of dense ones, each column is first brought to mean 0 and deviation 1, or is left out.

    What is left out is what does not vary, to the rounding of its own largest value: other columns don't matter.
    """
    if is_sparse(X):
        return of_unit_length(X)
    Z = as_dense(X)
    largest = np.abs(Z).max(axis=0)
    Z = Z / np.where(largest > 0.0, largest, 1.0)
    Z -= Z.mean(axis=0)
    deviations = Z.std(axis=0)
    return unit(Z * np.where(deviations > CONSTANT, 1.0 / np.maximum(deviations, CONSTANT), 0.0))


def prepared(X: Matrix, name: str = "X", k: int = AXES) -> Prepared:
    """Rows of unit length, centred, along at most ``k`` principal axes."""
    n, d = X.shape
    if min(n, d) <= EXACT:
        axes = principal_axes(X, tolerance=1e-4).leading(min(k, n - 1, d))
        mean, C = axes.mean, axes.coordinates(X)
        C = C[:, axes.deviations > 0.0]
    else:
        axes = leading_axes(X, k)
        mean, C = axes.mean, axes.coordinates(X)
    if not C.shape[1]:
        raise InputError(f"{name}: expected rows that differ from each other, got {n} that are the same.")
    lengths = np.asarray(X.multiply(X).sum(axis=1)).ravel() if is_sparse(X) else np.einsum("ij,ij->i", X, X)
    squares = lengths - 2.0 * np.asarray(X @ mean).ravel() + mean @ mean
    return Prepared(X, mean, C.astype(np.float32), np.maximum(squares, 0.0))


def leading_axes(X: Matrix, k: int) -> PrincipalAxes:
    """The first ``k`` principal axes, by block power iterations from fixed random vectors."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    V = np.random.default_rng(0).normal(size=(X.shape[1], k + SPARE))
    for _ in range(POWERS):
        V = np.linalg.qr(V)[0]
        U = np.asarray(X @ V) - mean @ V
        V = np.asarray(X.T @ U) - np.outer(mean, U.sum(axis=0))
    V = np.linalg.qr(V)[0]
    U = np.asarray(X @ V) - mean @ V
    values, E = np.linalg.eigh(U.T @ U)
    deviations = np.sqrt(np.maximum(values[::-1][:k], 0.0) / X.shape[0])
    return PrincipalAxes(mean, V @ E[:, ::-1][:, :k], deviations)
