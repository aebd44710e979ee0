"""What the cells of a column say: numbers, days, or words; an empty cell is none of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray
from isthmus._validation import LARGEST
from isthmus.exceptions import InputError
from isthmus.storage.files import shown
from isthmus.tables.delimited import NO_VALUE
from isthmus.tables.frames import polars
from isthmus.tables.table import Table

DAY = "%Y-%m-%d"
MOMENTS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M")
DAY_FIRST = tuple(f"%d{sign}%m{sign}%Y" for sign in "/.-")
"""Where all parts are numbers the day is taken to come first: of a month that comes first no thirteenth is a date."""
LIKE_DAY_FIRST = r"^[0-9]{1,2}([/.-])[0-9]{1,2}[/.-][0-9]{4}( [0-9]{1,2}:[0-9]{2}(:[0-9]{2})?)?$"
MICROSECONDS_PER_DAY = 86_400_000_000


def trimmed(series: Any) -> Any:
    """A column of text without blanks around its cells; cells without any text are empty."""
    text = series.str.strip_chars()
    return text.set(text == "", None)


def parsed_numbers(series: Any, decimal: str = ".") -> Any:
    """A column as numbers, empty where a cell is none; a point is no decimal mark where a comma is."""
    pl = polars()
    if series.dtype == pl.String:
        text = trimmed(series)
        if decimal != ".":
            text = text.set(text.str.contains(".", literal=True), None).str.replace(decimal, ".", literal=True)
        return text.cast(pl.Float64, strict=False).fill_nan(None)
    if series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null):
        return series.cast(pl.Float64, strict=False).fill_nan(None)
    return pl.Series(series.name, [None] * len(series), dtype=pl.Float64)


def parsed_days(series: Any) -> Any:
    """A column of dates as days since 1970-01-01, empty where a cell is none."""
    pl = polars()
    if series.dtype == pl.String:
        text = trimmed(series)
        found = text.str.to_date(DAY, strict=False).cast(pl.Datetime("us"))
        for style in MOMENTS:
            found = found.fill_null(text.str.to_datetime(style, strict=False, time_unit="us"))
        first = is_day_first(text)
        if first.any():
            text = text.set(~first, None)  # nothing else, such as a year of two digits
            for style in DAY_FIRST:
                found = found.fill_null(text.str.to_date(style, strict=False).cast(pl.Datetime("us")))
                for clock in ("%H:%M", "%H:%M:%S"):
                    found = found.fill_null(text.str.to_datetime(f"{style} {clock}", strict=False, time_unit="us"))
    elif series.dtype == pl.Date or series.dtype == pl.Datetime:
        found = series.cast(pl.Datetime("us"))
    else:
        return pl.Series(series.name, [None] * len(series), dtype=pl.Float64)
    return found.to_physical().cast(pl.Float64) / MICROSECONDS_PER_DAY


def is_day_first(text: Any) -> Any:
    """Which cells look like 31/05/2024, with or without a time."""
    return text.str.contains(LIKE_DAY_FIRST).fill_null(value=False)


def strangers(series: Any, parsed: Any) -> Any:
    """Which cells say something that was not understood, and that is no word for an empty cell."""
    pl = polars()
    if series.dtype != pl.String:
        understood = parsed.is_not_null()
        return (series.is_not_null() & ~understood) if not series.dtype.is_float() else series.is_null() & understood
    text = trimmed(series)
    return text.is_not_null() & parsed.is_null() & ~text.is_in(list(NO_VALUE))


def numbers(table: Table, name: str, *, days: bool = False) -> FloatArray:
    """A column as numbers (n,), NaN where a cell is empty.

    Raises
    ------
    InputError
        A cell says something else: one sentence with the first such cell and its row.

    Examples
    --------
    >>> numbers(Table.of({"age": ["31", "NA", " 4.5"]}), "age")
    array([31. ,  nan,  4.5])
    >>> numbers(Table.of({"age": ["31", "many"]}), "age")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: table, column 'age': expected numbers, got 'many' in row 1 (from 0).
    """
    series = table.column(name)
    parsed = parsed_days(series) if days else parsed_numbers(series, table.decimal)
    strange = strangers(series, parsed)
    if strange.any():
        row = int(strange.arg_true()[0])
        mark = f' with the decimal mark "{table.decimal}"' if table.decimal != "." else ""
        expected = "dates such as 2024-05-31 or 31/05/2024" if days else f"numbers{mark}"
        got = f"{_shown(series[row])} in row {table.first + row} (from 0)"
        raise InputError(f"{table.place(name)}: expected {expected}, got {got}.")
    values: FloatArray = parsed.to_numpy().astype(np.float64)
    too_large = np.flatnonzero(np.abs(values) > LARGEST)
    if len(too_large):
        row = int(too_large[0])
        got = f"{values[row]:.3g} in row {table.first + row} (from 0)"
        raise InputError(f"{table.place(name)}: expected numbers of at most {LARGEST:.0e}, got {got}.")
    return values


def words(table: Table, name: str) -> list[str | None]:
    """A column as text, None where a cell is empty; whole numbers without a fraction.

    Examples
    --------
    >>> words(Table.of({"kind": [" red", "", None]}), "kind"), words(Table.of({"kind": [1.0, None]}), "kind")
    (['red', None, None], ['1', None])
    """
    text = _text(table, name)
    # "1.0" is what other programs make of a whole number in a column with empty cells.
    whole = table.whole_numbers[name] if name in table.whole_numbers else _whole(text, table.decimal)
    cells: list[str | None] = (text.str.replace(rf"[{table.decimal}]0$", "") if whole else text).to_list()
    return cells


def place_of(word: str, places: Mapping[str, int]) -> int:
    """Where a word is among others, -1 for one that is not; "1" and "1.0" are the same where only one is there.

    A column of whole numbers is told without fractions, but some of its rows, or another file, may hold nothing else.

    Examples
    --------
    >>> [place_of(word, {"1.0": 0, "2.5": 1, "3": 2}) for word in ("1", "2.5", "3.0", "4")]
    [0, 1, 2, -1]
    """
    other = word.removesuffix(".0") if word.endswith(".0") else f"{word}.0"
    return places.get(word, places.get(other, -1))


def are_whole_numbers(table: Table, name: str) -> bool:
    """Whether all cells of a column that are not empty are whole numbers."""
    return _whole(_text(table, name), table.decimal)


def _text(table: Table, name: str) -> Any:
    pl = polars()
    series = table.column(name)
    if series.dtype.is_float():
        series = series.fill_nan(None)
    if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
        raise InputError(f"{table.place(name)}: expected words or numbers, got cells of type {series.dtype!s:.40}.")
    return trimmed(series.cast(pl.String))


def _whole(text: Any, decimal: str) -> bool:
    return bool(text.str.contains(rf"^-?[0-9]+([{decimal}]0)?$").all())


def texts(table: Table, name: str) -> list[str]:
    """A column as text of any length, empty text where a cell is empty."""
    return [cell or "" for cell in words(table, name)]


def _shown(cell: Any) -> str:
    return shown(repr(cell if len(str(cell)) <= 40 else f"{str(cell)[:40]}…"))
