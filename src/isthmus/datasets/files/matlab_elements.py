"""The tagged elements that a variable of a level 5 MATLAB file is made of."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from isthmus.datasets.files.inflated import CHUNK, Inflated
from isthmus.exceptions import InputError

TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
ENCODINGS = {16: "utf-8", 17: "utf-16", 18: "utf-32"}
MATRIX = 14
ALIGNMENT = 8
MOST_SKIPPED = 2**26
"""Bytes within a variable that are passed over: a compressed file of some kilobytes can claim gigabytes."""


class Elements:
    """One variable's elements, in turn; every one says how large it may be before it is read.

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
    """

    def __init__(self, file: BinaryIO, length: int, order: str, name: str, *, packed: bool) -> None:
        self.file, self.order, self.name = file, order, name
        self._inflated = Inflated(file, length, zlib.MAX_WBITS, name) if packed else None
        self._left = 8 if packed else length  # the tag inside says how much there is
        self._skippable = MOST_SKIPPED

    def enter(self) -> None:
        """Read the tag of the one variable that a compressed element holds."""
        found, length = struct.unpack(f"{self.order}2L", self._read(8))
        if found != MATRIX:
            raise self._bad("a variable in the compressed bytes", "something else")
        self._left = length

    @contextmanager
    def nested(self, place: str) -> Iterator[None]:
        """Within, the elements are those of the next, a variable inside this one, all of which has to be read."""
        length = self._nested_length()
        name, after = self.name, self._left - length
        self.name, self._left = name + place, length
        if not length:  # so MATLAB stores a place that was never filled
            raise self._bad("a variable", "an empty place")
        yield
        if self._left:
            raise self._bad("nothing after the numbers", f"{self._left} more bytes")
        self.name, self._left = name, after

    def skip(self) -> None:
        """Pass over the next, a variable inside this one."""
        length = self._nested_length()
        if length > self._skippable:
            raise self._bad(f"at most {MOST_SKIPPED} bytes that nobody asked for", "more")
        self._skippable -= length
        for at in range(0, length, CHUNK):
            self._read(min(CHUNK, length - at))

    def numbers(self, types: tuple[int, ...] | None, most: int) -> NDArray[Any]:
        """The numbers of the next element, of one of these types and at most so many."""
        kind, content = self._next(types or tuple(TYPES), most)
        return np.frombuffer(content, np.dtype(self.order + TYPES[kind])).astype(TYPES[kind], copy=False)

    def characters(self, most: int) -> NDArray[np.uint32]:
        """The code points of the next element."""
        kind, content = self._next((1, 2, 4, *ENCODINGS), 4 * most)
        if kind in TYPES:
            codes = np.frombuffer(content, np.dtype(self.order + TYPES[kind].replace("i", "u")))
            return codes.astype(np.uint32)
        endian = "" if kind == 16 else "-le" if self.order == "<" else "-be"
        try:
            text = content.decode(ENCODINGS[kind] + endian)
        except UnicodeDecodeError:
            raise self._bad("text", "bytes that are none") from None
        return np.frombuffer(text.encode("utf-32-le"), "<u4").astype(np.uint32)

    def require_end(self) -> None:
        """Raise unless the last element was the last."""
        if self._left:
            raise self._bad("nothing after the numbers", f"{self._left} more bytes")
        if self._inflated is not None and (self._inflated.piece(1) or not self._inflated.complete):
            raise self._bad("nothing after the variable", "more compressed bytes, or a damaged end")

    def _nested_length(self) -> int:
        kind, length = struct.unpack(f"{self.order}2L", self._read(8))
        if kind != MATRIX or length > self._left:
            raise self._bad("a variable inside it", f"damaged bytes: type {kind}, {length} bytes of {self._left}")
        return int(length)

    def _next(self, types: tuple[int, ...], most: int) -> tuple[int, bytearray]:
        tag = self._read(8)
        kind, length = struct.unpack(f"{self.order}2L", tag)
        small = kind >> 16  # up to four bytes stand in the tag itself, their number beside the type
        if small:
            kind, length = kind & 0xFFFF, small
        if kind not in types or (small and length > 4):
            raise self._bad("the elements of an array of plain numbers or text", f"one of type {kind}")
        size = np.dtype(TYPES[kind]).itemsize if kind in TYPES else 1
        if length % size or length // size > most:
            raise self._bad(f"an element of at most {most} numbers", f"one of {length} bytes")
        if small:
            return kind, tag[4 : 4 + length]
        content = self._read(length)
        self._read(min(-length % ALIGNMENT, self._left))
        return kind, content

    def _read(self, count: int) -> bytearray:
        if count > self._left:
            raise self._bad(f"{count} more bytes", f"only {self._left}")
        out = bytearray()
        while len(out) < count:
            most = min(CHUNK, count - len(out))
            piece = self._inflated.piece(most) if self._inflated is not None else self.file.read(most)
            if not piece:
                raise self._bad(f"{count} more bytes", f"only {len(out)}")
            out += piece
        self._left -= count
        return out

    def _bad(self, expected: str, got: str) -> InputError:
        return InputError(f"{self.name}: expected {expected}, got {got}.")
