"""Linear algebra: pivoted Cholesky factors, principal axes, conjugate gradients, moments and lengths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy.linalg as sla

from isthmus._core.validation import FloatArray, IntArray, Matrix, as_dense, is_sparse
from isthmus.exceptions import InputError

EPS = float(np.finfo(np.float64).eps)

# Rows whose deviations from their mean are held at once.
MOMENT_ROWS = 2**16
# A row closer than this (squared, relative to its own length) to the span of others adds no dimension.
RANK_TOLERANCE = 1e-12
# A factor that leaves no more than this of a matrix (relative to the rows' lengths) proves that it is PSD.
RESIDUAL = 1e-9
# Eigenvalues above minus this, times √n and the largest entry, may be zeros computed in single precision.
NEGATIVE = 1e-6
# Rows of a residual that are held at once.
BLOCK = 1024
# Products with a matrix until conjugate gradients give up.
MOST_PRODUCTS = 500
# A linear map of a vector or a matrix.
Operator: TypeAlias = Callable[[FloatArray], FloatArray]


def pivoted_cholesky(K: FloatArray, name: str | None = "kernel") -> tuple[FloatArray, IntArray]:
    """Return a factor F (n, r) with ``F Fᵀ = K`` for a PSD matrix of rank r, and the r rows where F is triangular.

    Parameters
    ----------
    K : array (n, n)
        Symmetric, positive semi-definite but for rounding.
    name : str, optional
        Whose matrix a message calls it, where it is not that; None where it is known to be, and not looked at.

    Examples
    --------
    >>> F, pivots = pivoted_cholesky(np.array([[1.0, 2.0], [2.0, 4.0]]))
    >>> F.ravel(), pivots
    (array([1., 2.]), array([0]))
    """
    if name is not None and not np.isfinite(K).all():
        raise InputError(f"{name}: expected a Gram matrix of finite numbers, got NaN or inf.")
    lengths = np.sqrt(np.maximum(np.diagonal(K), 0.0))
    # A row of length zero has to be zero: in the unit of the longest row, where it is not.
    unit = np.where(lengths > 0.0, lengths, lengths.max(initial=0.0) or np.sqrt(np.abs(K).max(initial=0.0)) or 1.0)
    scaled = K / unit / unit[:, None]
    # LAPACK takes the row that is farthest from the span of those before as the next pivot.
    packed, pivots, rank, _ = sla.lapack.dpstrf(scaled, tol=RANK_TOLERANCE, lower=1)
    order = np.asarray(pivots, dtype=np.intp) - 1
    F = np.empty((len(K), rank))
    F[order] = np.tril(packed)[:, :rank]
    if name is not None and _largest_residual(scaled, F, order[rank:]) > RESIDUAL:
        lowest = float(np.linalg.eigvalsh(K)[0])
        if lowest < -NEGATIVE * np.sqrt(len(K)) * np.abs(K).max():
            raise InputError(f"{name}: expected a positive semi-definite matrix, got an eigenvalue of {lowest:.2g}.")
    return F * lengths[:, None], order[:rank]


def _largest_residual(K: FloatArray, F: FloatArray, rows: IntArray) -> float:
    """Return the largest entry of K - F Fᵀ among these rows: for a PSD matrix none exceeds its small diagonal."""
    blocks = (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))
    return max((float(np.abs(K[np.ix_(b, rows)] - F[b] @ F[rows].T).max()) for b in blocks), default=0.0)


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    r"""The directions in which rows vary, of most variance first: the map :math:`x \mapsto A^T (x - m)`."""

    # m (d,); zeros where the rows were not centred.
    mean: FloatArray
    # A (d, r), with orthonormal columns; the largest entry of each is positive: equal data gives equal pictures.
    axes: FloatArray
    # The root mean square (r,) of the rows along each axis, in falling order.
    deviations: FloatArray

    def coordinates(self, X: Matrix) -> FloatArray:
        """Return rows X (n, d) along the axes (n, r)."""
        if is_sparse(X):
            return np.asarray(X @ self.axes - self.mean @ self.axes)
        return np.asarray((X - self.mean) @ self.axes)

    def leading(self, count: int) -> PrincipalAxes:
        """Return the first ``count`` axes; where there are fewer, the rest are zeros."""
        missing = max(0, count - self.axes.shape[1])
        axes, deviations = np.pad(self.axes, ((0, 0), (0, missing))), np.pad(self.deviations, (0, missing))
        return replace(self, axes=axes[:, :count], deviations=deviations[:count])


def principal_axes(
    X: Matrix, *, weights: FloatArray | None = None, centre: bool = True, tolerance: float = 0.0
) -> PrincipalAxes:
    r"""Return the principal axes of rows, as many as the rows span.

    .. math:: \sum_i w_i (x_i - m)(x_i - m)^T = A\, \mathrm{diag}(\sigma)^2 A^T, \qquad m = \sum_i w_i x_i, \quad
              \sum_i w_i = 1

    An axis counts where its deviation :math:`\sigma` is more than rounding: relative to the largest one, and, since
    centring rounds too, to the length of the mean.

    Parameters
    ----------
    X : array or CSR (n, d)
        Rows. Sparse ones with more columns than rows stay sparse, and are known by their inner products only, at
        half the digits; all others are made dense.
    weights : array (n,), optional
        How much each row counts, at least zero, in any unit; equally unless given.
    centre : bool
        Whether to subtract the mean; without, m is zero.
    tolerance : float
        Axes whose deviation is at most this times the largest one are dropped too.

    Examples
    --------
    >>> found = principal_axes(np.array([[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]]))
    >>> found.mean, found.axes.ravel(), found.deviations.round(3)
    (array([2., 0.]), array([1., 0.]), array([0.816]))
    """
    n, d = X.shape
    w = np.full(n, 1.0 / n) if weights is None else np.asarray(weights, dtype=np.float64) / np.sum(weights)
    if not w.all():  # rows that count nothing would still count for the rounding
        X, w = X[w > 0.0], w[w > 0.0]
    wide = is_sparse(X) and X.shape[0] <= d
    mean, deviations, axes, rounding = (_axes_of_wide if wide else _axes_of_dense)(X, w, centre)
    kept = deviations > max(rounding, tolerance * deviations.max(initial=0.0))
    return PrincipalAxes(mean, _fix_signs(axes[:, kept]), deviations[kept])


def _axes_of_dense(X: Matrix, w: FloatArray, centre: bool) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Return mean, deviations, axes, and the size that rounding may give to a deviation of zero."""
    rows, mean = as_dense(X), np.zeros(X.shape[1])
    if centre:
        mean = w @ rows
        rows = rows - mean
        rest = w @ rows  # a long sum of equal numbers is off by more than their rounding
        mean, rows = mean + rest, rows - rest
    rows = np.sqrt(w)[:, None] * rows
    # The rows themselves, or their triangle: to form their products first would lose half of the digits.
    if len(rows) > rows.shape[1]:
        rows = np.asarray(np.linalg.qr(rows, mode="r"))
    _, deviations, axes = np.linalg.svd(rows, full_matrices=False)
    rounding = max(max(X.shape) * deviations.max(initial=0.0), 100.0 * float(np.linalg.norm(mean))) * EPS
    return mean, deviations, axes.T, rounding


