"""Fields that two tables share: candidate pairs of rows, and how far their cells agree.

Candidates are the rows that are nearest by the words or by the characters of the whole row, by a single long field,
or by numbers: never all pairs. Each candidate pair has a value per feature, from 0 (nothing in common) upwards, and a
mark whether both rows have that field at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from tempfile import TemporaryFile
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator

from isthmus._core.validation import BoolArray, FloatArray, IntArray, Matrix, is_sparse
from isthmus.data.cells import choose_date_parser, choose_number_parser
from isthmus.data.domains import SharedFeatures
from isthmus.data.shared_columns import Cells, SharedColumns
from isthmus.geometry.similarity import Scores, apply_csls, find_partners, normalize_precisely, score_distances
from isthmus.geometry.terms import TermRows, nearest_pairs, split_identifiers, split_numbers, split_words

# Candidates per row and way of looking; by one field alone fewer.
NEAREST, NEAREST_BY_FIELD = 10, 3
# Characters, in the median, from which on a field alone proposes candidates.
LONG_FIELD = 8
# Runs of characters of the whole row, and of a field.
ROW_RUNS, FIELD_RUNS = (3, 5), (2, 4)
# A term proposes candidates if at most this many rows have it, or this share of them.
FREQUENT, FREQUENT_SHARE, MOST_FREQUENT = 50, 0.02, 200
# The share of the cells that have to be numbers (or dates) for their distance to count, and the least number of them.
MOSTLY, FEWEST_NUMBERS = 0.8, 10
# The share of the cells that have to have a number somewhere for these numbers to be compared.
LEAST_DIGITS = 0.1
# Numbers that differ by this share of the interquartile range agree by 1/e.
NUMBER_SCALE = 0.1
# A number as far off as this, in that unit, is near to nothing; squares of larger ones exceed single precision.
FAR = 1e6
# Positive numbers of which the 95th percentile is this many times the 5th are compared by their logarithms.
WIDE = 20.0
# The most features of whole rows, and of a field.
FEATURES_OF_ROW, FEATURES_OF_FIELD = 5, 4
# Bytes of features from which on they are kept on disk.
SPILLED = 2**30
# The field of features of whole rows, and of matrices that both collections share.
WHOLE_ROW, MATRIX = "whole row", "shared columns"


@dataclass(frozen=True, eq=False)
class Agreement:
    """Candidate pairs, and how far the fields of their rows agree.

    Parameters
    ----------
    i, j : array (p,)
        The rows of A and of B, in rising order.
    values : array (p, q)
        One column per feature; 0 where a field is absent.
    present : array (p, q)
        Whether both rows have what the feature compares.
    features : tuple of (str, str)
        The field and the kind of each feature.
    shape : (int, int)
        The numbers of rows of A and of B.
    """

    i: IntArray
    j: IntArray
    values: FloatArray
    present: BoolArray
    features: tuple[tuple[str, str], ...]
    shape: tuple[int, int]

    def __len__(self) -> int:
        return len(self.i)

    @cached_property
    def cells(self) -> IntArray:
        """The places i m + j of the pairs, rising."""
        return self.i * self.shape[1] + self.j

    def find(self, pairs: IntArray) -> IntArray:
        """Return the places of pairs (r, 2) among the candidates, -1 where they are none."""
        wanted = pairs[:, 0] * self.shape[1] + pairs[:, 1]
        if not len(self):
            return np.full(len(pairs), -1, np.intp)
        place = np.minimum(np.searchsorted(self.cells, wanted), len(self) - 1)
        return np.where(self.cells[place] == wanted, place, -1)

    def append(self, field: str, kind: str, values: FloatArray) -> Agreement:
        """Return the same pairs with one more feature, which all of them have."""
        return replace(
            self,
            values=np.column_stack([self.values, values.astype(np.float32)]),
            present=np.column_stack([self.present, np.ones(len(self), dtype=bool)]),
            features=(*self.features, (field, kind)),
        )


@dataclass(frozen=True, eq=False)
class TableComparer:
    """Compare the rows of two tables by their words, and by each shared column."""

    columns: SharedColumns
    rows: tuple[list[str], list[str]]
    compared: tuple[Field, ...]
    words: TermRows
    runs: TermRows

    @classmethod
    def of(cls, columns: SharedColumns) -> TableComparer:
        """Weigh the terms of whole rows and of shared columns."""
        rows = columns.join_rows()
        compared = tuple(
            Field.of(columns.source[a], columns.target[b], a if a == b else f"{a} ~ {b}") for a, b in columns.pairs
        )
        words = TermRows.of(*rows, split_words, drop_one_sided=True)
        return cls(columns, rows, compared, words, TermRows.of(*rows, ROW_RUNS, drop_one_sided=True))

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows of A and of B."""
        return self.columns.n_source, self.columns.n_target

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the shared columns."""
        return tuple(field.name for field in self.compared)

    def candidates(self) -> IntArray:
        """Return the cells of the nearest rows by words, by characters, by a long field, and by numbers."""
        n, m = self.shape
        most = min(max(FREQUENT, FREQUENT_SHARE * (n + m)), MOST_FREQUENT)
        found = [self.words.nearest(NEAREST, most), self.runs.nearest(NEAREST, most)]
        found += [f.runs.nearest(NEAREST_BY_FIELD, most) for f in self.compared if f.is_long]
        found += _nearest_by_numbers([f.numbers for f in self.compared if f.numbers is not None])
        return np.unique(np.concatenate([np.asarray(i, np.int64) * m + j for i, j in found]))

    def compare(self, cells: IntArray) -> Agreement:
        """Return the features of whole rows, then those of each field."""
        m = self.shape[1]
        table = _FeatureTable(cells // m, cells % m, FEATURES_OF_ROW + FEATURES_OF_FIELD * len(self.compared))
        i, j = table.i, table.j
        for kind, terms in (("characters", self.runs), ("words", self.words)):
            cosines = terms.cosines(i, j)
            table.add(WHOLE_ROW, kind, cosines)
            ours, theirs = terms.lengths[0][i], terms.lengths[1][j]
            # The product over the square of the shorter row: whether one row has all that the other has.
            table.add(WHOLE_ROW, f"contained {kind}", cosines * np.maximum(ours, theirs) / np.minimum(ours, theirs))
        identifiers = TermRows.of(*self.rows, split_identifiers, drop_one_sided=True)
        table.add(WHOLE_ROW, "identifiers", identifiers.cosines(i, j), identifiers.present(i, j))
        for field in self.compared:
            field.compare(table)
        return table.finish(self.shape)

    def without(self, fields: Collection[str]) -> TableComparer:
        """Return the comparer of tables that lack these columns, also in the text of whole rows."""
        named = dict(zip(self.fields, self.columns.pairs, strict=True))
        dropped = [named[name] for name in fields]
        pairs = tuple(pair for pair in self.columns.pairs if pair not in dropped)
        kept = [{pair[side] for pair in pairs} for side in (0, 1)]
        tables = [
            {name: c for name, c in table.items() if name in kept[s] or name not in {pair[s] for pair in dropped}}
            for s, table in enumerate((self.columns.source, self.columns.target))
        ]
        return TableComparer.of(SharedColumns(tables[0], tables[1], pairs))

    def halves(self, side: int, rng: Generator, most: int) -> TableComparer:
        """Return the comparer of two random halves of one table."""
        table = self.columns.target if side else self.columns.source
        own = tuple((pair[side], pair[side]) for pair in self.columns.pairs)
        order = rng.permutation(self.shape[side])[: 2 * most]
        both = SharedColumns(table, table, tuple(dict.fromkeys(own)))
        return TableComparer.of(both.among(order[: len(order) // 2], order[len(order) // 2 :]))


class _FeatureTable:
    """Features of candidate pairs, as they are collected: in memory, or in a file where they are many."""

    def __init__(self, i: IntArray, j: IntArray, most_features: int) -> None:
        self.i: IntArray = i
        self.j: IntArray = j
        # One feature after the other, so that each is written, and read, in one run.
        self._values = _allocate(most_features, len(i), np.float32)
        self._present = _allocate(most_features, len(i), np.bool_)
        self._names: list[tuple[str, str]] = []

    def add(self, field: str, kind: str, values: FloatArray, present: BoolArray | None = None) -> None:
        k = len(self._names)
        self._present[k] = True if present is None else present
        self._values[k] = np.where(self._present[k], values, 0.0)
        self._names.append((field, kind))

    def finish(self, shape: tuple[int, int]) -> Agreement:
        q = len(self._names)
        return Agreement(self.i, self.j, self._values[:q].T, self._present[:q].T, tuple(self._names), shape)


def _allocate(rows: int, columns: int, kind: type[Any]) -> Any:
    """Return an array, which is on disk if it is large."""
    if rows * columns * np.dtype(kind).itemsize <= SPILLED:
        return np.zeros((rows, columns), kind)
    # The file has no name, and is gone as soon as nothing reads the array.
    with TemporaryFile() as file:
        return np.memmap(file, kind, "w+", shape=(rows, columns))


@dataclass(frozen=True, eq=False)
class Field:
    """A column of either table that means the same: its cells, terms of these, and numbers if it has some."""

    name: str
    source: Cells
    target: Cells
    runs: TermRows
    words: TermRows
    numbers: tuple[FloatArray, FloatArray] | None

    @classmethod
    def of(cls, source: Cells, target: Cells, name: str) -> Field:
        """Weigh the terms of the cells, and read their numbers or dates."""
        runs, words = TermRows.of(source, target, FIELD_RUNS), TermRows.of(source, target, split_words)
        return cls(name, source, target, runs, words, read_numbers(source, target))

    @property
    def is_long(self) -> bool:
        """Whether the cells are long enough to propose candidates."""
        lengths = [len(cell) for cell in (*self.source, *self.target) if cell]
        return bool(lengths) and float(np.median(lengths)) >= LONG_FIELD

    def compare(self, table: _FeatureTable) -> None:
        """Add the features of this field: characters, words, equality, digits or distance."""
        i, j = table.i, table.j
        there = self.runs.present(i, j)
        table.add(self.name, "characters", self.runs.cosines(i, j), there)
        table.add(self.name, "words", self.words.cosines(i, j), there)
        table.add(self.name, "equality", self._score_equal_cells(i, j), there)
        if self.numbers is not None:
            distance = np.abs(self.numbers[0][i] - self.numbers[1][j])
            table.add(self.name, "distance", np.exp(-np.nan_to_num(distance)), np.isfinite(distance))
            return
        digits = TermRows.of(self.source, self.target, split_numbers)
        if min(digits.has_terms(side).mean() for side in (0, 1)) > LEAST_DIGITS:
            table.add(self.name, "digits", digits.cosines(i, j), digits.present(i, j))

    def _score_equal_cells(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return how rare the cell is that both rows have, from 0 to 1; 0 where they differ."""
        numbers: dict[str, int] = {}
        codes = np.array([numbers.setdefault(cell, len(numbers)) for cell in (*self.source, *self.target)])
        counts, total, n = np.bincount(codes), len(codes), len(self.source)
        rarity = np.log(total / counts) / np.log(total)
        return np.where(codes[:n][i] == codes[n:][j], rarity[codes[:n][i]], 0.0)


