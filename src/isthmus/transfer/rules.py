"""What was learned, as rules for new target rows: scores of classes from coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import log_softmax, softmax

from isthmus._arrays import FloatArray, IntArray
from isthmus.controls.discriminants import SoftLDA, centred, deviation
from isthmus.matching.preparation import unit
from isthmus.transfer.guesses import squared_distances
from isthmus.transfer.starts.mapped_rule import MappedRule


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
        return np.asarray(log_softmax(self.lda.scores(unit(Z[:, : len(self.mean)]) - self.mean), axis=1))


@dataclass(frozen=True, eq=False)
class NearestMean:
    """Minus the squared distances of unit rows on the first k axes to the means (C, k) of the classes."""

    means: FloatArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Minus squared distances."""
        return -squared_distances(unit(Z[:, : self.means.shape[1]]), self.means)


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
class Mapped:
    """A rule of the source for target rows that are mapped to it, as one for centred coordinates of target rows."""

    rule: MappedRule

    def scores(self, Z: FloatArray) -> FloatArray:
        """Logarithms of probabilities."""
        return np.asarray(log_softmax(self.rule.scores(unit(Z)), axis=1))


@dataclass(frozen=True, eq=False)
class Among:
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
class Evenly:
    """A rule that can't tell some classes from each other: they share their probability evenly."""

    rule: Rule
    classes: IntArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Logarithms of probabilities."""
        P = softmax(self.rule.scores(Z), axis=1)
        P[:, self.classes] = P[:, self.classes].mean(axis=1, keepdims=True)
        return np.asarray(np.log(np.maximum(P, np.finfo(float).tiny)))


@dataclass(frozen=True, eq=False)
class Sum:
    """A weighted sum of scores, each brought to mean zero per row and divided by its own unit."""

    members: tuple[Rule, ...]
    units: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, members: tuple[Rule, ...], Z: FloatArray, weights: FloatArray | None = None) -> Sum:
        """With the deviation of the scores of rows Z as the unit of each."""
        units = np.array([deviation(rule.scores(Z)) for rule in members])
        return cls(members, units, np.ones(len(members)) if weights is None else weights)

    def scores(self, Z: FloatArray) -> FloatArray:
        """The sum."""
        parts = zip(self.members, self.weights / self.units, strict=True)
        return np.asarray(sum(factor * centred(rule.scores(Z)) for rule, factor in parts))
