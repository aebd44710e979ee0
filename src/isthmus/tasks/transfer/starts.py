"""Clusters of the target named by seeded graph matching: classes that lie to each other alike have one name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.optimize import minimize_scalar, quadratic_assignment
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, softmax

from isthmus._core.validation import BoolArray, FloatArray, IntArray
from isthmus.geometry.discriminants import SoftLDA, balance, centre_scores
from isthmus.geometry.similarity import Prepared, normalize_rows, signatures
from isthmus.maps.regression import fit_ridge
from isthmus.solvers.logdet import Alignment, LogDetProblem, Pairs
from isthmus.solvers.newton import DualNewton
from isthmus.tasks.transfer.problem import TransferRows, View
from isthmus.tasks.transfer.rules import (
    AXES_PER_CLASS,
    Guess,
    LinearRule,
    MappedRule,
    class_means,
    guess_from_scores,
    means_of_guesses,
    naming_z,
    squared_distances,
)

TRIES = 5
PARTNERS = 20
"""Rows in a barycentre, where either collection has four times as many."""
SAMPLED = 4000
"""Of more rows than this, all rounds but the last ones are on a sample of so many, on either side."""


def name_clusters(rows: TransferRows, P: FloatArray) -> Guess:
    """The clusters P (n_u, C), in which those of the known classes have their names, with names for the others."""
    if len(rows.unknown) < 2:
        return Guess("clusters", P)
    view = rows.at(AXES_PER_CLASS)
    source = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    target = means_of_guesses(view.L, rows.one_hot, view.U, P) - view.U.mean(axis=0)
    names = _match_similarities(
        normalize_rows(target) @ normalize_rows(target).T,
        normalize_rows(source) @ normalize_rows(source).T,
        rows.known,
    )
    named = np.empty_like(P)
    named[:, names] = P
    return Guess("clusters", named)


def _match_similarities(A: FloatArray, B: FloatArray, seeds: IntArray) -> IntArray:
    """The place in B of each row of A, where similarities A (C, C) and B fit best; the seeds keep theirs."""
    best, most = np.arange(len(A)), -np.inf
    fixed = np.stack([seeds, seeds], axis=1)
    for k in range(TRIES):
        options: Any = {
            "maximize": True,
            "partial_match": fixed,
            "rng": np.random.default_rng(k),
            "P0": "randomized" if k else "barycenter",
        }
        found = quadratic_assignment(A, B, method="faq", options=options)
        if found.fun > most:
            best, most = found.col_ind, found.fun
    return np.asarray(best, dtype=np.intp)


def fit_paired_rule(rows: TransferRows) -> MappedRule:
    r"""Probabilities of the source's classes by :math:`s(\hat f(x))`, the map f learned from the known pairs.

    .. math:: \min_f \sum_{ij \text{ known}} \omega_{ij} \lVert f(b_j) - a_i \rVert^2 + \lambda \lVert f \rVert^2

    The penalty has the least error of leaving out each pair in turn.
    """
    assert rows.pairs is not None
    A, B, taught = normalize_rows(rows.source), normalize_rows(rows.target), rows.ys >= 0
    learned = fit_ridge(B[rows.pairs.target], A[rows.pairs.source], weights=rows.pairs.weights).map
    shares = rows.shares[rows.shared]
    classifier = LinearRule.of(A[taught], np.searchsorted(rows.shared, rows.ys[taught]))
    return MappedRule.of(learned, classifier, B, shares / shares.sum())


PROCRUSTES_ROUNDS = 15


def iterate_procrustes(rows: TransferRows, guess: Guess) -> Guess:
    r"""Guesses from the rotation that they imply, some rounds on.

    .. math:: R = U V^T \text{ of } (M^t)^T M^s = U \Sigma V^T, \qquad s_{ic} = \cos(R^T u_i, \mu^s_c)
    """
    view = rows.at(AXES_PER_CLASS)
    M = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    mean = view.target.mean(axis=0)
    U, L, P = view.U - mean, view.L - mean, guess.P
    for _ in range(PROCRUSTES_ROUNDS):
        P = guess_from_scores(
            normalize_rows(U @ _rotation(means_of_guesses(L, rows.one_hot, U, P), M)) @ normalize_rows(M).T,
            rows.shares,
        )
    return Guess(f"{guess.name}, rotated", P)


def _rotation(A: FloatArray, B: FloatArray) -> FloatArray:
    """The rotation (d, e) of rows A that agrees best with rows B."""
    left, _, right = np.linalg.svd(A.T @ B, full_matrices=False)
    return np.asarray(left @ right)


def guess_by_relative_means(rows: TransferRows) -> Guess:
    """Guesses by the distance between a row's cosines to the labelled means and a class's, both standardised."""
    view = rows.at(AXES_PER_CLASS)
    M = class_means(view.S, view.ys, rows.n_classes)
    labelled = class_means(view.L, np.searchsorted(rows.known, view.yl), len(rows.known))
    classes, targets = normalize_rows(M) @ normalize_rows(M[rows.known]).T, view.U @ normalize_rows(labelled).T
    return Guess(
        "relative", guess_from_scores(-squared_distances(_standard(targets), _standard(classes)), rows.shares)
    )


def _standard(F: FloatArray) -> FloatArray:
    return np.asarray((F - F.mean(axis=0)) / (F.std(axis=0) + 1e-9))


MAP_PENALTY = 1.0
"""For rows of unit length."""


def guess_by_zero_shot(rows: TransferRows) -> Guess:
    r"""Guesses by the cosine of a mapped row to the source's class means.

    .. math:: W = L^T (L L^T + \alpha I)^{-1} M_{y}, \qquad s_{ic} = \cos(W^T u_i, \mu^s_c)
    """
    view = rows.at(AXES_PER_CLASS)
    M = class_means(view.S, view.ys, rows.n_classes)
    W = view.L.T @ np.linalg.solve(view.L @ view.L.T + MAP_PENALTY * np.eye(len(view.L)), M[view.yl])
    return Guess("zero-shot", guess_from_scores(normalize_rows(view.U @ W) @ normalize_rows(M).T, rows.shares))


GROUP = 5
"""Source rows of one class whose mean stands for them."""
MOST_GROUPS = 200
"""Means of groups, in all classes together: with more rows, the groups are larger."""
MOST_LABELLED = 30
"""Labelled rows per class that take part in pairs."""
MOST_MLHD_ROWS = 300
"""With more source rows, means of groups stand for them in the self-trained fits."""
MOST_GUESSED = 30
"""Guessed rows per class that take part in pairs."""
GUESS_WEIGHT, MLHD_ROUNDS = 0.1, 3
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
    S, ys = (view.S, view.ys) if len(view.S) <= MOST_MLHD_ROWS else compute_group_means(view, C)[:2]
    few = first_of_each(view.yl, MOST_LABELLED)
    drawn = np.sort(rng.permutation(len(P))[: MOST_GUESSED * C])
    T = np.vstack([view.L[few], view.U[drawn]])
    multipliers = None
    for _ in range(MLHD_ROUNDS):
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


RATE, SIGNATURE_PENALTY = 0.3, 1.0
"""Of the kernel exp(-0.3 |a - b|² / q), with q statistics, and of its ridge."""
FOLDS = 5
STEEPEST = 30.0
"""The largest factor of the rule's scores."""
DEVIATIONS = 3.0
"""By so many deviations the source's classes must be learnable from the source itself, beyond chance."""
BLOCK = 2000
"""Rows of a kernel matrix that are held at once."""


