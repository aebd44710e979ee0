r"""Regressions from rows X (n, d) to rows Y (n, e) that are the same objects: arrays in, a map as a value out.

With weights :math:`w_i`, :math:`X_c` and :math:`Y_c` around their weighted means, and W (d, e):

.. math::

   \text{ridge}\quad & \min_W \lVert Y_c - X_c W \rVert_w^2 + \lambda \lVert W \rVert_F^2, \quad
      W = (X_c^T D_w X_c + \lambda I)^{-1} X_c^T D_w Y_c \\
   \text{kernel ridge}\quad & \text{ridge on } \phi(x) = K_{ZZ}^{-1/2} k(Z, x), \quad
      k(z, x) = e^{-\lVert z - x \rVert^2 / 2 \sigma^2} \\
   \text{low rank}\quad & \text{ridge over rank } W \le r: \quad W = R V V^T
      \text{ with R of ridge, V leading in } R^T X_c^T D_w Y_c \\
   \text{Procrustes}\quad & \max_{U^T U = V^T V = I} \mathrm{tr}\, V U^T X_c^T D_w Y_c, \quad W = U V^T

Penalties, and so kernels and ranks, are chosen by data: λ has the least error when each row is predicted from all
others, which is exact and costs no further fit (:func:`fit_ridge`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg as sla
from scipy.spatial.distance import pdist

from isthmus._core.validation import FloatArray, Matrix, ShortRepr, as_dense


@dataclass(frozen=True, eq=False, repr=False)
class AffineMap(ShortRepr):
    r""":math:`x \mapsto W^T (x - m_x) + m_y`.

    Parameters
    ----------
    W : array (d, e)
        The linear part.
    input_mean : array (d,)
        :math:`m_x`.
    output_mean : array (e,)
        :math:`m_y`.

    Examples
    --------
    >>> AffineMap(np.array([[2.0]]), np.array([1.0]), np.array([5.0]))(np.array([[1.0], [3.0]]))
    array([[5.],
           [9.]])
    """

    W: FloatArray
    input_mean: FloatArray
    output_mean: FloatArray

    def __call__(self, X: Matrix) -> FloatArray:
        """Map rows (n, d), dense or sparse, to (n, e)."""
        Y = np.asarray(X @ self.W)
        Y += self.offset
        return Y

    @cached_property
    def offset(self) -> FloatArray:
        """The image (e,) of the zero of the input."""
        return np.asarray(self.output_mean - self.input_mean @ self.W)

    def astype(self, dtype: Any) -> AffineMap:
        """Return the map in another precision; its offset is computed in this one."""
        cast = AffineMap(*(part.astype(dtype) for part in (self.W, self.input_mean, self.output_mean)))
        cast.__dict__["offset"] = self.offset.astype(dtype)
        return cast


# Errors of held-out rows, and residuals of the fit, for a penalty: squares (2, m), weighted.
RowErrors: TypeAlias = Callable[[float], FloatArray]
# The penalties that are tried, in units of the mean eigenvalue of the input's Gram matrix.
PENALTIES: FloatArray = 10.0 ** np.arange(-4.0, 3.25, 0.5)
# Eigenvalues of the Gram matrix below this share of the largest are rounding (in double precision).
SMALLEST = 1e-10

# Random rows whose leave-one-out errors are computed first, and the factor by which they become more.
FIRST_ROWS, MORE_ROWS = 512, 4
# With more than this, all are taken.
MOST_ROWS = 10_000
# Standard errors by which penalties have to differ where not all rows are compared.
SURE = 6.0
# The share by which the squared residuals of a sample may differ from those of all rows.
UNLIKE_ALL = 0.25
# Rows that are centred at once.
BLOCK = 2048


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """A ridge regression that was fitted.

    Parameters
    ----------
    map : AffineMap
        Inputs to outputs.
    penalty : float
        λ, as it enters the formula.
    place : int
        Its place among the candidate penalties.
    error : float
        The weighted sum of squared errors when each row is predicted from all others; of many rows, estimated from
        as many as decide between penalties.
    """

    map: AffineMap
    penalty: float
    place: int
    error: float


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Centred and weighted inputs A (n, d) and outputs B (n, e) along the axes of the inputs.

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
        """Return W (d, e)."""
        return np.asarray(self.V @ ((self.s / (self.values + self.s.dtype.type(penalty)))[:, None] * self.Z))

    def best(
        self, penalties: FloatArray, near: int | None, n: int, squared: float, errors: Callable[[int], RowErrors]
    ) -> tuple[float, int, float]:
        """Return the candidate penalty with the least error, its place, and the error.

        The search begins ``near`` a place, or where generalised cross-validation of n rows, whose outputs have this
        sum of ``squared`` lengths, has its minimum. ``errors(m)`` are those of m random rows, or of all n.
        """
        offered = penalties * float(self.values.mean())
        residuals, factors = _generalised_errors(self.values, self.Z, n, squared, offered)
        start = int(np.argmin(residuals * factors)) if near is None else min(max(near, 0), len(penalties) - 1)
        m = FIRST_ROWS if n > 2 * FIRST_ROWS else n
        while True:
            place, error, sure = _descend(_Estimate(errors(m), offered, residuals, factors, m, n), start)
            if sure:
                return float(offered[place]), place, error
            m = MORE_ROWS * m if MORE_ROWS * m <= min(n, MOST_ROWS) else n


def fit_ridge(
    X: FloatArray,
    Y: FloatArray,
    *,
    weights: FloatArray | None = None,
    penalties: FloatArray = PENALTIES,
    near: int | None = None,
) -> RidgeFit:
    r"""Fit outputs Y (n, e) from inputs X (n, d) by ridge regression with an intercept.

    .. math:: \min_W \sum_i w_i \lVert y_i - m_y - W^T (x_i - m_x) \rVert^2 + \lambda \lVert W \rVert_F^2

    The penalty is that with the least leave-one-out error, which is exact and costs no further fit:
    :math:`r_i / (1 - h_{ii})`. The search goes downhill through the candidates, from where generalised
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
        Candidates, rising, in units of the mean eigenvalue of the centred and weighted Gram matrix.
    near : int, optional
        Where to begin.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fit = fit_ridge(X, 2.0 * X + 1.0)
    >>> fit.map(np.array([[10.0]])).round(2)
    array([[21.]])
    """
    w = np.ones(len(X), dtype=X.dtype) if weights is None else np.asarray(weights, dtype=X.dtype)
    share = w / w.sum()
    x_mean, y_mean = share @ X, share @ Y
    A, B = X - x_mean, Y - y_mean
    A[:, (X[0] == X).all(axis=0)] = 0.0  # of constant columns a weighted mean leaves rounding, which is no signal
    if weights is not None:
        A *= np.sqrt(w)[:, None]
        B *= np.sqrt(w)[:, None]
    left, found = decompose(A, B)
    if not len(found.s):  # constant inputs predict the mean
        # The share of all other rows: none is left of one pair, or of one that is by far the heaviest.
        others = np.maximum(1.0 - share, np.finfo(X.dtype).eps)
        error = float(((B / others[:, None]) ** 2).sum(dtype=np.float64))
        return RidgeFit(AffineMap(np.zeros((X.shape[1], Y.shape[1]), X.dtype), x_mean, y_mean), 0.0, 0, error)
    order = np.random.default_rng(0).permutation(len(X))

    def errors(m: int) -> RowErrors:
        rows: Any = slice(None) if m == len(X) else order[:m]
        return leave_one_out(left(rows), found, B[rows], share[rows])

    squared = _sum_squares(B)
    penalty, place, error = found.best(penalties, near, len(X), squared, errors)
    return RidgeFit(AffineMap(found.coefficients(penalty), x_mean, y_mean), penalty, place, error)


def decompose(A: FloatArray, B: FloatArray) -> tuple[Callable[[Any], FloatArray], Spectrum]:
    """Return U (n, r), as a function of rows, and the spectrum of centred and weighted inputs A (n, d), outputs B.

    By the smaller of the two Gram matrices of A.

    Examples
    --------
    >>> U, found = decompose(np.array([[2.0], [-2.0]]), np.array([[1.0], [-1.0]]))
    >>> found.values, found.coefficients(0.0).round(9), np.abs(U([0])).round(3)
    (array([8.]), array([[0.5]]), array([[0.707]]))
    """
    n, d = A.shape
    values, vectors = sla.eigh(A.T @ A if d <= n else A @ A.T, driver="evd", check_finite=False)
    rounding = max(SMALLEST, 100.0 * float(np.finfo(A.dtype).eps))
    kept = values > rounding * max(float(values[-1]), float(np.finfo(A.dtype).tiny))
    s, E = np.sqrt(values[kept]), vectors[:, kept]
    over = E / s
    if d > n:
        return E.__getitem__, Spectrum(s, A.T @ over, E.T @ B)
    # Of many rows, U is needed for those only whose errors are compared.
    return lambda rows: np.asarray(A[rows] @ over), Spectrum(s, E, over.T @ (A.T @ B))


def leave_one_out(U: FloatArray, found: Spectrum, B: FloatArray, share: FloatArray) -> RowErrors:
    """Return a function of the penalty: squared errors (m,) of held-out rows, and squared residuals (m,) of the fit.

    With q the share of each direction that the penalty removes, the residual is R + U q Z, and 1 - h the part of
    a row outside U plus U² q: sums of small numbers, not differences of large ones.

    Parameters
    ----------
    U : array (m, r)
        Rows of the left singular vectors.
    found : Spectrum
        Of all rows.
    B : array (m, e)
        The same rows of the outputs, centred and weighted.
    share : array (m,)
        Of these rows in the weight of all.
    """
    squares = U**2
    outside = np.maximum(1.0 - share - squares.sum(axis=1), 0.0)
    R = B - U @ found.Z

    def errors(penalty: float) -> FloatArray:
        q = (penalty / (found.values + penalty)).astype(U.dtype)
        D = (U * q) @ found.Z
        D += R
        residuals = np.einsum("ij,ij->i", D, D, dtype=np.float64)
        # Products of finite float32 values can raise BLAS's "invalid" flag, depending on what lies in its buffers.
        with np.errstate(invalid="ignore"):
            left = np.maximum(outside + squares @ q, np.finfo(U.dtype).tiny ** 0.25)
        return np.stack([residuals / left.astype(np.float64) ** 2, residuals])

    return errors


def _generalised_errors(
    values: FloatArray, Z: FloatArray, n: int, squared: float, offered: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the sums of squared residuals (p,), and the factors (p,) of generalised cross-validation.

    Their product is the error of leaving out each row if the leverage of all were equal.
    """
    explained = np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
    rest = max(float(squared - explained.sum()), 0.0)
    taken = offered[:, None] / (values[None, :] + offered[:, None])
    outside = max(n - 1.0 - len(values), 0.0)
    return taken**2 @ explained + rest, (n / (outside + taken.sum(axis=1))) ** 2


