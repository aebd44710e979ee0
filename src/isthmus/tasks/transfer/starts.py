"""Starts: first guesses of the classes of the unlabelled target rows, each by another idea of how the domains relate.

In this order: the target alone (nearest labelled rows, discriminants, balanced clusters, their ensemble, shares of
the classes), then the source by its class means (zero-shot, relative, rotated, named clusters), by MLHD, and by known
pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.optimize import quadratic_assignment
from scipy.spatial.distance import cdist
from scipy.special import softmax

from isthmus._core.validation import FloatArray, IntArray
from isthmus.geometry.discriminants import SoftLDA, balance
from isthmus.geometry.similarity import normalize_rows
from isthmus.maps.regression import fit_ridge
from isthmus.solvers.logdet import Alignment, LogDetProblem, Pairs
from isthmus.solvers.newton import DualNewton
from isthmus.tasks.transfer.problem import MULTIPLES, TransferRows, View
from isthmus.tasks.transfer.scoring import (
    AXES_PER_CLASS,
    ROUNDS,
    Discriminant,
    Guess,
    LinearRule,
    MappedRule,
    NearestMean,
    Probabilities,
    Rule,
    Vote,
    WeightedSum,
    class_means,
    guess_from_scores,
    means_of_guesses,
    polish_guesses,
    squared_distances,
)

CLUSTER_ROUNDS, RESTARTS = 15, 10
# The weight of a labelled row in the mean of its cluster.
SEED_WEIGHT = 3.0
# Clusters of more confidence than the first have a part in the target's ensemble, by this slope.
LEAST_CONFIDENCE, SLOPE = 0.5, 2.5
# Combined scores of unit deviation are multiplied by this and read as logarithms.
SHARPNESS = 2.0
# Distances to clusters are divided by this part of their mean before they are balanced.
CLUSTER_WIDTH = 0.1
# Clusters are fitted to at most this many unlabelled rows; then all are assigned once.
MOST_CLUSTERED = 4000
# Rounds of self-training in which shares are estimated too, and rows of each class that are added to the counts.
SHARE_ROUNDS, SHARE_ROWS = 15, 5.0


def guess_by_nearest(rows: TransferRows, multiple: int = AXES_PER_CLASS, prior: FloatArray | float = 0.0) -> Guess:
    """Guess by the nearest labelled row of each class, of which every class needs one, and a prior in logarithms."""
    view = rows.at(multiple)
    nearest = [cdist(view.U, view.L[view.yl == c], "sqeuclidean").min(axis=1) for c in range(rows.n_classes)]
    D = np.stack(nearest, axis=1)
    unit = float(np.median(D.min(axis=1)) or D.mean() or 1.0)
    return Guess("target", rows.balance(-D / (2.0 * unit) + prior))


def fit_discriminants(
    rows: TransferRows, P: FloatArray | None = None, prior: FloatArray | float = 0.0, rounds: int = ROUNDS
) -> tuple[Discriminant, ...]:
    """Fit self-trained discriminants on several numbers of axes, from guesses P or from the nearest labels."""
    starts = [guess_by_nearest(rows, multiple, prior).P if P is None else P for multiple in MULTIPLES]
    return tuple(
        polish_guesses(rows, start, multiple=multiple, rounds=rounds + 1, prior=prior)[1]
        for start, multiple in zip(starts, MULTIPLES, strict=True)
    )


def average_rules(members: tuple[Discriminant, ...]) -> Rule:
    """Return the mean of the members' probabilities, as scores."""
    n = len(members)
    return WeightedSum(tuple(map(Probabilities, members)), np.ones(n), np.full(n, 1.0 / n))


def fit_target_vote(rows: TransferRows, P: FloatArray | None = None, rounds: int = ROUNDS) -> Rule:
    """Fit the vote of the target's own discriminants on several numbers of axes."""
    members = fit_discriminants(rows, P, rounds=rounds)
    return Vote(members, np.ones(len(members)))


def fit_cluster_means(rows: TransferRows, prior: FloatArray | float = 0.0) -> Rule:
    """Fit balanced k-means from the labelled means, on several numbers of axes."""
    found = []
    for multiple in MULTIPLES:
        view = rows.at(multiple)
        M = class_means(view.L, view.yl, rows.n_classes)
        for _ in range(CLUSTER_ROUNDS):
            P = guess_from_scores(rows, -squared_distances(view.U, M), prior)
            M = means_of_guesses(view.L, rows.one_hot, view.U, P, SEED_WEIGHT)
        found.append(NearestMean(M))
    return WeightedSum.of(tuple(found), rows.target[rows.unlabelled])


