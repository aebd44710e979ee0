"""Rules that score the classes of target rows, alone or mixed, and what the target learns by itself.

Every rule maps centred coordinates Z (n, k) of target rows to scores (n, C). *Guesses* are probabilities P (n_u, C)
of the unlabelled target rows of a fit; they are balanced, so that every class gets its share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, softmax
from sklearn.svm import LinearSVC

from isthmus._core.linalg import normalize_rows
from isthmus._core.validation import FloatArray, IntArray, Matrix
from isthmus.geometry.discriminants import (
    NEVER,
    SoftLDA,
    balance,
    balancing_offsets,
    centre_scores,
    floor_shares,
    score_deviation,
)
from isthmus.geometry.similarity import normalize_precisely
from isthmus.maps.regression import AffineMap
from isthmus.tasks.transfer.problem import AXES_PER_CLASS, MULTIPLES, TransferRows, extend_classes, tie_classes

# Scores in units of their deviation are divided by this before they are balanced.
GUESS_TEMPERATURE = 0.5
# The same for scores of mapped rows.
MAP_TEMPERATURE = 0.3
# Source rows that a linear rule is fitted to, at most.
MOST_TAUGHT = 20_000
# Rounds of self-training.
ROUNDS = 10
# Added to probabilities in a pool.
POOL_FLOOR = 0.01
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


def guess_from_scores(rows: TransferRows, scores: FloatArray, prior: FloatArray | float = 0.0) -> FloatArray:
    """Return balanced guesses (n, C) from scores of any unit, the larger the better, and a prior in logarithms."""
    deviation = scores.std()
    return rows.balance(scores / (deviation if deviation > 0.0 else 1.0) / GUESS_TEMPERATURE + prior)


def class_means(Z: FloatArray, y: IntArray, n_classes: int) -> FloatArray:
    """Return the mean of the rows of each class (C, k)."""
    Y = np.eye(n_classes)[y]
    return np.asarray(Y.T @ Z / Y.sum(axis=0)[:, None])


def means_of_guesses(L: FloatArray, Y: FloatArray, U: FloatArray, P: FloatArray, weight: float = 1.0) -> FloatArray:
    """Return the mean of each class (C, k) by labels Y of rows L, of this weight each, and guesses P of rows U."""
    return np.asarray((P.T @ U + weight * Y.T @ L) / (P.sum(axis=0) + weight * Y.sum(axis=0))[:, None])


def squared_distances(A: FloatArray, M: FloatArray) -> FloatArray:
    """Return the squared distances (n, C) of rows A (n, k) to a few points M (C, k)."""
    D = (A * A).sum(axis=1)[:, None] + (M * M).sum(axis=1) - 2.0 * A @ M.T
    return np.asarray(np.maximum(D, 0.0))


@dataclass(frozen=True, eq=False)
class LinearRule:
    """Scores x W + b of unit rows of the source: one column per class."""

    weights: FloatArray
    offsets: FloatArray

    @classmethod
    def of(cls, X: Matrix, codes: IntArray) -> LinearRule:
        """Fit a linear support vector machine, one class against the others, to source rows X (n, k)."""
        if X.shape[0] > MOST_TAUGHT:
            some = np.random.default_rng(0).permutation(X.shape[0])[:MOST_TAUGHT]
            some = np.union1d(some, np.unique(codes, return_index=True)[1])  # no class is lost
            X, codes = X[some], codes[some]
        svm = LinearSVC(dual=X.shape[0] <= X.shape[1], random_state=0, max_iter=10_000).fit(X, codes)
        W, b = svm.coef_.T, svm.intercept_
        if W.shape[1] == 1:  # one direction separates two classes
            W, b = np.hstack([-W, W]), np.concatenate([-b, b])
        return cls(W, b)

    def scores(self, X: Matrix) -> FloatArray:
        """Return the scores of rows X (n, k), one column per class."""
        return np.asarray(X @ self.weights + self.offsets)


@dataclass(frozen=True, eq=False)
class MappedRule:
    r"""Probabilities :math:`\propto \exp(s(\hat f(x)) / \tau + o)` of the classes of a target row x.

    Parameters
    ----------
    map : AffineMap
        Target coordinates of unit length to source coordinates.
    rule : LinearRule
        The source's classifier s.
    unit : float
        :math:`\tau`: what its scores are divided by.
    offsets : array (C,)
        o: what gives each class its share of the target rows that the rule was learned with. With these fixed, a new
        row is scored by itself, whatever rows come with it.
    """

    map: AffineMap
    rule: LinearRule
    unit: float
    offsets: FloatArray

    @classmethod
    def of(cls, learned: AffineMap, rule: LinearRule, B: FloatArray, shares: FloatArray) -> MappedRule:
        """Choose the offsets so that the classes have these shares among the target rows B (m, k)."""
        raw = rule.scores(normalize_rows(learned(B)))
        size = MAP_TEMPERATURE * (float(raw.std()) or 1.0)
        return cls(learned, rule, size, balancing_offsets(raw / size, shares))

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return logarithms of the classes' probabilities (m, C) of target rows by their centred coordinates Z."""
        return np.asarray(log_softmax(self._balanced_scores(normalize_rows(Z)), axis=1))

    def posterior(self, B: FloatArray) -> FloatArray:
        """Return probabilities of the classes (m, C) of target rows B (m, k) of unit length, old or new."""
        return np.asarray(softmax(self._balanced_scores(B), axis=1))

    def _balanced_scores(self, B: FloatArray) -> FloatArray:
        return np.asarray(self.rule.scores(normalize_rows(self.map(B))) / self.unit + self.offsets)


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Logarithms of probabilities (n, C) by a linear rule of unit rows for some classes, with scores of this unit."""

    rule: LinearRule
    classes: IntArray
    unit: float
    n_classes: int

    @classmethod
    def of(cls, X: Matrix, codes: IntArray, n_classes: int, asked: Matrix, temperature: float) -> LinearScores:
        """Fit to unit rows X; the unit is the deviation of the scores of rows ``asked``, times the temperature."""
        classes, places = np.unique(codes, return_inverse=True)
        rule = LinearRule.of(X, places)
        return cls(rule, classes, temperature * (float(rule.scores(asked).std()) or 1.0), n_classes)

    def scores(self, Z: Matrix) -> FloatArray:
        """Return logarithms of probabilities of rows of any length; other classes are never predicted."""
        S = np.full((Z.shape[0], self.n_classes), NEVER)
        S[:, self.classes] = self.rule.scores(normalize_precisely(Z)) / self.unit
        return np.asarray(log_softmax(S, axis=1))


class Rule(Protocol):
    """A rule for target rows."""

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return scores of the classes (n, C), the larger the better, of centred coordinates Z (n, k)."""