@dataclass(frozen=True, eq=False)
class _Estimate:
    """The leave-one-out errors of all penalties, from those of m of n rows.

    The sum of squared residuals of all rows is known. What a sample has to tell is by how much the errors of rows
    differ from their residuals times the factor of generalised cross-validation: little, with a small variance.
    """

    errors: RowErrors
    offered: FloatArray
    residuals: FloatArray
    factors: FloatArray
    m: int
    n: int

    def __call__(self, place: int) -> tuple[float, FloatArray]:
        """Return the error, and the part of it that each row of the sample has."""
        errors, residuals = self.errors(float(self.offered[place]))
        if self.m == self.n:
            return float(errors.sum()), errors
        rows = errors - self.factors[place] * residuals
        # Without the few rows that most of the residuals come from, the sample knows nothing of its own error.
        if abs(residuals.mean() * self.n / self.residuals[place] - 1.0) > UNLIKE_ALL:
            return float(self.residuals[place] * self.factors[place]), np.full(len(rows), np.nan)
        return float(self.residuals[place] * self.factors[place] + rows.mean() * self.n), rows

    def is_sure(self, best: tuple[float, FloatArray], other: tuple[float, FloatArray]) -> bool:
        """Return whether all rows would say the same of two penalties as the sample does."""
        if self.m == self.n:
            return True
        deviation = (other[1] - best[1]).std() * np.sqrt((1.0 - self.m / self.n) / self.m) * self.n
        return bool(other[0] - best[0] > SURE * deviation)


