"""Engines: what learns from pairs of rows how the two collections correspond, and scores all other pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from isthmus._core.validation import FloatArray
from isthmus.data.domains import KnownPairs
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.similarity import normalize_rows
from isthmus.maps.regression import AffineMap, fit_ridge

# Nothing can be learned from one pair: around its own mean it is zero.
FEWEST = 2


class ZeroBridge:
    """The bridge of no knowledge: all scores are zero.

    A bridge is a learned correspondence: rows of either collection as points, whose inner product (at most 2) is
    the score.
    """

    def embed_a(self, A: FloatArray) -> FloatArray:
        """Return zeros (n, 1)."""
        return np.zeros((len(A), 1), A.dtype)

    embed_b = embed_a


@dataclass(frozen=True, eq=False)
class RidgeBridge:
    """cos(f(a), b) + cos(a, g(b)), around the means of the pairs."""

    f: AffineMap
    g: AffineMap
    places: tuple[int, int]

    def embed_a(self, A: FloatArray) -> FloatArray:
        """Return [f(a); a], each half of unit length."""
        return np.hstack([normalize_rows(self.f(A) - self.f.output_mean), normalize_rows(A - self.f.input_mean)])

    def embed_b(self, B: FloatArray) -> FloatArray:
        """Return [b; g(b)], each half of unit length."""
        return np.hstack([normalize_rows(B - self.g.input_mean), normalize_rows(self.g(B) - self.g.output_mean)])


class Ridge:
    """Ridge regression both ways, with the leave-one-out penalty."""

    name, fewest = "ridge", FEWEST

    def fit(self, a: FloatArray, b: FloatArray, weights: FloatArray, before: Any) -> RidgeBridge:
        """Fit both maps; the search for the penalties starts where the last one ended."""
        # From round to round few pairs change: the best penalty is near the last one.
        near = before.places if isinstance(before, RidgeBridge) else (None, None)
        f, g = fit_ridge(a, b, weights=weights, near=near[0]), fit_ridge(b, a, weights=weights, near=near[1])
        return RidgeBridge(f.map, g.map, (f.place, g.place))


@dataclass(frozen=True, eq=False)
class SpaceBridge:
    """2 cos(f(a), g(b)) in the common space of an estimator: the factor 2 gives the range of :class:`RidgeBridge`."""

    space: CommonSpace

    def embed_a(self, A: FloatArray) -> FloatArray:
        """Return images of unit length, twice."""
        return np.asarray(2.0 * normalize_rows(self.space.embed(A, "source")), dtype=np.float32)

    def embed_b(self, B: FloatArray) -> FloatArray:
        """Return images of unit length."""
        return np.asarray(normalize_rows(self.space.embed(B, "target")), dtype=np.float32)


@dataclass(frozen=True)
class EstimatorEngine:
    """Any estimator of isthmus whose ``fit`` takes pairs."""

    estimator: Any

    @property
    def name(self) -> str:
        """The class of the estimator."""
        return type(self.estimator).__name__

    @property
    def fewest(self) -> int:
        """As many as the estimator needs."""
        return max(FEWEST, int(self.estimator.fewest_pairs))

    def fit(self, a: FloatArray, b: FloatArray, weights: FloatArray, before: Any) -> SpaceBridge:
        """Fit a fresh copy of the estimator to the pairs."""
        rows = np.repeat(np.arange(len(a))[:, None], 2, axis=1)
        # Row p of a and row p of b are the pair p.
        return SpaceBridge(clone(self.estimator).fit(a, None, b, None, pairs=KnownPairs(rows, weights)).common_space_)


Bridge: TypeAlias = ZeroBridge | RidgeBridge | SpaceBridge
Engine: TypeAlias = Ridge | EstimatorEngine


def fit_bridge(engine: Engine, a: FloatArray, b: FloatArray, weights: FloatArray, before: Bridge | None) -> Bridge:
    """Fit the engine to pairs; return :class:`ZeroBridge` if they are too few, or repeat one row."""
    # Rows that are all equal have no direction around their mean: maps of them would be rounding.
    if len(a) < engine.fewest or (a == a[0]).all() or (b == b[0]).all():
        return ZeroBridge()
    return engine.fit(a, b, weights, before)


def as_engine(system: Any) -> Engine:
    """Return the engine of the parameter ``system``."""
    if isinstance(system, str) and system in ("auto", "ridge"):
        return Ridge()
    if not isinstance(system, TwoDomainEstimator) or not system.takes_pairs:
        raise InputError(f'system: expected "auto", "ridge" or an estimator that takes pairs, got {system!r:.60}.')
    return EstimatorEngine(system)
