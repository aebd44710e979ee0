"""Ridge regression with many outputs, whose penalty is chosen by the exact error of leaving out each row in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray
from isthmus.maps.affine import AffineMap

PENALTIES: FloatArray = 10.0 ** np.arange(-4.0, 3.25, 0.5)
"""The penalties that are tried, in units of the mean eigenvalue of the input's Gram matrix."""
SMALLEST = 1e-10
"""Eigenvalues of the Gram matrix below this share of the largest are rounding (in double precision)."""

MANY = 2
"""Rows for each column from which the error is computed from products of d columns, and never from a table of
residuals: half of the time. Residuals are then differences of large numbers, for which single precision has too few
digits, and double precision too where there are as many columns as rows."""


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """What a ridge regression has learned.

    Parameters
    ----------
    map : AffineMap
        Inputs to outputs.
    penalty : float
        λ, as it enters the formula.
    place : int
        Its place among the penalties that were offered.
    error : float
        The weighted sum of squared errors when each row is predicted from all others.
    """

    map: AffineMap
    penalty: float
    place: int
    error: float


@dataclass(frozen=True, eq=False)
class Spectrum:
    """What enters of centred and weighted inputs A (n, d) and outputs B (n, e), along the axes of the inputs.

    Parameters
    ----------
    s : array (r,)
        The singular values of A.
    V : array (d, r)
        Its right singular vectors.
    Z : array (r, e)
        Uᵀ B, with its left singular vectors U.
    """

    s: FloatArray
    V: FloatArray
    Z: FloatArray

    @property
    def values(self) -> FloatArray:
        """Eigenvalues of the Gram matrix."""
        return np.asarray(self.s**2)

    def coefficients(self, penalty: float) -> FloatArray:
        """W (d, e)."""
        return np.asarray(self.V @ ((self.s / (self.values + self.s.dtype.type(penalty)))[:, None] * self.Z))

    def best(
        self,
        penalties: FloatArray,
        near: int | None,
        n: int,
        squared: float,
        errors: Callable[[FloatArray], Sequence[float]],
    ) -> tuple[float, int, float]:
        """The penalty with the least error among those offered, its place, and the error.

        The search begins ``near`` one, or where generalised cross-validation of n rows, whose outputs have this sum
        of ``squared`` lengths, has its minimum.
        """
        offered = penalties * float(self.values.mean())
        start = min(max(near or 0, 0), len(penalties) - 1)
        if near is None:
            start = _generalised(self.values, self.Z, n, squared, offered)
        place, error = _downhill(lambda places: errors(offered[places]), start, len(penalties))
        return float(offered[place]), place, error


def ridge(
    X: FloatArray,
    Y: FloatArray,
    *,
    weights: FloatArray | None = None,
    penalties: FloatArray = PENALTIES,
    near: int | None = None,
) -> RidgeFit:
    r"""Outputs Y (n, e) from inputs X (n, d) with an intercept.

    .. math:: \min_W \sum_i w_i \lVert y_i - m_y - W^T (x_i - m_x) \rVert^2 + \lambda \lVert W \rVert_F^2

    The penalty is that with the least error of leaving out each row in turn, which is exact and costs no further
    fit: :math:`r_i / (1 - h_{ii})`. The search goes downhill through the offered penalties, from where generalised
    cross-validation has its minimum, or from ``near``.

    Parameters
    ----------
    X : array (n, d)
        Inputs, in single or double precision; so is the result.
    Y : array (n, e)
        Outputs.
    weights : array (n,), optional
        :math:`w_i > 0`; one for each row by default.
    penalties : array (p,)
        What is offered, rising, in units of the mean eigenvalue of the centred and weighted Gram matrix.
    near : int, optional
        Where to begin.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fit = ridge(X, 2.0 * X + 1.0)
    >>> fit.map(np.array([[10.0]])).round(2)
    array([[21.]])
    """
    w = np.ones(len(X), dtype=X.dtype) if weights is None else np.asarray(weights, dtype=X.dtype)
    share = w / w.sum()
    x_mean, y_mean = share @ X, share @ Y
    A, B = X - x_mean, Y - y_mean
    A[:, (X[0] == X).all(axis=0)] = 0.0  # of constant columns a weighted mean leaves rounding, which is no signal
    if weights is not None:
        A, B = A * np.sqrt(w)[:, None], B * np.sqrt(w)[:, None]
    U, found = spectrum(A, B)
    if not len(found.s):  # constant inputs predict the mean
        others = np.maximum(
            1.0 - share, np.finfo(X.dtype).eps
        )  # none are left of one pair, or of one by far heaviest
        error = float(((B / others[:, None]) ** 2).sum(dtype=np.float64))
        return RidgeFit(AffineMap(np.zeros((X.shape[1], Y.shape[1]), X.dtype), x_mean, y_mean), 0.0, 0, error)
    many = len(X) >= MANY * X.shape[1] and X.dtype == np.float64
    left_out = (_leave_one_out_of_many if many else _leave_one_out)(U, found.values, found.Z, B, share)
    squared = float(np.einsum("ij,ij->", B, B, dtype=np.float64))
    best = found.best(penalties, near, len(X), squared, lambda offered: [left_out(float(each)) for each in offered])
    penalty, place, error = best
    return RidgeFit(AffineMap(found.coefficients(penalty), x_mean, y_mean), penalty, place, error)


