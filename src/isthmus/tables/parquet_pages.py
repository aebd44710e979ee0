"""What a Parquet file claims, page by page: that is what a reader makes room for, before it has seen a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from isthmus.tables.limits import FACTOR, ROOM, require_columns, require_room
from isthmus.tables.thrift import INTEGERS, STRUCT, Compact

MARK, ENCRYPTED = b"PAR1", b"PARE"
TAIL = 8
"""Bytes behind the footer: its length, and the mark."""
BYTES_PER_CELL = 8
MOST_CHUNKS = 2**20
"""Columns times row groups; more would cost more in headers than in values."""
SCHEMA, GROUPS, ENCRYPTION = 2, 4, 8
"""Fields of the footer."""
ELEMENT = {1: int, 2: int}
"""Of the schema: the type, which columns alone have, and the length of a value."""
COLUMNS, ROWS = 1, 3
"""Fields of a row group."""
CHUNK = {1: bool, 3: {5: int, 6: int, 7: int, 9: int, 11: int}, 8: bool}
"""A column in a row group: whether it is in another file; its values, its bytes when they are unpacked and as they
are, where data and dictionary begin; whether it is encrypted."""
PAGE = {2: int, 3: int, 5: {1: int, 2: int}, 7: {1: int}, 8: {1: int, 4: int}}
"""Bytes of a page when it is unpacked, and as it is; values and their coding, by the kind of the page."""


KINDS = DATA, DICTIONARY, DATA_2 = 5, 7, 8
SHARED_PREFIXES = 7
"""DELTA_BYTE_ARRAY, a coding where each text says how much of the one before it has in front: that may be all."""


def require_pages(content: Any, name: str, at_once: int | None = None) -> None:
    """Raise where a Parquet file unfolds to more than one of its size may, or where its headers are out of order.

    Parameters
    ----------
    content : bytes or mmap
        The whole file; of a large one only the headers are looked at.
    name : str
        Of the file, for messages.
    at_once : int, optional
        How many rows are read at a time: only the row groups that these are in are then added up. Without, all are.

    Raises
    ------
    ValueError
        Headers that are broken, or lie outside of the file; encrypted files.
    InputError
        Out of all proportion: pages when they are unpacked, or values, each of which takes eight bytes or more.
    """
    size = len(content)
    mark = bytes(content[max(0, size - 4) : size])
    if mark == ENCRYPTED:
        raise ValueError("an encrypted one")
    if size < TAIL + len(MARK) or mark != MARK or bytes(content[: len(MARK)]) != MARK:
        raise ValueError("another file, or a part of one")
    length = int.from_bytes(content[size - TAIL : size - len(MARK)], "little")
    start = size - TAIL - length
    if start < len(MARK):
        raise ValueError("a footer that is longer than the file")
    _Claims(content, name, start, at_once).of_footer(Compact(content, start, size - TAIL))


@dataclass
class _Claims:
    """The sums so far: of the file, or of as many row groups as have a run of rows."""

    content: Any
    name: str
    data_end: int
    """Where the footer begins: pages are before it."""
    at_once: int | None = None
    """Rows of a run."""
    widths: list[int] = field(default_factory=list)
    """Bytes of a value of each column."""
    rows: int = 0
    claimed: int = 0
    """Bytes, by what is said of the columns."""
    unpacked: int = 0
    cells: int = 0
    """Bytes, by what is said of the pages, and of their values."""
    prefixes: int = 0
    """Bytes, if all texts of a page have the longest that it can hold in front."""
    walked: int = 0
    """Bytes of all pages: they share none, so that these are no more than the file has."""
    chunks: int = 0

    def of_footer(self, footer: Compact) -> None:
        for number, kind in footer.fields():
            if number == ENCRYPTION:
                raise ValueError("an encrypted one")
            if number == SCHEMA:
                self._schema(footer, kind)
            elif number == GROUPS:
                for _ in range(self._structures(footer, kind)):
                    self._group(footer)
            else:
                footer.skip(kind)

    def _require_room(self, claim: int) -> None:
        what = "a file" if self.at_once is None else f"a row group or a run of {self.at_once} rows"
        require_room(claim, len(self.content), self.name, what)

    def _structures(self, reader: Compact, kind: int) -> int:
        n, inner = reader.elements(kind)
        if n and inner != STRUCT:
            raise ValueError("another type than a structure")
        return n

    def _schema(self, footer: Compact, kind: int) -> None:
        for _ in range(self._structures(footer, kind)):
            element = footer.structure(ELEMENT)
            if 1 in element:
                self.widths.append(max(BYTES_PER_CELL, element.get(2, 0)))
        require_columns(len(self.widths), self.name)

    def _group(self, footer: Compact) -> None:
        found = False
        if self.at_once is not None and self.rows >= self.at_once:  # a run is in two such sums at most
            self.rows = self.claimed = self.unpacked = self.cells = self.prefixes = 0
        for number, kind in footer.fields():
            if number == COLUMNS:
                self._columns(footer, self._structures(footer, kind))
                found = True
            elif number == ROWS and kind in INTEGERS:
                self.rows += self._natural(footer.integer())
                self._require_room(self.rows * sum(self.widths))
            else:
                footer.skip(kind)
        if not found or not self.widths:
            raise ValueError("a row group without columns")

    def _columns(self, footer: Compact, n: int) -> None:
        self.chunks += n
        if n != len(self.widths) or self.chunks > MOST_CHUNKS:
            raise ValueError(f"{n} columns in a row group, where the schema has {len(self.widths)}")
        for width in self.widths:
            self._chunk(footer.structure(CHUNK), width)

    def _chunk(self, chunk: dict[int, Any], width: int) -> None:
        if 1 in chunk or 3 not in chunk:
            raise ValueError("a column outside of the file")
        if 8 in chunk:
            raise ValueError("an encrypted one")
        about = chunk[3]
        values, unpacked, length = (self._natural(about.get(key, 0)) for key in (5, 6, 7))
        # The dictionary, if there is one, comes first; some writers say 0 where there is none.
        start = self._natural(about.get(11, 0)) or self._natural(about.get(9, 0))
        if length > self.data_end - start:
            raise ValueError("a column outside of the file")
        self.walked += length
        self.claimed += max(unpacked, values * width)
        if self.walked > self.data_end:
            raise ValueError("columns that share their bytes")
        self._require_room(self.claimed)
        self._pages(start, start + length, values, width)

    def _natural(self, value: int) -> int:
        if value < 0:
            raise ValueError("a number below zero")
        return value

    def _pages(self, place: int, end: int, values: int, width: int) -> None:
        """Walk from header to header; what is behind the last value need not be a page."""
        seen = 0
        while place < end:
            reader = Compact(self.content, place, end)
            try:
                page = reader.structure(PAGE)
                unpacked, packed = (self._natural(page.get(key, -1)) for key in (2, 3))
                n = max((self._natural(page[kind].get(1, 0)) for kind in KINDS if kind in page), default=0)
                place = reader.passed(packed) + packed
            except ValueError:
                if seen >= values:
                    return
                raise
            seen += n if DICTIONARY not in page else 0
            self.unpacked += unpacked
            self.cells += n * width
            for claim in (self.unpacked, self.cells):
                self._require_room(claim)
            if SHARED_PREFIXES in (page.get(DATA, {}).get(2), page.get(DATA_2, {}).get(4)):
                self.prefixes += n * unpacked
            if self.prefixes > max(ROOM, FACTOR * len(self.content)):
                raise ValueError("texts in the coding DELTA_BYTE_ARRAY, which may fill the memory; write them plain")
