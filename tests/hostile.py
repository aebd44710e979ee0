"""Files that lie, byte by byte: archives and MATLAB files whose every field can be chosen."""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass

import numpy as np


def npy(array, **kwargs) -> bytes:
    """An array as NumPy writes it."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), **kwargs)
    return file.getvalue()


def npy_header(text: str, version: tuple[int, int] = (1, 0), length: int | None = None) -> bytes:
    """The start of an .npy file with any header."""
    content = text.encode("latin-1") + b"\n"
    size = len(content) if length is None else length
    return b"\x93NUMPY" + bytes(version) + size.to_bytes(2 if version == (1, 0) else 4, "little") + content


@dataclass
class Entry:
    """A member of a zip archive; what is given replaces what is true."""

    name: bytes
    content: bytes
    method: int = 8
    flags: int = 0
    size: int | None = None
    packed: int | None = None
    crc: int | None = None
    start: int | None = None
    local_method: int | None = None
    packed_content: bytes | None = None


def deflated(content: bytes) -> bytes:
    """A bare deflate stream."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return squeeze.compress(content) + squeeze.flush()


def archive(*entries: Entry, count: int | None = None, shift: int = 0, comment: bytes = b"") -> bytes:
    """A zip archive of these members; ``count`` and ``shift`` make the end of its directory lie."""
    body, directory = b"", b""
    for entry in entries:
        packed = entry.content if entry.method != 8 else deflated(entry.content)
        packed = packed if entry.packed_content is None else entry.packed_content
        crc = zlib.crc32(entry.content) if entry.crc is None else entry.crc
        size = len(entry.content) if entry.size is None else entry.size
        length = len(packed) if entry.packed is None else entry.packed
        start = len(body) if entry.start is None else entry.start
        method = entry.method if entry.local_method is None else entry.local_method
        fields = (20, entry.flags, entry.method, 0, 0, crc, length, size, len(entry.name), 0)
        local = (20, entry.flags, method, 0, 0, crc, length, size, len(entry.name), 0)
        body += struct.pack("<4s5H3L2H", b"PK\x03\x04", *local) + entry.name + packed
        directory += struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, *fields, 0, 0, 0, 0, start) + entry.name
    n = len(entries) if count is None else count
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, n, n, len(directory), len(body) + shift, len(comment))
    return body + directory + end + comment


def element(kind: int, content: bytes, length: int | None = None) -> bytes:
    """A tagged element of a MATLAB file, padded to eight bytes."""
    size = len(content) if length is None else length
    return struct.pack("<2L", kind, size) + content + bytes(-len(content) % 8)


def matlab_variable(name: str, kind: int, shape: tuple[int, ...], *parts: bytes, flags: int = 0) -> bytes:
    """The elements of a variable: class, shape, name, and these parts."""
    return (
        element(6, struct.pack("<2L", kind | flags, 0))
        + element(5, struct.pack(f"<{len(shape)}l", *shape))
        + element(1, name.encode())
        + b"".join(parts)
    )


def matlab_file(*variables: bytes, version: int = 0x0100, text: bytes = b"MATLAB 5.0 MAT-file") -> bytes:
    """The header of a level 5 file, then these elements."""
    return text.ljust(124) + struct.pack("<H", version) + b"IM" + b"".join(variables)


def compressed(variable: bytes, length: int | None = None) -> bytes:
    """A compressed element that holds this variable."""
    packed = zlib.compress(element(14, variable, length), 9)
    return struct.pack("<2L", 15, len(packed)) + packed