def _axes_of_wide(X: Matrix, w: FloatArray, centre: bool) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Return the same four for sparse rows, which stay sparse, from their inner products."""
    X = X.astype(np.float64)
    # n is at most d here: the n × n inner products are smaller than the rows made dense, at half of their digits.
    G = np.asarray((X @ X.T).toarray())
    size, mean = float(w @ np.diagonal(G)), np.zeros(X.shape[1])
    if centre:
        mean, across = np.asarray(X.T @ w), G @ w
        G = G - across - across[:, None] + w @ across
    root = np.sqrt(w)
    squares, U = np.linalg.eigh(root[:, None] * G * root)
    deviations, U = np.sqrt(np.maximum(squares[::-1], 0.0)), U[:, ::-1]
    left = root[:, None] * U / np.where(deviations > 0.0, deviations, 1.0)
    axes = np.asarray(X.T @ left) - np.outer(mean, left.sum(axis=0))
    return mean, deviations, axes, float(np.sqrt(RANK_TOLERANCE * max(deviations[0] ** 2, 1e-2 * size)))


def _fix_signs(axes: FloatArray) -> FloatArray:
    """Return each axis with its largest entry positive; of entries that are equally large, to rounding, the first."""
    if not axes.size:
        return axes
    sizes = np.abs(axes)
    first = (sizes >= (1.0 - 1e-8) * sizes.max(axis=0, initial=0.0)).argmax(axis=0)
    return np.asarray(axes * np.sign(axes[first, np.arange(axes.shape[1])]))


def conjugate_gradients(
    apply: Operator, b: FloatArray, precondition: Operator, tolerance: float, max_iter: int = MOST_PRODUCTS
) -> FloatArray:
    """Solve ``apply(x) = b`` for vectors or matrices."""
    x, r = np.zeros_like(b), b
    z = precondition(r)
    p, rz = z, float(np.vdot(r, z))
    enough = tolerance**2 * rz  # relative to the first residual, in the norm of the preconditioner
    for _ in range(max_iter):
        if rz <= enough:
            break
        Ap = apply(p)
        alpha = rz / float(np.vdot(p, Ap))
        x = x + alpha * p
        r = r - alpha * Ap
        z = precondition(r)
        rz, previous = float(np.vdot(r, z)), rz
        p = z + (rz / previous) * p
    return x


def column_moments(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of each column of dense rows (n, d), in double precision and without a copy of them.

    Examples
    --------
    >>> column_moments(np.array([[1.0, 2.0], [3.0, 2.0]], dtype=np.float32))
    (array([2., 2.]), array([1., 0.]))
    """
    mean, squares = X.mean(axis=0, dtype=np.float64), np.zeros(X.shape[1])
    for start in range(0, len(X), MOMENT_ROWS):
        deviations = X[start : start + MOMENT_ROWS] - mean
        squares += np.einsum("ij,ij->j", deviations, deviations)
    return mean, squares / max(1, len(X))


def squared_norms(A: Matrix) -> FloatArray:
    """Return the squared length of each row (n,), dense or sparse, in double precision."""
    A = A if A.dtype == np.float64 else A.astype(np.float64)
    if is_sparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", A, A))


def normalize_rows(X: FloatArray) -> FloatArray:
    """Return dense rows scaled to length one, in their own precision; a row of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    return X / np.where(lengths > 0.0, lengths, 1.0).astype(X.dtype)[:, None]
