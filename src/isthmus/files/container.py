"""One file: a text in JSON and the arrays that it speaks of, in the safetensors format, under a checksum.

The safetensors library reads and writes the arrays. What it would believe of a stranger's file is bounded before: how
long the header is, which types there are, and that no shape claims more than the file holds. Nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.storage.files import opened, shown, write_whole

LONGEST_HEADER = 2**24
"""Bytes: names and shapes of arrays and the text; more than any model has."""
LARGEST_FILE = 2**32
"""Bytes of a file that is opened at all."""
MOST_ARRAYS = 20_000
MOST_AXES = 4
TEXT, CHECKSUM = "isthmus", "sha256"
"""The two entries of the header's metadata."""
BLANK = "0" * 64
"""What stands in the place of the checksum while it is computed."""
TYPES = {"F64": 8, "F32": 4, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}
"""Bytes per entry of the types that are used."""


@dataclass(frozen=True, eq=False)
class Container:
    """What is in a file: a text in JSON, and arrays by name."""

    about: Any
    arrays: dict[str, NDArray[Any]]


def write(container: Container, path: str | os.PathLike[str]) -> None:
    """Write a file, whole or not at all."""
    write_whole(path, content(container))


def content(container: Container) -> bytes:
    """The bytes of a file; the checksum is that of all of them, with zeros in its own place."""
    try:
        text = json.dumps(container.about, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        raise InputError("model: expected finite numbers, not too deep, to save, got others.") from None
    raw = bytes(safetensors_library().save(container.arrays, metadata={TEXT: text, CHECKSUM: BLANK}))
    return raw.replace(_marked(BLANK), _marked(hashlib.sha256(raw).hexdigest()), 1)


def read(path: str | os.PathLike[str]) -> Container:
    """What is in a file, its checksum compared and its sizes bounded before any array is made."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST_FILE:
            raise InputError(f"{shown(path)}: expected at most {LARGEST_FILE} bytes, got {size}.")
        raw = file.read(size)
    try:
        return parsed(raw)
    except InputError as error:
        raise InputError(f"{shown(path)}: {error}") from None
    except MemoryError:
        raise InputError(f"{shown(path)}: expected a file that fits in memory, got a larger one.") from None


def parsed(raw: bytes) -> Container:
    """The same for the bytes of a file."""
    header = _header(raw)
    metadata = header.pop("__metadata__", None)
    text, checksum = (_entry(metadata, key) for key in (TEXT, CHECKSUM))
    _require_checksum(raw, checksum)
    _require_bounded(header)
    try:
        about = json.loads(text, parse_constant=_no_number)
        arrays = safetensors_library().load(raw)
    except (InputError, MissingDependencyError, MemoryError):
        raise
    except Exception as error:  # of any kind: the library has its own, and JSON may be too deep
        raise _damaged(str(error)[:80] or type(error).__name__) from None
    # Copies: arrays over the file's bytes can't be written to, and may not be where the processor likes them.
    return Container(about, {name: np.array(array) for name, array in arrays.items()})


def _header(raw: bytes) -> dict[str, Any]:
    length = int.from_bytes(raw[:8], "little") if len(raw) >= 8 else -1
    if not 0 < length <= min(LONGEST_HEADER, len(raw) - 8):
        raise InputError("expected a model file, got another kind of file, or a part of one.")
    try:
        header = json.loads(raw[8 : 8 + length], parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise InputError("expected a model file, got one whose header is not in order.") from None
    if not isinstance(header, dict) or len(header) > MOST_ARRAYS:
        raise InputError("expected a model file, got one whose header is not in order.")
    return header


def _entry(metadata: Any, key: str) -> str:
    value = metadata.get(key) if isinstance(metadata, dict) else None
    if not isinstance(value, str):
        raise InputError("expected a model file of isthmus, got another file of arrays.")
    return value


def _require_checksum(raw: bytes, checksum: str) -> None:
    """Raise unless the bytes are those that were written. It keeps out accidents; others can compute it too."""
    end = 8 + int.from_bytes(raw[:8], "little")
    mark = _marked(checksum) if len(checksum) == len(BLANK) and checksum.isascii() else b""
    place = raw.find(mark, 8, end) if mark else -1
    if place < 0:
        raise _damaged("its checksum is none")
    digest = hashlib.sha256(raw[:place])
    digest.update(_marked(BLANK))
    digest.update(memoryview(raw)[place + len(mark) :])
    if digest.hexdigest() != checksum:
        raise _damaged("its checksum is that of another")


def _require_bounded(header: Mapping[str, Any]) -> None:
    for name, entry in header.items():
        kind, shape = (entry.get("dtype"), entry.get("shape")) if isinstance(entry, dict) else (None, None)
        plain = isinstance(kind, str) and kind in TYPES and isinstance(shape, list) and len(shape) <= MOST_AXES
        if not plain or not all(type(n) is int and n >= 0 for n in shape or ()):
            raise _damaged(f"the array {shown(repr(name)[:60])} is of no known kind")
        # A length of zero would hide any other length from the product.
        if TYPES[str(kind)] * math.prod(max(n, 1) for n in shape or ()) > LARGEST_FILE:
            raise _damaged(f"the array {shown(repr(name)[:60])} claims too much")


def _no_number(word: str) -> float:
    raise ValueError(word)


def _marked(checksum: str) -> bytes:
    return f'"{CHECKSUM}":"{checksum}"'.encode()


def _damaged(reason: str) -> InputError:
    return InputError(f"expected a model file in good order, got a damaged one ({shown(reason).rstrip('.')}).")


def safetensors_library() -> Any:
    """The module that reads and writes the format."""
    try:
        import safetensors.numpy
    except ImportError:
        raise MissingDependencyError(
            'Model files need safetensors, which is not installed: pip install "isthmus[safetensors]".'
        ) from None
    return safetensors.numpy