def fit_target_ensemble(rows: TransferRows, prior: FloatArray | float = 0.0) -> Rule:
    """Fit discriminants and clusters of the target; the clusters count by their confidence."""
    clusters = fit_cluster_means(rows, prior)
    part = float(np.clip(SLOPE * (measure_confidence(clusters, rows) - LEAST_CONFIDENCE), 0.0, 1.0))
    discriminants = average_rules(fit_discriminants(rows, prior=prior))
    return combine(rows, discriminants, clusters, parts=(1.0 - part, part))


def measure_confidence(rule: Rule, rows: TransferRows) -> float:
    r"""Return how far balanced guesses of the unlabelled rows are from even ones: :math:`(\bar p - 1/C) / (1 - 1/C)`.

    With :math:`\bar p` the mean probability of the best class; one for certain guesses.
    """
    best = float(guess_by_rule(combine(rows, rule), rows).max(axis=1).mean())
    return (rows.n_classes * best - 1.0) / max(rows.n_classes - 1, 1)


def combine(rows: TransferRows, *members: Rule, parts: tuple[float, ...] | None = None) -> Rule:
    """Return a weighted sum of rules, their scores scaled on the unlabelled rows; in equal parts unless given."""
    weights = np.array((1.0 / len(members),) * len(members) if parts is None else parts)
    return WeightedSum.of(members, rows.target[rows.unlabelled], SHARPNESS * weights)


def guess_by_rule(
    rule: Rule, rows: TransferRows, prior: FloatArray | float = 0.0, sharpness: float = 1.0
) -> FloatArray:
    """Return balanced guesses of the unlabelled rows (n_u, C) by a rule."""
    return rows.balance(sharpness * rule.scores(rows.target[rows.unlabelled]) + prior)


def predict_target(rule: Rule, rows: TransferRows) -> FloatArray:
    """Return probabilities of the classes of all target rows (n_t, C) by a rule; labelled ones keep their labels."""
    P = np.asarray(softmax(rule.scores(rows.target), axis=1))
    P[~rows.unlabelled] = rows.one_hot
    return P


def cluster_target(rows: TransferRows, rng: np.random.Generator) -> Guess:
    """Return C balanced clusters; those of known classes start at their labelled means, the others far from all.

    The best of some restarts, by the distances to the means. The names of the other clusters mean nothing yet.
    """
    view = rows.at(AXES_PER_CLASS)
    U = view.U
    if len(U) > MOST_CLUSTERED:
        U = U[np.sort(rng.permutation(len(U))[:MOST_CLUSTERED])]
    labelled = class_means(view.L, np.searchsorted(rows.known, view.yl), len(rows.known))
    best, least = None, np.inf
    for _ in range(RESTARTS if len(rows.unknown) else 1):
        M: FloatArray = np.empty((rows.n_classes, U.shape[1]))
        M[np.concatenate([rows.known, rows.unknown])] = _draw_centres(labelled, U, len(rows.unknown), rng)
        for _ in range(CLUSTER_ROUNDS):
            P = _assign(rows, U, M)
            M = means_of_guesses(view.L, rows.one_hot, U, P)
        cost = float((P * squared_distances(U, M)).sum())
        if cost < least:
            best, least = M, cost
    assert best is not None
    return Guess("clusters", _assign(rows, view.U, best))


def _assign(rows: TransferRows, U: FloatArray, M: FloatArray) -> FloatArray:
    D = squared_distances(U, M)
    return rows.balance(-D / (CLUSTER_WIDTH * (D.mean() or 1.0)))


def _draw_centres(M: FloatArray, U: FloatArray, more: int, rng: np.random.Generator) -> FloatArray:
    """Return means M and rows of U, each drawn by its squared distance to the nearest before it (k-means++)."""
    for _ in range(more):
        D = squared_distances(U, M).min(axis=1)
        drawn = rng.choice(len(U), p=D / D.sum() if D.sum() > 0.0 else None)
        M = np.vstack([M, U[drawn]])
    return M


