"""Files: opened only if they are regular ones, and written whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any
from uuid import uuid4

from isthmus.exceptions import InputError, warn


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
    """Write a text to a file in UTF-8, whole or not at all; make its folder where it is missing."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes to a file, whole or not at all; make its folder where it is missing.

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
    """Open a temporary file in the folder of ``path`` that is renamed to ``path`` when all is written.

    A reader sees the old file or the new one, never a part; where writing fails, the old one stays and the temporary
    file is removed. The new file has the mode and the owner of the one that it replaces, else those that the umask
    asks for. File and folder are synchronised with the disc. A symbolic link stays, and its target is replaced.
    """
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    _require_replaceable(path)
    unfinished = unfinished_name(path)
    try:
        # Nobody else may read what is written until the file has the mode of the old one.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        descriptor = os.open(unfinished, flags, 0o600 if path.exists() else 0o666)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            keep_mode(unfinished, path)
            os.fsync(file.fileno())
        rename_written(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def keep_mode(new: Path, old: Path) -> None:
    """Give a new file the owner and the mode of the one that it is going to replace, where there is one."""
    try:
        wanted = os.stat(old)
    except FileNotFoundError:
        return
    given = os.stat(new)
    if (wanted.st_uid, wanted.st_gid) != (given.st_uid, given.st_gid) and hasattr(os, "chown"):
        with suppress(PermissionError):  # only root may give files away
            os.chown(new, wanted.st_uid, wanted.st_gid)
    if stat.S_IMODE(wanted.st_mode) != stat.S_IMODE(given.st_mode):
        os.chmod(new, stat.S_IMODE(wanted.st_mode))


def rename_written(unfinished: Path, path: Path) -> None:
    """Rename a finished file or folder to its final name, and note it for :func:`recording_writes`."""
    found = os.stat(unfinished)
    for record in _recordings:  # before the rename: there is no moment at which a new file is not known
        record.append((path, found.st_dev, found.st_ino))
    try:
        os.replace(unfinished, path)
    except OSError:
        # Network file systems may repeat a rename that was done, and then report that there is nothing to rename.
        if not _is_same_file(path, found.st_dev, found.st_ino):
            raise


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disc, so that a rename survives a power failure; else warn.

    What was renamed has its final name already, so a failure here doesn't mean that it was not written.
    """
    if os.name == "nt":  # folders can't be opened there
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        warn(
            f"{shown(folder)}: files were written, but the folder could not be synchronised with the disc "
            f"({error.strerror}); a power failure may undo that.",
            UserWarning,
        )


_recordings: list[list[tuple[Path, int, int]]] = []


@contextmanager
def recording_writes() -> Iterator[Callable[[], list[Path]]]:
    """Yield a function that lists the files and folders that were replaced or created since.

    The list is made from what is on the disc when it is asked for: whether a file has its final name is answered by
    its inode, so the answer is right wherever a writer was interrupted.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, recording_writes() as list_written:
    ...     write_whole(f"{folder}/a.txt", b"whole")
    ...     [path.name for path in list_written()]
    ['a.txt']
    """
    record: list[tuple[Path, int, int]] = []
    _recordings.append(record)
    try:
        yield lambda: list(dict.fromkeys(path for path, *file in record if _is_same_file(path, *file)))
    finally:
        _recordings[:] = [other for other in _recordings if other is not record]


def _is_same_file(path: Path, device: int, inode: int) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (device, inode)


def unfinished_name(path: Path) -> Path:
    """Return a unique name in the same folder, for what is still being written."""
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