def _descend(estimate: _Estimate, start: int) -> tuple[int, float, bool]:
    """Return the first place, from ``start``, no worse than its neighbours, its error, and whether all is sure."""
    known: dict[int, tuple[float, FloatArray]] = {}
    place, sure = start, True
    while sure:
        near = [k for k in (place, place - 1, place + 1) if 0 <= k < len(estimate.offered)]
        known.update({k: estimate(k) for k in near if k not in known})
        best = min(near, key=lambda k: known[k][0])
        sure = all(estimate.is_sure(known[best], known[k]) for k in near if k != best)
        if best == place:
            break
        place = best
    return place, known[place][0], sure


# Rows that the kernel is compared with; with more pairs than these, an even sample of them (Nyström).
MOST_LANDMARKS = 1000
# Rows whose distances the bandwidth is the median of.
MOST_FOR_BANDWIDTH = 1000
# Of the largest entry whose square is still a number: entries above are taken for this. Landmarks are far below.
FAR = 1e-3
# Eigenvalues of the kernel matrix below this share of the largest are rounding.
SMALLEST_EIGENVALUE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class KernelMap(ShortRepr):
    r""":math:`x \mapsto C^T k(Z, x) + c` with :math:`k(z, x) = \exp(-\lVert z - x \rVert^2 / 2 \sigma^2)`.

    Parameters
    ----------
    landmarks : array (m, d)
        Z.
    bandwidth : float
        σ.
    coefficients : array (m, e)
        C.
    offset : array (e,)
        c.
    output_mean : array (e,)
        The mean of the outputs that it was learned from.

    Examples
    --------
    >>> KernelMap(np.zeros((1, 2)), 1.0, np.ones((1, 1)), np.ones(1), np.ones(1))(np.zeros((1, 2)))
    array([[2.]])
    """

    landmarks: FloatArray
    bandwidth: float
    coefficients: FloatArray
    offset: FloatArray
    output_mean: FloatArray

    def __call__(self, X: Matrix) -> FloatArray:
        """Map rows (n, d) to (n, e)."""
        Y = rbf_features(X, self.landmarks, self.bandwidth) @ self.coefficients
        Y += self.offset
        return np.asarray(Y)

    def astype(self, dtype: Any) -> KernelMap:
        """Return the map in another precision."""
        Z, C, c, m = (a.astype(dtype) for a in (self.landmarks, self.coefficients, self.offset, self.output_mean))
        return KernelMap(Z, self.bandwidth, C, c, m)


