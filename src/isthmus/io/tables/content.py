"""Bytes of tables: polars on demand, errors of readers in one sentence, limits of memory, and rows of a text."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from os import fstat
from typing import Any

from isthmus._core.files import show_path
from isthmus.exceptions import InputError, IsthmusError, import_extra


def import_polars() -> Any:
    """Return the module polars, or say how to install it."""
    return import_extra("polars", "tables", "Tables need")


@contextmanager
def report_read_errors(name: str, expected: str) -> Iterator[None]:
    """Raise whatever the reader of a format raises as one sentence about the file.

    Examples
    --------
    >>> with report_read_errors("a.csv", "a table"):
    ...     raise KeyError("line 3")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: a.csv: expected a table, got: line 3.
    """
    try:
        yield
    except (IsthmusError, MemoryError, OSError):
        raise
    except BaseException as error:  # a panic of polars is not an Exception
        if type(error).__name__ == "PanicException":  # its message is about the reader, not about the file
            raise InputError(f"{name}: expected {expected}, got another or a damaged one.") from None
        if not isinstance(error, Exception):
            raise
        lines = str(error.args[0] if error.args else "").strip().splitlines()
        reason = show_path(lines[0][:120]) if lines else type(error).__name__
        raise InputError(f"{name}: expected {expected}, got: {reason.rstrip('.')}.") from None


# Bytes that any file may unpack to.
ROOM = 2**28
# Times its own size, for larger files. Tables of text shrink by 3 to 20 when they are packed.
FACTOR = 100
# Bytes that are unpacked at a time.
PIECE = 2**20
# More would cost more in names than in cells.
MOST_COLUMNS = 2**17


def check_room(claim: int, size: int, name: str, what: str = "a file") -> None:
    """Raise where a file of ``size`` bytes, or a part of it, claims too many bytes in memory.

    Examples
    --------
    >>> check_room(10**6, 10, "small.h5ad")
    >>> check_room(10**12, 10, "small.h5ad")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: small.h5ad: expected a file that unpacks to at most 268435456 bytes, got ...
    """
    most = max(ROOM, FACTOR * size)
    if claim > most:
        raise InputError(f"{name}: expected {what} that unpacks to at most {most} bytes, got {claim} or more.")


def check_width(n: int, name: str) -> None:
    """Raise where there are more columns than a table may have."""
    if n > MOST_COLUMNS:
        raise InputError(f"{name}: expected at most {MOST_COLUMNS} columns, got {n}.")


def check_content(content: bytes, name: str) -> None:
    """Raise where a file is empty or blank."""
    if not content.strip():
        raise InputError(f"{name}: expected a table, got an empty file.")


def read_pieces(file: BufferedReader, name: str, *, packed: bool) -> Iterator[bytes]:
    """Yield the bytes of an open file, unpacked where it is gzipped, some at a time."""
    if not packed:
        while piece := file.read(PIECE):
            yield piece
        return
    found, size = 0, fstat(file.fileno()).st_size
    try:
        with gzip.GzipFile(fileobj=file) as unpacked:
            while piece := unpacked.read(PIECE):
                found += len(piece)
                check_room(found, size, name)
                yield piece
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{name}: expected a gzip file in good order, got another or a part of one.") from None


NEWLINES = b"\r\n"
QUOTE = b'"'


def split_rows(pieces: Iterable[bytes], *, most: int) -> Iterator[bytes]:
    r"""Yield the same bytes in pieces of whole rows, each of at least ``most`` bytes except for the last.

    A row of CSV ends with a newline, but one between quotes ends nothing: an odd number of quotes is before it, since
    a quote inside of quotes is doubled. Blank lines go to the piece after them, so that no piece
    ends with one, except for the last.

    Examples
    --------
    >>> list(split_rows([b'a\n"b\n', b'c"\n\n', b'd\n'], most=1))
    [b'a\n', b'"b\nc"\n', b'\nd\n']
    """
    held, enough = bytearray(), most
    for piece in pieces:
        held += piece
        if len(held) < enough:
            continue
        end = _find_last_end(held)
        if end:
            yield bytes(held[:end])
            del held[:end]
        enough = most if end else 2 * len(held)  # a row that does not end is not scanned again and again
    if held:
        yield bytes(held)


def find_first_row(text: bytes) -> bytes:
    r"""Return the first row that is not blank, with blank lines before it.

    Examples
    --------
    >>> find_first_row(b'\n"a\nb",c\n1,2\n')
    b'\n"a\nb",c\n'
    """
    start = len(text) - len(text.lstrip(NEWLINES))
    place = text.find(b"\n", start)
    odd = text.count(QUOTE, start, place) % 2 if place >= 0 else False
    while place >= 0 and odd:
        after = text.find(b"\n", place + 1)
        odd ^= text.count(QUOTE, place, after if after >= 0 else len(text)) % 2
        place = after
    return text if place < 0 else text[: place + 1]


def _find_last_end(text: bytearray) -> int:
    """Return the end of the last whole row; 0 where there is none."""
    place = text.rfind(b"\n")
    odd = text.count(QUOTE, 0, max(place, 0)) % 2
    while place >= 0 and odd:
        before = text.rfind(b"\n", 0, place)
        odd ^= text.count(QUOTE, max(before, 0), place) % 2
        place = before
    if place < 0:
        return 0
    row = text[: place + 1].rstrip(NEWLINES)
    return text.find(b"\n", len(row)) + 1 if row else 0