@dataclass(frozen=True, eq=False)
class SignatureRule:
    """Kernel ridge regression from signatures to classes.

    Parameters
    ----------
    rows : array (n, q)
        Signatures of source rows.
    weights : array (n, C)
        Of the kernel, for each class.
    slope : float
        What makes logarithms of probabilities of its scores.

    Examples
    --------
    >>> rule = SignatureRule.of(np.array([[-1.0], [1.0]]), np.array([0, 1]), 2)
    >>> rule.scores(np.array([[-1.0], [0.0], [1.0]])).argmax(axis=1)[[0, 2]]
    array([0, 1])
    """

    rows: FloatArray
    weights: FloatArray
    slope: float = 1.0

    @classmethod
    def of(cls, F: FloatArray, codes: IntArray, n_classes: int) -> SignatureRule:
        """From signatures F (n, q) of rows whose classes are known."""
        K = _kernel(F, F)
        K[np.diag_indices_from(K)] += SIGNATURE_PENALTY
        return cls(F, sla.solve(K, np.eye(n_classes)[codes] - 1.0 / n_classes, assume_a="pos"))

    @classmethod
    def calibrated(cls, F: FloatArray, codes: IntArray, n_classes: int) -> SignatureRule:
        """With the slope that makes the classes of left-out source rows most likely: zero if it can't tell them."""
        left_out = np.zeros((len(F), n_classes))
        for known, asked in iterate_folds(codes):
            left_out[asked] = cls.of(F[known], codes[known], n_classes).scores(F[asked])
        Y = np.eye(n_classes)[codes]

        def loss(slope: float) -> float:
            return -float((Y * log_softmax(slope * left_out, axis=1)).sum())

        best = minimize_scalar(loss, bounds=(0.0, STEEPEST), method="bounded")
        return replace(cls.of(F, codes, n_classes), slope=float(best.x) if best.fun < loss(0.0) else 0.0)

    def scores(self, F: FloatArray) -> FloatArray:
        """Logarithms of the classes' probabilities (m, C), up to a constant per row: here they sum to zero."""
        parts = [_kernel(F[i : i + BLOCK], self.rows) @ self.weights for i in range(0, len(F), BLOCK)]
        return self.slope * centre_scores(np.concatenate(parts))


