"""An adapter's figures: its kind, the curve over the number of pairs, the controls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from isthmus._arrays import IntArray, Matrix, as_dense
from isthmus._progress import WorkCounter
from isthmus.domains import KnownPairs
from isthmus.migration.adapter import both_ways
from isthmus.migration.held_out import Fold, Gallery, folds, gallery, sizes
from isthmus.migration.kinds import KINDS, Map, best_kind
from isthmus.migration.recall import Figures, Recall, figures
from isthmus.migration.search import Score, inner_products, unit_rows

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
        parts = folds(len(known), rng)
        weights = None if np.ptp(known.weights) == 0.0 else known.weights
        queries = np.concatenate([part.queries for part in parts])
        pair_rows = as_dense(A[known.source]), as_dense(B[known.target])
        rows = gallery(A, pair_rows, weights, known.source, queries, rng)
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
        return len(KINDS) * auto + len(sizes(self._least)) + BOTH_WAYS

    def chosen_kind(self) -> str:
        """The kind that finds held-out pairs best."""
        found = {}
        for kind in KINDS:
            self.work.count(f"trying {kind}")
            maps = [self.rows.fitted(kind, fold.learned[:COMPARED]) for fold in self.folds]
            found[kind] = self._figures([self.rows.adapted(m) for m in maps]).quality
        return best_kind(found)

    def recall(self, kind: str) -> tuple[Recall, list[tuple[Map, Map]]]:
        """The curve and the controls, and the maps of each fold: to the old space, and to the new one."""
        rows, least = self.rows, self._least
        curve = {}
        for size in sizes(least):
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
        return figures(
            np.concatenate([ranks for ranks, _ in found]), np.concatenate(shares) if shares else None, self.rng
        )

    def _both_ways(self, to_old: Map, to_new: Map) -> Score:
        scores = both_ways(to_old, to_new, self.rows.rows)
        return lambda q: scores(self.rows.new[q])