def read_numbers(source: Cells, target: Cells) -> tuple[FloatArray, FloatArray] | None:
    """Return the numbers or dates of two columns, in units in which a difference of 1 is large; None of texts."""
    number = choose_number_parser((*source, *target))
    for choose in (choose_date_parser, lambda _: number):
        x, y = (_parse_cells(cells, choose(cells)) for cells in (source, target))
        shares = (np.isfinite(v).sum() / max(1, sum(map(bool, cells))) for v, cells in ((x, source), (y, target)))
        both = np.concatenate([x[np.isfinite(x)], y[np.isfinite(y)]])
        if min(shares) >= MOSTLY and len(both) >= FEWEST_NUMBERS:
            break
    else:
        return None
    low, high = np.percentile(both, [5, 95])
    if both.min() >= 0.0 and high > WIDE * max(low, 1e-9):
        x, y, both = np.log1p(x), np.log1p(y), np.log1p(both)
    spread = float(np.subtract(*np.percentile(both, [75, 25]))) or float(both.std()) or 1.0
    return x / (NUMBER_SCALE * spread), y / (NUMBER_SCALE * spread)


def _parse_cells(cells: Cells, parse: Callable[[str], float]) -> FloatArray:
    known: dict[str, float] = {}
    return np.array([known[c] if c in known else known.setdefault(c, parse(c)) for c in cells], dtype=np.float64)


