"""Files that lie, byte by byte: archives and MATLAB files whose every field can be chosen; and how they are refused."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from isthmus.exceptions import InputError

LITTLE = 16 * 2**20
FLIPS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=4)


def saved(save, *args, **kwargs) -> bytes:
    file = io.BytesIO()
    save(file, *args, **kwargs)
    return file.getvalue()


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def refused(read, *args) -> str:
    """The sentence that a reader refuses with: without much work, in one line, with the file's name first."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            read(*args)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    sentence = str(caught.value)
    assert sentence.startswith(str(args[0]))
    assert sentence.endswith(".")
    assert ": expected " in sentence
    assert sentence.isprintable(), "one line, and nothing that acts on a terminal"
    assert len(sentence) < 400 + len(str(args[0]))
    assert peak < LITTLE
    return sentence


def flipped(content: bytes, flips) -> bytes:
    changed = bytearray(content)
    for place, mask in flips:
        changed[place % len(changed)] ^= mask
    return bytes(changed)


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
    packed_content: bytes | None = None


def deflated(content: bytes) -> bytes:
    """A bare deflate stream."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return squeeze.compress(content) + squeeze.flush()


def archive(*entries: Entry, shift: int = 0, comment: bytes = b"") -> bytes:
    """A zip archive of these members; ``shift`` makes the end of its directory lie."""
    body, directory = b"", b""
    for entry in entries:
        packed = entry.content if entry.method != 8 else deflated(entry.content)
        packed = packed if entry.packed_content is None else entry.packed_content
        crc = zlib.crc32(entry.content) if entry.crc is None else entry.crc
        size = len(entry.content) if entry.size is None else entry.size
        length = len(packed) if entry.packed is None else entry.packed
        start = len(body) if entry.start is None else entry.start
        fields = (20, entry.flags, entry.method, 0, 0, crc, length, size, len(entry.name), 0)
        body += struct.pack("<4s5H3L2H", b"PK\x03\x04", *fields) + entry.name + packed
        directory += struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, *fields, 0, 0, 0, 0, start) + entry.name
    n = len(entries)
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