def source_accuracy(Z: FloatArray, codes: IntArray, n_classes: int) -> tuple[float, bool]:
    """How many source rows the discriminants of the others name rightly, and whether that is beyond chance.

    Parameters
    ----------
    Z : array (n, k)
        Source rows along their principal axes, of which three per class count.
    codes : array (n,)
        Their classes.
    n_classes : int
        C.

    Returns
    -------
    accuracy : float
        The mean over the classes.
    beyond : bool
        Whether it is above 1 / C by three deviations of a rule that guesses.
    """
    rows, hits = Z[:, : 3 * n_classes].astype(np.float64), np.zeros(len(Z))
    for known, asked in iterate_folds(codes):
        present, of_present = np.unique(codes[known], return_inverse=True)
        mean = rows[known].mean(axis=0)
        rule = SoftLDA.of(rows[known] - mean, np.eye(len(present))[of_present])
        hits[asked] = present[rule.scores(rows[asked] - mean).argmax(axis=1)] == codes[asked]
    sizes = np.bincount(codes, minlength=n_classes).clip(1)
    accuracy = float((np.bincount(codes, hits, minlength=n_classes) / sizes).mean())
    chance = 1.0 / n_classes
    deviation = float(np.sqrt((chance * (1.0 - chance) / sizes).sum()) / n_classes)
    return accuracy, accuracy > chance + DEVIATIONS * deviation


def iterate_folds(codes: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """The rows of all folds but one, and of that one; the classes are dealt out evenly, always in the same way."""
    rng, fold = np.random.default_rng(0), np.zeros(len(codes), np.intp)
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        fold[rng.permutation(rows)] = np.arange(len(rows)) % FOLDS
    for k in np.unique(fold):
        if (fold != k).any():
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def _kernel(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-RATE / A.shape[1] * cdist(A, B, "sqeuclidean")))


