"""The source's own classifier, applied to target rows that were mapped to source coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.svm import LinearSVC

from isthmus._core.arrays import FloatArray, IntArray
from isthmus.geometry.coordinates import normalize_rows
from isthmus.geometry.discriminants import SoftLDA, balance, balancing_offsets, centre_scores, score_deviation
from isthmus.maps.ridge import AffineMap
from isthmus.tasks.transfer.guesses import AXES_PER_CLASS, squared_distances
from isthmus.tasks.transfer.problem import TransferRows

TEMPERATURE = 0.3
"""A deviation of the classifier's scores counts as so many units, the other way round, in a logarithm."""
MOST_TAUGHT = 20_000
"""Rows that the classifier is learned from, at most."""


@dataclass(frozen=True, eq=False)
class LinearRule:
    """Scores x W + b of unit rows of the source: one column per class."""

    weights: FloatArray
    offsets: FloatArray

    @classmethod
    def of(cls, X: FloatArray, codes: IntArray) -> LinearRule:
        """A linear support vector machine, one class against the others, of source rows X (n, k)."""
        if len(X) > MOST_TAUGHT:
            some = np.random.default_rng(0).permutation(len(X))[:MOST_TAUGHT]
            firsts = np.unique(codes, return_index=True)[1]
            some = np.union1d(some, firsts)
            X, codes = X[some], codes[some]
        svm = LinearSVC(dual=len(X) <= X.shape[1], random_state=0, max_iter=10_000).fit(X, codes)
        W, b = svm.coef_.T, svm.intercept_
        if W.shape[1] == 1:  # of two classes the machine has one direction only
            W, b = np.hstack([-W, W]), np.concatenate([-b, b])
        return cls(W, b)

    def scores(self, X: FloatArray) -> FloatArray:
        """Of rows X (n, k), one column per class."""
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
        """So that the classes have these shares among the target rows B (m, k)."""
        raw = rule.scores(normalize_rows(learned(B)))
        size = TEMPERATURE * (float(raw.std()) or 1.0)
        return cls(learned, rule, size, balancing_offsets(raw / size, shares))

    def mapped(self, B: FloatArray) -> FloatArray:
        """Target rows (m, k) as unit rows among those of the source."""
        return normalize_rows(self.map(B))

    def scores(self, B: FloatArray) -> FloatArray:
        """Logarithms of the classes' probabilities (m, C), up to a constant per row."""
        return np.asarray(self.rule.scores(self.mapped(B)) / self.unit + self.offsets)

    def posterior(self, B: FloatArray) -> FloatArray:
        """Probabilities of the classes (m, C) of target rows B (m, k) of unit length, seen before or not."""
        return np.asarray(softmax(self.scores(B), axis=1))

    def with_shares(self, B: FloatArray, shares: FloatArray) -> MappedRule:
        """The same rule with other shares of the classes among rows B."""
        return replace(self, offsets=balancing_offsets(self.rule.scores(self.mapped(B)) / self.unit, shares))


class Rule(Protocol):
    """Scores of the classes (n, C), the larger the better, of centred coordinates Z (n, k) of target rows."""

    def scores(self, Z: FloatArray) -> FloatArray:
        """The scores."""


@dataclass(frozen=True, eq=False)
class Discriminant:
    """Logarithms of probabilities by linear discriminants of unit rows on the first k axes, seen from a mean (k,)."""

    mean: FloatArray
    lda: SoftLDA

    def scores(self, Z: FloatArray) -> FloatArray:
        """Logarithms of probabilities."""
        return np.asarray(log_softmax(self.lda.scores(normalize_rows(Z[:, : len(self.mean)]) - self.mean), axis=1))


