"""Engines: how the nearest of many points are found, by scikit-learn or by FAISS (extra ``faiss``).

Those of FAISS (flat, HNSW graphs, inverted lists) work in single precision. Their structures live in memory only:
they are built from points, and never read from a file, as FAISS trusts its files.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.neighbors import NearestNeighbors

from isthmus._core.validation import BoolArray, FloatArray, IntArray, check_number, show_value
from isthmus.exceptions import InputError, import_extra
from isthmus.geometry.common_space import INNER_PRODUCT

# The position that FAISS returns where it has found no row.
NOTHING = -1
# Where a filter leaves a smaller share of the points, all of these are looked at: a graph would miss most.
FEW = 0.05
# Inverted lists are rebuilt when there are more than this many times the points that they were built from.
GROWTH = 4
# Points that k-means sees for each list, and its iterations: more of either hardly changes what is found.
POINTS_PER_LIST, ROUNDS = 64, 10
# Points that a list needs; with fewer FAISS warns.
FEWEST_PER_LIST = 39


@dataclass(frozen=True)
class Exact:
    """Look at every point, by scikit-learn, block by block: no table of all queries and points is held."""

    name: ClassVar[str] = "exact"
    # The precision in which points are kept.
    dtype: ClassVar[str] = "float64"

    def build(self, points: FloatArray, kind: str) -> AllPoints:
        """Return all points as they are."""
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
        self._kind, self._longest = kind, 0.0
        if kind == INNER_PRODUCT:
            squares = np.einsum("ij,ij->i", points, points)
            self._longest = float(np.sqrt(squares.max()))
            last = np.sqrt(np.maximum(squares.max() - squares, 0.0))
            points = np.hstack([points, last[:, None]]).astype(points.dtype)
        self._points = points
        self._search = NearestNeighbors(algorithm="brute").fit(points)

    def extend(self, points: FloatArray) -> AllPoints:
        """Return the structure over all these points."""
        return AllPoints(points, self._kind)

    def nearest(self, queries: FloatArray, k: int, allowed: BoolArray | None) -> IntArray:
        """Return the positions (n, k) of the nearest allowed points, the nearest first."""
        # In the precision of the points: scikit-learn is several times slower on a mixture.
        Q = queries.astype(self._points.dtype, copy=False)
        if self._kind == INNER_PRODUCT:
            lengths = np.sqrt(np.einsum("ij,ij->i", Q, Q))[:, None]
            scaled = Q * (self._longest / np.where(lengths > 0.0, lengths, 1.0))
            Q = np.hstack([scaled, np.zeros_like(lengths)]).astype(Q.dtype)
        if allowed is None:
            return np.asarray(self._search.kneighbors(Q, k, return_distance=False), dtype=np.intp)
        positions = np.flatnonzero(allowed)
        search = NearestNeighbors(algorithm="brute").fit(self._points[positions])
        return np.asarray(positions[search.kneighbors(Q, k, return_distance=False)])


@dataclass(frozen=True)
class FaissEngine:
    """Base class of the engines of FAISS."""

    name: ClassVar[str]
    dtype: ClassVar[str] = "float32"

    def build(self, points: FloatArray, kind: str) -> FaissStructure:
        """Return the structure over points (n, d)."""
        single = np.ascontiguousarray(points, dtype=np.float32)
        faiss = _import_faiss()
        metric = faiss.METRIC_INNER_PRODUCT if kind == INNER_PRODUCT else faiss.METRIC_L2
        index = self._make_empty(faiss, single.shape, metric)
        if not index.is_trained:
            index.train(single)
        index.add(single)
        return FaissStructure(self, index, single, kind)

    def _make_empty(self, faiss: Any, shape: tuple[int, ...], metric: int) -> Any:
        raise NotImplementedError

    def _search_options(self, faiss: Any, selector: Any) -> Any:
        """Return FAISS's parameters of a search among the points of a selector."""
        raise NotImplementedError


@dataclass(frozen=True)
class Flat(FaissEngine):
    """Look at every point."""

    name: ClassVar[str] = "flat"

    def _make_empty(self, faiss: Any, shape: tuple[int, ...], metric: int) -> Any:
        return faiss.IndexFlat(shape[1], metric)

    def _search_options(self, faiss: Any, selector: Any) -> Any:
        return faiss.SearchParameters(sel=selector)


