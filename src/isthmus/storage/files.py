"""Files: opened only if they are regular ones, and written whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any
from uuid import uuid4

from isthmus.exceptions import InputError


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BufferedReader]:
    """A regular file, open to read its bytes; anything else is one :class:`~isthmus.exceptions.InputError`.

    Examples
    --------
    >>> with opened("."):
    ...     pass
    Traceback (most recent call last):
    isthmus.exceptions.InputError: .: expected a file, got a folder...
    """
    # Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if os.path.isdir(path):
        raise InputError(f"{shown(path)}: expected a file, got a folder.")
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise InputError(f"{shown(path)}: expected a file, found none.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{shown(path)}: expected a file that can be read, got '{reason}'.") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(f"{shown(path)}: expected a file, got a device or a pipe.")
        try:
            yield file
        except MemoryError:
            raise InputError(f"{shown(path)}: expected a file that fits in memory, got a larger one.") from None
        except OSError as error:
            raise InputError(f"{shown(path)}: expected a file that can be read, got '{error.strerror}'.") from None


def shown(text: object) -> str:
    r"""A path, or a name from a file, for messages: in one line, and without characters that act on a terminal.

    Examples
    --------
    >>> print(shown("a b.npz"), shown("a\nb"))
    a b.npz 'a\nb'
    """
    plain = os.fspath(text) if isinstance(text, os.PathLike) else str(text)
    short = plain if len(plain) <= 1000 else plain[:1000] + "…"
    return short if short.isprintable() else repr(short)


def write_text(path: Path, text: str) -> None:
    """Give a file this text in UTF-8; its folder is made where it is missing."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Give a file this content: written under another name in the same folder, then renamed.

    A reader sees the old file or the new one, never a part; where writing fails, the old one stays.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes(Path(folder) / "new" / "file.txt", b"whole")
    ...     (Path(folder) / "new" / "file.txt").read_text()
    'whole'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BufferedWriter]:
    """A new file to write to, in the same folder, that takes the name of the old one when all is written."""
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with unfinished.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def saving(path: Any) -> Iterator[BufferedWriter]:
    """The same for a path of the user's, in a folder that exists; where writing fails, one sentence.

    Examples
    --------
    >>> with saving("no-such-folder/file"):
    ...     pass
    Traceback (most recent call last):
    isthmus.exceptions.InputError: no-such-folder/file: expected a file that can be written, got no folder for it.
    """
    where = as_path(path)
    if not os.path.isdir(where.parent):  # a slip in a name would otherwise become a folder
        raise InputError(f"{shown(path)}: expected a file that can be written, got no folder for it.")
    try:
        with replacing(where) as file:
            yield file
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{shown(path)}: expected a file that can be written, got '{reason}'.") from None


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Give a file, in a folder that exists, this content, whole or not at all; where that fails, one sentence.

    Examples
    --------
    >>> write_whole("no/such/folder/file", b"")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: no/such/folder/file: expected a file that can be written, got no folder for it.
    """
    with saving(path) as file:
        file.write(content)


def as_path(path: Any) -> Path:
    """A path that was given as text or as a path."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path: expected the path of a file, got {path!r:.60}.")
    return Path(path)
