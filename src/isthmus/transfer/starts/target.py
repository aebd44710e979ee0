"""What the target says by itself: nearest labels for the classes that have any, clusters for all."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from isthmus._arrays import FloatArray
from isthmus.controls.discriminants import balanced
from isthmus.transfer.guesses import AXES_PER_CLASS, Guess, class_means, guessed_means, squared_distances
from isthmus.transfer.rows import TransferRows

RESTARTS, ROUNDS = 10, 15
SHARPNESS = 0.1
"""Distances are divided by this part of their mean before they are balanced."""
MOST_ROWS = 4000
"""Clusters are looked for among at most so many unlabelled rows; then all are assigned once."""


def nearest(rows: TransferRows, multiple: int = AXES_PER_CLASS, prior: FloatArray | float = 0.0) -> Guess:
    """By the nearest labelled row of each class, of which every class needs one, and a prior in logarithms."""
    view = rows.at(multiple)
    D = np.stack([_to_nearest(view.U, view.L[view.yl == c]) for c in range(rows.n_classes)], axis=1)
    unit = float(np.median(D.min(axis=1)) or D.mean() or 1.0)
    return Guess("target", balanced(-D / (2.0 * unit) + prior, rows.shares))


def _to_nearest(U: FloatArray, L: FloatArray) -> FloatArray:
    return np.asarray(cdist(U, L, "sqeuclidean").min(axis=1))


def clusters(rows: TransferRows, rng: np.random.Generator) -> Guess:
    """C balanced clusters: those of the known classes begin at their labelled means, the others far from all.

    The best of some restarts, by the distances to the means. The names of the others mean nothing yet.
    """
    view = rows.at(AXES_PER_CLASS)
    U = view.U if len(view.U) <= MOST_ROWS else view.U[np.sort(rng.permutation(len(view.U))[:MOST_ROWS])]
    labelled = class_means(view.L, np.searchsorted(rows.known, view.yl), len(rows.known))
    best, least = None, np.inf
    for _ in range(RESTARTS if len(rows.unknown) else 1):
        M: FloatArray = np.empty((rows.n_classes, U.shape[1]))
        M[np.concatenate([rows.known, rows.unknown])] = _spread(labelled, U, len(rows.unknown), rng)
        for _ in range(ROUNDS):
            P = _assigned(U, M, rows.shares)
            M = guessed_means(view.L, rows.one_hot, U, P)
        cost = float((P * squared_distances(U, M)).sum())
        if cost < least:
            best, least = M, cost
    assert best is not None
    return Guess("clusters", _assigned(view.U, best, rows.shares))


def _assigned(U: FloatArray, M: FloatArray, shares: FloatArray) -> FloatArray:
    D = squared_distances(U, M)
    return balanced(-D / (SHARPNESS * (D.mean() or 1.0)), shares)


def _spread(M: FloatArray, U: FloatArray, more: int, rng: np.random.Generator) -> FloatArray:
    """Means M and some rows of U, each drawn by its squared distance to the nearest of those before (k-means++)."""
    for _ in range(more):
        D = squared_distances(U, M).min(axis=1)
        drawn = rng.choice(len(U), p=D / D.sum() if D.sum() > 0.0 else None)
        M = np.vstack([M, U[drawn]])
    return M
