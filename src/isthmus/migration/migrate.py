"""From an old index, rows of a new model and known pairs to an adapter."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from isthmus._arrays import IntArray, Matrix, as_dense
from isthmus._validation import as_generator, choice, column_names, matrix, number, ordinary
from isthmus.domains import KnownPairs, as_pairs
from isthmus.exceptions import InputError
from isthmus.migration.adapter import Adapter, both_ways
from isthmus.migration.held_out import Fold, Gallery, folds, gallery, sizes
from isthmus.migration.kinds import AUTO, KINDS, Map, best_kind
from isthmus.migration.recall import Figures, Recall, figures
from isthmus.migration.search import Score, inner_products, unit_rows

FEWEST = 10
"""Pairs: with fewer no figure on held-out ones means anything."""
MOST = 20_000
"""Pairs that are learned from; a random sample of more. Held-out figures have long stopped rising there."""


def migrate(
    old: Any,
    new: Any,
    pairs: Any = "rows",
    *,
    kind: str = "ridge",
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
    kind : {"ridge", "procrustes", "low_rank", "kernel_ridge", "auto"}
        The map. ``"auto"`` takes the kind that finds held-out pairs, and their neighbours, best.
    max_pairs : int
        A random sample of so many pairs is used where there are more.
    random_state : None, int, Generator or RandomState
        Which pairs are held out, shuffled and sampled.
    progress : bool or function
        Whether to say what is being done, on the standard error stream; or a function that is told.

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
    choice(kind, "kind", (*KINDS, AUTO))
    most = int(number(max_pairs, "max_pairs", low=FEWEST, whole=True))
    tell = _teller(progress)
    rng = as_generator(random_state)
    A, B = (ordinary(matrix(X, name), name) for X, name in ((old, "old"), (new, "new")))
    known = _sampled(_one_to_one(pairs, A.shape[0], B.shape[0]), most, rng)
    names = column_names(old), column_names(new)
    study = _Study.of(A, B, known, _shared_columns(*names), tell, rng)
    if kind == AUTO:
        kind = study.chosen_kind()
    recall, maps = study.recall(kind)
    table = study.rows.thresholds(
        tuple((to_old, fold.queries) for (to_old, _), fold in zip(maps, study.folds, strict=True))
    )
    tell(f"learning from all {len(known)} pairs")
    everything = np.arange(len(known))
    forth, back = study.rows.fitted(kind, everything), study.rows.fitted(kind, everything, back=True)
    return Adapter(kind, forth, back, len(known), recall, table, *names)


@dataclass(frozen=True, eq=False)
class _Study:
    """What is measured on held-out pairs."""

    rows: Gallery
    folds: tuple[Fold, ...]
    same_name: tuple[Matrix, Matrix] | None
    """The columns with the same names, where there are any: of the new rows of the pairs, and of the gallery."""
    tell: Callable[[str], None]
    rng: Generator

    @classmethod
    def of(cls, A: Matrix, B: Matrix, known: KnownPairs, names: tuple[IntArray, IntArray] | None,
           tell: Callable[[str], None], rng: Generator) -> _Study:  # fmt: skip
        parts = folds(len(known), rng)
        weights = None if np.ptp(known.weights) == 0.0 else known.weights
        queries = np.concatenate([part.queries for part in parts])
        pair_rows = as_dense(A[known.source]), as_dense(B[known.target])
        rows = gallery(A, pair_rows, weights, known.source, queries, rng)
        same = None
        if names is not None:
            same = unit_rows(pair_rows[1][:, names[1]]), unit_rows(rows.rows[:, names[0]])
        return cls(rows, parts, same, tell, rng)

    def chosen_kind(self) -> str:
        """The kind that finds held-out pairs best."""
        found = {}
        for kind in KINDS:
            self.tell(f"trying {kind}")
            maps = [self.rows.fitted(kind, fold.learned) for fold in self.folds]
            found[kind] = self._figures([self.rows.adapted(m) for m in maps]).quality
        return best_kind(found)

    def recall(self, kind: str) -> tuple[Recall, list[tuple[Map, Map]]]:
        """The curve and the controls, and the maps of each fold: to the old space, and to the new one."""
        rows = self.rows
        least = min(len(fold.learned) for fold in self.folds)
        curve = {}
        for size in sizes(least):
            self.tell(f"learning from {size} pairs")
            maps = [rows.fitted(kind, fold.learned[:size]) for fold in self.folds]
            curve[size] = self._figures([rows.adapted(m) for m in maps])
        self.tell("controls")
        both = [(m, rows.fitted(kind, f.learned[:least], back=True)) for m, f in zip(maps, self.folds, strict=True)]
        wrong = [rows.fitted(kind, fold.learned[:least], shuffled=self.rng) for fold in self.folds]
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
        found = [self.rows.search(score, fold.queries) for score, fold in zip(scores, self.folds, strict=True)]
        shares = [share for _, share in found if share is not None]
        return figures(
            np.concatenate([ranks for ranks, _ in found]), np.concatenate(shares) if shares else None, self.rng
        )

    def _both_ways(self, to_old: Map, to_new: Map) -> Score:
        scores = both_ways(to_old, to_new, self.rows.rows)
        return lambda q: scores(self.rows.new[q])


def _one_to_one(pairs: Any, n_old: int, n_new: int) -> KnownPairs:
    try:
        return as_pairs(pairs, n_old, n_new, fewest=FEWEST, one_to_one=True, needs="an adapter")
    except InputError as error:  # there, the two sides have the names that they have in fit
        words = {"source": "old", "target": "new"}
        raise InputError(re.sub(r"\b(source|target)(?= rows?\b)", lambda m: words[m[1]], str(error))) from None


def _sampled(known: KnownPairs, most: int, rng: Generator) -> KnownPairs:
    if len(known) <= most:
        return known
    kept = np.sort(rng.permutation(len(known))[:most])
    return KnownPairs(known.rows[kept], known.weights[kept])


def _shared_columns(old: tuple[str, ...] | None, new: tuple[str, ...] | None) -> tuple[IntArray, IntArray] | None:
    """The places of the columns of the same name, in the old and the new rows."""
    common = [name for name in old or () if name in set(new or ())]
    if old is None or new is None or not common:
        return None
    return tuple(np.array([names.index(name) for name in common]) for names in (old, new))  # type: ignore[return-value]


def _teller(progress: Any) -> Callable[[str], None]:
    if isinstance(progress, bool):
        return _say if progress else lambda what: None
    if not callable(progress):
        raise InputError(f"progress: expected True, False or a function, got {progress!r}.")
    return progress  # type: ignore[no-any-return]


def _say(what: str) -> None:
    sys.stderr.write(f"migrate: {what}\n")
