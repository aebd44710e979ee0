"""Compressed bytes, a bounded piece at a time: what a stream would grow to never matters, only what is asked for."""

from __future__ import annotations

import zlib
from typing import BinaryIO

from isthmus.exceptions import InputError

CHUNK = 2**20


class Inflated:
    """The content of ``packed`` compressed bytes, from where the file stands.

    Parameters
    ----------
    file : binary file
        Read from, never past the compressed bytes.
    packed : int
        How many compressed bytes there are.
    window : int
        ``zlib``'s ``wbits``: negative for a bare deflate stream, positive for one with zlib's header and checksum.
    name : str
        The file, for messages.

    Examples
    --------
    >>> import io
    >>> packed = zlib.compress(bytes(10**6))
    >>> stream = Inflated(io.BytesIO(packed), len(packed), zlib.MAX_WBITS, "zeros")
    >>> len(stream.piece(100)), stream.complete
    (100, False)
    """

    def __init__(self, file: BinaryIO, packed: int, window: int, name: str) -> None:
        self.file, self.name = file, name
        self._left = packed
        self._stream = zlib.decompressobj(window)

    @property
    def complete(self) -> bool:
        """Whether the stream has come to its end, and the end was that of the compressed bytes."""
        return self._stream.eof and not self._left and not self._stream.unused_data

    def piece(self, most: int) -> bytes:
        """The next bytes, at least one and at most ``most``; none at the end."""
        while not self._stream.eof:
            packed = self._stream.unconsumed_tail
            if not packed:
                packed = self.file.read(min(CHUNK, self._left))
                self._left -= len(packed)
            try:
                piece = self._stream.decompress(packed, most)
            except zlib.error:
                raise InputError(f"{self.name}: expected compressed bytes, got damaged ones.") from None
            if piece or not packed:
                return piece
        return b""