MOST_SOURCE = 2000
"""Rows of the source that the rule is learned from, about: a signature has twelve numbers."""
SIGNATURE_MULTIPLES = (1, 2, 3, 5)
"""Numbers of leading axes whose share of a row is a statistic of it, in multiples of the number of classes."""
TRUST = 0.25
"""How far the rule is trusted once it is let in."""
HALF, FULL = 0.1, 0.2
"""The least trust that the target's own guesses bear out, to let it in by half, and in full."""
OFFERED: FloatArray = np.append(np.arange(0.0, 0.96, 0.05), 0.98)
"""The values of trust that are tried."""
ROUNDING = 1e-12
"""A difference of likelihoods per row that is none."""


@dataclass(frozen=True, eq=False)
class SignatureStart:
    """What signatures say about target rows, and the evidence for it.

    Parameters
    ----------
    scores : array (n_t, C)
        Logarithms of the classes' probabilities by the source's rule; zeros where it can't tell the source's own.
    trust : float
        How far the target's own guesses, which know nothing of signatures, bear them out: 0 to 0.98.
    names : float
        How far both agree under the names that the classes have, in deviations over all renamings
        (:func:`~isthmus.tasks.transfer.rules.naming_z`).
    source_accuracy : float
        Of left-out source rows by the source's own discriminants.
    source_learns : bool
        Whether that is beyond chance, so that it is a source of classes at all.
    """

    scores: FloatArray
    trust: float
    names: float
    source_accuracy: float
    source_learns: bool

    @property
    def gate(self) -> float:
        """0 (closed), 0.5 or 1."""
        steps = [self.trust >= least - 1e-9 for least in (HALF, FULL)]
        return 0.5 * sum(steps) if self.source_learns else 0.0

    @property
    def is_open(self) -> bool:
        """Whether the gate lets anything through."""
        return self.gate > 0.0

    @property
    def posterior(self) -> FloatArray:
        """Probabilities of the classes by the rule alone (n_t, C)."""
        return np.asarray(softmax(self.scores, axis=1))

    @property
    def prior(self) -> FloatArray:
        r""":math:`\log((1 - \rho) / C + \rho\,p)`, centred (n_t, C): a term of self-training where the gate is open.

        At a gate of one half, self-training with it and without are averaged.
        """
        C = self.scores.shape[1]
        return centre_scores(np.log((1.0 - TRUST) / C + TRUST * self.posterior))


def guess_by_signatures(
    source: Prepared, ys: IntArray, target: Prepared, guess: FloatArray, asked: BoolArray | None = None
) -> SignatureStart:
    """Classes of target rows by a rule that was learned from the source's signatures alone.

    New target rows need no signature: the prior teaches the target's own discriminants
    (:func:`~isthmus.tasks.transfer.starts.taught`), and these are the rule.

    Parameters
    ----------
    source, target : Prepared
        Both collections.
    ys : array (n_s,)
        Codes of the classes 0 … C - 1, each of which has a row.
    guess : array (n_t, C)
        The target's own guesses, with the shares that the classes are to have.
    asked : array (n_t,), optional
        The rows on which the guesses count: those without a label. All unless given.

    Examples
    --------
    >>> from isthmus.geometry.similarity import prepared, scaled
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 60)
    >>> A, B = (rng.normal(size=(120, d)) ** (1 + 2 * y[:, None]) for d in (20, 30))
    >>> found = guess_by_signatures(prepared(scaled(A)), y, prepared(scaled(B)), np.eye(2)[y])
    >>> bool((found.posterior.argmax(axis=1) == y).mean() > 0.8), found.source_learns
    (True, False)
    """
    scores = signature_scores(source, ys, target, guess.shape[1])
    accuracy, learns = measure_separability(source, ys, guess.shape[1])
    rows = slice(None) if asked is None or not asked.any() else asked
    names = naming_z(softmax(scores[rows], axis=1).T @ guess[rows])
    return SignatureStart(scores, estimate_trust(scores[rows], guess[rows]), names, accuracy, learns)


def signature_scores(source: Prepared, ys: IntArray, target: Prepared, n_classes: int) -> FloatArray:
    """Logarithms of the classes' probabilities of target rows (n_t, C), by the rule of the source's signatures."""
    some = sample_rows(ys, MOST_SOURCE)
    leading = tuple(multiple * n_classes for multiple in SIGNATURE_MULTIPLES)
    rule = SignatureRule.calibrated(signatures(source, leading)[some], ys[some], n_classes)
    return rule.scores(signatures(target, leading))


