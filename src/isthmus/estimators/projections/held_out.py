"""The regularization of canonical correlations, by how well held-out pairs are found."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from isthmus._arrays import FloatArray, IntArray
from isthmus.exceptions import InputError
from isthmus.maps import CanonicalDirections, PairedRows
from isthmus.spaces import JointSpace

POWER = 2.0
"""Variates are multiplied with this power of their correlation."""
OFFERED = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""The regularizations that are tried."""
FOLDS, FEWEST, OTHERWISE = 5, 10, 0.3
"""With fewer pairs than this there is nothing to hold out, and the regularization is the last of these."""


def held_out_regularization(joint: JointSpace) -> float:
    """The offered γ under which partners of held-out pairs rank best (mean reciprocal rank, both directions)."""
    if joint.pairs is None or len(joint.pairs) < FEWEST:
        return OTHERWISE
    A, B = joint.source.points[joint.pairs.source], joint.target.points[joint.pairs.target]
    fold = np.random.default_rng(0).permutation(len(A)) % FOLDS
    totals = np.zeros(len(OFFERED))
    for k in range(FOLDS):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        totals += _reciprocal_ranks(A, B, joint.pairs.weights, train, test)
    return OFFERED[int(totals.argmax())]


def _reciprocal_ranks(
    A: FloatArray, B: FloatArray, weights: FloatArray, train: IntArray, test: IntArray
) -> FloatArray:
    """The mean reciprocal rank of each offered γ, or zero where the rows left do not vary together."""
    L, R = sp.diags_array(weights[train]).tocsr(), sp.eye_array(len(train)).tocsr()
    rows, scores = PairedRows.of(A[train], B[train], L, R), np.zeros(len(OFFERED))
    for k, gamma in enumerate(OFFERED):
        try:
            found = rows.directions(gamma, unit=False).weighted(POWER)
        except InputError:
            continue
        S = _cosines(found, A[test], B[test])
        own = np.diagonal(S)
        ranks = [1.0 + (own[:, None] < S).sum(axis=1), 1.0 + (own[None, :] < S).sum(axis=0)]
        scores[k] = np.mean([1.0 / r for r in ranks])
    return scores


def _cosines(found: CanonicalDirections, A: FloatArray, B: FloatArray) -> FloatArray:
    P, Q = A @ found.source + found.offsets[0], B @ found.target + found.offsets[1]
    lengths = [np.linalg.norm(X, axis=1, keepdims=True) for X in (P, Q)]
    P, Q = (X / np.where(n > 0.0, n, 1.0) for X, n in zip((P, Q), lengths, strict=True))
    return np.asarray(P @ Q.T)
