"""A user's table: columns of cells, matrices, and cells read as numbers, dates or words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np

from isthmus._core.files import escape_for_terminal
from isthmus._core.validation import LARGEST, BoolArray, FloatArray, IntArray, is_sparse
from isthmus.data.cells import clean_text, parse_date, parse_number
from isthmus.exceptions import InputError
from isthmus.io.tables.content import import_polars
from isthmus.io.tables.delimited import Dialect

# Names of columns, and characters of a cell, in messages.
NAMES_SHOWN, LONGEST_SHOWN = 8, 60


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
    line : int, optional
        The line of the file that holds the first row, where every row is one line; None where that is not known.
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
    line: int | None = None
    whole_numbers: Mapping[str, bool] = field(default_factory=dict)
    dialect: Dialect | None = None

    @classmethod
    def of(cls, parts: Mapping[str, Any], path: str = "table", annotations: Iterable[str] = ()) -> Table:
        """Return a table of sequences, polars Series and 2-d arrays; lists of equal length become a matrix."""
        if not parts:
            raise InputError(f"{path}: expected at least one column, got none.")
        found = {name: _convert_part(name, values) for name, values in parts.items()}
        sizes = {name: part.shape[0] for name, part in found.items()}
        first, n = next(iter(sizes.items()))
        other = next((name for name, size in sizes.items() if size != n), None)
        if other is not None:
            got = f"{n} in {quote(first)} and {sizes[other]} in {quote(other)}"
            raise InputError(f"{path}: expected columns with the same number of rows, got {got}.")
        if n == 0:
            raise InputError(f"{path}: expected at least one row below the header, got none.")
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
        """Return whether a part is a matrix."""
        return _is_matrix(self._get(name))

    def column(self, name: str) -> Any:
        """Return a part that is a column, as a polars Series."""
        part = self._get(name)
        if _is_matrix(part):
            raise InputError(f"{self.locate(name)}: expected a column, got a matrix of {part.shape[1]} columns.")
        return part

    def matrix(self, name: str) -> Any:
        """Return a part that is a matrix, as it is."""
        part = self._get(name)
        if not _is_matrix(part):
            raise InputError(f"{self.locate(name)}: expected a matrix, got a column.")
        return part

    def rows(self, start: int, stop: int) -> Table:
        """Return consecutive rows: a view, for work in blocks."""
        cut = {name: part[start:stop] for name, part in self.parts.items()}
        n, line = len(range(self.n_rows)[start:stop]), None if self.line is None else self.line + start
        return replace(self, parts=MappingProxyType(cut), n_rows=n, first=self.first + start, line=line)

    def take(self, rows: IntArray) -> Table:
        """Return rows by their numbers, in that order."""
        taken = {name: part[rows] for name, part in self.parts.items()}
        return replace(self, parts=MappingProxyType(taken), n_rows=len(rows), line=None)

    def locate(self, name: str | None = None, *rows: int) -> str:
        """Return a place for messages: the file, the lines (or numbers) of rows, and the column.

        Examples
        --------
        >>> Table.of({"age": [31]}, "b.csv").locate("age"), Table.of({"age": [31]}, "b.h5ad").locate("age", 0)
        ('b.csv, column "age"', 'b.h5ad row 0 (from 0), column "age"')
        """
        first, what = (self.first, "row") if self.line is None else (self.line, "line")
        numbers = " and ".join(str(first + row) for row in rows)
        where = f" {what}{'s' * (len(rows) > 1)} {numbers}{' (from 0)' * (self.line is None)}" if rows else ""
        return f"{self.path}{where}" + ("" if name is None else f", column {quote(name)}")

    def show_names(self) -> str:
        """Return the first names, for messages."""
        more = ", …" if len(self.parts) > NAMES_SHOWN else ""
        return ", ".join(map(quote, self.names[:NAMES_SHOWN])) + more

    def _get(self, name: str) -> Any:
        if name not in self.parts:
            raise InputError(f"{self.path}: expected a column {quote(name)}, got {self.show_names()}.")
        return self.parts[name]


def quote(cell: Any) -> str:
    """Return a cell or a name for messages: short, in one line, and texts in quotes.

    Examples
    --------
    >>> print(quote("69.71 gbp"), quote(2.5))
    "69.71 gbp" 2.5
    """
    text = str(cell)
    shown = escape_for_terminal(text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…")
    return f'"{shown}"' if isinstance(cell, str) else shown


def _is_matrix(part: Any) -> bool:
    return isinstance(part, np.ndarray) or is_sparse(part)


def _convert_part(name: str, values: Any) -> Any:
    if is_sparse(values):
        return values.tocsr()
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return values
    pl = import_polars()
    series = values if isinstance(values, pl.Series) else pl.Series(name, values, strict=False)
    return _unfold(series.alias(name))


def _unfold(series: Any) -> Any:
    """Return a column of lists of numbers, all of one length, as a matrix; any other column as it is."""
    pl = import_polars()
    inner = getattr(series.dtype, "inner", None)
    if inner is None or not inner.is_numeric() or series.null_count():
        return series
    lists = series.cast(pl.List(inner)) if isinstance(series.dtype, pl.Array) else series
    lengths = lists.list.len()
    if not len(series) or lengths.n_unique() > 1 or not lengths[0]:
        return series
    cells = lists.explode()
    return series if cells.null_count() else cells.to_numpy().reshape(len(series), lengths[0])


# Longer cells are texts.
LONGEST_VALUE = 40
MICROSECONDS_PER_DAY = 86_400_000_000


def trim(series: Any) -> Any:
    """Remove blanks around the cells of a column of text; cells without any text become empty."""
    text = series.str.strip_chars()
    return text.set(text == "", None)


@dataclass(frozen=True, eq=False)
class ParsedColumn:
    """A column as numbers, or as days since 1970-01-01.

    Parameters
    ----------
    values : array (n,)
        NaN where a cell is empty, says that it has no value, or is wrong.
    coerced : bool array (n,)
        Cells that are read, but written with a unit, a currency or thousands.
    wrong : bool array (n,)
        Cells that are no such value.
    """

    values: FloatArray
    coerced: BoolArray
    wrong: BoolArray

    @property
    def n_empty(self) -> int:
        """The number of cells without a value that are not wrong."""
        return int((np.isnan(self.values) & ~self.wrong).sum())

    @property
    def share(self) -> float:
        """The share of the values among the cells that are not empty; 0 where there are none."""
        filled = len(self.values) - self.n_empty
        return 1.0 - float(self.wrong.sum()) / filled if filled else 0.0


def parse_numbers(series: Any, decimal: str = ".") -> ParsedColumn:
    """Return a column as numbers: plain ones at once, others by :func:`~isthmus.data.cells.parse_number`."""
    pl = import_polars()
    if series.dtype == pl.String:
        if decimal == "." and np.isfinite(values := series.cast(pl.Float64, strict=False).to_numpy()).all():
            return _drop_large(values.copy(), *np.zeros((2, len(values)), dtype=bool))
        text = trim(series)
        plain = text
        if decimal != ".":  # a point is no decimal mark where a comma is
            plain = text.set(text.str.contains(".", literal=True), None).str.replace(decimal, ".", literal=True)
        values = plain.cast(pl.Float64, strict=False).to_numpy().copy()
        return _parse_rest(text, values, lambda cell: parse_number(cell, decimal))
    if series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null):
        values = series.cast(pl.Float64, strict=False).to_numpy().copy()
        return _drop_large(values, np.zeros(len(values), dtype=bool), np.zeros(len(values), dtype=bool))
    return _parse_nothing(series)


def parse_days(series: Any) -> ParsedColumn:
    """Return a column of dates as days, cells of text by :func:`~isthmus.data.cells.parse_date`."""
    pl = import_polars()
    if series.dtype.is_integer():
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        found = _parse_rest(trim(series), np.full(len(series), np.nan), parse_date)
        return replace(found, coerced=np.zeros_like(found.coerced))  # all forms of dates are ordinary
    if series.dtype != pl.Date and series.dtype != pl.Datetime:
        return _parse_nothing(series)
    days = series.cast(pl.Datetime("us")).to_physical().cast(pl.Float64) / MICROSECONDS_PER_DAY
    no = np.zeros(len(series), dtype=bool)
    return ParsedColumn(days.to_numpy(), no, no)


def _parse_nothing(series: Any) -> ParsedColumn:
    filled = series.is_not_null().to_numpy()
    return ParsedColumn(np.full(len(series), np.nan), np.zeros_like(filled), filled)


def _parse_rest(text: Any, values: FloatArray, parse: Callable[[str], float]) -> ParsedColumn:
    """Parse the cells that have no value yet, each different one once."""
    rest = ~np.isfinite(values)
    cells = text.filter(import_polars().Series(rest))
    cleaned = {cell: clean_text(cell) for cell in cells.drop_nulls().unique()}
    known = {cell: parse(short) if len(short) <= LONGEST_VALUE else np.nan for cell, short in cleaned.items()}
    values[rest] = [known.get(cell, np.nan) for cell in cells]
    coerced, wrong = rest & ~np.isnan(values), np.zeros(len(values), dtype=bool)
    wrong[rest] = [bool(cleaned.get(cell)) for cell in cells]
    return _drop_large(values, coerced, wrong & ~coerced)


def _drop_large(values: FloatArray, coerced: BoolArray, wrong: BoolArray) -> ParsedColumn:
    large = np.abs(values) > LARGEST
    values[large] = np.nan
    return ParsedColumn(values, coerced & ~large, wrong | large)


# Cells that a note shows.
EXAMPLES = 2


@dataclass(frozen=True)
class CoercedCells:
    """The cells of a column that are not plain numbers or dates, for a note.

    Parameters
    ----------
    column, kind : str
        Its name; "number" or "date".
    cells, read, missing : int
        How many cells there are, are read in spite of their form, and are read as missing.
    read_examples, missing_examples : tuple of str
        The first different ones of these, at most three.

    Examples
    --------
    >>> print(CoercedCells.of(Table.of({"price": ["69.71 gbp", "1.5", "call us", "NA"]}), "price"))
    price: 1 of 4 cells has a unit or another form ("69.71 gbp"), read as a number;
        1 of 4 cells is not a number ("call us"), read as missing
    """

    column: str
    kind: str
    cells: int
    read: int
    missing: int
    read_examples: tuple[str, ...]
    missing_examples: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, name: str, *, days: bool = False) -> CoercedCells:
        """Count the cells of a column."""
        series, found = table.column(name), parse_column(table, name, days=days)
        shown = [_list_examples(series.filter(import_polars().Series(s))) for s in (found.coerced, found.wrong)]
        read, missing = int(found.coerced.sum()), int(found.wrong.sum())
        return cls(name, "date" if days else "number", len(series), read, missing, shown[0], shown[1])

    def __add__(self, other: CoercedCells) -> CoercedCells:
        """Return the counts of further rows with these."""
        shown = (*self.read_examples, *other.read_examples), (*self.missing_examples, *other.missing_examples)
        read, missing = map(_list_examples, shown)
        counts = self.cells + other.cells, self.read + other.read, self.missing + other.missing
        return CoercedCells(self.column, self.kind, *counts, read, missing)

    def __bool__(self) -> bool:
        return bool(self.read or self.missing)

    def __str__(self) -> str:
        one, many = f"a {self.kind}", f"{self.kind}s"
        parts = []
        if self.read:
            has, what = ("has", one) if self.read == 1 else ("have", many)
            form = f"{has} a unit or another form ({_show_examples(self.read_examples)}), read as {what}"
            parts.append(f"{self.read:,} of {self.cells:,} cells {form}")
        if self.missing:
            no = f"is not {one}" if self.missing == 1 else f"are not {many}"
            shown = _show_examples(self.missing_examples)
            parts.append(f"{self.missing:,} of {self.cells:,} cells {no} ({shown}), read as missing")
        return f"{escape_for_terminal(self.column)}: {'; '.join(parts) or f'all cells are {many}'}"


def _list_examples(cells: Iterable[Any]) -> tuple[str, ...]:
    """Return the first different cells: as many as are shown, and one more if there are more."""
    return tuple(islice(dict.fromkeys(str(cell).strip() for cell in cells), EXAMPLES + 1))


def _show_examples(cells: tuple[str, ...]) -> str:
    return ", ".join([*map(quote, cells[:EXAMPLES]), *["…"] * (len(cells) > EXAMPLES)])


def parse_column(table: Table, name: str, *, days: bool = False) -> ParsedColumn:
    """Return a column of a table as numbers, or as days, and which cells are not plainly so.

    The table keeps what is found, which features and the count of coerced cells both need: it is not to be changed.
    """
    known: dict[tuple[str, bool], ParsedColumn] = vars(table).setdefault("_parsed", {})
    if (name, days) not in known:
        series = table.column(name)
        known[name, days] = parse_days(series) if days else parse_numbers(series, table.decimal)
    return known[name, days]


def read_numbers(table: Table, name: str, *, days: bool = False, strict: bool = False) -> FloatArray:
    """Return a column as numbers (n,), dates as days since 1970-01-01; NaN where a cell is empty or no number.

    Raises
    ------
    InputError
        With ``strict``, where a cell is not a number.

    Examples
    --------
    >>> read_numbers(Table.of({"age": ["31", "NA", " 4.5", "many", "1,250 days"]}), "age")
    array([  31. ,    nan,    4.5,    nan, 1250. ])
    """
    found = parse_column(table, name, days=days)
    if strict and found.wrong.any():
        row = int(np.flatnonzero(found.wrong)[0])
        cell = quote(table.column(name)[row])
        raise InputError(f"{table.locate(name, row)}: {cell} is not a number; correct the cell or leave it empty.")
    return found.values


def read_words(table: Table, name: str) -> list[str | None]:
    """Return a column as text, None where a cell is empty; whole numbers without a fraction.

    Examples
    --------
    >>> table = Table.of({"kind": [" red", "", None], "size": [1.0, None, 2.0]})
    >>> read_words(table, "kind"), read_words(table, "size")
    (['red', None, None], ['1', None, '2'])
    """
    text = _read_text(table, name)
    # "1.0" is what other programs make of a whole number in a column with empty cells.
    whole = table.whole_numbers[name] if name in table.whole_numbers else _are_whole_numbers(text, table.decimal)
    cells: list[str | None] = (text.str.replace(rf"[{table.decimal}]0$", "") if whole else text).to_list()
    return cells


def find_word(word: str, places: Mapping[str, int]) -> int:
    """Return the place of a word, -1 for an unknown one; "1" and "1.0" are the same where only one is there.

    A column of whole numbers is read without fractions, but some of its rows, or another file, may hold nothing else.

    Examples
    --------
    >>> [find_word(word, {"1.0": 0, "2.5": 1, "3": 2}) for word in ("1", "2.5", "3.0", "4")]
    [0, 1, 2, -1]
    """
    other = word.removesuffix(".0") if word.endswith(".0") else f"{word}.0"
    return places.get(word, places.get(other, -1))


def are_whole_numbers(table: Table, name: str) -> bool:
    """Return whether all cells of a column that are not empty are whole numbers."""
    return _are_whole_numbers(_read_text(table, name), table.decimal)


def _read_text(table: Table, name: str) -> Any:
    pl = import_polars()
    series = table.column(name)
    if series.dtype.is_float():
        series = series.fill_nan(None)
    if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
        raise InputError(f"{table.locate(name)}: expected words or numbers, got type {series.dtype!s:.40}; drop it.")
    return trim(series.cast(pl.String))


def _are_whole_numbers(text: Any, decimal: str) -> bool:
    return bool(text.str.contains(rf"^-?[0-9]+([{decimal}]0)?$").all())


def read_texts(table: Table, name: str) -> list[str]:
    """Return a column as texts, empty where a cell is empty."""
    return [cell or "" for cell in read_words(table, name)]
