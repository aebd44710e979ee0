"""Rows of one collection as they are compared: features on one scale, then coordinates along the principal axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr
from sklearn.preprocessing import normalize

from isthmus._core.arrays import FloatArray, Matrix, as_dense, is_sparse
from isthmus._core.linalg import PrincipalAxes, principal_axes
from isthmus.exceptions import InputError

AXES = 200
"""The most principal axes that are used."""
EXACT = 2500
"""With more rows and more columns than this, the axes are found by products with few vectors."""
CONSTANT = 1e-12
"""A column whose deviation is below this share of its largest value is constant but for rounding."""
UNCORRELATED, FALLING, SURELY = 2.0, 0.5, 0.9
"""Principal components: squared correlations of their columns over what chance gives, and the fall of deviations."""
FEWEST_COMPONENTS, MOST_LOOKED_AT = 5, 2000
"""Columns (and rows) that it takes to tell, and rows that are looked at."""
TINY = np.finfo(np.float64).tiny
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
        return normalize_rows(self.centred)


def normalize_rows(X: FloatArray) -> FloatArray:
    """Rows of unit length; a row of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    return X / np.where(lengths > 0.0, lengths, 1.0).astype(X.dtype)[:, None]


def normalize_precisely(X: Matrix) -> Matrix:
    """Rows, dense or sparse, of unit length in double precision, however small they are; a row of zeros stays."""
    rows = X.astype(np.float64)
    return normalize(rows) if is_sparse(rows) else normalize_rows(rows)


def scale_rows(X: Matrix) -> Matrix:
    """Rows of unit length; of dense ones, each column is first brought to mean 0 and deviation 1, or is left out.

    What is left out is what does not vary, to the rounding of its own largest value: other columns don't matter.
    Principal components keep their deviations.
    """
    if is_sparse(X):
        return normalize_precisely(X)
    Z = as_dense(X)
    centre, scale = column_scaling(Z)
    return normalize_rows((Z - centre) * scale)


def column_scaling(Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean of each column (d,), and what to multiply by after it is taken away (d,)."""
    largest = np.abs(Z).max(axis=0)
    C = Z / np.where(largest > 0.0, largest, 1.0)
    mean, deviations = C.mean(axis=0), C.std(axis=0)
    varies = deviations > CONSTANT
    if are_components(C - mean, deviations * largest):
        return mean * largest, np.where(varies, 1.0 / max(float((deviations * largest).max()), TINY), 0.0)
    return mean * largest, np.where(varies, 1.0 / np.where(varies, deviations * largest, 1.0), 0.0)


def are_components(C: FloatArray, deviations: FloatArray) -> bool:
    r"""Whether columns are principal components: of falling deviation, and not correlated with each other.

    Brought to one deviation, such columns would have no principal axes left: what they say lies in their deviations.

    .. math:: \frac{n - 1}{d (d - 1)} \sum_{j \ne k} r_{jk}^2 \le 2, \qquad
              \mathrm{corr}(\text{rank of } \sigma_j,\; j) \le -\max(0.5, \min(3 / \sqrt{d - 1}, 0.9))

    By chance the first is about 1, and the second about 0 with a deviation of :math:`1 / \sqrt{d - 1}`.

    Parameters
    ----------
    C : array (n, d)
        Columns of mean zero, in any unit.
    deviations : array (d,)
        Those of the columns in the units that they came in.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 6)) @ rng.normal(size=(6, 6))
    >>> Z = (X - X.mean(axis=0)) @ np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2].T
    >>> are_components(X - X.mean(axis=0), X.std(axis=0)), are_components(Z, Z.std(axis=0))
    (False, True)
    """
    varies = deviations > 0.0
    n, d = len(C), int(varies.sum())
    if d < FEWEST_COMPONENTS or n < FEWEST_COMPONENTS:
        return False
    order = spearmanr(np.arange(d), deviations[varies]).statistic
    by_chance = 3.0 / np.sqrt(d - 1)
    if not order <= -max(FALLING, min(by_chance, SURELY)):  # NaN where all are equal: already on one scale
        return False
    S = C[np.linspace(0, n - 1, min(n, MOST_LOOKED_AT), dtype=np.intp)][:, varies]
    S = S - S.mean(axis=0)
    S = S / np.maximum(np.sqrt((S**2).sum(axis=0)), TINY)
    G = S.T @ S if d <= len(S) else S @ S.T
    squares = (float((G**2).sum()) - d) / (d * (d - 1))
    return bool((len(S) - 1) * squares <= UNCORRELATED)


def prepare_rows(X: Matrix, name: str = "X", k: int = AXES) -> Prepared:
    """Rows of unit length, centred, along at most ``k`` principal axes."""
    n, d = X.shape
    if min(n, d) <= EXACT:
        axes = principal_axes(X, tolerance=1e-4).leading(min(k, n - 1, d))
        mean, C = axes.mean, axes.coordinates(X)
        C = C[:, axes.deviations > 0.0]
    else:
        axes = fit_leading_axes(X, k)
        mean, C = axes.mean, axes.coordinates(X)
    if not C.shape[1]:
        raise InputError(f"{name}: expected rows that differ from each other, got {n} that are the same.")
    lengths = np.asarray(X.multiply(X).sum(axis=1)).ravel() if is_sparse(X) else np.einsum("ij,ij->i", X, X)
    squares = lengths - 2.0 * np.asarray(X @ mean).ravel() + mean @ mean
    return Prepared(X, mean, C.astype(np.float32), np.maximum(squares, 0.0))


def fit_leading_axes(X: Matrix, k: int) -> PrincipalAxes:
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
