"""Canonical directions of two sets of coordinates, over pairs of rows that are never written out."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import FloatArray, Matrix
from isthmus.exceptions import InputError
from isthmus.linalg import PrincipalAxes, principal_axes

NO_CORRELATION = 1e-9
"""What is below this, without a ridge, is rounding."""


def canonical_directions(
    A: FloatArray, B: FloatArray, L: Matrix, R: Matrix, gamma: float, *, unit: bool = True
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """W_s (r_s, k), W_t (r_t, k), offsets (2, k) and correlations (k,) for rows paired ``(L Rᵀ)_ij`` times.

    With rows centred over the pairs, ``C_st = (Lᵀ A)ᵀ (Rᵀ B)`` over their number: all that enters are sums over
    groups, and a group is a class where labels make the pairs. The variates have unit variance over the pairs, or
    are left as ``wᵀ (C + ρI) w = 1`` makes them.
    """
    weights = L @ R.sum(axis=0), R @ L.sum(axis=0)
    axes = [principal_axes(X, weights=w) for w, X in zip(weights, (A, B), strict=True)]
    means = [each.mean for each in axes]
    A, B = A - means[0], B - means[1]
    whitening = [_whitening(each, gamma) for each in axes]
    sums = L.T @ A, R.T @ B
    # The whitened C_st has the rank of the groups: its SVD is that of two small triangles.
    (Q_s, T_s), (Q_t, T_t) = (np.linalg.qr((F @ H).T) for F, H in zip(sums, whitening, strict=True))
    U, correlations, Vt = np.linalg.svd(T_s @ T_t.T / weights[0].sum(), full_matrices=False)
    k = int((correlations > NO_CORRELATION / (1.0 + gamma)).sum())
    if k == 0:
        raise InputError("pairs: expected rows that vary together, got no correlation (one class, or constant rows).")
    W = [whitening[0] @ (Q_s @ U[:, :k]), whitening[1] @ (Q_t @ Vt[:k].T)]
    if unit:
        W = [V / np.sqrt(w @ (X @ V) ** 2 / w.sum()) for X, V, w in zip((A, B), W, weights, strict=True)]
    # A direction's sign is arbitrary: fix it by the first group that stands out, whatever the order of rows. The
    # heights are not all zero: the two domains' correlate.
    heights = sums[0] @ W[0] + sums[1] @ W[1]
    first = (np.abs(heights) > 0.5 * np.abs(heights).max(axis=0)).argmax(axis=0)
    signs = np.sign(heights[first, np.arange(k)])
    offsets = -np.vstack([m @ V for m, V in zip(means, W, strict=True)])
    return W[0] * signs, W[1] * signs, offsets * signs, correlations[:k]


def _whitening(axes: PrincipalAxes, gamma: float) -> FloatArray:
    """H (r, q) with ``Hᵀ (C + ρI) H = I`` on the q directions in which the paired rows vary."""
    variances = axes.deviations**2
    ridge = gamma * float(np.sum(variances**2) / np.sum(variances)) if len(variances) else 0.0
    return np.asarray(axes.axes / np.sqrt(variances + ridge))
