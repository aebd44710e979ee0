"""Names of rows, their classes, and pairs of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import IntArray
from isthmus.exceptions import DataWarning, InputError, warn
from isthmus.storage.files import shown
from isthmus.tables.cells import place_of, words
from isthmus.tables.frames import polars
from isthmus.tables.plan import Plan
from isthmus.tables.reading import read_table
from isthmus.tables.table import Table

PAIR = "source", "target"
"""Columns of a table of pairs, where there are more than two."""


class UnknownIdError(InputError):
    """A pair names a row that a file does not have."""


def labels_of(table: Table, plan: Plan) -> NDArray[Any]:
    """The classes of the rows as text (n,), None where the cell is empty.

    Examples
    --------
    >>> table = Table.of({"x": [1.5, 2.0, 0.0], "y": ["a", None, "b"]})
    >>> labels_of(table, Plan.of(table, label="y")).tolist()
    ['a', None, 'b']
    """
    if plan.label is None:
        raise InputError(f"{table.path}: expected a plan with a column of kind 'label', got none.")
    labels = np.empty(table.n_rows, dtype=object)
    labels[:] = words(table, plan.label)
    return labels


def ids_of(table: Table, plan: Plan) -> tuple[str, ...]:
    """The names of the rows: the cells of the id column, or the numbers of the rows from 0, as text.

    Examples
    --------
    >>> table = Table.of({"x": [1.5, 2.0], "name": ["u", "v"]})
    >>> ids_of(table, Plan.of(table)), ids_of(table, Plan.of(table, id="name"))
    (('0', '1'), ('u', 'v'))
    """
    if plan.id is None:
        return tuple(map(str, range(table.first, table.first + table.n_rows)))
    place = table.place(plan.id)
    first: dict[str, int] = {}
    for row, word in enumerate(words(table, plan.id)):
        if word is None:
            raise InputError(
                f"{place}: expected an id in every row, got an empty cell in row {table.first + row} (from 0)."
            )
        if first.setdefault(word, row) != row:
            rows = f"rows {table.first + first[word]} and {table.first + row} (from 0)"
            raise InputError(f"{place}: expected different ids, got {shown(repr(word)[:60])} in {rows}.")
    return tuple(first)


class IdsSoFar:
    """The ids of a file's rows, some rows at a time, with the complaints that :func:`ids_of` has about all of them.

    Eight bytes are kept per id. Where two of these are equal, the file is read again to see whether the ids are.

    Examples
    --------
    >>> table = Table.of({"x": [1.5, 2.0, 2.0], "name": ["u", "v", "u"]})
    >>> ids, plan = IdsSoFar(), Plan.of(table, id="name")
    >>> blocks = [table.rows(0, 2), table.rows(2, 3)]
    >>> [ids.of(block, plan) for block in blocks]
    [('u', 'v'), ('u',)]
    >>> ids.require_different(blocks, plan)
    Traceback (most recent call last):
    isthmus.exceptions.InputError: table, column 'name': expected different ids, got 'u' in rows 0 and 2 (from 0).
    """

    def __init__(self) -> None:
        self._prints: list[NDArray[np.uint64]] = []

    def of(self, table: Table, plan: Plan) -> tuple[str, ...]:
        """The ids of further rows."""
        found = ids_of(table, plan)
        if plan.id is not None:
            self._prints.append(_prints(found))
        return found

    def require_different(self, tables: Iterable[Table], plan: Plan) -> None:
        """Raise where two of all rows have the same id; the tables are only gone through where that is likely."""
        values, counts = np.unique(np.concatenate(self._prints or [_prints(())]), return_counts=True)
        twice, first = values[counts > 1], dict[str, int]()
        for table in tables if len(twice) else ():
            ids = ids_of(table, plan)
            for place in np.flatnonzero(np.isin(_prints(ids), twice)).tolist():
                word, row = ids[place], table.first + place
                if first.setdefault(word, row) != row:
                    got = f"{shown(repr(word)[:60])} in rows {first[word]} and {row} (from 0)"
                    raise InputError(f"{table.place(str(plan.id))}: expected different ids, got {got}.")


def _prints(ids: Sequence[str]) -> NDArray[np.uint64]:
    pl = polars()
    return np.asarray(pl.Series(ids, dtype=pl.String).hash().to_numpy(), dtype=np.uint64)


def read_pairs(
    path: str | os.PathLike[str], source_ids: Sequence[str], target_ids: Sequence[str], *, strict: bool = True
) -> IntArray:
    """Known pairs from a file with two columns of ids; of more columns, those named ``source`` and ``target``.

    Parameters
    ----------
    path : str or path
        Of any kind that :func:`read_table` reads; columns named ``source`` and ``target``, as in a table of matches,
        or two columns of any name, the source's first.
    source_ids, target_ids : sequence of str
        Of the rows, as :func:`ids_of` gives them.
    strict : bool
        Whether an unknown id is an error. If not, its pairs are left out, and a warning says how many.

    Returns
    -------
    pairs : array (m, 2)
        Row numbers in the source and in the target.
    """
    table = read_table(path)
    sides = [
        _places(table, name, ids, side, strict=strict)
        for name, ids, side in zip(_id_columns(table), (source_ids, target_ids), PAIR, strict=True)
    ]
    pairs = np.column_stack(sides)
    known = (pairs >= 0).all(axis=1)
    if not known.any():
        raise InputError(f"{table.path}: expected at least one pair with known ids, got none in {len(pairs)} rows.")
    if not known.all():
        left_out = f"{len(pairs) - int(known.sum())} of {len(pairs)} pairs"
        warn(f"{table.path}: {left_out} were left out, because the files have no row of that id.", DataWarning)
    return pairs[known]


def _id_columns(table: Table) -> tuple[str, ...]:
    """The columns of ids, the source's first."""
    if set(PAIR) <= set(table.names):
        return PAIR
    if len(table.names) != 2:
        got = f"{len(table.names)}: {table.shown_names()}"
        raise InputError(f"{table.path}: expected two columns of ids, or some named source and target, got {got}.")
    return table.names


def _places(table: Table, name: str, ids: Sequence[str], side: str, *, strict: bool) -> IntArray:
    place = {word: i for i, word in enumerate(ids)}
    cells = words(table, name)
    found = np.array([-1 if cell is None else place_of(cell, place) for cell in cells], dtype=np.intp)
    unknown = np.flatnonzero(found < 0)
    if strict and len(unknown):
        row = int(unknown[0])
        cell = cells[row]
        got = "an empty cell" if cell is None else shown(repr(cell)[:60])
        raise UnknownIdError(f"{table.place(name)}: expected ids of {side} rows, got {got} in row {row} (from 0).")
    return found
