"""The regularization of canonical correlations, by how well held-out pairs are found."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from isthmus._arrays import FloatArray, as_dense
from isthmus._rows import Draw
from isthmus.estimators.from_blocks import MomentPairs
from isthmus.exceptions import InputError
from isthmus.maps import CanonicalDirections, PairedRows
from isthmus.spaces import JointSpace

POWER = 2.0
"""Variates are multiplied with this power of their correlation."""
OFFERED = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""The regularizations that are tried."""
FOLDS, FEWEST, OTHERWISE = 5, 10, 0.3
"""With fewer pairs than this there is nothing to hold out, and the regularization is the last of these."""
MANY, HELD_OUT = 2000, 1000
"""Of more pairs than this one fold is held out, of at most so many: five would cost five times as much."""


def held_out_regularization(joint: JointSpace) -> float:
    """The offered γ under which partners of held-out pairs rank best (mean reciprocal rank, both directions).

    In five folds; of more than :data:`MANY` pairs once, as all others are learned from then.
    """
    if joint.pairs is None:
        return OTHERWISE
    if not isinstance(joint, MomentPairs):
        known = joint.pairs
        A, B = joint.source.points[known.source], joint.target.points[known.target]
        return OFFERED[int(_of_arrays(A, B, known.weights).argmax())]
    many = joint.many.n > MANY
    Z, weights, _ = joint.many.sample(fold_size(joint.many.n) if many else joint.many.n, np.random.default_rng(0))
    A, B = (as_dense(Z[:, columns]) for columns in joint.moments.layout.sides)
    if not many:
        return OFFERED[int(_of_arrays(A, B, weights).argmax())]
    X, Y = joint.moments.without(Z, weights).representative_pairs()
    each = sp.eye_array(len(X)).tocsr()
    return OFFERED[int(_reciprocal_ranks(PairedRows.of(X, Y, each, each), A, B).argmax())]


def fold_size(n: int) -> int:
    """How many of many pairs are held out.

    Examples
    --------
    >>> fold_size(3000), fold_size(100_000)
    (600, 1000)
    """
    return min(HELD_OUT, n // FOLDS)


def _of_arrays(A: FloatArray, B: FloatArray, weights: FloatArray) -> FloatArray:
    """The sum over folds of the ranks of what each holds out, for each γ."""
    n, rng, totals = len(A), np.random.default_rng(0), np.zeros(len(OFFERED))
    if n < FEWEST:
        return np.asarray(np.isclose(OFFERED, OTHERWISE), dtype=np.float64)
    if n > MANY:  # the pairs that a sample of rows in blocks has
        folds = [np.isin(np.arange(n), Draw(np.array([n]), fold_size(n), int(rng.integers(2**63))).ranks(0, 0, n))]
    else:
        fold = rng.permutation(n) % FOLDS
        folds = [fold == k for k in range(FOLDS)]
    for test in folds:
        train = ~test
        L, R = sp.diags_array(weights[train]).tocsr(), sp.eye_array(int(train.sum())).tocsr()
        totals += _reciprocal_ranks(PairedRows.of(A[train], B[train], L, R), A[test], B[test])
    return totals


def _reciprocal_ranks(rows: PairedRows, A: FloatArray, B: FloatArray) -> FloatArray:
    """The mean reciprocal rank of held-out pairs for each γ, or zero where the rows left do not vary together."""
    scores = np.zeros(len(OFFERED))
    for k, gamma in enumerate(OFFERED):
        try:
            found = rows.directions(gamma, unit=False).weighted(POWER)
        except InputError:
            continue
        S = _cosines(found, A, B)
        own = np.diagonal(S)
        ranks = [1.0 + (own[:, None] < S).sum(axis=1), 1.0 + (own[None, :] < S).sum(axis=0)]
        scores[k] = np.mean([1.0 / r for r in ranks])
    return scores


def _cosines(found: CanonicalDirections, A: FloatArray, B: FloatArray) -> FloatArray:
    P, Q = A @ found.source + found.offsets[0], B @ found.target + found.offsets[1]
    lengths = [np.linalg.norm(X, axis=1, keepdims=True) for X in (P, Q)]
    P, Q = (X / np.where(n > 0.0, n, 1.0) for X, n in zip((P, Q), lengths, strict=True))
    return np.asarray(P @ Q.T)
