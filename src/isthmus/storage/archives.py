"""Arrays from ``.npz`` archives of others: nothing is unpickled, and nothing is read that was not asked for.

Of a ``.npy`` header only the plain form is understood: one simple dtype, an order and a shape. It is matched, not
evaluated, so that object and structured arrays are refused before a byte of them is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from isthmus.exceptions import InputError
from isthmus.storage.compressed_rows import csr_from_parts
from isthmus.storage.expected import Expected
from isthmus.storage.opened import opened, shown
from isthmus.storage.zipped import MemberReader, members

__all__ = ["Expected", "read_csr", "read_npz"]

LONGEST_HEADER = 10_000
LONGEST_TEXT = 4096
HEADER = re.compile(
    rb"\{\s*'descr'\s*:\s*'(?P<order>[<>|=]?)(?P<kind>[A-Za-z?])(?P<size>\d{0,9})(?P<unit>[^']*)'\s*,"
    rb"\s*'fortran_order'\s*:\s*(?P<fortran>True|False)\s*,"
    rb"\s*'shape'\s*:\s*\((?P<shape>[\d\sL,]*)\)(?:\s*,)?\s*\}\s*"
)
INTEGERS: dict[str, tuple[int, ...]] = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8)}
ITEM_SIZES = {"number": {"f": (2, 4, 8), **INTEGERS}, "whole": INTEGERS}


def read_npz(path: Path, expected: Mapping[str, Expected]) -> dict[str, NDArray[Any]]:
    """The named arrays of an ``.npz`` archive, each as it was expected to be.

    Parameters
    ----------
    path : Path
        The archive, as ``numpy.savez`` or ``numpy.savez_compressed`` makes it. Other arrays in it are not touched.
    expected : mapping of str to Expected
        The arrays to read. Numbers keep their precision, whole numbers become ``intp``.

    Raises
    ------
    InputError
        One sentence that names the file: it is missing, damaged, not an archive, or not as expected.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.npz"
    ...     np.savez(path, X=np.eye(3), y=[1, 2, 3])
    ...     arrays = read_npz(path, {"X": Expected((None, 3), "number"), "y": Expected((3,), "whole", low=1)})
    >>> arrays["y"]
    array([1, 2, 3])
    """
    with opened(path) as file:
        found = members(file, shown(path))
        missing = [name for name in expected if f"{name}.npy" not in found]
        if missing:
            got = ", ".join(repr(member.removesuffix(".npy")[:40]) for member in list(found)[:8]) or "none"
            more = ", …" if len(found) > 8 else ""
            raise InputError(f"{shown(path)}: expected an array {missing[0]!r}, got only {got}{more}.")
        return {
            name: _array(MemberReader(file, found[f"{name}.npy"], f"{shown(path)}, {name!r}"), wanted)
            for name, wanted in expected.items()
        }


def read_csr(path: Path, prefix: str, expected_shape: tuple[int | None, int | None]) -> sp.csr_matrix:
    """A sparse matrix from its parts ``<prefix>data``, ``…indices``, ``…indptr`` and ``…shape`` in an archive.

    Columns come out sorted, entries of the same place summed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.npz"
    ...     np.savez(path, EN_data=[0.5, 2.0], EN_indices=[3, 0], EN_indptr=[0, 1, 2], EN_shape=[2, 4])
    ...     read_csr(path, "EN_", (None, 4)).toarray()
    array([[0. , 0. , 0. , 0.5],
           [2. , 0. , 0. , 0. ]])
    """
    wanted = {
        f"{prefix}data": Expected((None,), "number"),
        f"{prefix}indices": Expected((None,), "whole", low=0),
        f"{prefix}indptr": Expected((None,), "whole", low=0),
        f"{prefix}shape": Expected((2,), "whole", low=1, high=2**31 - 1),
    }
    data, indices, indptr, shape = read_npz(path, wanted).values()
    name = f"{shown(path)}, '{prefix}…'" if prefix else shown(path)
    return csr_from_parts(data, indices, indptr, (int(shape[0]), int(shape[1])), expected_shape, name)


def _array(member: MemberReader, expected: Expected) -> NDArray[Any]:
    header = _header(member)
    dtype = _dtype(header, expected, member.name)
    shape = _shape(header["shape"], member.name)
    expected.require_shape(shape, dtype.itemsize, member.name)
    size = math.prod(shape) * dtype.itemsize
    if member.remaining != size:
        raise InputError(f"{member.name}: expected {size} bytes for its shape, got {member.remaining}.")
    content = member.read(size)
    member.require_end()
    flat = np.frombuffer(content, dtype)
    array = flat.reshape(shape[::-1]).T if header["fortran"] == b"True" else flat.reshape(shape)
    return expected.checked(array, member.name)


def _header(member: MemberReader) -> re.Match[bytes]:
    start = bytes(member.read(8))
    version = tuple(start[6:8])
    if start[:6] != b"\x93NUMPY" or version not in ((1, 0), (2, 0)):
        raise InputError(f"{member.name}: expected an .npy array of format 1 or 2, got another.")
    length = int.from_bytes(member.read(2 if version == (1, 0) else 4), "little")
    if length > LONGEST_HEADER:
        raise InputError(f"{member.name}: expected a header of at most {LONGEST_HEADER} bytes, got {length}.")
    header = HEADER.fullmatch(member.read(length))
    if header is None:
        got = "an array of objects or of several fields, or damaged bytes"
        raise InputError(f"{member.name}: expected an array of plain numbers or text, got {got}.")
    return header


def _dtype(header: re.Match[bytes], expected: Expected, name: str) -> np.dtype[Any]:
    kind, size, order = header["kind"].decode(), int(header["size"] or 0), header["order"].decode()
    if expected.kind == "text":
        known = kind == "U" and 0 < size <= LONGEST_TEXT
    else:
        known = size in ITEM_SIZES[expected.kind].get(kind, ())
    if not known or header["unit"]:
        objects = " (objects are never unpickled)" if kind == "O" else ""
        raise InputError(f"{name}: expected {expected}, got type {kind + str(size)!r}{objects}.")
    return np.dtype(f"{order}{kind}{size}")


def _shape(text: bytes, name: str) -> tuple[int, ...]:
    lengths = [part.strip().removesuffix(b"L") for part in text.split(b",")]
    if lengths and not lengths[-1]:
        lengths.pop()
    if len(lengths) > 32 or not all(part.isdigit() and len(part) < 19 for part in lengths):
        raise InputError(f"{name}: expected a shape of a few whole numbers, got {text.decode()[:40]!r}.")
    return tuple(int(part) for part in lengths)
