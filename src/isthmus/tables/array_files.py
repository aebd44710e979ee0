"""NumPy's files as tables: nothing is unpickled, and what a header claims is compared with the file."""

from __future__ import annotations

import math
import mmap
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.exceptions import InputError
from isthmus.storage.archives import Expected, npz_headers, read_npz, shown_shape
from isthmus.storage.files import opened, shown
from isthmus.tables.frames import complaints
from isthmus.tables.limits import require_columns, require_room
from isthmus.tables.table import Table

MATRIX = "data"
"""The name of the one matrix of an .npy file."""


def npy_table(path: Path, name: str) -> Table:
    """One matrix (n, d), which stays in the file: a part of it is read when it is used."""
    with opened(path) as file:
        if not file.read(1):
            raise InputError(f"{name}: expected a table, got an empty file.")
    with complaints(name, "an .npy file in good order (objects are never unpickled)"):
        array = np.asarray(np.lib.format.open_memmap(path, mode="r"))
    if array.ndim != 2 or not array.shape[1]:
        raise InputError(f"{name}: expected a matrix with one row per sample, got shape {shown_shape(array.shape)}.")
    require_columns(array.shape[1], name)
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise InputError(f"{name}: expected numbers, got type {array.dtype.str[1:41]!r}.")
    return Table.of({MATRIX: array}, name)


def forget(array: Any) -> None:
    """Let the memory go that holds parts of an array in a file; they are read again when they are used."""
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "base", None)
    if array is not None and hasattr(mmap, "MADV_DONTNEED"):
        array.madvise(mmap.MADV_DONTNEED)


def npz_table(path: Path, name: str) -> Table:
    """Named arrays (n,), which are columns, and (n, d), which are matrices."""
    headers = npz_headers(path)
    if not headers:
        raise InputError(f"{name}: expected an archive of arrays, got none in it.")
    expected = {
        key: _expected(dtype, shape, f"{name}, {shown(repr(key)[:60])}") for key, (dtype, shape) in headers.items()
    }
    rows = {key: shape[0] for key, (_, shape) in headers.items()}
    (first, n), (other, m) = min(rows.items(), key=lambda kv: kv[1]), max(rows.items(), key=lambda kv: kv[1])
    if n != m:
        got = f"{n} in {shown(repr(first)[:60])} and {m} in {shown(repr(other)[:60])}"
        raise InputError(f"{name}: expected arrays with the same number of rows, got {got}.")
    claim = sum(math.prod(shape) * dtype.itemsize for dtype, shape in headers.values())
    require_room(claim, path.stat().st_size, name)
    return Table.of(read_npz(path, expected), name)


def _expected(dtype: np.dtype[Any], shape: tuple[int, ...], name: str) -> Expected:
    if len(shape) not in (1, 2) or (len(shape) == 2 and not shape[1]):
        raise InputError(f"{name}: expected a column or a matrix, got shape {shown_shape(shape)}.")
    if len(shape) == 2:
        require_columns(shape[1], name)
    if dtype.kind == "U" and len(shape) == 1:
        return Expected(shape, "text")
    return Expected(shape, "number", finite=False)