def rbf_features(X: Matrix, Z: FloatArray, bandwidth: float) -> FloatArray:
    """Return the kernel (n, m) of rows X (n, d) with rows Z (m, d); zero for rows whose square would overflow."""
    X = as_dense(X).astype(Z.dtype, copy=False)
    far = FAR * np.sqrt(np.finfo(Z.dtype).max / X.shape[1])
    if max(X.max(initial=0.0), -X.min(initial=0.0)) > far:
        X = np.clip(X, -far, far)
    D = X @ (-2.0 * Z).T
    D += np.square(X).sum(axis=1)[:, None]
    D += np.square(Z).sum(axis=1)
    np.maximum(D, 0.0, out=D)
    with np.errstate(over="ignore"):  # to minus infinity, whose exponential is zero
        D *= -0.5 / bandwidth**2
    return np.asarray(np.exp(D, out=D))


def fit_kernel_ridge(X: FloatArray, Y: FloatArray, *, weights: FloatArray | None = None) -> KernelMap:
    r"""Fit outputs Y (n, e) from inputs X (n, d): :func:`fit_ridge` on features whose inner products are k.

    The bandwidth is the median distance of the rows; the penalty has the least leave-one-out error.

    Parameters
    ----------
    X : array (n, d)
        Inputs.
    Y : array (n, e)
        Outputs.
    weights : array (n,), optional
        Of the rows, positive; one for each by default.

    Examples
    --------
    >>> X = np.linspace(-2.0, 2.0, 41)[:, None]
    >>> bool(abs(fit_kernel_ridge(X, X**2)(np.array([[1.5]])) - 2.25) < 0.01)
    True
    """
    bandwidth = _median_distance(_even_sample(X, MOST_FOR_BANDWIDTH))
    Z = _even_sample(X, MOST_LANDMARKS)
    values, E = sla.eigh(rbf_features(Z, Z, bandwidth), check_finite=False)
    kept = values > SMALLEST_EIGENVALUE * values[-1]
    T = E[:, kept] / np.sqrt(values[kept])
    fit = fit_ridge(rbf_features(X, Z, bandwidth) @ T, Y, weights=weights)
    return KernelMap(Z, bandwidth, np.asarray(T @ fit.map.W), fit.map.offset, fit.map.output_mean)