def self_train(
    Z: FloatArray, codes: IntArray, P: FloatArray, shares: FloatArray, prior: FloatArray | float = 0.0
) -> FloatArray:
    r"""Return guesses (n, C) after self-training from guesses P, with given shares of the classes.

    .. math:: P \leftarrow \mathrm{balanced}\bigl(s_P(z) + \mu\bigr)

    on the first 2 C, 3 C and 5 C axes, averaged; s are the scores of the discriminants of
    :class:`~isthmus.estimators.controls.SelfTrainedLDA`. Labelled rows keep their labels.

    Parameters
    ----------
    Z : array (n, k)
        Target rows along their principal axes.
    codes : array (n,)
        Classes, -1 where unknown.
    P : array (n, C)
        First guesses.
    shares : array (C,)
        Of the unlabelled rows.
    prior : array (n, C), optional
        μ: logarithms of how likely the classes are by other evidence.

    Examples
    --------
    >>> Z = np.array([[-2.0], [-1.9], [2.0], [1.8]])
    >>> guesses = np.array([[1, 0], [0.6, 0.4], [0, 1], [0.4, 0.6]])
    >>> self_train(Z, np.array([0, -1, 1, -1]), guesses, np.array([0.5, 0.5])).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    unknown = codes < 0
    mu = np.broadcast_to(prior, P.shape)[unknown]
    found = []
    for rows, Q in _leading_axes(Z, codes, P):
        for _ in range(ROUNDS if unknown.any() else 0):
            Q[unknown] = balance(SoftLDA.of(rows, Q).scores(rows)[unknown] + mu, shares)
        found.append(Q)
    return np.asarray(np.mean(found, axis=0))


def estimate_shares(Z: FloatArray, codes: IntArray, P: FloatArray) -> FloatArray:
    """Return the shares of the classes (C,) among unlabelled rows, estimated together with the discriminants."""
    unknown, C = codes < 0, P.shape[1]
    found = []
    for rows, Q in _leading_axes(Z, codes, P):
        pi = np.full(C, 1.0 / C)
        for _ in range(SHARE_ROUNDS if unknown.any() else 0):
            Q[unknown] = softmax(SoftLDA.of(rows, Q).scores(rows)[unknown] + np.log(pi), axis=1)
            pi = (Q[unknown].sum(axis=0) + SHARE_ROWS) / (unknown.sum() + SHARE_ROWS * C)
        found.append(pi)
    return np.asarray(np.mean(found, axis=0))


def correlate_shares(Z: FloatArray, codes: IntArray, P: FloatArray, shares: FloatArray) -> float:
    """Return the correlation of shares with those of the target alone, from guesses P; 0 for equal shares."""
    if np.ptp(shares) < 1e-12:
        return 0.0
    own = estimate_shares(Z, codes, P), np.bincount(P.argmax(axis=1), minlength=P.shape[1]) / len(P)
    return float(np.mean([np.corrcoef(each, shares)[0, 1] if np.ptp(each) > 1e-12 else 0.0 for each in own]))


def _leading_axes(Z: FloatArray, codes: IntArray, P: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield centred rows on fewer and more axes, each with guesses of its own, in which labels are kept."""
    C = P.shape[1]
    for k in sorted({min(multiple * C, Z.shape[1]) for multiple in MULTIPLES}):
        rows = Z[:, :k].astype(np.float64)
        Q = np.array(P, dtype=np.float64)
        Q[codes >= 0] = np.eye(C)[codes[codes >= 0]]
        yield rows - rows.mean(axis=0), Q


# Of the zero-shot ridge map, for rows of unit length.
MAP_PENALTY = 1.0
PROCRUSTES_ROUNDS = 15
# Starts of graph matching.
TRIES = 5


def guess_by_zero_shot(rows: TransferRows) -> Guess:
    r"""Guess by the cosine of a row, mapped by ridge regression of the labelled rows, to the source's class means.

    .. math:: W = L^T (L L^T + \alpha I)^{-1} M_{y}, \qquad s_{ic} = \cos(W^T u_i, \mu^s_c)
    """
    view = rows.at(AXES_PER_CLASS)
    M = class_means(view.S, view.ys, rows.n_classes)
    W = view.L.T @ np.linalg.solve(view.L @ view.L.T + MAP_PENALTY * np.eye(len(view.L)), M[view.yl])
    return Guess("zero-shot", guess_from_scores(rows, normalize_rows(view.U @ W) @ normalize_rows(M).T))


def guess_by_relative_means(rows: TransferRows) -> Guess:
    """Guess by relative representations: cosines to the labelled means, standardized, of rows and of classes."""
    view = rows.at(AXES_PER_CLASS)
    M = class_means(view.S, view.ys, rows.n_classes)
    labelled = class_means(view.L, np.searchsorted(rows.known, view.yl), len(rows.known))
    classes, targets = normalize_rows(M) @ normalize_rows(M[rows.known]).T, view.U @ normalize_rows(labelled).T
    targets, classes = ((F - F.mean(axis=0)) / (F.std(axis=0) + 1e-9) for F in (targets, classes))
    return Guess("relative", guess_from_scores(rows, -squared_distances(targets, classes)))


