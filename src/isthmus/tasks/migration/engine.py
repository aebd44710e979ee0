"""Maps between two spaces, and their measurement on held-out pairs.

Pairs are in folds. A map is learned from the pairs of the other folds, takes the new rows of a fold to the old space,
and these are searched among the rows of the old index (:class:`Gallery`) by the cosine, as the index itself does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from isthmus._core.progress import WorkCounter
from isthmus._core.validation import FloatArray, IntArray, Matrix, as_dense
from isthmus.data.domains import KnownPairs
from isthmus.evidence.held_out import Score, inner_products, search_gallery, unit_directions, unit_rows
from isthmus.maps.regression import AffineMap, KernelMap, fit_kernel_ridge, fit_low_rank, fit_procrustes, fit_ridge
from isthmus.tasks.migration.evidence import Figures, Recall, Thresholds, compute_figures, fit_thresholds

Map: TypeAlias = AffineMap | KernelMap
Fit: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray | None], Map]

# Inputs (m, d), outputs (m, e) and weights (m,), or None, to a map; in the order in which ties are broken.
KINDS: Mapping[str, Fit] = {
    "ridge": lambda X, Y, w: fit_ridge(X, Y, weights=w).map,
    "procrustes": lambda X, Y, w: fit_procrustes(X, Y, weights=w, scale=True).map,
    "low_rank": lambda X, Y, w: fit_low_rank(X, Y, weights=w),
    "kernel_ridge": lambda X, Y, w: fit_kernel_ridge(X, Y, weights=w),
}
CURVED = "kernel_ridge"
# By which a curved map has to be better than the best affine one: it can't be exported as a matrix, and costs more
# for each row.
MARGIN = 0.02
# Pairs that kinds are compared on: kernel ridge takes the cube of their number.
COMPARED = 2_000
N_FOLDS = 5
# Pairs from which one fold is enough: it has 200 queries or more.
MANY = 1000
MOST_QUERIES = 1000
# Rows of the index that are searched; of a larger index a random sample with all queries in it.
MOST_GALLERY = 20_000
# Rows known in both spaces from which neighbours are compared: ten of fewer would be found by chance.
FEWEST_NEIGHBOURS = 100
# Numbers of pairs of the learning curve: 30, 100, 300, …
SIZES = tuple(factor * 10**power for power in range(1, 8) for factor in (1, 3))[1:]
# The least ratio of the last two.
STEP = 2.0
# Pairs that are shuffled for the control: chance is no better for more.
MOST_SHUFFLED = 1000
# Whose similarities thresholds are translated by: a million.
THRESHOLD_QUERIES, THRESHOLD_ROWS = 500, 2000
# The steps of progress that the controls, and learning both ways, count for.
COST_OF_BOTH = 2


def choose_kind(quality: Mapping[str, float]) -> str:
    """Return the kind of the highest quality; a curved one needs a margin.

    Examples
    --------
    >>> choose_kind({"ridge": 0.5, "kernel_ridge": 0.51}), choose_kind({"ridge": 0.5, "kernel_ridge": 0.6})
    ('ridge', 'kernel_ridge')
    """
    # max() takes the first of equals, so ties go to the simpler kind.
    return max(quality, key=lambda kind: quality[kind] - MARGIN * (kind == CURVED))


def score_both_ways(to_old: Map, to_new: Map, A: Matrix) -> Callable[[Matrix], FloatArray]:
    """Return a function from new rows B (n, d_new) to their scores (n, m) with the old rows A by both maps."""
    a, b = to_old.output_mean, to_new.output_mean
    # The index is mapped once, however many queries follow.
    plain, mapped = unit_directions(A, a), unit_directions(to_new(A), b)

    def score(B: Matrix) -> FloatArray:
        there = inner_products(unit_directions(to_old(B), a), plain)
        return np.asarray(there + inner_products(unit_directions(B, b), mapped))

    return score


@dataclass(frozen=True, eq=False)
class Fold:
    """Numbers of pairs: those that are learned from, and those that are searched for."""

    learned: IntArray
    queries: IntArray


def make_folds(n: int, rng: Generator) -> tuple[Fold, ...]:
    """Return five folds, each pair held out once; of many pairs one fold."""
    order = rng.permutation(n)
    # Many pairs: one fold measures well enough, and maps of many pairs are slow to learn five times.
    if n >= MANY:
        held = min(n // N_FOLDS, MOST_QUERIES)
        return (Fold(order[held:], order[:held]),)
    return tuple(Fold(order[np.arange(n) % N_FOLDS != k], order[k::N_FOLDS]) for k in range(N_FOLDS))


def learning_sizes(n: int) -> tuple[int, ...]:
    """Return the numbers of pairs of the learning curve, up to all n.

    Examples
    --------
    >>> learning_sizes(240), learning_sizes(4000)
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
        Where in the index the old row of each pair is; -1 where it is not in the sample.
    """

    old: FloatArray
    new: FloatArray
    weights: FloatArray | None
    rows: Matrix
    place: IntArray

    @classmethod
    def of(cls, A: Matrix, B: Matrix, known: KnownPairs, queries: IntArray, rng: Generator) -> Gallery:
        """Take the index A (n, d), or a sample of it that has the old rows of all queries (numbers of pairs)."""
        n, numbers = A.shape[0], known.source
        rows = np.arange(n)
        # A sample without the queries' own rows would make every search fail.
        if n > MOST_GALLERY:
            rest = np.setdiff1d(rows, numbers[queries])
            rows = np.sort(np.r_[numbers[queries], rng.permutation(rest)[: MOST_GALLERY - len(queries)]])
        place = np.searchsorted(rows, numbers)
        there = rows[np.minimum(place, len(rows) - 1)] == numbers
        # Equal weights are no weights: the maps then have their plain closed forms.
        weights = None if np.ptp(known.weights) == 0.0 else known.weights
        pairs = as_dense(A[numbers]), as_dense(B[known.target])
        return cls(*pairs, weights, A[rows], np.where(there, place, -1))

    @cached_property
    def index(self) -> Matrix:
        """The rows of the old index with length one."""
        return unit_rows(self.rows)

    @cached_property
    def pool(self) -> IntArray | None:
        """Pairs among which neighbours are compared: those in the index, if they are enough."""
        pairs = np.flatnonzero(self.place >= 0)
        # Beyond the pairs nothing is known in the new space, so no row outside them can be a neighbour there.
        return pairs if len(pairs) > FEWEST_NEIGHBOURS else None

    def fit_map(self, kind: str, pairs: IntArray, *, back: bool = False, shuffle: Generator | None = None) -> Map:
        """Fit the map of new rows to old ones (or back) to these pairs, or to the same rows in wrong pairs."""
        X, Y = (self.old, self.new) if back else (self.new, self.old)
        partners = pairs if shuffle is None else shuffle.permutation(pairs)
        return KINDS[kind](X[pairs], Y[partners], None if self.weights is None else self.weights[pairs])

    def find_neighbours(self, queries: IntArray) -> IntArray | None:
        """Return the places in the pool of the rows that the new model itself finds nearest (q, 10)."""
        if self.pool is None:
            return None
        unit, pool, within = unit_rows(self.new), self.pool, np.searchsorted(self.pool, queries)
        near = unit[pool]
        return search_gallery(lambda q: inner_products(unit[q], near), queries, within, np.arange(len(pool)), within)[
            1
        ]

    def search(
        self, score: Score, queries: IntArray, neighbours: IntArray | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return the rank of each query's own row, and the share of the new model's neighbours that are found."""
        own = self.place[queries]
        if self.pool is None or neighbours is None:
            return search_gallery(score, queries, own, None, own)[0], None
        within = np.searchsorted(self.pool, queries)
        ranks, nearest = search_gallery(score, queries, own, self.place[self.pool], within)
        return ranks, measure_overlap(nearest, neighbours)

    def score_queries(self, to_old: Map) -> Score:
        """Return the cosines of adapted queries with the untouched index."""
        return lambda q: inner_products(unit_rows(to_old(self.new[q])), self.index)

    def fit_thresholds(self, maps: list[tuple[Map, IntArray]]) -> Thresholds:
        """Fit the table of equivalent thresholds to maps, each with the queries held out of it."""
        # Evenly spaced rows: no random numbers, and the same table for the same index.
        rows = np.linspace(0, self.index.shape[0] - 1, THRESHOLD_ROWS).round().astype(np.intp)
        rows = np.unique(rows)
        some, old, adapted = as_dense(self.index[rows]), [], []
        for to_old, queries in maps:
            q = queries[: THRESHOLD_QUERIES // len(maps)]
            # Its own row would be found by every old query, and by no new one.
            others = self.place[q][:, None] != rows
            old.append((unit_rows(self.old[q]) @ some.T)[others])
            adapted.append((unit_rows(to_old(self.new[q])) @ some.T)[others])
        return fit_thresholds(np.concatenate(old), np.concatenate(adapted))


def measure_overlap(found: IntArray | None, wanted: IntArray) -> FloatArray | None:
    """Return the share (q,) of the wanted rows (q, k) that were found (q, k).

    Examples
    --------
    >>> measure_overlap(np.array([[3, 1]]), np.array([[1, 2]]))
    array([0.5])
    """
    return None if found is None else np.asarray((found[:, :, None] == wanted[:, None, :]).any(axis=1).mean(axis=1))


@dataclass(frozen=True, eq=False)
class HeldOutSearch:
    """The searches for held-out pairs; made by :meth:`of`."""

    # The pairs, and what they are searched among.
    gallery: Gallery
    # Which pairs are learned from, and which are searched for.
    folds: tuple[Fold, ...]
    # The columns with the same names, where there are any: of the new rows of the pairs, and of the gallery.
    shared: tuple[Matrix, Matrix] | None
    work: WorkCounter
    rng: Generator

    @classmethod
    def of(cls, A: Matrix, B: Matrix, known: KnownPairs, names: IntArray | None,
           work: WorkCounter, rng: Generator) -> HeldOutSearch:  # fmt: skip
        """Hold out pairs, given all rows of either side and the places (2, k) of columns of the same name."""
        folds = make_folds(len(known), rng)
        gallery = Gallery.of(A, B, known, np.concatenate([fold.queries for fold in folds]), rng)
        shared = None
        if names is not None:
            shared = unit_rows(gallery.new[:, names[1]]), unit_rows(gallery.rows[:, names[0]])
        return cls(gallery, folds, shared, work, rng)

    @cached_property
    def neighbours(self) -> list[IntArray | None]:
        """The neighbours of each fold's queries that the new model finds."""
        return [self.gallery.find_neighbours(fold.queries) for fold in self.folds]

    @property
    def _least(self) -> int:
        """Pairs that every fold can learn from."""
        return min(len(fold.learned) for fold in self.folds)

    def count_steps(self, *, auto: bool) -> int:
        """Return the number of steps of the measurements, with or without those that a kind is chosen by."""
        return len(KINDS) * auto + len(learning_sizes(self._least)) + COST_OF_BOTH

    def select_kind(self) -> str:
        """Return the kind that finds held-out pairs best."""
        quality = {}
        # By the same folds as the figures, which flatters the best of four kinds a little.
        for kind in KINDS:
            self.work.count(f"trying {kind}")
            quality[kind] = self._measure_maps(self._fit_folds(kind, COMPARED)).quality
        return choose_kind(quality)

    def measure_recall(self, kind: str) -> tuple[Recall, Thresholds]:
        """Measure the learning curve and the controls, and fit the thresholds."""
        gallery, least = self.gallery, self._least
        curve, maps = {}, []
        # Each fold learns from the first ``size`` of its pairs, so that a point of the curve contains the one before.
        for size in learning_sizes(least):
            self.work.count(f"learning from {size} pairs")
            maps = self._fit_folds(kind, size)
            curve[size] = self._measure_maps(maps)
        self.work.count("controls", COST_OF_BOTH)
        back = [gallery.fit_map(kind, fold.learned[:least], back=True) for fold in self.folds]
        # Wrong pairs: what a map finds by knowing where rows lie, but not which is which. That is the chance level.
        few = min(least, MOST_SHUFFLED)
        wrong = [gallery.fit_map(kind, fold.learned[:few], shuffle=self.rng) for fold in self.folds]
        controls = {
            "shuffled pairs": self._measure_maps(wrong),
            "both ways": self._measure([self._score_both(*two) for two in zip(maps, back, strict=True)]),
            "old model": self._measure_one(lambda q: inner_products(unit_rows(gallery.old[q]), gallery.index)),
        }
        if self.shared is not None:
            Q, G = self.shared
            controls["shared columns"] = self._measure_one(lambda q: inner_products(Q[q], G))
        n_queries = sum(len(fold.queries) for fold in self.folds)
        counts = n_queries, gallery.index.shape[0], 0 if gallery.pool is None else len(gallery.pool)
        table = gallery.fit_thresholds([(m, fold.queries) for m, fold in zip(maps, self.folds, strict=True)])
        return Recall(tuple(curve), tuple(curve.values()), controls, *counts), table

    def _fit_folds(self, kind: str, size: int) -> list[Map]:
        return [self.gallery.fit_map(kind, fold.learned[:size]) for fold in self.folds]

    def _measure_maps(self, maps: list[Map]) -> Figures:
        return self._measure([self.gallery.score_queries(m) for m in maps])

    def _measure_one(self, score: Score) -> Figures:
        return self._measure([score] * len(self.folds))

    def _measure(self, scores: list[Score]) -> Figures:
        """Return the figures of all folds together, one score for each fold."""
        parts = zip(scores, self.folds, self.neighbours, strict=True)
        found = [self.gallery.search(score, fold.queries, near) for score, fold, near in parts]
        shares = [share for _, share in found if share is not None]
        ranks = np.concatenate([ranks for ranks, _ in found])
        return compute_figures(ranks, np.concatenate(shares) if shares else None, self.rng)

    def _score_both(self, to_old: Map, to_new: Map) -> Score:
        score = score_both_ways(to_old, to_new, self.gallery.rows)
        return lambda q: score(self.gallery.new[q])
