"""Engines of FAISS (extra ``faiss``): flat, HNSW graphs and inverted lists, in single precision.

Structures live in memory only. They are built from points, and never read from a file: FAISS trusts its files.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isthmus._arrays import BoolArray, FloatArray, IntArray
from isthmus._validation import number
from isthmus.common_space import INNER_PRODUCT
from isthmus.exceptions import MissingDependencyError
from isthmus.retrieval.engines import NOTHING, AllPoints, Structure

FEW = 0.05
"""Where a filter leaves a smaller share of the points, all of these are looked at: a graph would miss most."""
GROWTH = 4
"""Inverted lists are made anew when there are so many times the points that they were made from."""
POINTS_PER_LIST, ROUNDS = 64, 10
"""Points that k-means sees for each list, and its rounds: more of either hardly changes what is found."""
FEWEST_PER_LIST = 39
"""Points that a list needs; with fewer FAISS complains."""
MISSING = 'engine: expected FAISS to be installed, got none: pip install "isthmus[faiss]".'


def library() -> Any:
    """The module of FAISS."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its wrappers, which no caller can do anything about
            import faiss
    except ImportError:
        raise MissingDependencyError(MISSING) from None
    return faiss


@dataclass(frozen=True)
class FaissEngine:
    """What the engines of FAISS share."""

    name: ClassVar[str]
    dtype: ClassVar[str] = "float32"
    idle: ClassVar[float] = 0.25

    def require(self) -> None:
        """Raise where FAISS is not installed."""
        library()

    def built(self, points: FloatArray, kind: str) -> FaissStructure:
        """The structure over some points (n, d)."""
        single = np.ascontiguousarray(points, dtype=np.float32)
        faiss = library()
        index = self._empty(
            faiss, single.shape, faiss.METRIC_INNER_PRODUCT if kind == INNER_PRODUCT else faiss.METRIC_L2
        )
        if not index.is_trained:
            index.train(single)
        index.add(single)
        return FaissStructure(self, index, single, kind)

    def _empty(self, faiss: Any, shape: tuple[int, ...], metric: int) -> Any:
        raise NotImplementedError

    def parameters(self, faiss: Any, selector: Any) -> Any:
        """What goes with a search among some of the points."""
        raise NotImplementedError

    def outgrown(self, n_built: int, n: int) -> bool:
        """Whether a structure that was made from n_built points should be made anew for n."""
        return False


@dataclass(frozen=True)
class Flat(FaissEngine):
    """Every point is looked at."""

    name: ClassVar[str] = "flat"

    def _empty(self, faiss: Any, shape: tuple[int, ...], metric: int) -> Any:
        return faiss.IndexFlat(shape[1], metric)

    def parameters(self, faiss: Any, selector: Any) -> Any:
        """A selector alone."""
        return faiss.SearchParameters(sel=selector)


@dataclass(frozen=True)
class HNSW(FaissEngine):
    """A graph of neighbours in layers (Malkov and Yashunin 2018): fast, and some neighbours are missed.

    Parameters
    ----------
    links : int
        Neighbours of a point in the graph.
    build_breadth, search_breadth : int
        Candidates that are kept while a point is put in, and while one is looked for.
    """

    links: int = 32
    build_breadth: int = 40
    search_breadth: int = 64

    name: ClassVar[str] = "hnsw"

    def __post_init__(self) -> None:
        number(self.links, "links", low=2, high=512, whole=True)
        number(self.build_breadth, "build_breadth", low=1, high=2**16, whole=True)
        number(self.search_breadth, "search_breadth", low=1, high=2**20, whole=True)

    def _empty(self, faiss: Any, shape: tuple[int, ...], metric: int) -> Any:
        index = faiss.IndexHNSWFlat(shape[1], int(self.links), metric)
        index.hnsw.efConstruction, index.hnsw.efSearch = int(self.build_breadth), int(self.search_breadth)
        return index

    def parameters(self, faiss: Any, selector: Any) -> Any:
        """A selector and the breadth."""
        return faiss.SearchParametersHNSW(sel=selector, efSearch=int(self.search_breadth))


@dataclass(frozen=True)
class IVF(FaissEngine):
    """Inverted lists: points are grouped by k-means, and only the groups nearest to a query are looked at.

    Parameters
    ----------
    lists : int, optional
        Groups; the square root of the number of points where nothing is said.
    probes : int
        Groups that are looked at.
    """

    lists: int | None = None
    probes: int = 16

    name: ClassVar[str] = "ivf"

    def __post_init__(self) -> None:
        if self.lists is not None:
            number(self.lists, "lists", low=1, high=2**24, whole=True)
        number(self.probes, "probes", low=1, high=2**24, whole=True)

    def _empty(self, faiss: Any, shape: tuple[int, ...], metric: int) -> Any:
        n, d = shape
        wanted = int(np.sqrt(n)) if self.lists is None else int(self.lists)
        # The quantizer is handed over: FAISS would otherwise free it with its Python wrapper.
        quantizer = faiss.IndexFlat(d, metric)
        index = faiss.IndexIVFFlat(quantizer, d, max(1, min(wanted, n // FEWEST_PER_LIST)), metric)
        index.own_fields = True
        quantizer.this.disown()
        index.nprobe, index.cp.niter, index.cp.max_points_per_centroid = int(self.probes), ROUNDS, POINTS_PER_LIST
        index.cp.min_points_per_centroid = (
            1  # a single list is fine for few points, and no cause to write to the screen
        )
        return index

    def parameters(self, faiss: Any, selector: Any) -> Any:
        """A selector and the number of groups."""
        return faiss.SearchParametersIVF(sel=selector, nprobe=int(self.probes))

    def outgrown(self, n_built: int, n: int) -> bool:
        """Whether there are several times as many points as the groups were made from."""
        return n > GROWTH * n_built


class FaissStructure:
    """An index of FAISS over points (n, d), which are kept for what it can't do."""

    def __init__(self, engine: FaissEngine, index: Any, points: FloatArray, kind: str) -> None:
        self._engine, self._index, self._points, self._kind = engine, index, points, kind
        self._n_built = len(points)

    def extended(self, points: FloatArray) -> Structure:
        """The same over more points: the new ones are put in, or all of it is made anew."""
        if self._engine.outgrown(self._n_built, len(points)):
            return self._engine.built(points, self._kind)
        self._index.add(np.ascontiguousarray(points[self._index.ntotal :], dtype=np.float32))
        self._points = points
        return self

    def nearest(self, queries: FloatArray, k: int, allowed: BoolArray | None) -> IntArray:
        """The places (n, k) of allowed points that are near, if not always the nearest."""
        Q = np.ascontiguousarray(queries, dtype=np.float32)
        if allowed is None:
            places = self._index.search(Q, k)[1]
        elif (count := int(allowed.sum())) == k or count < FEW * len(allowed):
            return self._looked_at(Q, k, allowed)
        else:
            faiss = library()
            selector = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
            places = self._index.search(Q, k, params=self._engine.parameters(faiss, selector))[1]
        places = np.asarray(places, dtype=np.intp)
        short = np.flatnonzero((places == NOTHING).any(axis=1))
        if len(short):  # a graph may lead nowhere, and lists may be too short: better slow than wrong
            places[short] = self._looked_at(Q[short], k, allowed)
        return places

    def _looked_at(self, Q: FloatArray, k: int, allowed: BoolArray | None) -> IntArray:
        places = np.arange(len(self._points)) if allowed is None else np.flatnonzero(allowed)
        return np.asarray(places[AllPoints(self._points[places], self._kind).nearest(Q, k, None)])