def _even_sample(X: FloatArray, most: int) -> FloatArray:
    places = np.linspace(0, len(X) - 1, most).round().astype(np.intp) if len(X) > most else slice(None)
    return np.array(X[places])


def _median_distance(X: FloatArray) -> float:
    distances = pdist(X)
    positive = distances[distances > 0.0]
    return float(np.median(positive)) if len(positive) else 1.0


# Every fourth row is held out to choose the rank.
HELD_OUT = 4


def fit_low_rank(
    X: FloatArray, Y: FloatArray, *, weights: FloatArray | None = None, rank: int | None = None
) -> AffineMap:
    r"""Fit outputs Y (n, e) from inputs X (n, d) by a linear map of rank r, and an intercept.

    .. math:: \min_{\mathrm{rank}\, W \le r} \sum_i w_i \lVert y_i - m_y - W^T (x_i - m_x) \rVert^2
              + \lambda \lVert W \rVert_F^2

    The minimum is the ridge regression R, projected on the leading r directions V of
    :math:`R^T (X_c^T \mathrm{diag}(w) X_c + \lambda I) R`, that is :math:`W = R V V^T`. The penalty is that of
    :func:`fit_ridge`.

    Parameters
    ----------
    X : array (n, d)
        Inputs.
    Y : array (n, e)
        Outputs.
    weights : array (n,), optional
        :math:`w_i > 0`; one for each row by default.
    rank : int, optional
        r; unless given, that power of two, or full rank, which predicts every fourth row best from the others.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> fit_low_rank(X, X @ [[1.0, 2.0], [3.0, 6.0]], rank=1)(np.array([[2.0, 1.0]])).round(2)
    array([[ 5., 10.]])
    """
    if rank is None:
        rank = _choose_rank(X, Y, weights)
    fit, V = _ridge_and_directions(X, Y, weights)
    kept = V[:, :rank]
    return AffineMap((fit.map.W @ kept) @ kept.T, fit.map.input_mean, fit.map.output_mean)


def _ridge_and_directions(X: FloatArray, Y: FloatArray, weights: FloatArray | None) -> tuple[RidgeFit, FloatArray]:
    """Return the ridge regression, and the directions (e, r) of its output, those it explains most of first."""
    fit = fit_ridge(X, Y, weights=weights)
    root = np.ones((len(X), 1)) if weights is None else np.sqrt(weights)[:, None]
    B = (Y - fit.map.output_mean) * root
    # Rᵀ (XᵀX + λI) R = Rᵀ Xᵀ B: the normal equations.
    C = fit.map.W.T @ (((X - fit.map.input_mean) * root).T @ B)
    _, V = sla.eigh((C + C.T) / 2.0, check_finite=False)
    return fit, V[:, ::-1][:, : min(X.shape[1], Y.shape[1])]


def _choose_rank(X: FloatArray, Y: FloatArray, weights: FloatArray | None) -> int:
    out = np.arange(len(X)) % HELD_OUT == HELD_OUT - 1
    fit, V = _ridge_and_directions(X[~out], Y[~out], None if weights is None else weights[~out])
    w = np.ones(int(out.sum())) if weights is None else weights[out]
    truth, guess = (Y[out] - fit.map.output_mean) @ V, (fit.map(X[out]) - fit.map.output_mean) @ V
    # Directions are orthogonal: each adds its own error instead of the whole of what it leaves unexplained.
    gained: list[float] = np.cumsum(w @ (truth**2 - (truth - guess) ** 2)).tolist()
    full = V.shape[1]
    offered = [1 << k for k in range(full.bit_length()) if 1 << k < full] + [full]
    return max(offered, key=lambda r: (gained[r - 1], -r))


# Singular values below this, times the precision and the lengths of the rows, are rounding: no pair says anything
# about such directions.
ROUNDING = 10.0


