"""A user's table: columns of cells, and parts that are whole matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from isthmus._arrays import IntArray, is_sparse
from isthmus.exceptions import InputError
from isthmus.storage.files import shown
from isthmus.tables.delimited import Dialect
from isthmus.tables.frames import polars

NAMES_SHOWN = 8


@dataclass(frozen=True, eq=False)
class Table:
    """n rows in named parts, each a column of cells or a matrix.

    Parameters
    ----------
    path : str
        Where it was read from, for messages.
    parts : mapping of str to Series or array
        A polars Series (n,), or a matrix (n, d): a NumPy array, which may lie in a file, or a SciPy CSR matrix. A
        matrix has no Python object per cell.
    n_rows : int
        n.
    annotations : frozenset of str
        Parts that say something about the rows, and are no features unless a plan says so.
    first : int
        The number of the first row in the file, where these are only some of its rows.
    whole_numbers : mapping of str to bool
        Whether all cells of a column are whole numbers, in the whole file; columns that are not in it are looked at.
    dialect : Dialect, optional
        Separator and decimal mark of a CSV or TSV file; None of others.

    Examples
    --------
    >>> table = Table.of({"age": [31, None], "code": np.eye(2)})
    >>> table.names, table.n_rows, table.is_matrix("code"), table.column("age").null_count()
    (('age', 'code'), 2, True, 1)
    """

    path: str
    parts: Mapping[str, Any]
    n_rows: int
    annotations: frozenset[str] = frozenset()
    first: int = 0
    whole_numbers: Mapping[str, bool] = field(default_factory=dict)
    dialect: Dialect | None = None

    @classmethod
    def of(cls, parts: Mapping[str, Any], path: str = "table", annotations: Iterable[str] = ()) -> Table:
        """A table of sequences, polars Series and two-dimensional arrays; lists of equal length become a matrix."""
        found = {_name(name, path): _part(name, values) for name, values in parts.items()}
        if not found:
            raise InputError(f"{path}: expected at least one column, got none.")
        sizes = {name: part.shape[0] for name, part in found.items()}
        first, n = next(iter(sizes.items()))
        other = next((name for name, size in sizes.items() if size != n), None)
        if other is not None:
            got = f"{n} in {first!r:.60} and {sizes[other]} in {other!r:.60}"
            raise InputError(f"{path}: expected columns with the same number of rows, got {got}.")
        if n == 0:
            raise InputError(f"{path}: expected at least one row, got none below the names of the columns.")
        return cls(path, MappingProxyType(found), n, frozenset(annotations))

    @property
    def decimal(self) -> str:
        """The decimal mark of numbers that are text."""
        return "." if self.dialect is None else self.dialect.decimal

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts, in their order."""
        return tuple(self.parts)

    def is_matrix(self, name: str) -> bool:
        """Whether a part is a matrix."""
        return _is_matrix(self._found(name))

    def column(self, name: str) -> Any:
        """A part that is a column, as a polars Series."""
        part = self._found(name)
        if _is_matrix(part):
            raise InputError(
                f"{self.path}, {name!r:.60}: expected a column, got a matrix of {part.shape[1]} columns."
            )
        return part

    def matrix(self, name: str) -> Any:
        """A part that is a matrix, as it is."""
        part = self._found(name)
        if not _is_matrix(part):
            raise InputError(f"{self.path}, {name!r:.60}: expected a matrix, got a column.")
        return part

    def rows(self, start: int, stop: int) -> Table:
        """Some consecutive rows: a view, for work in blocks."""
        cut = {name: part[start:stop] for name, part in self.parts.items()}
        n, first = len(range(self.n_rows)[start:stop]), self.first + start
        return replace(self, parts=MappingProxyType(cut), n_rows=n, first=first)

    def take(self, rows: IntArray) -> Table:
        """Some rows by their numbers, in that order."""
        taken = {name: part[rows] for name, part in self.parts.items()}
        return replace(self, parts=MappingProxyType(taken), n_rows=len(rows))

    def place(self, name: str) -> str:
        """A column, for messages."""
        return f"{self.path}, column {shown(repr(name)[:60])}"

    def _found(self, name: str) -> Any:
        if name not in self.parts:
            raise InputError(f"{self.path}: expected a column {shown(repr(name)[:60])}, got {self.shown_names()}.")
        return self.parts[name]

    def shown_names(self) -> str:
        """The names, for messages: the first few."""
        more = ", …" if len(self.parts) > NAMES_SHOWN else ""
        return ", ".join(shown(repr(name)[:60]) for name in self.names[:NAMES_SHOWN]) + more


def _name(name: Any, path: str) -> str:
    if not isinstance(name, str):
        raise InputError(f"{path}: expected names of columns that are text, got {name!r:.60}.")
    return name


def _is_matrix(part: Any) -> bool:
    return isinstance(part, np.ndarray) or is_sparse(part)


def _part(name: str, values: Any) -> Any:
    if is_sparse(values):
        return values.tocsr()
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return values
    pl = polars()
    series = values if isinstance(values, pl.Series) else pl.Series(name, values, strict=False)
    return _unfolded(series.alias(name))


def _unfolded(series: Any) -> Any:
    """A column of lists of numbers, all of one length, as a matrix; any other column as it is."""
    pl = polars()
    inner = getattr(series.dtype, "inner", None)
    if inner is None or not inner.is_numeric() or series.null_count():
        return series
    lists = series.cast(pl.List(inner)) if isinstance(series.dtype, pl.Array) else series
    lengths = lists.list.len()
    if not len(series) or lengths.n_unique() > 1 or not lengths[0]:
        return series
    cells = lists.explode()
    return series if cells.null_count() else cells.to_numpy().reshape(len(series), lengths[0])
