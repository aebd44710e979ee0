"""Variables from MATLAB files of others, level 5 (``-v6`` and ``-v7``): by SciPy's reader, behind a guard."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from scipy.io import loadmat

from isthmus._core.archives import Expected
from isthmus._core.files import open_regular, show_path
from isthmus._core.validation import is_sparse
from isthmus.exceptions import InputError
from studies.datasets.files.compressed_rows import csr_from_parts
from studies.datasets.files.matlab_guard import MATRIX, Guard

COMPRESSED = 15
LONGEST_HEADER = 1024
MOST_VARIABLES, MOST_EMPTY_ROWS = 4096, 2**20
MOST_BYTES = 2**28
"""Of one variable, inflated; what is needed to read it is a few times as much."""
ORDERS = {b"IM": "<", b"MI": ">"}


def read_mat(path: Path, expected: Mapping[str, Expected]) -> dict[str, Any]:
    """The named arrays of a level 5 MATLAB file, each as it was expected to be.

    Parameters
    ----------
    path : Path
        The file, saved with ``-v7`` or ``-v6``. Files of ``-v7.3`` (HDF5) and of level 4 are refused.
    expected : mapping of str to Expected
        The arrays to read (:func:`check_content`).

    Raises
    ------
    InputError
        One sentence that names the file: it is missing, damaged, of another kind, or not as expected.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import savemat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.mat"
    ...     savemat(path, {"fts": [[1, 0], [0, 1]], "labels": [[1.0], [2.0]]}, do_compression=True)
    ...     read_mat(path, {"labels": Expected((2,), "whole", low=1)})
    {'labels': array([1, 2])}
    """
    found = read_variables(path, expected)
    return {name: check_content(found[name], each, f"{show_path(path)}, {name!r}") for name, each in expected.items()}


def read_variables(path: Path, names: Collection[str], *, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """The named variables as SciPy has them: arrays, sparse matrices, arrays of objects (cells) and of records.

    Objects, functions, complex numbers and what is nested deeply are refused; other variables are not looked at.

    Parameters
    ----------
    path : Path
        The file, saved with ``-v7`` or ``-v6``.
    names : collection of str
        The variables to read.
    most_bytes : int
        How large each of them may be, inflated.
    """
    found: dict[str, Any] = {}
    seen: list[str] = []
    with open_regular(path) as file:
        for variable in _variables(file, show_path(path)):
            seen.append(variable.title)
            if variable.title not in names:
                continue
            name = f"{show_path(path)}, {variable.title!r}"
            if variable.title in found:
                raise InputError(f"{name}: expected the variable once, got it twice.")
            content = _content(file, variable, most_bytes, name)
            Guard(content, variable.order, name).walk()
            found[variable.title] = _by_scipy(content, variable, name)
    missing = [name for name in names if name not in found]
    if missing:
        got = ", ".join(ascii(name[:40]) for name in seen[:8]) or "none"
        more = ", …" if len(seen) > 8 else ""
        raise InputError(f"{show_path(path)}: expected a variable {missing[0]!r}, got only {got}{more}.")
    return found


def variable_names(path: Path) -> tuple[str, ...]:
    """The names of the variables of a level 5 MATLAB file, in their order; nothing but headers is read.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import savemat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.mat"
    ...     savemat(path, {"fts": [[1, 0], [0, 1]], "labels": [[1.0], [2.0]]})
    ...     variable_names(path)
    ('fts', 'labels')
    """
    with open_regular(path) as file:
        return tuple(variable.title for variable in _variables(file, show_path(path)))


def check_content(found: Any, expected: Expected, name: str) -> Any:
    """A variable as numbers (n, …), or as a ``csr_matrix`` where it is sparse and two axes were expected.

    MATLAB has no arrays of one axis: a row or a column fits an expectation of one. Whole numbers may be stored as
    floats.
    """
    if is_sparse(found) and len(expected.shape) == 2 and expected.kind == "number":
        return _sparse(found, expected, name)
    if (kind := kind_of(found)) != "numbers":
        raise InputError(f"{name}: expected {expected}, got {kind}.")
    flat = len(expected.shape) == 1 and found.ndim == 2 and 1 in found.shape
    array = found.reshape(-1) if flat else found
    expected.check_shape(array.shape, 8, name)
    return expected.check_values(array.astype(np.uint8) if array.dtype == bool else array, name)


def kind_of(found: Any) -> str:
    """What a variable is, for messages."""
    if is_sparse(found):
        return "a sparse matrix"
    if found.dtype.names:
        return "a structure"
    return {"O": "a cell array", "U": "text"}.get(found.dtype.kind, "numbers")


def _sparse(found: Any, expected: Expected, name: str) -> Any:
    rows, columns = found.shape
    expected.check_shape((rows, columns), 0, name)  # its entries take memory, not its shape
    most_rows = max(MOST_EMPTY_ROWS, 8 * len(found.data))  # CSR has a number for every row, also where there is none
    if rows > most_rows:
        raise InputError(f"{name}: expected at most {most_rows} rows for {len(found.data)} entries, got {rows}.")
    values = expected.check_values(found.data.astype(np.float64), name)
    return csr_from_parts(values, found.indices, found.indptr, (columns, rows), name).T.tocsr()


class _Variable(NamedTuple):
    """Where a variable is in its file, and what it is called."""

    title: str
    start: int
    length: int
    packed: bool
    order: str


def _variables(file: BinaryIO, name: str) -> Iterator[_Variable]:
    """Every variable in turn, of which only the beginning is read."""
    size = file.seek(0, 2)
    file.seek(0)
    order = _byte_order(file.read(128), name)
    at, count = 128, 0
    while at < size:
        file.seek(at)
        kind, length = struct.unpack(f"{order}2L", file.read(8).ljust(8, b"\0"))
        start, at, count = at + 8, at + 8 + length, count + 1
        if kind not in (MATRIX, COMPRESSED) or at > size or count > MOST_VARIABLES:
            raise InputError(f"{name}: expected variables up to its end, got a damaged or cut file.")
        head = file.read(min(length, LONGEST_HEADER))
        if kind == COMPRESSED:
            head = _inflate(head, LONGEST_HEADER, name)[0][8:]
        yield _Variable(Guard(head, order, name).header().title, start, length, kind == COMPRESSED, order)


def _content(file: BinaryIO, variable: _Variable, most: int, name: str) -> bytes:
    """The bytes of a variable after its tag, inflated."""
    if variable.length > most:
        raise InputError(f"{name}: expected a variable of at most {most} bytes, got {variable.length}.")
    file.seek(variable.start)
    content = file.read(variable.length)
    if not variable.packed:
        return content
    kind, length = struct.unpack(f"{variable.order}2L", _inflate(content, 8, name)[0].ljust(8, b"\0"))
    if kind != MATRIX or length > most:
        raise InputError(f"{name}: expected a variable of at most {most} bytes, got {length} of type {kind}.")
    inflated, complete = _inflate(content, 8 + length + 1, name)
    if len(inflated) != 8 + length or not complete:
        raise InputError(f"{name}: expected {length} bytes in the compressed ones, got more, fewer or a damaged end.")
    return inflated[8:]


def _inflate(packed: bytes, most: int, name: str) -> tuple[bytes, bool]:
    """The first bytes of a compressed stream, and whether they, and those packed, are all."""
    stream = zlib.decompressobj()
    try:
        return stream.decompress(packed, most), stream.eof and not stream.unused_data
    except zlib.error:
        raise InputError(f"{name}: expected compressed bytes, got damaged ones.") from None


def _byte_order(header: bytes, name: str) -> str:
    wanted = "a level 5 MATLAB file"
    if header.startswith((b"MATLAB 7.3", b"\x89HDF")):
        raise InputError(f"{name}: expected {wanted}, got one of version 7.3; save it with -v7.")
    if len(header) < 128:
        got = "an empty file" if not header else "a file that is too short for one"
        raise InputError(f"{name}: expected {wanted}, got {got}.")
    order = ORDERS.get(header[126:128])
    if order is None or struct.unpack(f"{order}H", header[124:126])[0] != 0x0100:
        raise InputError(f"{name}: expected {wanted}, got a file of another kind; save it with -v7.")
    return order


def _by_scipy(content: bytes, variable: _Variable, name: str) -> Any:
    """What SciPy reads from a file that holds only the bytes that were walked."""
    mark = next(mark for mark, order in ORDERS.items() if order == variable.order)
    start = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(f"{variable.order}H", 0x0100) + mark
    tag = struct.pack(f"{variable.order}2L", MATRIX, len(content))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", DeprecationWarning)  # SciPy 1.18, of its own sparse matrices
            file: Any = io.BytesIO(b"".join((start, tag, content)))
            return loadmat(file, mat_dtype=True, variable_names=[variable.title])[variable.title]
    except Exception as error:  # of any kind: its reader has no error of its own for a bad file
        raise InputError(f"{name}: expected a variable for SciPy to read, got {type(error).__name__}.") from None
