"""Engines: what learns from pairs of rows how the two collections go together, and scores all other pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from isthmus._core.validation import FloatArray
from isthmus.data.domains import KnownPairs
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.exceptions import InputError
from isthmus.geometry.similarity import Scores, normalize_rows
from isthmus.maps.canonical import PairedRows
from isthmus.maps.regression import AffineMap, fit_ridge

FEWEST = 2
"""Nothing can be learned from one pair: around its own mean it is zero."""
RIDGE_OF_CCA, POWER = 0.3, 2.0
"""The share of the variance that is added before whitening, and the power of the correlations that weigh variates."""


class Bridge(Protocol):
    """What was learned: rows of either collection as points, whose inner product (at most 2) is the score."""

    def left(self, A: FloatArray) -> FloatArray:
        """Rows of A as points."""
        ...

    def right(self, B: FloatArray) -> FloatArray:
        """Rows of B as points."""
        ...


class Engine(Protocol):
    """Anything that can learn a bridge."""

    @property
    def fewest(self) -> int:
        """How many pairs it can learn from."""
        ...

    def bridge(self, a: FloatArray, b: FloatArray, weights: FloatArray, before: Bridge | None) -> Bridge:
        """From rows a (p, k) and b (p, k') that are paired, with weights (p,), after an earlier bridge or none."""
        ...


def score_pairs(bridge: Bridge, A: FloatArray, B: FloatArray) -> Scores:
    """The scores of all pairs of rows."""
    return Scores(bridge.left(A), bridge.right(B))


def fit_bridge(engine: Engine, a: FloatArray, b: FloatArray, weights: FloatArray, before: Bridge | None) -> Bridge:
    """What the engine learns from pairs; nothing, if they are too few, or the same row again and again."""
    if len(a) < engine.fewest or (a == a[0]).all() or (b == b[0]).all():
        return Blind()
    return engine.bridge(a, b, weights, before)


class Blind:
    """What is learned from nothing: all scores are zero."""

    def left(self, A: FloatArray) -> FloatArray:
        """Zeros (n, 1)."""
        return np.zeros((len(A), 1), A.dtype)

    def right(self, B: FloatArray) -> FloatArray:
        """Zeros (m, 1)."""
        return np.zeros((len(B), 1), B.dtype)


@dataclass(frozen=True, eq=False)
class RidgeBridge:
    """cos(f(a), b) + cos(a, g(b)), around the means of the pairs."""

    f: AffineMap
    g: AffineMap
    places: tuple[int, int]

    def left(self, A: FloatArray) -> FloatArray:
        """[f(a); a], each half of unit length."""
        return np.hstack([normalize_rows(self.f(A) - self.f.output_mean), normalize_rows(A - self.f.input_mean)])

    def right(self, B: FloatArray) -> FloatArray:
        """[b; g(b)], each half of unit length."""
        return np.hstack([normalize_rows(B - self.g.input_mean), normalize_rows(self.g(B) - self.g.output_mean)])


class Ridge:
    """Ridge regression both ways, with the leave-one-out penalty."""

    fewest = FEWEST

    def bridge(self, a: FloatArray, b: FloatArray, weights: FloatArray, before: Bridge | None) -> RidgeBridge:
        """The search for the penalties starts where the last one ended."""
        near = before.places if isinstance(before, RidgeBridge) else (None, None)
        f, g = fit_ridge(a, b, weights=weights, near=near[0]), fit_ridge(b, a, weights=weights, near=near[1])
        return RidgeBridge(f.map, g.map, (f.place, g.place))


@dataclass(frozen=True, eq=False)
class LinearBridge:
    """Twice the cosine of two linear images."""

    f: AffineMap
    g: AffineMap

    def left(self, A: FloatArray) -> FloatArray:
        """Images of unit length, twice."""
        return np.asarray(2.0 * normalize_rows(self.f(A)))

    def right(self, B: FloatArray) -> FloatArray:
        """Images of unit length."""
        return normalize_rows(self.g(B))


class Canonical:
    """Canonical variates, weighted by the squares of their correlations."""

    fewest = FEWEST

    def bridge(self, a: FloatArray, b: FloatArray, weights: FloatArray, before: Bridge | None) -> LinearBridge:
        """Closed form."""
        pairing = sp.diags_array(np.sqrt(weights.astype(np.float64))).tocsr()
        rows = PairedRows.of(a.astype(np.float64), b.astype(np.float64), pairing, pairing)
        found = rows.directions(RIDGE_OF_CCA, unit=False).weight_variates(POWER)
        maps = [
            AffineMap(W.astype(a.dtype), np.zeros(len(W), a.dtype), offset.astype(a.dtype))
            for W, offset in zip((found.source, found.target), found.offsets, strict=True)
        ]
        return LinearBridge(*maps)


@dataclass(frozen=True, eq=False)
class FittedBridge:
    """Twice the cosine of two points of an estimator's common space."""

    space: Any

    def left(self, A: FloatArray) -> FloatArray:
        """Points of unit length, twice."""
        return np.asarray(2.0 * normalize_rows(self.space.embed(A, "source")), dtype=np.float32)

    def right(self, B: FloatArray) -> FloatArray:
        """Points of unit length."""
        return np.asarray(normalize_rows(self.space.embed(B, "target")), dtype=np.float32)


@dataclass(frozen=True)
class Fitted:
    """Any estimator of isthmus whose ``fit`` takes pairs."""

    estimator: Any

    @property
    def fewest(self) -> int:
        """As many as the estimator needs."""
        return max(FEWEST, int(self.estimator.fewest_pairs))

    def bridge(self, a: FloatArray, b: FloatArray, weights: FloatArray, before: Bridge | None) -> FittedBridge:
        """A fresh copy of the estimator, fitted to the pairs."""
        rows = np.repeat(np.arange(len(a))[:, None], 2, axis=1)
        model = clone(self.estimator).fit(a, None, b, None, pairs=KnownPairs(rows, weights))
        return FittedBridge(model.common_space_)


def as_engine(system: Any) -> tuple[Engine, str]:
    """The engine of the parameter ``system``, and its name."""
    if isinstance(system, str) and system in ("auto", "ridge"):
        return Ridge(), "ridge"
    if isinstance(system, str) and system == "cca":
        return Canonical(), "cca"
    if not isinstance(system, TwoDomainEstimator) or not system.takes_pairs:
        raise InputError(
            f'system: expected "auto", "ridge", "cca" or an estimator that takes pairs, got {system!r:.60}.'
        )
    return Fitted(system), type(system).__name__
