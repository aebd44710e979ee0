"""Variables from MATLAB files of others, level 5 (``-v6`` and ``-v7``).

These files are read here and not by SciPy, whose reader trusts sizes that the file states: it would inflate a few
kilobytes to whatever they claim. Arrays are simple enough: tagged elements, each of a type and a length. Structures
and cells are read only as deep as the caller expects them; objects are refused; what was not asked for is skipped.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from isthmus.datasets.files.matlab_arrays import header_of
from isthmus.datasets.files.matlab_elements import MATRIX, Elements
from isthmus.datasets.files.matlab_nested import Layout, value_of
from isthmus.datasets.folder import opened, shown
from isthmus.exceptions import InputError

COMPRESSED = 15
MOST_VARIABLES = 4096


def read_mat(path: Path, expected: Mapping[str, Layout]) -> dict[str, Any]:
    """The named variables of a level 5 MATLAB file, each as it was expected to be.

    Parameters
    ----------
    path : Path
        The file, saved with ``-v7`` or ``-v6``. Files of ``-v7.3`` (HDF5) and of level 4 are refused.
    expected : mapping of str to Expected, Cells or Structure
        The variables to read. MATLAB has no arrays of one axis: a row or a column fits an expectation of one. Whole
        numbers may be stored as floats. Text is one string a row of a character array. A sparse matrix fits an
        expectation of two axes and comes as a ``csr_matrix``. Cells come as a list, a structure as a dictionary.

    Raises
    ------
    InputError
        One sentence that names the file: it is missing, damaged, of another kind, or not as expected.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import savemat
    >>> from isthmus.datasets.files.expected import Expected
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.mat"
    ...     savemat(path, {"fts": [[1, 0], [0, 1]], "labels": [[1.0], [2.0]]}, do_compression=True)
    ...     read_mat(path, {"labels": Expected((2,), "whole", low=1)})
    {'labels': array([1, 2])}
    """
    found: dict[str, Any] = {}
    seen: list[str] = []
    with opened(path) as file:
        for elements in _variables(file, shown(path)):
            header = header_of(elements)
            seen.append(header.name)
            if header.name not in expected:
                continue
            elements.name = f"{shown(path)}, {header.name!r}"
            if header.name in found:
                raise InputError(f"{elements.name}: expected the variable once, got it twice.")
            found[header.name] = value_of(elements, header, expected[header.name])
            elements.require_end()
    missing = [name for name in expected if name not in found]
    if missing:
        got = ", ".join(ascii(name[:40]) for name in seen[:8]) or "none"
        more = ", …" if len(seen) > 8 else ""
        raise InputError(f"{shown(path)}: expected a variable {missing[0]!r}, got only {got}{more}.")
    return {name: found[name] for name in expected}


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
    with opened(path) as file:
        return tuple(header_of(elements).name for elements in _variables(file, shown(path)))


def _variables(file: BinaryIO, name: str) -> Iterator[Elements]:
    """The elements of every variable in turn; the file is taken on to the next by itself."""
    size = file.seek(0, 2)
    file.seek(0)
    order = _byte_order(file.read(128), name)
    at, count = 128, 0
    while at < size:
        file.seek(at)
        tag = file.read(8)
        if len(tag) != 8:
            raise InputError(f"{name}: expected variables up to its end, got a file that is cut short.")
        kind, length = struct.unpack(f"{order}2L", tag)
        at += 8 + length
        count += 1
        if kind not in (MATRIX, COMPRESSED) or at > size or count > MOST_VARIABLES:
            raise InputError(f"{name}: expected variables up to its end, got a damaged or cut file.")
        elements = Elements(file, length, order, name, packed=kind == COMPRESSED)
        if kind == COMPRESSED:
            elements.enter()
        yield elements


def _byte_order(header: bytes, name: str) -> str:
    wanted = "a level 5 MATLAB file"
    if header.startswith((b"MATLAB 7.3", b"\x89HDF")):
        raise InputError(f"{name}: expected {wanted}, got one of version 7.3; save it with -v7.")
    if len(header) < 128:
        got = "an empty file" if not header else "a file that is too short for one"
        raise InputError(f"{name}: expected {wanted}, got {got}.")
    order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
    if order is None or struct.unpack(f"{order}H", header[124:126])[0] != 0x0100:
        raise InputError(f"{name}: expected {wanted}, got a file of another kind; save it with -v7.")
    return order