def spectrum(A: FloatArray, B: FloatArray) -> tuple[FloatArray, Spectrum]:
    """U (n, r), and the spectrum, of centred and weighted inputs A (n, d) and outputs B (n, e).

    Examples
    --------
    >>> U, found = spectrum(np.array([[2.0], [-2.0]]), np.array([[1.0], [-1.0]]))
    >>> found.values, found.coefficients(0.0).round(9)
    (array([8.]), array([[0.5]]))
    """
    U, s, V = _thin_svd(A)
    return U, Spectrum(s, V, np.asarray(U.T @ B))


def _thin_svd(A: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """U (n, r), s (r,), V (d, r) of centred rows, by the smaller of the two Gram matrices."""
    n, d = A.shape
    values, vectors = sla.eigh(A.T @ A if d <= n else A @ A.T, check_finite=False)
    rounding = max(SMALLEST, 100.0 * float(np.finfo(A.dtype).eps))
    kept = values > rounding * max(float(values[-1]), float(np.finfo(A.dtype).tiny))
    s, E = np.sqrt(values[kept]), vectors[:, kept]
    return (A @ (E / s), s, E) if d <= n else (E, s, A.T @ (E / s))


def _leave_one_out(
    U: FloatArray, values: FloatArray, Z: FloatArray, B: FloatArray, share: FloatArray
) -> Callable[[float], float]:
    """The error of a penalty, after what is common to all has been computed once.

    With q the share of each direction that the penalty takes away, the residual is R + U q Z, and 1 - h the part of
    a row outside U plus U² q: sums of small numbers, not differences of large ones.
    """
    R = B - U @ Z
    G, K = R @ Z.T, Z @ Z.T
    lengths, squares = np.einsum("ij,ij->i", R, R), U**2
    outside = np.maximum(1.0 - share - squares.sum(axis=1), 0.0)

    def error(penalty: float) -> float:
        q = (penalty / (values + penalty)).astype(U.dtype)
        F = U * q
        residual = lengths + 2.0 * np.einsum("ij,ij->i", F, G) + np.einsum("ij,ij->i", F @ K, F)
        left = np.maximum(outside + squares @ q, np.finfo(U.dtype).tiny ** 0.25)
        return float(np.sum(np.maximum(residual, 0.0) / left**2, dtype=np.float64))

    return error


def _leave_one_out_of_many(
    U: FloatArray, values: FloatArray, Z: FloatArray, B: FloatArray, share: FloatArray
) -> Callable[[float], float]:
    """The same where rows are many: with h = 1 - q, the sum of c |B - U h Z|² over rows, c = 1 / (1 - leverage)²."""
    K, G = Z @ Z.T, U * (B @ Z.T)
    lengths, squares = np.einsum("ij,ij->i", B, B), U**2

    def error(penalty: float) -> float:
        h = values / (values + penalty)
        root = 1.0 / np.maximum(1.0 - share - squares @ h, np.finfo(U.dtype).eps)
        F = U * root[:, None]
        c = root**2
        return float(max(c @ lengths - 2.0 * (c @ G) @ h + h @ ((F.T @ F) * K) @ h, 0.0))

    return error


def _generalised(values: FloatArray, Z: FloatArray, n: int, squared: float, offered: FloatArray) -> int:
    """Where generalised cross-validation has its minimum: every row is taken to have the same leverage."""
    explained = np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
    rest = max(float(squared - explained.sum()), 0.0)
    taken = offered[:, None] / (values[None, :] + offered[:, None])
    outside = max(n - 1.0 - len(values), 0.0)
    return int(np.argmin((taken**2 @ explained + rest) / (outside + taken.sum(axis=1)) ** 2))


def _downhill(errors: Callable[[list[int]], Sequence[float]], start: int, n: int) -> tuple[int, float]:
    """The first place, from ``start``, that is no worse than its neighbours, whose errors are asked for at once."""
    known: dict[int, float] = {}
    place = start
    while True:
        near = [k for k in (place, place - 1, place + 1) if 0 <= k < n]
        missing = [k for k in near if k not in known]
        known.update(zip(missing, errors(missing) if missing else [], strict=True))
        best = min(near, key=known.__getitem__)
        if best == place:
            return place, known[place]
        place = best
