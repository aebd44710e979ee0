"""The rotation that carries one set of rows onto another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from isthmus._core.arrays import FloatArray
from isthmus._core.validation import short_repr
from isthmus.maps.ridge import AffineMap

ROUNDING = 10.0
"""Singular values below this, times the precision and the lengths of the rows, are rounding: no pair says anything
about such directions."""


@short_repr
@dataclass(frozen=True, eq=False)
class ProcrustesFit:
    r"""What an orthogonal map has learned: :math:`X_c^T \mathrm{diag}(w)\, Y_c = U \mathrm{diag}(\sigma) V^T`.

    Parameters
    ----------
    U : array (d, r)
        Orthonormal directions of the input; ``(X - input_mean) @ U`` and ``(Y - output_mean) @ V`` are comparable.
    V : array (e, r)
        Those of the output.
    values : array (r,)
        σ, falling.
    scale : float
        What rotated inputs are multiplied with.
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
    r"""The rotation, or reflection, of centred inputs X (n, d) that agrees best with centred outputs Y (n, e).

    .. math:: \max_{R} \; \mathrm{tr}\, R^T X_c^T \mathrm{diag}(w)\, Y_c \quad\text{over } R = U V^T, \;
              U^T U = V^T V = I

    With equally many columns that is :math:`\min \lVert X_c R - Y_c \rVert_F` over orthogonal R; with fewer columns
    in X it is the same over :math:`R R^T = I`; with more, X is projected. Directions on which no pair has a say (more
    columns than rows) are left out: a partner for them would be drawn by rounding.

    Parameters
    ----------
    X : array (n, d)
        Inputs, in single or double precision; so is the result.
    Y : array (n, e)
        Outputs.
    weights : array (n,), optional
        :math:`w_i > 0`; one for each row by default.
    scale : bool
        Whether to multiply rotated inputs with the number that brings them nearest to the outputs.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> quarter_turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> fit = fit_procrustes(X, 3.0 * X @ quarter_turn + 5.0, scale=True)
    >>> fit.map(np.array([[1.0, 1.0]])).round(6)
    array([[2., 8.]])
    """
    w = np.ones(len(X), dtype=X.dtype) if weights is None else np.asarray(weights, dtype=X.dtype)
    share, root = w / w.sum(), np.sqrt(w)[:, None]
    x_mean, y_mean = share @ X, share @ Y
    A, B = (X - x_mean) * root, (Y - y_mean) * root
    # What rounding leaves of a product that ought to be zero; centring rounds in units of the rows before it.
    rounding = _length(X * root) * _length(B) + _length(A) * _length(Y * root)
    U, values, V = _cross_svd(A, B, ROUNDING * float(np.finfo(A.dtype).eps) * rounding)
    factor = 1.0
    if scale and len(values):
        factor = float(values.sum(dtype=np.float64) / np.square(A @ U).sum(dtype=np.float64))
    return ProcrustesFit(U, V, values, factor, x_mean, y_mean)


def _cross_svd(A: FloatArray, B: FloatArray, smallest: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """U, σ, V of AᵀB for each σ above ``smallest``; through the span of the rows where they are few."""
    if len(A) < min(A.shape[1], B.shape[1]):
        (P, A), (Q, B) = _row_span(A), _row_span(B)
        U, values, V = _cross_svd(A, B, smallest)
        return P @ U, values, Q @ V
    U, values, Vt = sla.svd(A.T @ B, full_matrices=False, check_finite=False)
    kept = values > smallest
    return U[:, kept], values[kept], Vt[kept].T


def _row_span(M: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Q (d, n) with orthonormal columns, and the rows along them (n, n): ``M = rows @ Q.T``."""
    Q, R = sla.qr(M.T, mode="economic", check_finite=False)
    return Q, R.T


def _length(M: FloatArray) -> float:
    return float(np.sqrt(np.square(M).sum(dtype=np.float64)))
