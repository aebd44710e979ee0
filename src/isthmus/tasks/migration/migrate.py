"""Pairs that are held out, and the gallery that they are searched in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from isthmus._core.progress import Progress, WorkCounter
from isthmus._core.threads import cap_threads
from isthmus._core.validation import (
    FloatArray,
    IntArray,
    Matrix,
    as_dense,
    as_generator,
    check_choice,
    check_number,
    column_names,
)
from isthmus.data.domains import FORMS, KnownPairs, TwoDomains
from isthmus.evidence.held_out import Score, inner_products, search_gallery, shared_neighbours, unit_rows
from isthmus.exceptions import InputError
from isthmus.tasks.migration.engine import AUTO, KINDS, Map, choose_kind
from isthmus.tasks.migration.evidence import Figures, Recall, Thresholds, compute_figures, fit_thresholds
from isthmus.tasks.migration.result import Adapter, both_ways

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


def make_folds(n: int, rng: Generator) -> tuple[Fold, ...]:
    """Five folds, each pair held out once; of many pairs one fold."""
    order = rng.permutation(n)
    if n >= MANY:
        held = min(n // N_FOLDS, MOST_QUERIES)
        return (Fold(order[held:], order[:held]),)
    return tuple(Fold(order[np.arange(n) % N_FOLDS != k], order[k::N_FOLDS]) for k in range(N_FOLDS))


def learning_sizes(n: int) -> tuple[int, ...]:
    """The numbers of pairs that are learned from, up to all n.

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
        return search_gallery(
            lambda q: inner_products(unit[q], near), queries, within, np.arange(len(pool)), within
        ).nearest

    def search(
        self, score: Score, queries: IntArray, wanted: IntArray | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """The rank of each query's own row, and the share of its wanted neighbours that are found."""
        own = self.place[queries]
        if self.pool is None or wanted is None:
            return search_gallery(score, queries, own, None, own).ranks, None
        found = search_gallery(score, queries, own, self.place[self.pool], np.searchsorted(self.pool, queries))
        return found.ranks, None if found.nearest is None else shared_neighbours(found.nearest, wanted)

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
        return fit_thresholds(np.concatenate(old), np.concatenate(adapted))


def make_gallery(
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


MOST_SHUFFLED = 1000
"""Pairs that are mixed up for the control: chance is no better for more."""

BOTH_WAYS = 2
"""What the controls, and learning both ways, are worth among the steps."""
COMPARED = 2_000
"""Pairs that kinds are compared on: kernel ridge takes the cube of their number."""


@dataclass(frozen=True, eq=False)
class Measures:
    """What is measured on held-out pairs; made by :meth:`of`."""

    rows: Gallery
    """The pairs, and what they are searched among."""
    folds: tuple[Fold, ...]
    """Which pairs are learned from, and which are searched for."""
    same_name: tuple[Matrix, Matrix] | None
    """The columns with the same names, where there are any: of the new rows of the pairs, and of the gallery."""
    work: WorkCounter
    rng: Generator

    @classmethod
    def of(cls, A: Matrix, B: Matrix, known: KnownPairs, names: tuple[IntArray, IntArray] | None,
           work: WorkCounter, rng: Generator) -> Measures:  # fmt: skip
        """With pairs held out, from all rows of either side and the places of columns of the same name."""
        parts = make_folds(len(known), rng)
        weights = None if np.ptp(known.weights) == 0.0 else known.weights
        queries = np.concatenate([part.queries for part in parts])
        pair_rows = as_dense(A[known.source]), as_dense(B[known.target])
        rows = make_gallery(A, pair_rows, weights, known.source, queries, rng)
        same = None
        if names is not None:
            same = unit_rows(pair_rows[1][:, names[1]]), unit_rows(rows.rows[:, names[0]])
        return cls(rows, parts, same, work, rng)

    @cached_property
    def wanted(self) -> list[IntArray | None]:
        """The neighbours of each fold's queries that the new model finds."""
        return [self.rows.neighbours(fold.queries) for fold in self.folds]

    @property
    def _least(self) -> int:
        """Pairs that every fold can learn from."""
        return min(len(fold.learned) for fold in self.folds)

    def n_steps(self, *, auto: bool) -> int:
        """Of the figures, with or without those that a kind is chosen by."""
        return len(KINDS) * auto + len(learning_sizes(self._least)) + BOTH_WAYS

    def chosen_kind(self) -> str:
        """The kind that finds held-out pairs best."""
        found = {}
        for kind in KINDS:
            self.work.count(f"trying {kind}")
            maps = [self.rows.fitted(kind, fold.learned[:COMPARED]) for fold in self.folds]
            found[kind] = self._figures([self.rows.adapted(m) for m in maps]).quality
        return choose_kind(found)

    def recall(self, kind: str) -> tuple[Recall, list[tuple[Map, Map]]]:
        """The curve and the controls, and the maps of each fold: to the old space, and to the new one."""
        rows, least = self.rows, self._least
        curve = {}
        for size in learning_sizes(least):
            self.work.count(f"learning from {size} pairs")
            maps = [rows.fitted(kind, fold.learned[:size]) for fold in self.folds]
            curve[size] = self._figures([rows.adapted(m) for m in maps])
        self.work.count("controls", BOTH_WAYS)
        both = [(m, rows.fitted(kind, f.learned[:least], back=True)) for m, f in zip(maps, self.folds, strict=True)]
        wrong = [
            rows.fitted(kind, fold.learned[: min(least, MOST_SHUFFLED)], shuffled=self.rng) for fold in self.folds
        ]
        scores: dict[str, list[Score]] = {
            "shuffled pairs": [rows.adapted(m) for m in wrong],
            "both ways": [self._both_ways(*pair) for pair in both],
            "old model": [rows.old_model() for _ in self.folds],
        }
        if self.same_name is not None:
            Q, G = self.same_name
            scores["shared columns"] = [lambda q: inner_products(Q[q], G) for _ in self.folds]
        controls = {name: self._figures(score) for name, score in scores.items()}
        pool = 0 if rows.pool is None else len(rows.pool)
        n_queries = sum(len(fold.queries) for fold in self.folds)
        counts = n_queries, rows.index.shape[0], pool
        return Recall(tuple(curve), tuple(curve.values()), controls, *counts), both

    def _figures(self, scores: list[Score]) -> Figures:
        """Of all folds together."""
        parts = zip(scores, self.folds, self.wanted, strict=True)
        found = [self.rows.search(score, fold.queries, wanted) for score, fold, wanted in parts]
        shares = [share for _, share in found if share is not None]
        return compute_figures(
            np.concatenate([ranks for ranks, _ in found]), np.concatenate(shares) if shares else None, self.rng
        )

    def _both_ways(self, to_old: Map, to_new: Map) -> Score:
        scores = both_ways(to_old, to_new, self.rows.rows)
        return lambda q: scores(self.rows.new[q])


FEWEST = 10
"""Pairs: with fewer no figure on held-out ones means anything."""
MOST = 20_000
"""Pairs that are learned from; a random sample of more. Held-out figures have long stopped rising there."""


@cap_threads
def migrate(
    old: Any,
    new: Any,
    pairs: Any = "rows",
    *,
    kind: str = AUTO,
    max_pairs: int = MOST,
    random_state: Any = 0,
    progress: bool | Callable[[str], None] = False,
) -> Adapter:
    """Learn to search an old index with rows of a new model.

    Parameters
    ----------
    old : array, CSR or data frame (n, d_old)
        The index: rows of the old model. It is never changed. Rows without a pair are what held-out rows are searched
        among.
    new : array, CSR or data frame (m, d_new)
        Rows of the new model.
    pairs : array (p, 2), "rows", (ids, ids) or KnownPairs
        Which rows of ``old`` and of ``new`` are the same object, each in one pair at most: row numbers; or that row i
        is row i; or, as a tuple, the ids of all rows of either side.
    kind : {"auto", "ridge", "procrustes", "low_rank", "kernel_ridge"}
        The map. ``"auto"`` takes the kind that finds held-out pairs, and their neighbours, best; kinds are compared
        on at most 2,000 pairs.
    max_pairs : int
        A random sample of so many pairs is used where there are more.
    random_state : None, int, Generator or RandomState
        Which pairs are held out, shuffled and sampled.
    progress : bool or function
        Whether to show a bar with the time left; or a function that is called with what is being done.

    Returns
    -------
    Adapter

    Notes
    -----
    Rows are compared by the cosine of the vectors as they are, as the old index does. Columns of very different units
    should be scaled before. Figures in ``adapter.recall`` are for pairs that the map was not learned from (five
    folds, or one where there are 1,000 pairs or more); the adapter itself is learned from all.

    Examples
    --------
    >>> import isthmus
    >>> rng = np.random.default_rng(0)
    >>> meaning = rng.normal(size=(300, 6))
    >>> old, new = (meaning @ rng.normal(size=(6, d)) + 0.1 * rng.normal(size=(300, d)) for d in (8, 10))
    >>> adapter = isthmus.migrate(old, new[:150], pairs=np.c_[:150, :150])
    >>> print(adapter)
    Adapter, ridge: 10 new columns to 8 old ones from 150 pairs
    150 held-out pairs among 300 rows, learned from 120: recall@1 ...
    bridge...
    """
    check_choice(kind, "kind", (*KINDS, AUTO))
    most = int(check_number(max_pairs, "max_pairs", low=FEWEST, whole=True))
    reports = Progress(progress, "migrate")
    rng = as_generator(random_state)
    needed: dict[str, Any] = {"fewest_pairs": FEWEST, "pairs_for": "an adapter", "one_to_one": True}
    domains = TwoDomains.of(old, None, new, None, pairs, names=("old", "new"), optional_labels=True, **needed)
    if domains.pairs is None:
        raise InputError(f"pairs: expected {FORMS}, got None.")
    known = _sample_pairs(domains.pairs, most, rng)
    names = column_names(old), column_names(new)
    with reports:
        work = WorkCounter(reports, numbered=False)
        measures = Measures.of(domains.source.X, domains.target.X, known, _find_shared_columns(*names), work, rng)
        work.expect(measures.n_steps(auto=kind == AUTO) + BOTH_WAYS)
        if kind == AUTO:
            kind = measures.chosen_kind()
        recall, maps = measures.recall(kind)
        table = measures.rows.thresholds(
            tuple((to_old, fold.queries) for (to_old, _), fold in zip(maps, measures.folds, strict=True))
        )
        work.count(f"learning from all {len(known)} pairs", BOTH_WAYS)
        everything = np.arange(len(known))
        forth, back = measures.rows.fitted(kind, everything), measures.rows.fitted(kind, everything, back=True)
        return Adapter(kind, forth, back, len(known), recall, table, *names)


def _sample_pairs(known: KnownPairs, most: int, rng: Generator) -> KnownPairs:
    if len(known) <= most:
        return known
    kept = np.sort(rng.permutation(len(known))[:most])
    return KnownPairs(known.rows[kept], known.weights[kept])


def _find_shared_columns(
    old: tuple[str, ...] | None, new: tuple[str, ...] | None
) -> tuple[IntArray, IntArray] | None:
    """The places of the columns of the same name, in the old and the new rows."""
    common = [name for name in old or () if name in set(new or ())]
    if old is None or new is None or not common:
        return None
    return tuple(np.array([names.index(name) for name in common]) for names in (old, new))  # type: ignore[return-value]