def measure_separability(source: Prepared, ys: IntArray, n_classes: int) -> tuple[float, bool]:
    """How well discriminants tell the source's own classes apart, and whether that is beyond chance."""
    some = sample_rows(ys, MOST_SOURCE)
    return source_accuracy(source.points[some], ys[some], n_classes)


def estimate_trust(scores: FloatArray, P: FloatArray) -> float:
    r"""ρ of the largest :math:`\sum P \log((1 - \rho) / C + \rho\,\mathrm{softmax}(s))`: how far P bears out s.

    Examples
    --------
    >>> s = np.log([[0.9, 0.1], [0.1, 0.9]])
    >>> estimate_trust(s, np.eye(2)), estimate_trust(s, np.eye(2)[::-1])
    (0.98, 0.0)
    """
    p, C = softmax(scores, axis=1), P.shape[1]
    likelihoods = np.array([(P * np.log((1.0 - rho) / C + rho * p)).sum() for rho in OFFERED])
    as_good = likelihoods >= likelihoods.max() - ROUNDING * len(P)  # a rule that says nothing earns no trust
    return float(OFFERED[int(np.argmax(as_good))])


MULTIPLES = (2, 3, 5)
"""Numbers of principal axes, in multiples of the number of classes."""
SELF_TRAINING_ROUNDS, ROUNDS_OF_SHARES = 10, 15
"""Rounds of self-training with given shares, and with shares that are learned too."""
ROWS = 5.0
"""So many rows of each class are added where shares are learned."""


def self_train(
    Z: FloatArray, codes: IntArray, P: FloatArray, shares: FloatArray, prior: FloatArray | float = 0.0
) -> FloatArray:
    r"""Guesses (n, C) after self-training from guesses P, with given shares of the classes.

    .. math:: P \leftarrow \mathrm{balanced}\bigl(s_P(z) + \mu\bigr)

    on the first 2 C, 3 C and 5 C axes, averaged; s are the scores of :class:`~isthmus.estimators.controls.SelfTrainedLDA`'s
    discriminants. Labelled rows keep their labels.

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
    for rows, Q in _views(Z, codes, P):
        for _ in range(SELF_TRAINING_ROUNDS if unknown.any() else 0):
            Q[unknown] = balance(SoftLDA.of(rows, Q).scores(rows)[unknown] + mu, shares)
        found.append(Q)
    return np.asarray(np.mean(found, axis=0))


def learn_shares(Z: FloatArray, codes: IntArray, P: FloatArray) -> FloatArray:
    """The shares of the classes (C,) among unlabelled rows by the target alone, learned with the discriminants."""
    unknown, C = codes < 0, P.shape[1]
    found = []
    for rows, Q in _views(Z, codes, P):
        pi = np.full(C, 1.0 / C)
        for _ in range(ROUNDS_OF_SHARES if unknown.any() else 0):
            Q[unknown] = softmax(SoftLDA.of(rows, Q).scores(rows)[unknown] + np.log(pi), axis=1)
            pi = (Q[unknown].sum(axis=0) + ROWS) / (unknown.sum() + ROWS * C)
        found.append(pi)
    return np.asarray(np.mean(found, axis=0))


def correlate_shares(Z: FloatArray, codes: IntArray, P: FloatArray, shares: FloatArray) -> float:
    """The correlation of shares with those that the target gives by itself from guesses P; 0 for equal ones."""
    if np.ptp(shares) < 1e-12:
        return 0.0
    own = learn_shares(Z, codes, P), np.bincount(P.argmax(axis=1), minlength=P.shape[1]) / len(P)
    return float(np.mean([np.corrcoef(each, shares)[0, 1] if np.ptp(each) > 1e-12 else 0.0 for each in own]))


def _views(Z: FloatArray, codes: IntArray, P: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Centred rows on fewer and more axes, each with guesses of its own, in which labels are kept."""
    C = P.shape[1]
    for k in sorted({min(multiple * C, Z.shape[1]) for multiple in MULTIPLES}):
        rows = Z[:, :k].astype(np.float64)
        Q = np.array(P, dtype=np.float64)
        Q[codes >= 0] = np.eye(C)[codes[codes >= 0]]
        yield rows - rows.mean(axis=0), Q


