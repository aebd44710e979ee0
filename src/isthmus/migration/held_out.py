"""Pairs that are held out, and the gallery that they are searched in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from isthmus._arrays import FloatArray, IntArray, Matrix, as_dense
from isthmus.migration.kinds import KINDS, Map
from isthmus.migration.search import Score, inner_products, search, shared, unit_rows
from isthmus.migration.thresholds import Thresholds, thresholds

N_FOLDS = 5
MANY = 1000
"""Pairs from which one fold is enough: it has 200 queries or more."""
MOST_QUERIES = 1000
MOST_GALLERY = 20_000
"""Rows of the index that are searched; of a larger index a random sample with all queries in it."""
FEWEST_NEIGHBOURS = 100
"""Rows known in both spaces from which neighbours are compared: ten of fewer would be found by chance."""
SIZES = tuple(factor * 10**power for power in range(1, 8) for factor in (1, 3))[1:]
"""Numbers of pairs of the curve: 30, 100, 300, …"""
STEP = 2.0
"""The least ratio of the last two."""
THRESHOLD_QUERIES, THRESHOLD_ROWS = 500, 2000
"""Whose similarities a cut-off is carried over by: a million."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Numbers of pairs: those that are learned from, and those that are searched for."""

    learned: IntArray
    queries: IntArray


def folds(n: int, rng: Generator) -> tuple[Fold, ...]:
    """Five folds, each pair held out once; of many pairs one fold."""
    order = rng.permutation(n)
    if n >= MANY:
        held = min(n // N_FOLDS, MOST_QUERIES)
        return (Fold(order[held:], order[:held]),)
    return tuple(Fold(order[np.arange(n) % N_FOLDS != k], order[k::N_FOLDS]) for k in range(N_FOLDS))


def sizes(n: int) -> tuple[int, ...]:
    """The numbers of pairs that are learned from, up to all n.

    Examples
    --------
    >>> sizes(240), sizes(4000)
    ((30, 100, 240), (30, 100, 300, 1000, 4000))
    """
    return (*(size for size in SIZES if STEP * size <= n), n)


@dataclass(frozen=True, eq=False)
class Gallery:
    """Pairs in both spaces, and rows of the old index to search them among.

    Parameters
    ----------
    old, new : array (m, d) and (m, e)
        The rows of the pairs.
    weights : array (m,) or None
        Of the pairs.
    rows : Matrix (g, d)
        Rows of the old index.
    place : array (m,)
        Where in the index the old row of each pair is; -1 where it is left out.
    """

    old: FloatArray
    new: FloatArray
    weights: FloatArray | None
    rows: Matrix
    place: IntArray

    @cached_property
    def index(self) -> Matrix:
        """The rows of the old index with length one."""
        return unit_rows(self.rows)

    @cached_property
    def pool(self) -> IntArray | None:
        """Pairs among which neighbours are compared: those in the index, if they are enough."""
        pairs = np.flatnonzero(self.place >= 0)
        return pairs if len(pairs) > FEWEST_NEIGHBOURS else None

    def fitted(self, kind: str, pairs: IntArray, *, back: bool = False, shuffled: Generator | None = None) -> Map:
        """The map of new rows to old ones (or back) that is learned from these pairs, or from the same mixed up."""
        X, Y = (self.old, self.new) if back else (self.new, self.old)
        partners = pairs if shuffled is None else shuffled.permutation(pairs)
        return KINDS[kind](X[pairs], Y[partners], None if self.weights is None else self.weights[pairs])

    def neighbours(self, queries: IntArray) -> IntArray | None:
        """The places in the pool of the rows that the new model itself finds nearest (q, K)."""
        if self.pool is None:
            return None
        unit, pool, within = unit_rows(self.new), self.pool, np.searchsorted(self.pool, queries)
        near = unit[pool]
        return search(lambda q: inner_products(unit[q], near), queries, within, np.arange(len(pool)), within).nearest

    def search(
        self, score: Score, queries: IntArray, wanted: IntArray | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """The rank of each query's own row, and the share of its wanted neighbours that are found."""
        own = self.place[queries]
        if self.pool is None or wanted is None:
            return search(score, queries, own, None, own).ranks, None
        found = search(score, queries, own, self.place[self.pool], np.searchsorted(self.pool, queries))
        return found.ranks, None if found.nearest is None else shared(found.nearest, wanted)

    def adapted(self, to_old: Map) -> Score:
        """Cosines of adapted queries with the untouched index."""
        return lambda q: inner_products(unit_rows(to_old(self.new[q])), self.index)

    def old_model(self) -> Score:
        """Cosines of the old model's own queries."""
        return lambda q: inner_products(unit_rows(self.old[q]), self.index)

    def thresholds(self, maps: tuple[tuple[Map, IntArray], ...]) -> Thresholds:
        """Cut-offs carried over, from the maps and the queries held out from each."""
        rows = np.linspace(0, self.index.shape[0] - 1, THRESHOLD_ROWS).round().astype(np.intp)
        rows = np.unique(rows)
        some, old, adapted = as_dense(self.index[rows]), [], []
        for to_old, queries in maps:
            q = queries[: THRESHOLD_QUERIES // len(maps)]
            others = (
                self.place[q][:, None] != rows
            )  # its own row would be found by every old query, and by no new one
            old.append((unit_rows(self.old[q]) @ some.T)[others])
            adapted.append((unit_rows(to_old(self.new[q])) @ some.T)[others])
        return thresholds(np.concatenate(old), np.concatenate(adapted))


def gallery(
    old: Matrix, pair_rows: tuple[FloatArray, FloatArray], weights: FloatArray | None, numbers: IntArray,
    queries: IntArray, rng: Generator,
) -> Gallery:  # fmt: skip
    """The index ``old``, or a sample of it that has the old rows of all queries.

    Parameters
    ----------
    old : Matrix (n, d)
        All rows of the index.
    pair_rows : arrays (m, d) and (m, e)
        The rows of the pairs in either space.
    weights : array (m,) or None
    numbers : array (m,)
        The row of the index that each pair has.
    queries : array (q,)
        The pairs that will be searched for.
    rng : Generator
    """
    n = old.shape[0]
    rows = np.arange(n)
    if n > MOST_GALLERY:
        rest = np.setdiff1d(rows, numbers[queries])
        rows = np.sort(np.r_[numbers[queries], rng.permutation(rest)[: MOST_GALLERY - len(queries)]])
    place = np.searchsorted(rows, numbers)
    there = rows[np.minimum(place, len(rows) - 1)] == numbers
    return Gallery(*pair_rows, weights, old[rows], np.where(there, place, -1))
