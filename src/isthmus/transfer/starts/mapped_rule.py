"""The source's own classifier, applied to target rows that were mapped to source coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax
from sklearn.svm import LinearSVC

from isthmus._arrays import FloatArray, IntArray
from isthmus.controls.discriminants import balancing
from isthmus.maps import AffineMap
from isthmus.matching.preparation import unit

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
        raw = rule.scores(unit(learned(B)))
        size = TEMPERATURE * (float(raw.std()) or 1.0)
        return cls(learned, rule, size, balancing(raw / size, shares))

    def mapped(self, B: FloatArray) -> FloatArray:
        """Target rows (m, k) as unit rows among those of the source."""
        return unit(self.map(B))

    def scores(self, B: FloatArray) -> FloatArray:
        """Logarithms of the classes' probabilities (m, C), up to a constant per row."""
        return np.asarray(self.rule.scores(self.mapped(B)) / self.unit + self.offsets)

    def posterior(self, B: FloatArray) -> FloatArray:
        """Probabilities of the classes (m, C) of target rows B (m, k) of unit length, seen before or not."""
        return np.asarray(softmax(self.scores(B), axis=1))

    def with_shares(self, B: FloatArray, shares: FloatArray) -> MappedRule:
        """The same rule with other shares of the classes among rows B."""
        return replace(self, offsets=balancing(self.rule.scores(self.mapped(B)) / self.unit, shares))
