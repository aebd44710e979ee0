"""How much a file may unfold to: more where it is itself large, so that a small one can't fill the memory."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader
from os import fstat

from isthmus.exceptions import InputError

ROOM = 2**28
"""Bytes that any file may unfold to."""
FACTOR = 100
"""Times its own size, for larger files. Tables of text shrink by 3 to 20 when they are packed."""
PIECE = 2**20
"""Bytes that are unpacked at a time."""
MOST_COLUMNS = 2**17
"""More would cost more in names than in cells."""


def require_room(claim: int, size: int, name: str, what: str = "a file") -> None:
    """Raise where a file of ``size`` bytes, or a part of it, claims ``claim`` bytes: out of all proportion.

    Examples
    --------
    >>> require_room(10**6, 10, "small.npz")
    >>> require_room(10**12, 10, "small.npz")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: small.npz: expected a file that unfolds to at most 268435456 bytes, got ...
    """
    most = max(ROOM, FACTOR * size)
    if claim > most:
        raise InputError(
            f"{name}: expected {what} that unfolds to at most {most} bytes, got one that claims {claim} or more."
        )


def require_columns(n: int, name: str) -> None:
    """Raise where there are more columns than a table may have."""
    if n > MOST_COLUMNS:
        raise InputError(f"{name}: expected at most {MOST_COLUMNS} columns, got {n}.")


def content(file: BufferedReader, name: str, *, packed: bool) -> bytes:
    """All bytes of an open file, unpacked where it is gzipped."""
    return b"".join(pieces(file, name, packed=packed)) if packed else file.read()


def pieces(file: BufferedReader, name: str, *, packed: bool) -> Iterator[bytes]:
    """The same, some at a time."""
    if not packed:
        while piece := file.read(PIECE):
            yield piece
        return
    found, size = 0, fstat(file.fileno()).st_size
    try:
        with gzip.GzipFile(fileobj=file) as unpacked:
            while piece := unpacked.read(PIECE):
                found += len(piece)
                require_room(found, size, name)
                yield piece
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{name}: expected a gzip file in good order, got another or a part of one.") from None