@dataclass(frozen=True, eq=False)
class Discriminant:
    """Logarithms of probabilities by linear discriminants of unit rows on the first k axes, seen from a mean (k,)."""

    mean: FloatArray
    lda: SoftLDA

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return logarithms of probabilities."""
        return np.asarray(log_softmax(self.lda.scores(normalize_rows(Z[:, : len(self.mean)]) - self.mean), axis=1))


@dataclass(frozen=True, eq=False)
class NearestMean:
    """Minus the squared distances of unit rows on the first k axes to the means (C, k) of the classes."""

    means: FloatArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return minus squared distances."""
        return -squared_distances(normalize_rows(Z[:, : self.means.shape[1]]), self.means)


@dataclass(frozen=True, eq=False)
class Vote:
    """The logarithm of the weighted mean of the probabilities that several rules give."""

    members: tuple[Rule, ...]
    weights: FloatArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return logarithms of probabilities."""
        shares = self.weights / self.weights.sum()
        P = sum(w * softmax(rule.scores(Z), axis=1) for w, rule in zip(shares, self.members, strict=True))
        return _safe_log(P)


@dataclass(frozen=True, eq=False)
class Probabilities:
    """The probabilities of a rule, as scores."""

    rule: Rule

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return probabilities."""
        return np.asarray(softmax(self.rule.scores(Z), axis=1))


@dataclass(frozen=True, eq=False)
class SubsetRule:
    """A rule over some of the classes, as one over all: the others keep what another rule gives them."""

    rule: Rule
    classes: IntArray
    own: Rule

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return logarithms of probabilities."""
        P, own = (softmax(rule.scores(Z), axis=1) for rule in (self.rule, self.own))
        return _safe_log(extend_classes(P, self.classes, own))


@dataclass(frozen=True, eq=False)
class TiedClasses:
    """A rule that can't tell some classes from each other: they share their probability evenly."""

    rule: Rule
    classes: IntArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return logarithms of probabilities."""
        return _safe_log(tie_classes(softmax(self.rule.scores(Z), axis=1), self.classes))


@dataclass(frozen=True, eq=False)
class Pool:
    r"""The sum :math:`\sum_k w_k \log(p_k + 0.01)` of the probabilities of several rules."""

    members: tuple[Rule, ...]
    weights: FloatArray

    def terms(self, Z: FloatArray) -> FloatArray:
        """Return the logarithms of each member (n, K, C)."""
        return np.stack([pool_term(rule.scores(Z)) for rule in self.members], axis=1)

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return the sum (n, C)."""
        return np.asarray(np.einsum("nkc,k->nc", self.terms(Z), self.weights))