@dataclass(frozen=True, eq=False, repr=False)
class ProcrustesFit(ShortRepr):
    r"""An orthogonal map that was fitted: :math:`X_c^T \mathrm{diag}(w)\, Y_c = U \mathrm{diag}(\sigma) V^T`.

    Parameters
    ----------
    U : array (d, r)
        Orthonormal directions of the input; ``(X - input_mean) @ U`` and ``(Y - output_mean) @ V`` are comparable.
    V : array (e, r)
        Those of the output.
    values : array (r,)
        σ, falling.
    scale : float
        The factor of rotated inputs.
    input_mean, output_mean : array (d,) and (e,)
        The weighted means.
    """

    U: FloatArray
    V: FloatArray
    values: FloatArray
    scale: float
    input_mean: FloatArray
    output_mean: FloatArray

    @property
    def map(self) -> AffineMap:
        """Inputs to outputs."""
        W = self.U @ self.V.T * self.U.dtype.type(self.scale)
        return AffineMap(np.asarray(W), self.input_mean, self.output_mean)


def fit_procrustes(
    X: FloatArray, Y: FloatArray, *, weights: FloatArray | None = None, scale: bool = False
) -> ProcrustesFit:
    r"""Fit the rotation, or reflection, of centred inputs X (n, d) that agrees best with centred outputs Y (n, e).

    .. math:: \max_{R} \; \mathrm{tr}\, R^T X_c^T \mathrm{diag}(w)\, Y_c \quad\text{over } R = U V^T, \;
              U^T U = V^T V = I

    With equally many columns that is :math:`\min \lVert X_c R - Y_c \rVert_F` over orthogonal R; with fewer columns
    in X it is the same over :math:`R R^T = I`; with more, X is projected. Directions that no pair determines (more
    columns than rows) are dropped: their partners would be rounding.

    Parameters
    ----------
    X : array (n, d)
        Inputs, in single or double precision; so is the result.
    Y : array (n, e)
        Outputs.
    weights : array (n,), optional
        :math:`w_i > 0`; one for each row by default.
    scale : bool
        Whether to multiply rotated inputs by the factor that brings them nearest to the outputs.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> quarter_turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> fit = fit_procrustes(X, 3.0 * X @ quarter_turn + 5.0, scale=True)
    >>> fit.map(np.array([[1.0, 1.0]])).round(6)
    array([[2., 8.]])
    """
    w = np.ones(len(X), dtype=X.dtype) if weights is None else np.asarray(weights, dtype=X.dtype)
    share = w / w.sum()
    x_mean, y_mean = share @ X, share @ Y
    root = None if weights is None else np.sqrt(w)[:, None]
    few = len(X) < min(X.shape[1], Y.shape[1])
    M, inputs, outputs, spans = np.zeros((1, 1), X.dtype), 0.0, 0.0, None
    for start in range(0, len(X), len(X) if few else BLOCK):  # no copy of many rows
        rows = slice(start, start + (len(X) if few else BLOCK))
        A, B = X[rows] - x_mean, Y[rows] - y_mean
        if root is not None:
            A, B = A * root[rows], B * root[rows]
        inputs, outputs = inputs + _sum_squares(A), outputs + _sum_squares(B)
        if few:  # within the span of the rows
            spans = _row_span(A), _row_span(B)
            A, B = spans[0][1], spans[1][1]
        M = M + A.T @ B
    # What rounding leaves of a product that ought to be zero; centring rounds in units of the rows before it.
    total = float(w.sum())
    before = inputs + total * _sum_squares(x_mean), outputs + total * _sum_squares(y_mean)
    rounding = np.sqrt(before[0] * outputs) + np.sqrt(inputs * before[1])
    U, values, Vt = sla.svd(M, full_matrices=False, check_finite=False)
    kept = values > ROUNDING * float(np.finfo(X.dtype).eps) * rounding
    U, values, V = U[:, kept], values[kept], Vt[kept].T
    if spans is not None:
        U, V = spans[0][0] @ U, spans[1][0] @ V
    factor = 1.0
    if scale and len(values):
        # An orthogonal U leaves the lengths as they are; else they are those of the projected rows.
        turned = inputs if U.shape[0] == U.shape[1] else float(w @ np.square((X - x_mean) @ U).sum(axis=1))
        factor = float(values.sum(dtype=np.float64)) / turned
    return ProcrustesFit(U, V, values, factor, x_mean, y_mean)


def _row_span(M: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Q (d, n) with orthonormal columns, and the rows along them (n, n): ``M = rows @ Q.T``."""
    Q, R = sla.qr(M.T, mode="economic", check_finite=False)
    return Q, R.T


def _sum_squares(M: FloatArray) -> float:
    """Return the sum of squares."""
    return float(np.einsum("i,i->", M.ravel(), M.ravel(), dtype=np.float64))