RESTARTS, ROUNDS = 10, 15
SHARPNESS = 0.1
"""Distances are divided by this part of their mean before they are balanced."""
MOST_ROWS = 4000
"""Clusters are looked for among at most so many unlabelled rows; then all are assigned once."""


def guess_by_nearest(rows: TransferRows, multiple: int = AXES_PER_CLASS, prior: FloatArray | float = 0.0) -> Guess:
    """By the nearest labelled row of each class, of which every class needs one, and a prior in logarithms."""
    view = rows.at(multiple)
    D = np.stack([_to_nearest(view.U, view.L[view.yl == c]) for c in range(rows.n_classes)], axis=1)
    unit = float(np.median(D.min(axis=1)) or D.mean() or 1.0)
    return Guess("target", balance(-D / (2.0 * unit) + prior, rows.shares))


def _to_nearest(U: FloatArray, L: FloatArray) -> FloatArray:
    return np.asarray(cdist(U, L, "sqeuclidean").min(axis=1))


def cluster(rows: TransferRows, rng: np.random.Generator) -> Guess:
    """C balanced clusters: those of the known classes begin at their labelled means, the others far from all.

    The best of some restarts, by the distances to the means. The names of the others mean nothing yet.
    """
    view = rows.at(AXES_PER_CLASS)
    U = view.U if len(view.U) <= MOST_ROWS else view.U[np.sort(rng.permutation(len(view.U))[:MOST_ROWS])]
    labelled = class_means(view.L, np.searchsorted(rows.known, view.yl), len(rows.known))
    best, least = None, np.inf
    for _ in range(RESTARTS if len(rows.unknown) else 1):
        M: FloatArray = np.empty((rows.n_classes, U.shape[1]))
        M[np.concatenate([rows.known, rows.unknown])] = _draw_centres(labelled, U, len(rows.unknown), rng)
        for _ in range(ROUNDS):
            P = _assign(U, M, rows.shares)
            M = means_of_guesses(view.L, rows.one_hot, U, P)
        cost = float((P * squared_distances(U, M)).sum())
        if cost < least:
            best, least = M, cost
    assert best is not None
    return Guess("clusters", _assign(view.U, best, rows.shares))


def _assign(U: FloatArray, M: FloatArray, shares: FloatArray) -> FloatArray:
    D = squared_distances(U, M)
    return balance(-D / (SHARPNESS * (D.mean() or 1.0)), shares)


def _draw_centres(M: FloatArray, U: FloatArray, more: int, rng: np.random.Generator) -> FloatArray:
    """Means M and some rows of U, each drawn by its squared distance to the nearest of those before (k-means++)."""
    for _ in range(more):
        D = squared_distances(U, M).min(axis=1)
        drawn = rng.choice(len(U), p=D / D.sum() if D.sum() > 0.0 else None)
        M = np.vstack([M, U[drawn]])
    return M


def sample_rows(codes: IntArray, most: int = SAMPLED) -> IntArray:
    """Places of ``most`` rows drawn at random, and of some more so that no class has too few for a barycentre.

    Examples
    --------
    >>> codes = np.repeat([0, 1], [5000, 3])
    >>> len(sample_rows(codes)) >= 4000, set(range(5000, 5003)) <= set(sample_rows(codes).tolist())
    (True, True)
    """
    order = np.random.default_rng(0).permutation(len(codes))
    some = [order[codes[order] == c][:PARTNERS] for c in np.unique(codes)]
    return np.unique(np.concatenate([order[:most], *some]))
