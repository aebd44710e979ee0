"""Rules that score the classes of target rows, alone or mixed, and the self-training that fits them.

Every rule maps centred coordinates Z (n, k) of target rows to scores (n, C). *Guesses* are probabilities P (n_u, C)
of the unlabelled target rows of a fit; they are balanced, so that every class gets its share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.svm import LinearSVC

from isthmus._core.validation import FloatArray, IntArray, Matrix
from isthmus.geometry.discriminants import SoftLDA, balancing_offsets, centre_scores, score_deviation
from isthmus.geometry.similarity import normalize_rows
from isthmus.maps.regression import AffineMap
from isthmus.tasks.transfer.problem import TransferRows, floor_shares

# Axes on which the classes of the two domains are compared, in multiples of the number of classes.
AXES_PER_CLASS = 3
# Scores in units of their deviation are divided by this before they are balanced.
GUESS_TEMPERATURE = 0.5
# The same for scores of mapped rows.
MAP_TEMPERATURE = 0.3
# Source rows that a linear rule is fitted to, at most.
MOST_TAUGHT = 20_000
# Rounds of self-training.
ROUNDS = 10


@dataclass(frozen=True, eq=False)
class Guess:
    """Probabilities P (n_u, C) of the classes of the unlabelled target rows, and the name of their start."""

    name: str
    P: FloatArray


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

    def scores(self, B: FloatArray) -> FloatArray:
        """Return logarithms of the classes' probabilities (m, C), up to a constant per row."""
        return np.asarray(self.rule.scores(normalize_rows(self.map(B))) / self.unit + self.offsets)

    def posterior(self, B: FloatArray) -> FloatArray:
        """Return probabilities of the classes (m, C) of target rows B (m, k) of unit length, old or new."""
        return np.asarray(softmax(self.scores(B), axis=1))


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
class MappedScores:
    """A rule of the source for target rows that are mapped to it, as one for centred coordinates of target rows."""

    rule: MappedRule

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return logarithms of probabilities."""
        return np.asarray(log_softmax(self.rule.scores(normalize_rows(Z)), axis=1))


@dataclass(frozen=True, eq=False)
class SubsetRule:
    """A rule over some of the classes, as one over all: the others keep what another rule gives them."""

    rule: Rule
    classes: IntArray
    own: Rule

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return logarithms of probabilities."""
        P = softmax(self.own.scores(Z), axis=1)
        P[:, self.classes] = 0.0
        P[:, self.classes] = softmax(self.rule.scores(Z), axis=1) * (1.0 - P.sum(axis=1, keepdims=True))
        return _safe_log(P)


@dataclass(frozen=True, eq=False)
class TiedClasses:
    """A rule that can't tell some classes from each other: they share their probability evenly."""

    rule: Rule
    classes: IntArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return logarithms of probabilities."""
        P = softmax(self.rule.scores(Z), axis=1)
        P[:, self.classes] = P[:, self.classes].mean(axis=1, keepdims=True)
        return _safe_log(P)


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
    rule: Rule = MappedScores(mapped)
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
