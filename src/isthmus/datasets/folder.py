"""Where the data are: a folder that the caller names, an environment variable, or a per-user cache."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from isthmus.exceptions import InputError

VARIABLE = "ISTHMUS_DATA"


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder to read data from: the argument, else ``$ISTHMUS_DATA``, else the user's cache.

    The cache is ``isthmus`` in ``$XDG_CACHE_HOME`` or ``~/.cache`` (``%LOCALAPPDATA%`` on Windows). It need not
    exist: what is missing is told by the loaders.

    Examples
    --------
    >>> data_folder("somewhere").name
    'somewhere'
    """
    named = folder if folder is not None else os.environ.get(VARIABLE) or None
    if named is None:
        return _cache() / "isthmus"
    path = Path(named).expanduser()
    if path.exists() and not path.is_dir():
        raise InputError(f"{'folder' if folder is not None else VARIABLE}: expected a folder, got the file {path}.")
    return path


def required(path: Path, name: str, what: str) -> Path:
    """The path of a file of a data set, or an error that says what to put where.

    Parameters
    ----------
    path : Path
        Where the file has to be.
    name : str
        The data set.
    what : str
        What the file holds and in which shape, for the message.

    Examples
    --------
    >>> required(Path("somewhere/digits.npz"), "digits", "2000 rows, 6 views")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: digits: expected the file somewhere/digits.npz (2000 rows, 6 views), found none;
    put it there, or name its folder by the argument 'folder' (--data on the command line) or the environment variable
    ISTHMUS_DATA.
    """
    try:
        found = path.exists()
    except (OSError, ValueError):  # a loop of links, a name that is too long or holds a NUL
        found = False
    if not found:
        raise InputError(
            f"{name}: expected the file {shown(path)} ({what}), found none; put it there, or name its folder by "
            f"the argument 'folder' (--data on the command line) or the environment variable {VARIABLE}."
        )
    return path


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
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


def _cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
