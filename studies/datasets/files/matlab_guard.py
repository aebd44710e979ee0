"""What is asked of a variable of a MATLAB file before SciPy's reader sees it.

That reader believes what a file claims: it would make room for any number of cells and, as it is compiled, end the
process over a type that does not exist. So a variable is walked first, an element after the other.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from isthmus.exceptions import InputError

TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
NUMERIC = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
CHARACTERS = {1, 2, 4, 16, 17, 18}
CELLS, STRUCTURE, TEXT, SPARSE, OPAQUE = 1, 2, 4, 5, 17
MATRIX, COMPLEX = 14, 0x800
DEEPEST, MOST_ARRAYS, MOST_AXES, LONGEST_NAME, LONGEST_FIELD = 8, 2**16, 32, 255, 64


class Header(NamedTuple):
    """What stands before the numbers of a variable."""

    title: str
    kind: int
    is_complex: bool
    shape: tuple[int, ...]


class Guard:
    """A walk through the bytes of one variable, in the byte order ``"<"`` or ``">"``; ``name`` is for messages."""

    def __init__(self, content: bytes, order: str, name: str) -> None:
        self.content, self.order, self.name = memoryview(content), order, name
        self._at, self._end, self._arrays = 0, len(content), 0

    def header(self) -> Header:
        """The class, the shape and the name that an array begins with."""
        flags = self._numbers("2L", self._element((6,), least=2, most=2)[1])[0]
        kind = flags & 0xFF
        shape: tuple[int, ...] = (0, 0)
        if kind != OPAQUE:  # the one class without a shape
            lengths = self._element((5, 6), least=2, most=MOST_AXES)[1]
            shape = self._numbers(f"{len(lengths) // 4}l", lengths)
        self._require(min(shape) >= 0, "a shape", "negative lengths")
        title = bytes(self._element((1, 2, 16), most=LONGEST_NAME)[1]).decode("latin-1")
        return Header(title, kind, bool(flags & COMPLEX), shape)

    def walk(self, depth: int = 0) -> None:
        """Raise unless there is one array up to the end, plain, and its bytes hold what it claims."""
        self._arrays += 1
        few = depth <= DEEPEST and self._arrays <= MOST_ARRAYS
        self._require(few, f"at most {MOST_ARRAYS} arrays, nested up to {DEEPEST} deep", "more")
        header = self.header()
        self._require(not header.is_complex, "real numbers", "complex numbers")
        count = math.prod(header.shape)
        possible = header.kind == SPARSE or count <= len(self.content)
        self._require(possible, f"at most {len(self.content)} entries, as there are bytes", "a claim of more")
        if header.kind in NUMERIC:
            kind, _ = self._element(TYPES, least=count, most=count)
            stored, dtype = np.dtype(TYPES[kind]), np.dtype(NUMERIC[header.kind])
            # MATLAB stores numbers in the smallest type that holds them; SciPy casts them to their class unseen.
            fits = np.can_cast(stored, dtype) or (dtype.kind == "f" and stored.kind != "f")
            self._require(fits, f"numbers that fit their class {dtype}", f"numbers of type {stored}")
        elif header.kind == TEXT:
            self._element(CHARACTERS, least=count, most=4 * count)
        elif header.kind == SPARSE:
            self._sparse(header.shape)
        elif header.kind in (CELLS, STRUCTURE):
            self._check_nesting(count if header.kind == CELLS else count * self._fields(), depth)
        else:
            self._require(False, "numbers, text, cells or a structure", "an object, a function or an unknown class")
        self._require(self._at == self._end, "nothing after the numbers", f"{self._end - self._at} more bytes")

    def _sparse(self, shape: tuple[int, ...]) -> None:
        plain = len(shape) == 2 and min(shape) > 0
        self._require(plain, "a sparse matrix with rows and columns", f"{len(shape)} axes")
        _, rows = self._element((5, 6), most=self._end)
        _, ends = self._element((5, 6), least=shape[1] + 1, most=shape[1] + 1)
        (count,) = self._numbers("L", ends[-4:])
        self._require(count <= len(rows) // 4, f"row numbers for {count} entries", f"{len(rows) // 4}")
        self._element(TYPES, least=count, most=len(rows) // 4)

    def _fields(self) -> int:
        """How many fields a structure has; every name has the same number of bytes, filled up with NUL."""
        (width,) = self._numbers("l", self._element((5, 6), least=1, most=1)[1])
        self._require(1 <= width <= LONGEST_FIELD, f"names of fields of up to {LONGEST_FIELD} bytes", "others")
        _, table = self._element((1, 16), most=self._end)
        names = [bytes(table[at : at + width]).partition(b"\0") for at in range(0, len(table), width)]
        whole = len(table) % width == 0 and all(name and end for name, end, _ in names)
        once = len({name for name, *_ in names}) == len(names) > 0
        self._require(whole and once, f"different names of fields in {width} bytes each", "others")
        return len(names)

    def _check_nesting(self, count: int, depth: int) -> None:
        left = self._end - self._at
        self._require(8 * count <= left, f"{count} arrays", f"{left} bytes, which cannot hold them")
        for _ in range(count):
            kind, length = self._numbers("2L", self._read(8))
            fits = kind == MATRIX and length <= self._end - self._at
            self._require(fits, "an array inside it", f"{length} bytes of type {kind}")
            after, self._end = self._end, self._at + length
            if length:
                self.walk(depth + 1)
            self._end = after

    def _element(self, types: Collection[int], *, least: int = 0, most: int) -> tuple[int, memoryview]:
        """The type and the bytes of the next element, of one of these types and so many numbers."""
        kind, length = self._numbers("2L", self._read(8))
        small = kind >> 16  # up to four bytes stand in the tag itself, their number beside the type
        if small:
            kind, length = kind & 0xFFFF, small
        self._require(kind in types and small <= 4, "the elements of an array", f"one of type {kind}")
        size = np.dtype(TYPES.get(kind, "u1")).itemsize
        fits = length % size == 0 and least <= length // size <= most
        self._require(fits, f"an element of {least} to {most} numbers", f"one of {length} bytes")
        if small:
            return kind, self.content[self._at - 4 : self._at - 4 + length]
        content = self._read(length)
        self._read(-length % 8)
        return kind, content

    def _numbers(self, form: str, content: memoryview) -> tuple[int, ...]:
        return struct.unpack(self.order + form, content)

    def _read(self, count: int) -> memoryview:
        left = self._end - self._at
        self._require(count <= left, f"{count} more bytes", f"only {left}")
        self._at += count
        return self.content[self._at - count : self._at]

    def _require(self, holds: bool, expected: str, got: str) -> None:
        if not holds:
            raise InputError(f"{self.name}: expected {expected}, got {got}.")
