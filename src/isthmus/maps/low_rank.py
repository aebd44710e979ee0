"""Ridge regression through a bottleneck: only the directions of the output that the input predicts well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray
from isthmus.maps.affine import AffineMap
from isthmus.maps.ridge import RidgeFit, ridge

HELD_OUT = 4
"""Every fourth row is held out to choose the rank."""


@dataclass(frozen=True, eq=False)
class LowRankFit:
    """What a regression of low rank has learned.

    Parameters
    ----------
    map : AffineMap
        Inputs to outputs.
    rank : int
        The rank of its linear part.
    penalty : float
        λ of the ridge regression that it is a part of.
    """

    map: AffineMap
    rank: int
    penalty: float


def low_rank(
    X: FloatArray, Y: FloatArray, *, weights: FloatArray | None = None, rank: int | None = None
) -> LowRankFit:
    r"""Outputs Y (n, e) from inputs X (n, d) by a linear map of rank r, and an intercept.

    .. math:: \min_{\mathrm{rank}\, W \le r} \sum_i w_i \lVert y_i - m_y - W^T (x_i - m_x) \rVert^2
              + \lambda \lVert W \rVert_F^2

    The minimum is the ridge regression R, projected on the leading r directions V of
    :math:`R^T (X_c^T \mathrm{diag}(w) X_c + \lambda I) R`, that is :math:`W = R V V^T`. The penalty is that of
    :func:`isthmus.maps.ridge`.

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
    >>> fit = low_rank(X, X @ [[1.0, 2.0], [3.0, 6.0]], rank=1)
    >>> fit.rank, fit.map(np.array([[2.0, 1.0]])).round(2)
    (1, array([[ 5., 10.]]))
    """
    if rank is None:
        rank = _chosen_rank(X, Y, weights)
    fit, V = _ridge_and_directions(X, Y, weights)
    kept = V[:, :rank]
    W = (fit.map.W @ kept) @ kept.T
    return LowRankFit(AffineMap(W, fit.map.input_mean, fit.map.output_mean), kept.shape[1], fit.penalty)


def _ridge_and_directions(X: FloatArray, Y: FloatArray, weights: FloatArray | None) -> tuple[RidgeFit, FloatArray]:
    """The ridge regression, and the directions of its output, those that it explains most of first (e, r)."""
    fit = ridge(X, Y, weights=weights)
    root = np.ones((len(X), 1)) if weights is None else np.sqrt(weights)[:, None]
    B = (Y - fit.map.output_mean) * root
    # Rᵀ (XᵀX + λI) R = Rᵀ Xᵀ B: the normal equations.
    C = fit.map.W.T @ (((X - fit.map.input_mean) * root).T @ B)
    _, V = sla.eigh((C + C.T) / 2.0, check_finite=False)
    return fit, V[:, ::-1][:, : min(X.shape[1], Y.shape[1])]


def _chosen_rank(X: FloatArray, Y: FloatArray, weights: FloatArray | None) -> int:
    out = np.arange(len(X)) % HELD_OUT == HELD_OUT - 1
    fit, V = _ridge_and_directions(X[~out], Y[~out], None if weights is None else weights[~out])
    w = np.ones(int(out.sum())) if weights is None else weights[out]
    truth, guess = (Y[out] - fit.map.output_mean) @ V, (fit.map(X[out]) - fit.map.output_mean) @ V
    # Directions are orthogonal: each adds its own error instead of the whole of what it leaves unexplained.
    gained: list[float] = np.cumsum(w @ (truth**2 - (truth - guess) ** 2)).tolist()
    full = V.shape[1]
    offered = [1 << k for k in range(full.bit_length()) if 1 << k < full] + [full]
    return max(offered, key=lambda r: (gained[r - 1], -r))