def _nearest_by_numbers(numbers: list[tuple[FloatArray, FloatArray]]) -> list[tuple[IntArray, IntArray]]:
    """Return candidates by all numbers together, where there are at least two fields of them and few gaps."""
    full = [pair for pair in numbers if min(np.isfinite(x).mean() for x in pair) >= MOSTLY]
    if len(full) < 2:
        return []
    ours, theirs = (np.column_stack([pair[side] for pair in full]) for side in (0, 1))
    middle = np.nanmedian(np.vstack([ours, theirs]), axis=0)
    ours, theirs = (np.clip(np.where(np.isfinite(X), X, middle), -FAR, FAR) for X in (ours, theirs))
    return [nearest_by_scores(score_distances(ours, theirs))]


@dataclass(frozen=True, eq=False)
class MatrixComparer:
    """Compare rows by columns of numbers that both collections have: by distance, or by the cosine of sparse rows."""

    # The columns together are one field.
    fields: ClassVar[tuple[str, ...]] = (MATRIX,)
    source: Matrix
    target: Matrix

    @classmethod
    def of(cls, shared: SharedFeatures) -> MatrixComparer:
        """Scale the columns by both collections together; sparse rows to unit length."""
        A, B = shared.source, shared.target
        if is_sparse(A) or is_sparse(B):
            return cls(*(normalize_precisely(sp.csr_array(rows)) for rows in (A, B)))
        both = np.vstack([A, B])
        mean, spread = both.mean(axis=0), both.std(axis=0)
        return cls(*((X - mean) / np.where(spread > 0.0, spread, 1.0) for X in (A, B)))

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows of A and of B."""
        return self.source.shape[0], self.target.shape[0]

    @cached_property
    def _scores(self) -> Scores:
        return apply_csls(score_distances(self.source, self.target))

    def candidates(self) -> IntArray:
        """Return the cells of the nearest rows."""
        if is_sparse(self.source):
            i, j = nearest_pairs(self.source, self.target, NEAREST)
        else:
            i, j = nearest_by_scores(self._scores)
        return np.unique(np.asarray(i, np.int64) * self.shape[1] + j)

    def compare(self, cells: IntArray) -> Agreement:
        """Return one feature: the distance, or the cosine."""
        table = _FeatureTable(cells // self.shape[1], cells % self.shape[1], 1)
        i, j = table.i, table.j
        if is_sparse(self.source):
            table.add(MATRIX, "cosine", np.asarray(self.source[i].multiply(self.target[j]).sum(axis=1)).ravel())
        else:
            table.add(MATRIX, "distance", self._scores.at(i, j))
        return table.finish(self.shape)


def nearest_by_scores(scores: Scores) -> tuple[IntArray, IntArray]:
    """Return the pairs of the best rows of B for each row of A, and of A for each row of B."""
    (columns, _), (rows, _) = find_partners(scores, NEAREST, NEAREST)
    i, j = (np.repeat(np.arange(len(found)), found.shape[1]) for found in (columns, rows))
    return np.concatenate([i, rows.ravel()]), np.concatenate([columns.ravel(), j])


Comparer: TypeAlias = TableComparer | MatrixComparer


def make_comparer(shared: SharedColumns | SharedFeatures) -> Comparer:
    """Return what compares rows by columns of tables or by common features."""
    return TableComparer.of(shared) if isinstance(shared, SharedColumns) else MatrixComparer.of(shared)
