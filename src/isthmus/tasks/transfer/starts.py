"""Starts: first guesses of the classes of the unlabelled target rows, each by another idea of how the domains relate.

In this order: by class means (zero-shot, relative, rotated, named clusters), by MLHD, and by known pairs. What the
target learns by itself is in :mod:`isthmus.tasks.transfer.scoring`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.optimize import quadratic_assignment

from isthmus._core.linalg import normalize_rows
from isthmus._core.validation import FloatArray, IntArray
from isthmus.maps.regression import fit_ridge
from isthmus.solvers.logdet import LogDetProblem, MeanAlignment, Pairs
from isthmus.solvers.newton import DualNewton
from isthmus.tasks.transfer.problem import TransferRows, View
from isthmus.tasks.transfer.scoring import (
    LinearRule,
    MappedRule,
    class_means,
    guess_from_scores,
    means_of_guesses,
    squared_distances,
)

# Of the zero-shot ridge map, for rows of unit length.
MAP_PENALTY = 1.0
PROCRUSTES_ROUNDS = 15
# Starts of graph matching.
TRIES = 5


def guess_by_zero_shot(rows: TransferRows) -> FloatArray:
    r"""Guess by the cosine of a row, mapped by ridge regression of the labelled rows, to the source's class means.

    .. math:: W = L^T (L L^T + \alpha I)^{-1} M_{y}, \qquad s_{ic} = \cos(W^T u_i, \mu^s_c)
    """
    view = rows.at()
    M = class_means(view.S, view.ys, rows.n_classes)
    W = view.L.T @ np.linalg.solve(view.L @ view.L.T + MAP_PENALTY * np.eye(len(view.L)), M[view.yl])
    return guess_from_scores(rows, normalize_rows(view.U @ W) @ normalize_rows(M).T)


def guess_by_relative_means(rows: TransferRows) -> FloatArray:
    """Guess by relative representations: cosines to the labelled means, standardized, of rows and of classes."""
    view = rows.at()
    M = class_means(view.S, view.ys, rows.n_classes)
    labelled = class_means(view.L, np.searchsorted(rows.known, view.yl), len(rows.known))
    classes, targets = normalize_rows(M) @ normalize_rows(M[rows.known]).T, view.U @ normalize_rows(labelled).T
    targets, classes = ((F - F.mean(axis=0)) / (F.std(axis=0) + 1e-9) for F in (targets, classes))
    return guess_from_scores(rows, -squared_distances(targets, classes))


def rotate_guess(rows: TransferRows, P: FloatArray) -> FloatArray:
    r"""Guess by the rotation between the class means of guesses P and of the source, iterated.

    .. math:: R = U V^T \text{ of } (M^t)^T M^s = U \Sigma V^T, \qquad s_{ic} = \cos(R^T u_i, \mu^s_c)
    """
    view = rows.at()
    M = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    mean = view.target.mean(axis=0)
    U, L = view.U - mean, view.L - mean
    for _ in range(PROCRUSTES_ROUNDS):
        left, _, right = np.linalg.svd(means_of_guesses(L, rows.one_hot, U, P).T @ M, full_matrices=False)
        P = guess_from_scores(rows, normalize_rows(U @ (left @ right)) @ normalize_rows(M).T)
    return P


def name_clusters(rows: TransferRows, P: FloatArray) -> FloatArray:
    """Name the clusters P (n_u, C) of unknown classes by seeded graph matching; known classes keep their names."""
    if len(rows.unknown) < 2:
        return P
    view = rows.at()
    source = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    target = means_of_guesses(view.L, rows.one_hot, view.U, P) - view.U.mean(axis=0)
    A, B = (normalize_rows(M) @ normalize_rows(M).T for M in (target, source))
    fixed, tries = np.stack([rows.known, rows.known], axis=1), []
    for k in range(TRIES):
        start = {"rng": np.random.default_rng(k), "P0": "randomized" if k else "barycenter"}
        options: Any = {"maximize": True, "partial_match": fixed, **start}
        tries.append(quadratic_assignment(A, B, method="faq", options=options))
    named = np.empty_like(P)
    named[:, max(tries, key=lambda found: found.fun).col_ind] = P
    return named


# Source rows of one class that a mean stands for, and means in all: with more rows, the groups are larger.
GROUP, MOST_GROUPS = 5, 200
# Labelled rows, and guessed rows, per class that take part in pairs.
MOST_LABELLED, MOST_GUESSED = 30, 30
# With more source rows, means of groups stand for them in the self-trained fits.
MOST_MLHD_ROWS = 300
GUESS_WEIGHT, MLHD_ROUNDS = 0.1, 3
NEAR, FAR = 0.5, 3.0
PAIR_WEIGHT, ALIGNMENT_WEIGHT, SLACK = 0.1, 1.0, 1e-3
TOLERANCE, ITERATIONS = 1e-3, 60


def guess_by_mlhd(rows: TransferRows) -> FloatArray:
    """Guess by the distance to the source's class means in the metric of one MLHD fit to the labels."""
    view = rows.at()
    S, ys, size = compute_group_means(view, rows.n_classes)
    few = first_of_each(view.yl, MOST_LABELLED)
    L, yl = view.L[few], view.yl[few]
    W = fit_metric(S, ys, L, yl, np.full(len(yl), PAIR_WEIGHT * size), _shift(view))[0]
    A, B = W[: S.shape[1]], W[S.shape[1] :]
    D = squared_distances(view.U @ B, class_means(view.S @ A, view.ys, rows.n_classes))
    return guess_from_scores(rows, -D)