def pool_term(scores: FloatArray) -> FloatArray:
    """Return what a rule adds to a pool: logarithms of probabilities, none so small that it would be a veto."""
    return np.asarray(np.log(softmax(scores, axis=1) + POOL_FLOOR))


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A weighted sum of scores, each brought to mean zero per row and divided by its own unit."""

    members: tuple[Rule, ...]
    units: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, members: tuple[Rule, ...], Z: FloatArray, weights: FloatArray | None = None) -> WeightedSum:
        """Take the deviation of the scores of rows Z as the unit of each."""
        units = np.array([score_deviation(rule.scores(Z)) for rule in members])
        return cls(members, units, np.ones(len(members)) if weights is None else weights)

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return the sum."""
        parts = zip(self.members, self.weights / self.units, strict=True)
        return np.asarray(sum(factor * centre_scores(rule.scores(Z)) for rule, factor in parts))


def _safe_log(P: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(P, np.finfo(float).tiny)))


def vote_with_source(rows: TransferRows, mapped: MappedRule, own: Rule, weight: float) -> Rule:
    """Return the vote of a rule of the mapped source, of this weight, and of a rule of the target."""
    rule: Rule = mapped
    if len(rows.shared) < rows.n_classes:  # the source knows nothing of classes that only the target has
        rule = SubsetRule(rule, rows.shared, own)
    return Vote((rule, own), np.array([weight, 1.0 - weight]))


def polish_guesses(
    rows: TransferRows,
    P: FloatArray,
    *,
    multiple: int = AXES_PER_CLASS,
    rounds: int = ROUNDS,
    prior: FloatArray | float = 0.0,
) -> tuple[FloatArray, Discriminant]:
    """Return guesses (n_u, C) and discriminants after some rounds of self-training from guesses P; labels are kept.

    A ``prior`` (n_u, C), in logarithms, is added to the scores of the unlabelled rows in every round.
    """
    view = rows.at(multiple)
    Z = view.target
    mean, n = Z.mean(axis=0), len(view.L)
    Z = Z - mean
    for _ in range(rounds):
        lda = SoftLDA.of(Z, np.vstack([rows.one_hot, P]))
        P = rows.balance(lda.scores(Z[n:]) + prior) if len(P) else P
    # Discriminants assume equal shares. The offsets that balance the old rows would serve new ones, too, but worse.
    shares = rows.shares if rows.strictness == 1.0 or not len(P) else floor_shares(P.mean(axis=0))
    likely = np.log(rows.n_classes * shares)
    return P, Discriminant(mean, SoftLDA(lda.weights, lda.offsets + likely))


def guess_by_nearest(rows: TransferRows, multiple: int, prior: FloatArray | float = 0.0) -> FloatArray:
    """Guess by the nearest labelled row of each class, of which every class needs one, and a prior in logarithms."""
    view = rows.at(multiple)
    nearest = [cdist(view.U, view.L[view.yl == c], "sqeuclidean").min(axis=1) for c in range(rows.n_classes)]
    D = np.stack(nearest, axis=1)
    unit = float(np.median(D.min(axis=1)) or D.mean() or 1.0)
    return rows.balance(-D / (2.0 * unit) + prior)


def fit_discriminants(
    rows: TransferRows, P: FloatArray | None = None, prior: FloatArray | float = 0.0, rounds: int = ROUNDS
) -> tuple[Discriminant, ...]:
    """Fit self-trained discriminants on several numbers of axes, from guesses P or from the nearest labels."""
    starts = [guess_by_nearest(rows, multiple, prior) if P is None else P for multiple in MULTIPLES]
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


def cluster_target(rows: TransferRows, rng: np.random.Generator) -> FloatArray:
    """Return C balanced clusters; those of known classes start at their labelled means, the others far from all.

    The best of some restarts, by the distances to the means. The names of the other clusters mean nothing yet.
    """
    view = rows.at()
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
    return _assign(rows, view.U, best)


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
