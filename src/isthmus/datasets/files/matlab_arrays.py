"""Arrays of a level 5 MATLAB file, from their elements: numbers, sparse matrices and text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus.datasets.files.compressed_rows import csr_from_parts
from isthmus.datasets.files.expected import LARGEST_ARRAY, Expected
from isthmus.datasets.files.matlab_elements import Elements
from isthmus.exceptions import InputError

CELLS, STRUCTURE, CHARACTERS, SPARSE, OPAQUE = 1, 2, 4, 5, 17
NUMERIC = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
OTHERS = {
    CELLS: "a cell array",
    STRUCTURE: "a structure",
    3: "an object",
    CHARACTERS: "text",
    SPARSE: "a sparse matrix",
    16: "a function",
    OPAQUE: "an object",
}
COMPLEX = 0x800
MOST_ENTRIES, MOST_EMPTY_ROWS = LARGEST_ARRAY // 8, 2**20
LONGEST_NAME, MOST_AXES = 255, 32


@dataclass(frozen=True)
class Header:
    """What stands before the numbers of a variable."""

    name: str
    kind: int
    is_complex: bool
    shape: tuple[int, ...]

    def __str__(self) -> str:
        """What the variable is, for messages."""
        if self.is_complex:
            return "complex numbers"
        return OTHERS.get(self.kind, "numbers" if self.kind in NUMERIC else "a class that is not known")


def header_of(elements: Elements) -> Header:
    """The class, the shape and the name that a variable begins with."""
    flags = elements.numbers((6,), most=2)
    opaque = len(flags) == 2 and int(flags[0]) & 0xFF == OPAQUE  # the one class without a shape
    shape = np.zeros(2) if opaque else elements.numbers((5,), most=MOST_AXES)
    title = elements.numbers((1, 2), most=LONGEST_NAME).tobytes().decode("latin-1")
    if len(flags) != 2 or len(shape) < 2 or shape.min() < 0:
        raise InputError(f"{elements.name}: expected a variable with its class and shape, got damaged bytes.")
    lengths = tuple(int(n) for n in shape)
    return Header(title, int(flags[0]) & 0xFF, bool(int(flags[0]) & COMPLEX), lengths)


def array_of(elements: Elements, header: Header, expected: Expected) -> Any:
    """The array that follows a header: numbers (n, …), a CSR matrix, or one string a row."""
    wanted = {CHARACTERS} if expected.kind == "text" else set(NUMERIC)
    if len(expected.shape) == 2 and expected.kind == "number":
        wanted |= {SPARSE}
    if header.is_complex or header.kind not in wanted:
        raise InputError(f"{elements.name}: expected {expected}, got {header}.")
    if header.kind == SPARSE:
        return _sparse(elements, header, expected)
    if header.kind == CHARACTERS:
        return _text(elements, header, expected)
    return _numeric(elements, header, expected)


def _numeric(elements: Elements, header: Header, expected: Expected) -> Any:
    dtype = np.dtype(NUMERIC[header.kind])
    shape = header.shape
    if len(expected.shape) == 1 and len(shape) == 2 and 1 in shape:
        shape = (math.prod(shape),)
    expected.require_shape(shape, 8, elements.name)
    stored = elements.numbers(None, most=math.prod(shape))
    if len(stored) != math.prod(shape):
        raise InputError(f"{elements.name}: expected {math.prod(shape)} numbers for its shape, got {len(stored)}.")
    values = _exact(stored, dtype, elements.name)
    return expected.checked(values.reshape(shape[::-1]).T, elements.name, integral_floats=True)


def _exact(stored: Any, dtype: np.dtype[Any], name: str) -> Any:
    """Numbers in the type of their class: MATLAB stores them in the smallest type that holds them."""
    if stored.dtype == dtype:
        return stored
    if stored.dtype.kind == "f" and dtype.kind != "f":
        raise InputError(f"{name}: expected whole numbers for its class, got floating-point ones.")
    if dtype.kind != "f" and stored.size:
        limits = np.iinfo(dtype)
        if not (limits.min <= int(stored.min()) and int(stored.max()) <= limits.max):
            raise InputError(f"{name}: expected numbers that fit their class {dtype}, got larger ones.")
    with np.errstate(over="ignore"):  # what overflows is refused as not finite
        return stored.astype(dtype)


def _sparse(elements: Elements, header: Header, expected: Expected) -> Any:
    if len(header.shape) != 2 or 0 in header.shape:
        raise InputError(f"{elements.name}: expected {expected}, got shape {header.shape}.")
    rows, columns = header.shape
    expected.require_shape(header.shape, 0, elements.name)  # its entries take memory, not its shape
    row_numbers = elements.numbers((5, 6), most=MOST_ENTRIES).astype(np.intp)
    column_ends = elements.numbers((5, 6), most=min(columns + 1, MOST_ENTRIES)).astype(np.intp)
    stored = elements.numbers(None, most=len(row_numbers))
    # The file may have room for more entries than there are.
    count = int(column_ends[-1]) if len(column_ends) else 0
    if not 0 <= count <= min(len(row_numbers), len(stored)) or len(column_ends) != columns + 1:
        raise InputError(f"{elements.name}: expected entries as its column ends say, got damaged bytes.")
    most_rows = max(MOST_EMPTY_ROWS, 8 * count)  # CSR has a number for every row, also where the file has none
    if rows > most_rows:
        raise InputError(f"{elements.name}: expected at most {most_rows} rows for {count} entries, got {rows}.")
    values = expected.checked(_exact(stored[:count], np.dtype("f8"), elements.name), elements.name)
    by_column = csr_from_parts(values, row_numbers[:count], column_ends, (columns, rows), (None, None), elements.name)
    return by_column.T.tocsr()


def _text(elements: Elements, header: Header, expected: Expected) -> Any:
    if len(header.shape) != 2:
        raise InputError(f"{elements.name}: expected rows of text, got shape {header.shape}.")
    rows, width = header.shape
    expected.require_shape((rows,), 4 * max(width, 1), elements.name)
    codes = elements.characters(most=rows * width)
    if len(codes) != rows * width:
        raise InputError(f"{elements.name}: expected {rows * width} characters for its shape, got {len(codes)}.")
    table = np.ascontiguousarray(codes.reshape(width, rows).T)
    lines = table.view(f"U{width}")[:, 0] if width else np.full(rows, "", dtype="U1")
    return np.char.rstrip(expected.checked(lines, elements.name))
