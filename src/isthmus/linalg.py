"""The one factorisation that both a domain's space and the problem's basis need."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray, IntArray

RANK_TOLERANCE = 1e-12
"""A row closer than this (squared, relative to its own length) to the span of others adds no dimension."""


def pivoted_cholesky(K: FloatArray) -> tuple[FloatArray, IntArray]:
    """A factor F (n, r) with ``F Fᵀ = K`` for a PSD matrix of rank r, and r rows where F is lower triangular.

    Examples
    --------
    >>> F, pivots = pivoted_cholesky(np.array([[1.0, 2.0], [2.0, 4.0]]))
    >>> F.ravel(), pivots
    (array([1., 2.]), array([0]))
    """
    lengths = np.sqrt(np.maximum(np.diagonal(K), 0.0))
    if not lengths.any():
        return np.zeros((len(K), 0)), np.empty(0, dtype=np.intp)
    safe = np.where(lengths > 0.0, lengths, 1.0)
    packed, pivots, rank, _ = sla.lapack.dpstrf(K / safe / safe[:, None], tol=RANK_TOLERANCE, lower=1)
    order = np.asarray(pivots, dtype=np.intp) - 1
    F = np.empty((len(K), rank))
    F[order] = np.tril(packed)[:, :rank]
    return F * lengths[:, None], order[:rank]
