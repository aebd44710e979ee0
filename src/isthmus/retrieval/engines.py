"""Engines: ways to find the nearest of many points. This one looks at all of them; the others are of FAISS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.neighbors import NearestNeighbors

from isthmus._arrays import BoolArray, FloatArray, IntArray
from isthmus.common_space import INNER_PRODUCT

NOTHING = -1
"""The place of a row that was not found."""


class Structure(Protocol):
    """Points that can be searched."""

    def extended(self, points: FloatArray) -> Structure:
        """The same over more points, of which those that it has are the first."""
        ...

    def nearest(self, queries: FloatArray, k: int, allowed: BoolArray | None) -> IntArray:
        """The places (n, k) of the nearest allowed points, in any order; k is at most as many as there are."""
        ...


class Engine(Protocol):
    """How to build one."""

    name: ClassVar[str]
    dtype: ClassVar[str]
    """The precision in which points are kept."""
    idle: ClassVar[float]
    """The share of removed rows that it carries along; with more it is built anew."""

    def require(self) -> None:
        """Raise where what the engine needs is not installed."""
        ...

    def built(self, points: FloatArray, kind: str) -> Structure:
        """The structure over some points (n, d), at least one, compared by distance or inner product."""
        ...


@dataclass(frozen=True)
class Exact:
    """Every point is looked at, by scikit-learn, block by block: no table of all queries and points is held."""

    name: ClassVar[str] = "exact"
    dtype: ClassVar[str] = "float64"
    idle: ClassVar[float] = 0.0

    def require(self) -> None:
        """Nothing is needed."""

    def built(self, points: FloatArray, kind: str) -> AllPoints:
        """All points as they are."""
        return AllPoints(points, kind)


class AllPoints:
    r"""Points (n, d) that are all looked at.

    The largest inner product is the smallest distance after one more coordinate: with :math:`R = \max \|r\|`,
    :math:`\|[q; 0] - [r; \sqrt{R^2 - \|r\|^2}]\|^2 = \|q\|^2 + R^2 - 2 q^T r`. The length of a query
    changes nothing; it is set to R, so that no digits are lost.

    Examples
    --------
    >>> AllPoints(np.array([[0.0], [1.0], [5.0]]), "distance").nearest(np.array([[4.0]]), 1, None)
    array([[2]])
    """

    def __init__(self, points: FloatArray, kind: str) -> None:
        self._given, self._kind = points, kind
        self._longest = 0.0
        if kind == INNER_PRODUCT:
            squares = np.einsum("ij,ij->i", points, points)
            self._longest = float(np.sqrt(squares.max()))
            last = np.sqrt(np.maximum(squares.max() - squares, 0.0))
            points = np.hstack([points, last[:, None]]).astype(points.dtype)
        self._points = points
        self._search = _fitted(points)

    def extended(self, points: FloatArray) -> AllPoints:
        """The same over all these points."""
        return AllPoints(points, self._kind)

    def nearest(self, queries: FloatArray, k: int, allowed: BoolArray | None) -> IntArray:
        """The places (n, k) of the nearest allowed points, the nearest first."""
        Q = self._placed(queries)
        if allowed is None:
            return np.asarray(self._search.kneighbors(Q, k, return_distance=False), dtype=np.intp)
        places = np.flatnonzero(allowed)
        return np.asarray(places[_fitted(self._points[places]).kneighbors(Q, k, return_distance=False)])

    def _placed(self, queries: FloatArray) -> FloatArray:
        # In the precision of the points: scikit-learn is several times slower on a mixture.
        Q = queries.astype(self._points.dtype, copy=False)
        if self._kind != INNER_PRODUCT:
            return Q
        lengths = np.sqrt(np.einsum("ij,ij->i", Q, Q))[:, None]
        scaled = Q * (self._longest / np.where(lengths > 0.0, lengths, 1.0))
        return np.hstack([scaled, np.zeros_like(lengths)]).astype(Q.dtype)


def _fitted(points: FloatArray) -> Any:
    return NearestNeighbors(algorithm="brute").fit(points)
