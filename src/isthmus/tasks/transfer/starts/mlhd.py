"""MLHD as a start: one metric over both domains from labels, and from guesses as pairs of less weight."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla

from isthmus._core.arrays import FloatArray, IntArray
from isthmus.geometry.coordinates import normalize_rows
from isthmus.solvers.logdet import Alignment, LogDetProblem, Pairs
from isthmus.solvers.newton import DualNewton
from isthmus.tasks.transfer.guesses import AXES_PER_CLASS, Guess, class_means, guess_from_scores, squared_distances
from isthmus.tasks.transfer.problem import TransferRows, View

GROUP = 5
"""Source rows of one class whose mean stands for them."""
MOST_GROUPS = 200
"""Means of groups, in all classes together: with more rows, the groups are larger."""
MOST_LABELLED = 30
"""Labelled rows per class that take part in pairs."""
MOST_ROWS = 300
"""With more source rows, means of groups stand for them in the self-trained fits."""
MOST_GUESSED = 30
"""Guessed rows per class that take part in pairs."""
GUESS_WEIGHT, ROUNDS = 0.1, 3
NEAR, FAR = 0.5, 3.0
PAIR_WEIGHT, ALIGNMENT_WEIGHT, SLACK = 0.1, 1.0, 1e-3
TOLERANCE, ITERATIONS = 1e-3, 60


def guess_by_mlhd(rows: TransferRows) -> Guess:
    """Guesses by the distance to the source's class means in the metric of one fit on the labels."""
    view = rows.at(AXES_PER_CLASS)
    S, ys, size = compute_group_means(view, rows.n_classes)
    few = first_of_each(view.yl, MOST_LABELLED)
    L, yl = view.L[few], view.yl[few]
    W = fit_metric(S, ys, L, yl, np.full(len(yl), PAIR_WEIGHT * size), _shift(view))[0]
    A, B = W[: S.shape[1]], W[S.shape[1] :]
    D = squared_distances(view.U @ B, class_means(view.S @ A, view.ys, rows.n_classes))
    return Guess("mlhd", guess_from_scores(-D, rows.shares))


def iterate_mlhd(
    rows: TransferRows, P: FloatArray, rng: np.random.Generator, prior: FloatArray | float = 0.0
) -> FloatArray:
    """Guesses (n_u, C) after some self-trained fits, in which guesses are pairs of less weight.

    Each fit is certified, and starts from the multipliers of the one before. A prior (n_u, C), in logarithms, has a
    say in the guesses of every round.
    """
    view, C = rows.at(AXES_PER_CLASS), rows.n_classes
    S, ys = (view.S, view.ys) if len(view.S) <= MOST_ROWS else compute_group_means(view, C)[:2]
    few = first_of_each(view.yl, MOST_LABELLED)
    drawn = np.sort(rng.permutation(len(P))[: MOST_GUESSED * C])
    T = np.vstack([view.L[few], view.U[drawn]])
    multipliers = None
    for _ in range(ROUNDS):
        sure = np.maximum((P[drawn].max(axis=1) - 1.0 / C) / (1.0 - 1.0 / C), 1e-6)
        weights = PAIR_WEIGHT * np.concatenate([np.ones(len(few)), GUESS_WEIGHT * sure])
        y = np.concatenate([view.yl[few], P[drawn].argmax(axis=1)])
        W, multipliers = fit_metric(S, ys, T, y, weights, _shift(view), multipliers)
        A, B = W[: S.shape[1]], W[S.shape[1] :]
        D = squared_distances(view.U @ B, class_means(S @ A, ys, C))
        P = guess_from_scores(-(D - D.mean(axis=1, keepdims=True)), rows.shares, prior=prior)
    return P


def fit_metric(
    S: FloatArray,
    ys: IntArray,
    T: FloatArray,
    yt: IntArray,
    weights: FloatArray,
    shift: FloatArray,
    start: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """W (k_s + k_t, k) of the certified metric on which rows of one class are near, with the multipliers."""
    n, rows = len(S), sla.block_diag(S, T)
    same = ys[:, None] == yt
    pairs = Pairs(
        slice(0, n),
        slice(n, len(rows)),
        np.where(same, 1.0, -1.0),
        np.broadcast_to(weights, same.shape),
        np.where(same, NEAR, FAR),
    )
    problem = LogDetProblem(rows, (pairs,), Alignment(shift, ALIGNMENT_WEIGHT, SLACK))
    result = DualNewton(tol=TOLERANCE, max_iter=ITERATIONS).solve(problem, start)
    return result.components(), result.multipliers


def compute_group_means(view: View, n_classes: int) -> tuple[FloatArray, IntArray, float]:
    """Source rows as unit means of groups of one class, the classes of these, and how many rows stand behind each."""
    means, classes = [], []
    size = max(GROUP, -(-len(view.S) // MOST_GROUPS))
    for c in range(n_classes):
        of_class = np.flatnonzero(view.ys == c)
        for start in range(0, len(of_class), size):
            means.append(view.S[of_class[start : start + size]].mean(axis=0))
            classes.append(c)
    return normalize_rows(np.array(means)), np.array(classes, dtype=np.intp), float(size)


def first_of_each(y: IntArray, most: int) -> IntArray:
    """The numbers of the first rows of each class, at most so many."""
    return np.sort(np.concatenate([np.flatnonzero(y == c)[:most] for c in np.unique(y)]))


def _shift(view: View) -> FloatArray:
    return np.concatenate([view.S.mean(axis=0), -view.target.mean(axis=0)])
