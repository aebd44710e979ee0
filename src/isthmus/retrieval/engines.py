"""Engines: how the nearest of many points are found, by scikit-learn or by FAISS (extra ``faiss``).

Those of FAISS (flat, HNSW graphs, inverted lists) work in single precision. Their structures live in memory only:
they are built from points, and never read from a file, as FAISS trusts its files.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from sklearn.neighbors import NearestNeighbors

from isthmus._core.validation import BoolArray, FloatArray, IntArray, check_number, show_value
from isthmus.exceptions import InputError, import_extra
from isthmus.geometry.common_space import INNER_PRODUCT

EXACT = "exact"
# What FAISS builds from whole points, as ``faiss.index_factory`` writes it. The points are kept next to the structure
# anyway, so nothing is gained by its structures of compressed points.
FACTORY = re.compile(r"Flat|HNSW([2-9]|[1-9]\d{1,2})|IVF([1-9]\d{0,6}),Flat")
# The position that FAISS returns where it has found no row.
NOTHING = -1
# Where a filter leaves a smaller share of the points, all of these are looked at: a graph would miss most.
FEW = 0.05
# Inverted lists are rebuilt when there are more than this many times the points that they were built from.
GROWTH = 4
# Candidates of a search in a graph, and groups that are looked at.
CANDIDATES, PROBES = 64, 16
# Points that k-means sees for each list: more hardly change what is found.
POINTS_PER_LIST = 64
# Points that a list needs; with fewer FAISS warns.
FEWEST_PER_LIST = 39


@dataclass(frozen=True)
class Engine:
    """What searches points.

    Parameters
    ----------
    name : str
        "exact": look at every point, by scikit-learn, block by block and in double precision. Or, of FAISS, in single
        precision: "Flat", which looks at every point too; "HNSW32", a graph with 32 neighbours of each (Malkov and
        Yashunin 2018); "IVF256,Flat", 256 groups by k-means, or fewer of few points. The last two are fast, and miss
        some neighbours.
    breadth : int, optional
        How much is looked at in a search: candidates of a graph (64 unless given), or groups (16).
    """

    name: str = EXACT
    breadth: int | None = None

    def __post_init__(self) -> None:
        if self.name != EXACT and not (isinstance(self.name, str) and FACTORY.fullmatch(self.name)):
            names = '"exact", "Flat", "HNSW32" or "IVF256,Flat" (or other numbers)'
            raise InputError(f"engine: expected {names}, got {show_value(self.name)}.")
        if self.breadth is not None:
            check_number(self.breadth, "breadth", low=1, high=2**20, whole=True)

    @property
    def dtype(self) -> str:
        """The precision in which points are kept."""
        return "float64" if self.name == EXACT else "float32"

    def build(self, points: FloatArray, kind: str) -> Structure:
        """Return the structure over points (n, d), to be compared by "distance" or "inner product"."""
        return AllPoints(points, kind) if self.name == EXACT else FaissPoints(points, kind, self)


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


class FaissPoints:
    """An index of FAISS over points (n, d), which are kept for the searches that it can't do."""

    def __init__(self, points: FloatArray, kind: str, engine: Engine) -> None:
        self._engine, self._kind, self._n_built = engine, kind, len(points)
        self._points = np.ascontiguousarray(points, dtype=np.float32)
        faiss, name, (n, d) = _import_faiss(), engine.name, points.shape
        if name.startswith("IVF"):
            lists = int(name.removeprefix("IVF").removesuffix(",Flat"))
            name = f"IVF{max(1, min(lists, n // FEWEST_PER_LIST))},Flat"
        metric = faiss.METRIC_INNER_PRODUCT if kind == INNER_PRODUCT else faiss.METRIC_L2
        self.index: Any = faiss.index_factory(d, name, metric)
        self._options: Any = faiss.SearchParameters
        if name.startswith("HNSW"):
            self.index.hnsw.efSearch = breadth = int(engine.breadth or CANDIDATES)
            self._options = partial(faiss.SearchParametersHNSW, efSearch=breadth)
        elif name.startswith("IVF"):
            self.index.nprobe = breadth = int(engine.breadth or PROBES)
            self.index.cp.max_points_per_centroid = POINTS_PER_LIST
            self.index.cp.min_points_per_centroid = 1  # a single list is fine for few points, and no reason to warn
            self._options = partial(faiss.SearchParametersIVF, nprobe=breadth)
            self.index.train(self._points)
        self.index.add(self._points)

    def extend(self, points: FloatArray) -> FaissPoints:
        """Return the structure over more points: the new ones are added, or inverted lists rebuilt."""
        # Lists that were cut for few points become too long to search; a graph grows by itself.
        if self._engine.name.startswith("IVF") and len(points) > GROWTH * self._n_built:
            return FaissPoints(points, self._kind, self._engine)
        self.index.add(np.ascontiguousarray(points[self.index.ntotal :], dtype=np.float32))
        self._points = points
        return self

    def nearest(self, queries: FloatArray, k: int, allowed: BoolArray | None) -> IntArray:
        """Return the positions (n, k) of allowed points that are near, if not always the nearest."""
        Q = np.ascontiguousarray(queries, dtype=np.float32)
        if allowed is None:
            positions = self.index.search(Q, k)[1]
        elif (count := int(allowed.sum())) == k or count < FEW * len(allowed):
            return AllPoints(self._points, self._kind).nearest(Q, k, allowed)
        else:
            selector = _import_faiss().IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
            positions = self.index.search(Q, k, params=self._options(sel=selector))[1]
        positions = np.asarray(positions, dtype=np.intp)
        short = np.flatnonzero((positions == NOTHING).any(axis=1))
        if len(short):  # a graph may lead nowhere, and lists may be too short: search these exactly
            positions[short] = AllPoints(self._points, self._kind).nearest(Q[short], k, allowed)
        return positions


Structure: TypeAlias = AllPoints | FaissPoints


def as_engine(engine: Any) -> Engine:
    """Return an engine by its name, or as it is; raise where it is none, or not installed."""
    made = engine if isinstance(engine, Engine) else Engine(engine)
    if made.name != EXACT:
        _import_faiss()
    return made


def _import_faiss() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its wrappers, which no caller can change
        return import_extra("faiss", "faiss", "Engines other than exact need")
