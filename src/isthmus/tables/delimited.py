"""CSV and TSV: names in the first line, then rows with as many cells."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from typing import Any

from isthmus.exceptions import InputError
from isthmus.storage.files import shown
from isthmus.tables.frames import complaints, polars
from isthmus.tables.limits import require_columns

SEPARATORS = (",", ";", "\t")
LONGEST_HEADER = 2**24
"""Bytes."""


def delimited_columns(
    content: bytes, name: str, separator: str | None = None, *, row: int = 0, line: int = 0
) -> dict[str, Any]:
    r"""The columns of a CSV file, all of them as text, empty cells as nulls.

    Parameters
    ----------
    content : bytes
        In UTF-8.
    name : str
        Of the file, for messages.
    separator : str, optional
        By default the one of ``,``, ``;`` and tab that is most frequent in the first line.
    row, line : int
        How many rows and lines of the file come before this part of it, which has the names above it, too.

    Examples
    --------
    >>> {name: column.to_list() for name, column in delimited_columns(b"a;b\n1;x\n;y\n", "t.csv").items()}
    {'a': ['1', None], 'b': ['x', 'y']}
    """
    header = content[:LONGEST_HEADER].split(b"\n", 1)[0]
    if not content.strip():
        raise InputError(f"{name}: expected a table, got an empty file.")
    require_utf8(content, name, line)
    between = separator or _separator(header.decode(errors="replace"))
    require_columns(header.count(between.encode()) + 1, name)
    if between.encode() in header:
        content = content.rstrip(b"\r\n")  # rows of several cells can't be blank lines
    pl = polars()
    with complaints(name, "rows with as many cells as there are names, and quotes only around whole cells"):
        frame = pl.read_csv(content, has_header=False, infer_schema=False, separator=between)
    names = _names(frame.row(0), name)
    rows = frame.slice(1)
    if frame.width > 1 and rows.to_series(frame.width - 1).null_count():
        _require_full_rows(content, name, between, frame.width, row)
    return dict(zip(names, rows.iter_columns(), strict=True))


def _separator(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=bare.count)


def require_utf8(content: bytes, name: str, before: int = 0) -> None:
    """Raise, with the line, where a text is not in UTF-8; so many lines come before it."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = before + content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}: expected text in UTF-8, got other bytes in line {line}.") from None


def _names(cells: tuple[str | None, ...], name: str) -> list[str]:
    """The names of the columns; a column without one, as the index of a data frame, is named by its place."""
    names = [cell if cell is not None else f"column {i}" for i, cell in enumerate(cells)]
    if any("\r" in found for found in names):
        raise InputError(f"{name}: expected lines that end in LF or CR LF, got CR alone in the first.")
    repeated = next((found for found, times in Counter(names).items() if times > 1), None)
    if repeated is not None:
        raise InputError(f"{name}: expected different names of columns, got {shown(repr(repeated)[:60])} twice.")
    return names


def _require_full_rows(content: bytes, name: str, separator: str, width: int, before: int) -> None:
    # polars fills short rows up in silence, so where a last cell is empty the cells are counted.
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8", newline=""), delimiter=separator)
    try:
        short = next(((i, len(row)) for i, row in enumerate(reader) if len(row) != width), None)
    except csv.Error:  # cells longer than that module allows: polars has read them
        return
    if short is not None:
        row, got = short
        where = f"row {before + row - 1} (from 0)"
        raise InputError(f"{name}: expected {width} cells in every row, as in the first line, got {got} in {where}.")