@dataclass(frozen=True, eq=False)
class NearestMean:
    """Minus the squared distances of unit rows on the first k axes to the means (C, k) of the classes."""

    means: FloatArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Minus squared distances."""
        return -squared_distances(normalize_rows(Z[:, : self.means.shape[1]]), self.means)


@dataclass(frozen=True, eq=False)
class Vote:
    """The logarithm of the weighted mean of the probabilities that several rules give."""

    members: tuple[Rule, ...]
    weights: FloatArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Logarithms of probabilities."""
        shares = self.weights / self.weights.sum()
        P = sum(w * softmax(rule.scores(Z), axis=1) for w, rule in zip(shares, self.members, strict=True))
        return np.asarray(np.log(np.maximum(P, np.finfo(float).tiny)))


@dataclass(frozen=True, eq=False)
class Probabilities:
    """The probabilities of a rule, as scores."""

    rule: Rule

    def scores(self, Z: FloatArray) -> FloatArray:
        """Probabilities."""
        return np.asarray(softmax(self.rule.scores(Z), axis=1))


@dataclass(frozen=True, eq=False)
class MappedScores:
    """A rule of the source for target rows that are mapped to it, as one for centred coordinates of target rows."""

    rule: MappedRule

    def scores(self, Z: FloatArray) -> FloatArray:
        """Logarithms of probabilities."""
        return np.asarray(log_softmax(self.rule.scores(normalize_rows(Z)), axis=1))


@dataclass(frozen=True, eq=False)
class SubsetRule:
    """A rule over some of the classes, as one over all: the others keep what another rule gives them."""

    rule: Rule
    classes: IntArray
    own: Rule

    def scores(self, Z: FloatArray) -> FloatArray:
        """Logarithms of probabilities."""
        P = softmax(self.own.scores(Z), axis=1)
        P[:, self.classes] = 0.0
        P[:, self.classes] = softmax(self.rule.scores(Z), axis=1) * (1.0 - P.sum(axis=1, keepdims=True))
        return np.asarray(np.log(np.maximum(P, np.finfo(float).tiny)))


@dataclass(frozen=True, eq=False)
class TiedClasses:
    """A rule that can't tell some classes from each other: they share their probability evenly."""

    rule: Rule
    classes: IntArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Logarithms of probabilities."""
        P = softmax(self.rule.scores(Z), axis=1)
        P[:, self.classes] = P[:, self.classes].mean(axis=1, keepdims=True)
        return np.asarray(np.log(np.maximum(P, np.finfo(float).tiny)))


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A weighted sum of scores, each brought to mean zero per row and divided by its own unit."""

    members: tuple[Rule, ...]
    units: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, members: tuple[Rule, ...], Z: FloatArray, weights: FloatArray | None = None) -> WeightedSum:
        """With the deviation of the scores of rows Z as the unit of each."""
        units = np.array([score_deviation(rule.scores(Z)) for rule in members])
        return cls(members, units, np.ones(len(members)) if weights is None else weights)

    def scores(self, Z: FloatArray) -> FloatArray:
        """The sum."""
        parts = zip(self.members, self.weights / self.units, strict=True)
        return np.asarray(sum(factor * centre_scores(rule.scores(Z)) for rule, factor in parts))


ROUNDS = 10
"""How often the discriminants learn from their own balanced guesses."""


def polish_guesses(
    rows: TransferRows,
    P: FloatArray,
    *,
    multiple: int = AXES_PER_CLASS,
    rounds: int = ROUNDS,
    prior: FloatArray | float = 0.0,
) -> tuple[FloatArray, Discriminant]:
    """Guesses (n_u, C) and discriminants after some rounds of self-training from guesses P; labels are kept.

    A ``prior`` (n_u, C), in logarithms, is added to the scores of the unlabelled rows in every round.
    """
    view = rows.at(multiple)
    Z = view.target
    mean, n = Z.mean(axis=0), len(view.L)
    Z = Z - mean
    for _ in range(rounds):
        lda = SoftLDA.of(Z, np.vstack([rows.one_hot, P]))
        P = balance(lda.scores(Z[n:]) + prior, rows.shares) if len(P) else P
    # Discriminants know of no shares. What balances old rows would do for new ones, but is worse.
    likely = np.log(rows.n_classes * rows.shares)
    return P, Discriminant(mean, SoftLDA(lda.weights, lda.offsets + likely))
