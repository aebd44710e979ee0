"""Users' files as tables, by the ending of their names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.exceptions import InputError
from isthmus.storage.files import opened, shown
from isthmus.tables.array_files import npy_table, npz_table
from isthmus.tables.delimited import delimited_columns, detect_dialect, require_utf8
from isthmus.tables.frames import complaints, polars
from isthmus.tables.h5ad import h5ad_table
from isthmus.tables.limits import content, require_columns, require_room
from isthmus.tables.table import Table

OBJECTS = "one JSON object per line, with cells of one type per column"
DEEPEST = 64
"""Lists and objects within each other in a line of JSON: the time that polars takes grows with the cube of them."""
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
IN_ORDER = "a Parquet file in good order"
BYTES_PER_VALUE = 8
"""At most, of a number in memory; of a text or a list, what polars needs besides its content."""


def read_table(path: str | os.PathLike[str], *, sep: str | None = None, decimal: str | None = None) -> Table:
    r"""A user's file as a table.

    Parameters
    ----------
    path : str or path
        Its ending says what it is: ``.csv``, ``.tsv``, ``.jsonl`` (also ``.ndjson``), each also with ``.gz`` behind;
        ``.parquet``, ``.npy``, ``.npz``, ``.h5ad``.
    sep : str, optional
        What separates the cells of a CSV or TSV file. None: detected from the first line and rows; tab in TSV.
    decimal : {".", ","}, optional
        The decimal mark of numbers in such a file. None: detected from the rows.

    Returns
    -------
    table : Table
        Cells of CSV and TSV are text until a plan says what they are; ``dialect`` has the separator and the decimal
        mark that they were read by. An ``.npy`` file is one matrix, ``data``, that
        stays in the file. Arrays of an ``.npz`` file are columns (n,) or matrices (n, d). Of an ``.h5ad`` file, ``X``
        and what is in ``obsm`` are matrices, what is in ``obs`` are columns.

    Raises
    ------
    InputError
        One sentence that names the file. Nothing in a file is ever unpickled or run.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "people.csv"
    ...     _ = path.write_text("name,age\nAda,36\nAlan,41\n")
    ...     table = read_table(path)
    >>> table.names, table.n_rows, table.column("age").to_list()
    (('name', 'age'), 2, ['36', '41'])
    """
    name, (ending, packed) = shown(path), kind_of_file(path)
    if ending not in PACKABLE:
        return READERS[ending](Path(path), name)
    with opened(path) as file:
        found = content(file, name, packed=packed)
    if ending not in DELIMITED:
        return Table.of(_json_lines(found, name), name)
    dialect = detect_dialect(found, DELIMITED[ending] if sep is None else sep, decimal)
    return replace(Table.of(delimited_columns(found, name, dialect.sep), name), dialect=dialect)


def kind_of_file(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """The ending that says what a file is, and whether it is gzipped."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path: expected the path of a file, got {path!r:.60}.")
    lower = os.fspath(path).lower()
    packed = lower.endswith(".gz")
    ending = os.path.splitext(lower.removesuffix(".gz") if packed else lower)[1]
    if ending not in PACKABLE and (packed or ending not in READERS):
        if os.path.isdir(path):
            raise InputError(f"{shown(path)}: expected a file, got a folder.")
        endings = ", ".join([*PACKABLE, *READERS])
        raise InputError(f"{shown(path)}: expected a name that ends in one of {endings} (the first ones also .gz).")
    return ending, packed


def json_frame(found: bytes, name: str, schema: Any = None, line: int = 0) -> Any:
    """JSON lines as a data frame; with a schema, a part of a file that has so many lines before it."""
    require_utf8(found, name, line)
    for number, text in enumerate(found.split(b"\n"), start=line + 1):
        if text.count(b"[") + text.count(b"{") > DEEPEST and _depth(text) > DEEPEST:
            raise InputError(f"{name}: expected {OBJECTS}, got more than {DEEPEST} lists in lists in line {number}.")
    with complaints(name, OBJECTS):
        return polars().read_ndjson(found, schema=schema, infer_schema_length=None)


def _depth(text: bytes) -> int:
    """Return how deep lists and objects lie within each other in a line of JSON."""
    codes = np.frombuffer(STRING.sub(b" ", text), np.uint8)
    opening, closing = (np.isin(codes, np.frombuffer(marks, np.uint8)) for marks in (b"[{", b"]}"))
    return int(np.cumsum(opening.astype(np.intp) - closing).max(initial=0))


def _json_lines(found: bytes, name: str) -> dict[str, Any]:
    if not found.strip():
        raise InputError(f"{name}: expected a table, got an empty file.")
    return _columns(json_frame(found, name), name)


def _parquet(path: Path, name: str) -> Table:
    lazy, _, size = scan_parquet(path, name)
    with complaints(name, IN_ORDER):
        frame = lazy.collect()
        require_text_room(frame, size, name)
        return Table.of(_columns(frame, name), name)


def scan_parquet(path: Path, name: str, run: int | None = None) -> tuple[Any, int, int]:
    """Return a Parquet file as a lazy frame, its number of rows and its size in bytes.

    Rows × columns × bytes per value, all from the footer, are compared with the size of the file before a value is
    read. The footer doesn't say how long texts and lists are: files from strangers belong under a memory limit.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Of the file, for messages.
    run : int, optional
        The number of rows read at a time; without, all of them.
    """
    with opened(path) as file:  # a regular file: polars would wait for a pipe
        size = os.fstat(file.fileno()).st_size
    if not size:
        raise InputError(f"{name}: expected a table, got an empty file.")
    pl = polars()
    with complaints(name, IN_ORDER):
        lazy = pl.scan_parquet(path.absolute(), glob=False, hive_partitioning=False)
        schema = lazy.collect_schema()
        require_columns(len(schema), name)
        n = int(lazy.select(pl.len()).collect().item())
        claim = min(n, run or n) * sum(map(_value_bytes, schema.dtypes()))
        require_room(claim, size, name, "a file" if run is None else f"a run of {run} rows")
    return lazy, n, size


def _value_bytes(dtype: Any) -> int:
    """Return the bytes that a value of a column takes, as far as its type says."""
    pl = polars()
    if isinstance(dtype, pl.Array):
        return int(dtype.size) * _value_bytes(dtype.inner)
    if isinstance(dtype, pl.Struct):
        return sum(_value_bytes(field.dtype) for field in dtype.fields)
    return BYTES_PER_VALUE


def require_text_room(frame: Any, size: int, name: str) -> None:
    """Raise where a file of ``size`` bytes says one text so often that all of it would fill the memory."""
    pl = polars()
    texts = [column.str for column in frame.iter_columns() if column.dtype == pl.String]
    texts += [column.cat for column in frame.iter_columns() if column.dtype == pl.Categorical]
    require_room(sum(int(column.len_bytes().sum() or 0) for column in texts), size, name)


def _columns(frame: Any, name: str) -> dict[str, Any]:
    require_columns(frame.width, name)
    return dict(zip(frame.columns, frame.iter_columns(), strict=True))


DELIMITED: Mapping[str, str | None] = {".csv": None, ".tsv": "\t"}
"""Formats of text, and their separators; None: to be detected."""
PACKABLE = (*DELIMITED, ".jsonl", ".ndjson")
READERS: Mapping[str, Callable[[Path, str], Table]] = {
    ".parquet": _parquet,
    ".npy": npy_table,
    ".npz": npz_table,
    ".h5ad": h5ad_table,
}