def rotate_guess(rows: TransferRows, guess: Guess) -> Guess:
    r"""Guess by the rotation between the class means of a guess and of the source, iterated.

    .. math:: R = U V^T \text{ of } (M^t)^T M^s = U \Sigma V^T, \qquad s_{ic} = \cos(R^T u_i, \mu^s_c)
    """
    view = rows.at(AXES_PER_CLASS)
    M = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    mean = view.target.mean(axis=0)
    U, L, P = view.U - mean, view.L - mean, guess.P
    for _ in range(PROCRUSTES_ROUNDS):
        left, _, right = np.linalg.svd(means_of_guesses(L, rows.one_hot, U, P).T @ M, full_matrices=False)
        P = guess_from_scores(rows, normalize_rows(U @ (left @ right)) @ normalize_rows(M).T)
    return Guess(f"{guess.name}, rotated", P)


def name_clusters(rows: TransferRows, P: FloatArray) -> Guess:
    """Name the clusters P (n_u, C) of unknown classes by seeded graph matching; known classes keep their names."""
    if len(rows.unknown) < 2:
        return Guess("clusters", P)
    view = rows.at(AXES_PER_CLASS)
    source = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    target = means_of_guesses(view.L, rows.one_hot, view.U, P) - view.U.mean(axis=0)
    A, B = (normalize_rows(M) @ normalize_rows(M).T for M in (target, source))
    named = np.empty_like(P)
    named[:, _match_similarities(A, B, rows.known)] = P
    return Guess("clusters", named)


def _match_similarities(A: FloatArray, B: FloatArray, seeds: IntArray) -> IntArray:
    """Return the place in B of each row of A where similarities A (C, C) and B fit best; the seeds keep theirs."""
    best, most = np.arange(len(A)), -np.inf
    fixed = np.stack([seeds, seeds], axis=1)
    for k in range(TRIES):
        start = {"rng": np.random.default_rng(k), "P0": "randomized" if k else "barycenter"}
        options: Any = {"maximize": True, "partial_match": fixed, **start}
        found = quadratic_assignment(A, B, method="faq", options=options)
        if found.fun > most:
            best, most = found.col_ind, found.fun
    return np.asarray(best, dtype=np.intp)


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


def guess_by_mlhd(rows: TransferRows) -> Guess:
    """Guess by the distance to the source's class means in the metric of one MLHD fit to the labels."""
    view = rows.at(AXES_PER_CLASS)
    S, ys, size = compute_group_means(view, rows.n_classes)
    few = first_of_each(view.yl, MOST_LABELLED)
    L, yl = view.L[few], view.yl[few]
    W = fit_metric(S, ys, L, yl, np.full(len(yl), PAIR_WEIGHT * size), _shift(view))[0]
    A, B = W[: S.shape[1]], W[S.shape[1] :]
    D = squared_distances(view.U @ B, class_means(view.S @ A, view.ys, rows.n_classes))
    return Guess("mlhd", guess_from_scores(rows, -D))


def iterate_mlhd(
    rows: TransferRows, P: FloatArray, rng: np.random.Generator, prior: FloatArray | float = 0.0
) -> FloatArray:
    """Return guesses (n_u, C) after some self-trained MLHD fits, in which guesses P are pairs of less weight.

    Each fit is certified, and warm-started from the multipliers of the one before. A prior (n_u, C), in logarithms,
    is part of the guesses of every round.
    """
    view, C = rows.at(AXES_PER_CLASS), rows.n_classes
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
    problem = LogDetProblem(rows, (pairs,), Alignment(shift, ALIGNMENT_WEIGHT, SLACK))
    result = DualNewton(tol=TOLERANCE, max_iter=ITERATIONS).solve(problem, start)
    return result.components(), result.multipliers


def compute_group_means(view: View, n_classes: int) -> tuple[FloatArray, IntArray, float]:
    """Return unit means of groups of source rows of one class, their classes, and the size of a group."""
    means, classes = [], []
    size = max(GROUP, -(-len(view.S) // MOST_GROUPS))
    for c in range(n_classes):
        of_class = np.flatnonzero(view.ys == c)
        for start in range(0, len(of_class), size):
            means.append(view.S[of_class[start : start + size]].mean(axis=0))
            classes.append(c)
    return normalize_rows(np.array(means)), np.array(classes, dtype=np.intp), float(size)


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
