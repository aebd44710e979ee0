"""What is asked of a variable of a MATLAB file before SciPy's reader sees it.

That reader believes what a file claims: it would inflate some kilobytes to gigabytes, make room for any number of
cells, and, as it is compiled, end the process over a type that does not exist. So a variable is walked first, an
element after the other. Its bytes are copied on the way, and the copy is all that SciPy gets to see.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Collection
from typing import BinaryIO, NamedTuple

import numpy as np

from isthmus.exceptions import InputError
from isthmus.storage.inflated import CHUNK, Inflated

TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
NUMERIC = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
CHARACTERS = {1, 2, 4, 16, 17, 18}
CELLS, STRUCTURE, TEXT, SPARSE, OPAQUE = 1, 2, 4, 5, 17
MATRIX, COMPLEX = 14, 0x800
DEEPEST, MOST_ARRAYS = 8, 2**16
MOST_AXES, LONGEST_NAME, LONGEST_FIELD, MOST_FIELDS = 32, 255, 64, 256


class Header(NamedTuple):
    """What stands before the numbers of a variable."""

    title: str
    kind: int
    is_complex: bool
    shape: tuple[int, ...]


class Guard:
    """One variable: its bytes, checked and copied to ``content``.

    Parameters
    ----------
    file : binary file
        Stands at the first byte of the variable.
    length : int
        How many bytes of the file it has.
    order : {"<", ">"}
        The byte order of the file.
    name : str
        The file, for messages.
    packed : bool
        Whether these bytes are compressed.
    most : int
        How many bytes the variable may have, inflated.
    """

    def __init__(self, file: BinaryIO, length: int, order: str, name: str, *, packed: bool, most: int) -> None:
        self.file, self.order, self.name, self.most = file, order, name, most
        self.content = bytearray()
        self._inflated = Inflated(file, length, zlib.MAX_WBITS, name) if packed else None
        self._left, self._arrays = length, 0
        if packed:
            self._left = 8  # the tag inside says how much there is
            kind, self._left = self._tag()
            self._require(kind == MATRIX, "a variable in the compressed bytes", "something else")
            self.content.clear()

    def header(self) -> Header:
        """The class, the shape and the name that an array begins with."""
        flags = struct.unpack(f"{self.order}2L", self._element((6,), least=2, most=2)[1])[0]
        kind, shape = flags & 0xFF, (0, 0)
        if kind != OPAQUE:  # the one class without a shape
            lengths = self._element((5, 6), least=2, most=MOST_AXES)[1]
            shape = struct.unpack(f"{self.order}{len(lengths) // 4}l", lengths)
        self._require(min(shape) >= 0, "a shape", "negative lengths")
        title = self._element((1, 2, 16), most=LONGEST_NAME)[1].decode("latin-1")
        return Header(title, kind, bool(flags & COMPLEX), shape)

    def walk(self, header: Header, depth: int = 0) -> None:
        """Raise unless the array after a header is plain and its bytes hold what it claims."""
        self._arrays += 1
        few = depth <= DEEPEST and self._arrays <= MOST_ARRAYS
        self._require(few, f"at most {MOST_ARRAYS} arrays, nested up to {DEEPEST} deep", "more")
        self._require(not header.is_complex, "real numbers", "complex numbers")
        count = math.prod(header.shape)
        possible = header.kind == SPARSE or count <= self.most
        self._require(possible, f"an array of at most {self.most} entries", "a claim of more")
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
        elif header.kind == CELLS:
            self._nested(count, depth)
        elif header.kind == STRUCTURE:
            self._nested(count * self._fields(), depth)
        else:
            self._require(False, "numbers, text, cells or a structure", "an object, a function or an unknown class")

    def require_end(self) -> None:
        """Raise unless the last element was the last."""
        self._require(not self._left, "nothing after the numbers", f"{self._left} more bytes")
        if self._inflated is not None:
            ended = not self._inflated.piece(1) and self._inflated.complete
            self._require(ended, "nothing after the variable", "more compressed bytes, or a damaged end")

    def _sparse(self, shape: tuple[int, ...]) -> None:
        self._require(
            len(shape) == 2 and min(shape) > 0, "a sparse matrix with rows and columns", f"{len(shape)} axes"
        )
        _, rows = self._element((5, 6), most=self._left)
        _, ends = self._element((5, 6), least=shape[1] + 1, most=shape[1] + 1)
        (count,) = struct.unpack(f"{self.order}L", ends[-4:])
        self._require(count <= len(rows) // 4, f"row numbers for {count} entries", f"{len(rows) // 4}")
        self._element(TYPES, least=count, most=len(rows) // 4)

    def _fields(self) -> int:
        """How many fields a structure has; every name has the same number of bytes, filled up with NUL."""
        (width,) = struct.unpack(f"{self.order}l", self._element((5, 6), least=1, most=1)[1])
        self._require(1 <= width <= LONGEST_FIELD, f"names of fields of up to {LONGEST_FIELD} bytes", "others")
        _, table = self._element((1, 16), most=MOST_FIELDS * width)
        names = [table[at : at + width].partition(b"\0") for at in range(0, len(table), width)]
        whole = len(table) % width == 0 and all(name and end for name, end, _ in names)
        self._require(bool(names) and whole, f"names of fields in {width} bytes each", f"{len(table)} bytes in all")
        twice = len({name for name, *_ in names}) < len(names)
        self._require(not twice, "every field once", "one of them twice")
        return len(names)

    def _nested(self, count: int, depth: int) -> None:
        self._require(8 * count <= self._left, f"{count} arrays", f"{self._left} bytes, which cannot hold them")
        for _ in range(count):
            kind, length = self._tag()
            self._require(
                kind == MATRIX and length <= self._left, "an array inside it", f"{length} bytes of type {kind}"
            )
            after, self._left = self._left - length, length
            if length:
                self.walk(self.header(), depth + 1)
            self._require(not self._left, "nothing after the numbers", f"{self._left} more bytes")
            self._left = after

    def _tag(self) -> tuple[int, int]:
        kind, length = struct.unpack(f"{self.order}2L", self._read(8))
        return kind, length

    def _element(self, types: Collection[int], *, least: int = 0, most: int) -> tuple[int, bytes]:
        """The type and the bytes of the next element, of one of these types and so many numbers."""
        kind, length = self._tag()
        small = kind >> 16  # up to four bytes stand in the tag itself, their number beside the type
        if small:
            kind, length = kind & 0xFFFF, small
        self._require(kind in types and small <= 4, "the elements of an array", f"one of type {kind}")
        size = np.dtype(TYPES.get(kind, "u1")).itemsize
        fits = length % size == 0 and least <= length // size <= most
        self._require(fits, f"an element of {least} to {most} numbers", f"one of {length} bytes")
        if small:
            return kind, bytes(self.content[-4 : len(self.content) - 4 + length])
        content = self._read(length)
        self._read(-length % 8)
        return kind, content

    def _read(self, count: int) -> bytes:
        self._require(count <= self._left, f"{count} more bytes", f"only {self._left}")
        start = len(self.content)
        self._require(start + count <= self.most, f"a variable of at most {self.most} bytes", "a larger one")
        while missing := start + count - len(self.content):
            piece = (
                self._inflated.piece(min(CHUNK, missing)) if self._inflated else self.file.read(min(CHUNK, missing))
            )
            self._require(bool(piece), f"{count} more bytes", f"only {count - missing}")
            self.content += piece
        self._left -= count
        return bytes(memoryview(self.content)[start:])

    def _require(self, holds: bool, expected: str, got: str) -> None:
        if not holds:
            raise InputError(f"{self.name}: expected {expected}, got {got}.")
