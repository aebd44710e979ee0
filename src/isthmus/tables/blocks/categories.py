"""Few different words: one column of 0 and 1 for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.exceptions import InputError
from isthmus.tables.blocks.block import strings
from isthmus.tables.cells import place_of, words
from isthmus.tables.plan import Column
from isthmus.tables.table import Table


@dataclass(frozen=True)
class Categories:
    """1 where a cell is the word, else 0; cells that are empty or another word have no 1.

    Parameters
    ----------
    columns : tuple of str
        Their names.
    words : tuple of tuple of str
        The words of each, in order.
    """

    columns: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]

    @classmethod
    def fit(cls, table: Table, columns: Sequence[Column]) -> Categories:
        """The words in the cells of a table."""
        names = tuple(column.name for column in columns)
        found = [sorted({word for word in words(table, name) if word is not None}) for name in names]
        empty = next((name for name, some in zip(names, found, strict=True) if not some), None)
        if empty is not None:
            raise InputError(f"{table.place(empty)}: expected words, got only empty cells.")
        return cls(names, tuple(tuple(some) for some in found))

    @classmethod
    def restored(cls, about: Mapping[str, Any], arrays: Mapping[str, Any]) -> Categories:
        """From a file, checked."""
        columns, lists = strings(about, "columns"), about.get("words")
        if not isinstance(lists, list) or len(lists) != len(columns):
            raise InputError(f"features, words: expected {len(columns)} lists of words, got another number.")
        return cls(columns, tuple(strings({"words": some}, "words") for some in lists))

    @property
    def names(self) -> tuple[str, ...]:
        """A column and a word of it."""
        return tuple(f"{name} = {word}" for name, some in zip(self.columns, self.words, strict=True) for word in some)

    @property
    def line(self) -> str:
        """What it is, for the screen."""
        n = len(self.columns)
        return f"{len(self.names)} from the words of {n} column{'s' * (n > 1)}"

    def transform(self, table: Table) -> FloatArray:
        """The features (n, number of words) of rows."""
        return np.hstack(
            [_ones(words(table, name), some) for name, some in zip(self.columns, self.words, strict=True)]
        )

    def about(self) -> dict[str, Any]:
        """What is not an array, fit for JSON."""
        return {"columns": list(self.columns), "words": [list(some) for some in self.words]}

    def arrays(self) -> dict[str, FloatArray]:
        """None."""
        return {}


def _ones(cells: Sequence[str | None], known: Sequence[str]) -> FloatArray:
    code = {word: i for i, word in enumerate(known)}
    codes = np.array([-1 if cell is None else place_of(cell, code) for cell in cells], dtype=np.intp)
    ones: FloatArray = (codes[:, None] == np.arange(len(known))).astype(np.float64)
    return ones