def iterate_mlhd(
    rows: TransferRows, P: FloatArray, rng: np.random.Generator, prior: FloatArray | float = 0.0
) -> FloatArray:
    """Return guesses (n_u, C) after some self-trained MLHD fits, in which guesses P are pairs of less weight.

    Each fit is certified, and warm-started from the multipliers of the one before. A prior (n_u, C), in logarithms,
    is part of the guesses of every round.
    """
    view, C = rows.at(), rows.n_classes
    S, ys = (view.S, view.ys) if len(view.S) <= MOST_MLHD_ROWS else compute_group_means(view, C)[:2]
    few = first_of_each(view.yl, MOST_LABELLED)
    drawn = np.sort(rng.permutation(len(P))[: MOST_GUESSED * C])
    T = np.vstack([view.L[few], view.U[drawn]])
    multipliers = None
    for _ in range(MLHD_ROUNDS):
        # A guess counts by how far it is from an even one; never zero, so that all rounds have the same pairs.
        sure = np.maximum((P[drawn].max(axis=1) - 1.0 / C) / (1.0 - 1.0 / C), 1e-6)
        weights = PAIR_WEIGHT * np.concatenate([np.ones(len(few)), GUESS_WEIGHT * sure])
        y = np.concatenate([view.yl[few], P[drawn].argmax(axis=1)])
        W, multipliers = fit_metric(S, ys, T, y, weights, _shift(view), multipliers)
        A, B = W[: S.shape[1]], W[S.shape[1] :]
        D = squared_distances(view.U @ B, class_means(S @ A, ys, C))
        P = guess_from_scores(rows, -(D - D.mean(axis=1, keepdims=True)), prior)
    return P


def fit_metric(
    S: FloatArray, ys: IntArray, T: FloatArray, yt: IntArray, weights: FloatArray, shift: FloatArray,
    start: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Fit W (k_s + k_t, k), the metric in which rows of one class are near, and return it with the multipliers."""
    n, rows = len(S), sla.block_diag(S, T)
    same = ys[:, None] == yt
    bounds, weights = np.where(same, NEAR, FAR), np.broadcast_to(weights, same.shape)
    pairs = Pairs(slice(0, n), slice(n, len(rows)), np.where(same, 1.0, -1.0), weights, bounds)
    problem = LogDetProblem(rows, (pairs,), MeanAlignment(shift, ALIGNMENT_WEIGHT, SLACK))
    result = DualNewton(tol=TOLERANCE, max_iter=ITERATIONS).solve(problem, start)
    return result.components(), result.multipliers


def compute_group_means(view: View, n_classes: int) -> tuple[FloatArray, IntArray, float]:
    """Return unit means of groups of source rows of one class, their classes, and the size of a group."""
    size = max(GROUP, -(-len(view.S) // MOST_GROUPS))
    of_classes = [np.flatnonzero(view.ys == c) for c in range(n_classes)]
    groups = [rows[start : start + size] for rows in of_classes for start in range(0, len(rows), size)]
    means = np.array([view.S[group].mean(axis=0) for group in groups])
    return normalize_rows(means), view.ys[[group[0] for group in groups]], float(size)


def first_of_each(y: IntArray, most: int) -> IntArray:
    """Return the places of the first rows of each class, at most ``most`` of each."""
    return np.sort(np.concatenate([np.flatnonzero(y == c)[:most] for c in np.unique(y)]))


def _shift(view: View) -> FloatArray:
    """Return the shift between the domains' means, which the metric of MLHD is to make short."""
    return np.concatenate([view.S.mean(axis=0), -view.target.mean(axis=0)])


def fit_paired_rule(rows: TransferRows) -> MappedRule:
    r"""Fit a rule :math:`s(\hat f(x))` of the source's classes, with the map f learned from the known pairs.

    .. math:: \min_f \sum_{ij \text{ known}} \omega_{ij} \lVert f(b_j) - a_i \rVert^2 + \lambda \lVert f \rVert^2

    The penalty is that of the least leave-one-out error.
    """
    assert rows.pairs is not None
    A, B, taught = normalize_rows(rows.source), normalize_rows(rows.target), rows.ys >= 0
    learned = fit_ridge(B[rows.pairs.target], A[rows.pairs.source], weights=rows.pairs.weights).map
    shares = rows.shares[rows.shared]
    classifier = LinearRule.of(A[taught], np.searchsorted(rows.shared, rows.ys[taught]))
    return MappedRule.of(learned, classifier, B, shares / shares.sum())