@dataclass(frozen=True)
class HNSW(FaissEngine):
    """A graph of neighbours in layers (Malkov and Yashunin 2018): fast, and some neighbours are missed.

    Parameters
    ----------
    links : int
        Neighbours of a point in the graph.
    build_breadth, search_breadth : int
        Candidates that are kept while a point is added, and while one is searched.
    """

    links: int = 32
    build_breadth: int = 40
    search_breadth: int = 64

    name: ClassVar[str] = "hnsw"

    def __post_init__(self) -> None:
        check_number(self.links, "links", low=2, high=512, whole=True)
        check_number(self.build_breadth, "build_breadth", low=1, high=2**16, whole=True)
        check_number(self.search_breadth, "search_breadth", low=1, high=2**20, whole=True)

    def _make_empty(self, faiss: Any, shape: tuple[int, ...], metric: int) -> Any:
        index = faiss.IndexHNSWFlat(shape[1], int(self.links), metric)
        index.hnsw.efConstruction, index.hnsw.efSearch = int(self.build_breadth), int(self.search_breadth)
        return index

    def _search_options(self, faiss: Any, selector: Any) -> Any:
        return faiss.SearchParametersHNSW(sel=selector, efSearch=int(self.search_breadth))


@dataclass(frozen=True)
class IVF(FaissEngine):
    """Inverted lists: points are grouped by k-means, and only the groups nearest to a query are looked at.

    Parameters
    ----------
    lists : int, optional
        Groups; by default the square root of the number of points.
    probes : int
        Groups that are looked at.
    """

    lists: int | None = None
    probes: int = 16

    name: ClassVar[str] = "ivf"

    def __post_init__(self) -> None:
        if self.lists is not None:
            check_number(self.lists, "lists", low=1, high=2**24, whole=True)
        check_number(self.probes, "probes", low=1, high=2**24, whole=True)

    def _make_empty(self, faiss: Any, shape: tuple[int, ...], metric: int) -> Any:
        n, d = shape
        wanted = int(np.sqrt(n)) if self.lists is None else int(self.lists)
        # The quantizer is handed over: FAISS would otherwise free it with its Python wrapper.
        quantizer = faiss.IndexFlat(d, metric)
        index = faiss.IndexIVFFlat(quantizer, d, max(1, min(wanted, n // FEWEST_PER_LIST)), metric)
        index.own_fields = True
        quantizer.this.disown()
        index.nprobe, index.cp.niter, index.cp.max_points_per_centroid = int(self.probes), ROUNDS, POINTS_PER_LIST
        index.cp.min_points_per_centroid = 1  # a single list is fine for few points, and no reason for a warning
        return index

    def _search_options(self, faiss: Any, selector: Any) -> Any:
        return faiss.SearchParametersIVF(sel=selector, nprobe=int(self.probes))


class FaissStructure:
    """An index of FAISS over points (n, d), which are kept for the searches that it can't do."""

    def __init__(self, engine: FaissEngine, index: Any, points: FloatArray, kind: str) -> None:
        self._engine, self.index, self._points, self._kind = engine, index, points, kind
        self._n_built = len(points)

    def extend(self, points: FloatArray) -> FaissStructure:
        """Return the structure over more points: the new ones are added, or inverted lists rebuilt."""
        # Lists that were cut for few points become too long to search; a graph grows by itself.
        if isinstance(self._engine, IVF) and len(points) > GROWTH * self._n_built:
            return self._engine.build(points, self._kind)
        self.index.add(np.ascontiguousarray(points[self.index.ntotal :], dtype=np.float32))
        self._points = points
        return self

    def nearest(self, queries: FloatArray, k: int, allowed: BoolArray | None) -> IntArray:
        """Return the positions (n, k) of allowed points that are near, if not always the nearest."""
        Q = np.ascontiguousarray(queries, dtype=np.float32)
        if allowed is None:
            positions = self.index.search(Q, k)[1]
        elif (count := int(allowed.sum())) == k or count < FEW * len(allowed):
            return self._search_all(Q, k, allowed)
        else:
            faiss = _import_faiss()
            selector = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
            positions = self.index.search(Q, k, params=self._engine._search_options(faiss, selector))[1]
        positions = np.asarray(positions, dtype=np.intp)
        short = np.flatnonzero((positions == NOTHING).any(axis=1))
        if len(short):  # a graph may lead nowhere, and lists may be too short: search these exactly
            positions[short] = self._search_all(Q[short], k, allowed)
        return positions

    def _search_all(self, Q: FloatArray, k: int, allowed: BoolArray | None) -> IntArray:
        return AllPoints(self._points, self._kind).nearest(Q, k, allowed)


Engine: TypeAlias = Exact | Flat | HNSW | IVF
Structure: TypeAlias = AllPoints | FaissStructure
ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (Exact, Flat, HNSW, IVF)}


def as_engine(engine: Any) -> Engine:
    """Return an engine by its name, or as it is; raise where it is none, or not installed."""
    made: Any = ENGINES[engine]() if isinstance(engine, str) and engine in ENGINES else engine
    if not isinstance(made, Engine):
        options = ", ".join(repr(name) for name in ENGINES)
        raise InputError(f"engine: expected one of {options}, or one with parameters, got {show_value(engine)}.")
    if isinstance(made, FaissEngine):
        _import_faiss()
    return made


def _import_faiss() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its wrappers, which no caller can change
        return import_extra("faiss", "faiss", "The engines flat, hnsw and ivf need")
