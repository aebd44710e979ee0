"""Thrift's compact protocol, as much of it as headers of Parquet files need: bounded in time, depth and memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = 1, 2, 3, 7, 8, 9, 10, 11, 12, 13
INTEGERS = 4, 5, 6
"""Of 16, 32 and 64 bits."""
LENGTHS = {BYTE: 1, DOUBLE: 8, UUID: 16}
DEEPEST = 16
"""Structures within structures; those of Parquet have five."""
LONGEST = 10
"""Bytes of one number."""


class Compact:
    r"""Some bytes, read from a place on.

    What is out of order, or goes beyond the end, is one :class:`ValueError`.

    Examples
    --------
    >>> record = b"\x15\x06\x18\x02hi\x00"  # 1: the number 3, 2: a text
    >>> Compact(record).structure({1: int, 2: bool})
    {1: 3, 2: True}
    """

    def __init__(self, content: Any, place: int = 0, end: int | None = None) -> None:
        self.content, self.place = content, place
        self.end = len(content) if end is None else end
        if not 0 <= place <= self.end <= len(content):
            raise ValueError("a header outside of the file")

    def passed(self, n: int) -> int:
        """Where some bytes begin, which are then behind."""
        place = self.place
        if not 0 <= n <= self.end - place:
            raise ValueError("a header that is cut off")
        self.place = place + n
        return place

    def natural(self) -> int:
        """A number from 0, seven bits to a byte."""
        value = 0
        for shift in range(0, 7 * LONGEST, 7):
            byte: int = self.content[self.passed(1)]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number without an end")

    def integer(self) -> int:
        """A number with a sign, which is its last bit."""
        value = self.natural()
        return (value >> 1) ^ -(value & 1)

    def fields(self) -> Iterator[tuple[int, int]]:
        """The number and the type of each field of a structure; the caller reads its value, or skips it."""
        number = 0
        while byte := self.content[self.passed(1)]:
            number = number + (byte >> 4) if byte >> 4 else self.integer()
            yield number, byte & 0x0F

    def elements(self, kind: int) -> tuple[int, int]:
        """How many elements a list has, and of which type; each of them takes a byte or more."""
        if kind not in (LIST, SET):
            raise ValueError("another type than a list")
        byte = self.content[self.passed(1)]
        n = byte >> 4 if byte >> 4 < 15 else self.natural()
        if n > self.end - self.place:
            raise ValueError("a list that is cut off")
        return n, byte & 0x0F

    def structure(self, wanted: Mapping[int, Any]) -> dict[int, Any]:
        """Some fields of a structure: those wanted as ``int`` as a number, as ``bool`` whether they are there.

        A mapping stands for a structure within.
        """
        found: dict[int, Any] = {}
        for number, kind in self.fields():
            asked = wanted.get(number)
            if asked is int:
                if kind not in INTEGERS:
                    raise ValueError("another type than a number")
                found[number] = self.integer()
            elif isinstance(asked, Mapping):
                if kind != STRUCT:
                    raise ValueError("another type than a structure")
                found[number] = self.structure(asked)
            else:
                self.skip(kind)
                if asked is bool:
                    found[number] = True
        return found

    def skip(self, kind: int, depth: int = 0) -> None:
        """Leave a field behind."""
        if depth > DEEPEST:
            raise ValueError("structures too deep in each other")
        if kind in INTEGERS:
            self.natural()
        elif kind in LENGTHS:
            self.passed(LENGTHS[kind])
        elif kind == BINARY:
            self.passed(self.natural())
        elif kind == STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        elif kind in (LIST, SET):
            n, inner = self.elements(kind)
            self._skip_elements(n, (inner,), depth)
        elif kind == MAP:
            if n := self.natural():
                both = self.content[self.passed(1)]
                self._skip_elements(n, (both >> 4, both & 0x0F), depth)
        elif kind not in (TRUE, FALSE):  # these are in the type itself
            raise ValueError("an unknown type")

    def _skip_elements(self, n: int, kinds: tuple[int, ...], depth: int) -> None:
        if n > self.end - self.place:
            raise ValueError("a list that is cut off")
        for _ in range(n):
            for kind in kinds:
                self.skip(BYTE if kind in (TRUE, FALSE) else kind, depth + 1)
