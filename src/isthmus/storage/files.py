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


def printable(text: str) -> str:
    r"""A text for a terminal: in one line, and every character that could act on it written as its number.

    Examples
    --------
    >>> print(printable("a → b"), printable("red \x1b[31m\n"))
    a → b red \x1b[31m\n
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


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
    """A new file to write to, in the same folder, that takes the name of the old one when all is written.

    A link stays, and what it points to is replaced.
    """
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    _require_replaceable(path)
    unfinished = unfinished_name(path)
    try:
        with unfinished.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def unfinished_name(path: Path) -> Path:
    """A name beside a path for what is still being written, which nobody else has."""
    return path.with_name(f".{path.name[:100]}.{uuid4().hex}.part")


def _require_replaceable(path: Path) -> None:
    # Whoever may do everything would otherwise put a file in the place of /dev/null.
    if path.is_dir():
        raise InputError(f"{shown(path)}: expected a file, got a folder.")
    if path.exists() and not path.is_file():
        raise InputError(f"{shown(path)}: expected a file that can be written, got a device or a pipe.")


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
    with writing_complaints(where), replacing(where) as file:
        yield file


@contextmanager
def writing_complaints(path: Path) -> Iterator[None]:
    """Whatever a system says while a file or folder is written, as one sentence about it."""
    try:
        if not os.path.isdir(path.parent):  # a slip in a name would otherwise become a folder
            raise InputError(f"{shown(path)}: expected a file that can be written, got no folder for it.")
        yield
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{shown(path)}: expected a file that can be written, got '{reason}'.") from None


def require_writable(path: Any) -> None:
    """Raise where :func:`saving` would, so that it is known before the work; nothing stays behind.

    Examples
    --------
    >>> require_writable("no-such-folder/file")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: no-such-folder/file: expected a file that can be written, got no folder for it.
    """
    where = as_path(path)
    with writing_complaints(where):
        where = Path(os.path.realpath(where)) if where.is_symlink() else where
        _require_replaceable(where)
        trial = unfinished_name(where)
        try:
            trial.open("xb").close()
        finally:
            trial.unlink(missing_ok=True)


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
