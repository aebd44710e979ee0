"""Files and folders: opened only if they are regular ones, and written whole or not at all.

A file is written under a temporary name in its own folder and renamed when it is complete (:func:`replace_file`).
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any
from uuid import uuid4

from isthmus.exceptions import InputError, warn

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# What has been renamed to its final name, for each `record_writes` that is open: name, device and inode.
_recordings: list[list[tuple[Path, int, int]]] = []


def show_path(text: object) -> str:
    r"""Return a path, or a name from a file, as messages show it: in one line, without what acts on a terminal.

    Examples
    --------
    >>> print(show_path("a b.npz"), show_path("a\nb"))
    a b.npz 'a\nb'
    """
    plain = os.fspath(text) if isinstance(text, os.PathLike) else str(text)
    short = plain if len(plain) <= 1000 else plain[:1000] + "…"
    return short if short.isprintable() else repr(short)


def escape_for_terminal(text: str) -> str:
    r"""Return a text for a terminal: in one line, every character that could act on it written as its number.

    Examples
    --------
    >>> print(escape_for_terminal("a → b"), escape_for_terminal("red \x1b[31m\n"))
    a → b red \x1b[31m\n
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def as_path(path: Any) -> Path:
    """Return a path that was given as text or as a path."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path: expected the path of a file, got {type(path).__name__}.")
    return Path(path)


def temporary_name(path: Path) -> Path:
    """Return a unique name in the same folder, for what is still being written."""
    return path.with_name(f".{path.name[:100]}.{uuid4().hex}.part")


@contextmanager
def open_regular(path: str | os.PathLike[str]) -> Iterator[BufferedReader]:
    """Open a regular file to read its bytes; anything else is one :class:`~isthmus.exceptions.InputError`.

    Examples
    --------
    >>> with open_regular("."):
    ...     pass
    Traceback (most recent call last):
    isthmus.exceptions.InputError: .: expected a file, got a folder...
    """
    name = show_path(path)
    # Without O_NONBLOCK, opening a pipe without a writer would block for ever.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if os.path.isdir(path):
        raise InputError(f"{name}: expected a file, got a folder.")
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise InputError(f"{name}: expected a file, found none.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: expected a file that can be read, got '{_reason(error)}'.") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(f"{name}: expected a file, got a device or a pipe.")
        try:
            yield file
        except MemoryError:
            raise InputError(f"{name}: expected a file that fits in memory, got a larger one.") from None
        except OSError as error:
            raise InputError(f"{name}: expected a file that can be read, got '{_reason(error)}'.") from None


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


@contextmanager
def replace_file(path: Path) -> Iterator[BufferedWriter]:
    """Open a temporary file in the folder of ``path`` that is renamed to ``path`` when all is written.

    A reader sees the old file or the new one, never a part; where writing fails, the old one stays and the temporary
    file is removed. The new file has the mode and the owner of the one that it replaces, else those that the umask
    asks for. File and folder are synchronised with the disc. A symbolic link stays, and its target is replaced.
    """
    path = _resolve_replaceable(path)
    unfinished = temporary_name(path)
    try:
        # Private until the file has the mode of the old one.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        descriptor = os.open(unfinished, flags, 0o600 if path.exists() else 0o666)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            copy_mode(unfinished, path)
            os.fsync(file.fileno())
        rename_written(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _resolve_replaceable(path: Path) -> Path:
    """Return the target of a link, or the path itself; raise unless a file may take its place."""
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    if path.is_dir():
        raise InputError(f"{show_path(path)}: expected a file, got a folder.")
    if path.exists() and not path.is_file():  # root would otherwise put a file in the place of /dev/null
        raise InputError(f"{show_path(path)}: expected a file that can be written, got a device or a pipe.")
    return path


def copy_mode(new: Path, old: Path) -> None:
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
    """Rename a finished file or folder to its final name, and note it for :func:`record_writes`."""
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
        what = f"could not be synchronised with the disc ({error.strerror}); a power failure may undo the writing"
        warn(f"{show_path(folder)}: {what}.", UserWarning)


def _is_same_file(path: Path, device: int, inode: int) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (device, inode)


@contextmanager
def record_writes() -> Iterator[Callable[[], list[Path]]]:
    """Yield a function that lists the files and folders that were replaced or created since.

    The list is made from what is on the disc when it is asked for: whether a file has its final name is answered by
    its inode, so the answer is right wherever a writer was interrupted.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, record_writes() as list_written:
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


@contextmanager
def report_write_errors(path: Path) -> Iterator[None]:
    """Turn whatever a system says while a file or folder is written into one sentence about it."""
    try:
        if not os.path.isdir(path.parent):  # a slip in a name would otherwise become a folder
            raise InputError(f"{show_path(path)}: expected a file that can be written, got no folder for it.")
        yield
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{show_path(path)}: expected a file that can be written, got '{_reason(error)}'.") from None


@contextmanager
def save_file(path: Any) -> Iterator[BufferedWriter]:
    """Open a temporary file as :func:`replace_file`, for a path of the user's; where writing fails, one sentence.

    Examples
    --------
    >>> with save_file("no-such-folder/file"):
    ...     pass
    Traceback (most recent call last):
    isthmus.exceptions.InputError: no-such-folder/file: expected a file that can be written, got no folder for it.
    """
    where = as_path(path)
    with report_write_errors(where), replace_file(where) as file:
        yield file


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write bytes to a file in a folder that exists, whole or not at all; where that fails, one sentence.

    Examples
    --------
    >>> write_whole("no/such/folder/file", b"")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: no/such/folder/file: expected a file that can be written, got no folder for it.
    """
    with save_file(path) as file:
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Write a text to a file in UTF-8, whole or not at all; make its folder where it is missing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder) / "new" / "file.txt", "whole")
    ...     (Path(folder) / "new" / "file.txt").read_text()
    'whole'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as file:
        file.write(text.encode())


def check_writable(path: Any) -> None:
    """Raise where :func:`save_file` would, before the work begins; leave no file behind.

    Examples
    --------
    >>> check_writable("no-such-folder/file")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: no-such-folder/file: expected a file that can be written, got no folder for it.
    """
    where = as_path(path)
    with report_write_errors(where):
        trial = temporary_name(_resolve_replaceable(where))
        try:
            trial.open("xb").close()
        finally:
            trial.unlink(missing_ok=True)


@contextmanager
def fill_folder(path: Any, names: tuple[str, ...]) -> Iterator[Path]:
    """Yield an empty folder to put files into, whose files are in ``path`` when all are written.

    A new folder appears whole. In one that is there, files of these names are replaced, or removed where there is no
    new one, and others are left alone. Where writing fails, the files are those that were there before.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with fill_folder(f"{folder}/answer", ("a.txt", "b.txt")) as place:
    ...         _ = (place / "a.txt").write_text("whole")
    ...     [path.name for path in (Path(folder) / "answer").iterdir()]
    ['a.txt']
    """
    where = Path(os.path.abspath(as_path(path)))
    with report_write_errors(where):
        unfinished = _temporary_folder(where)
        try:
            unfinished.mkdir()
            yield unfinished
            sync_folder(unfinished)
            _put_in_place(unfinished, where, names)
        finally:
            try:
                shutil.rmtree(unfinished, ignore_errors=True)
            finally:  # once more, where Ctrl-C came in between
                shutil.rmtree(unfinished, ignore_errors=True)


def _put_in_place(unfinished: Path, where: Path, names: tuple[str, ...]) -> None:
    if unfinished.parent != where:
        try:
            rename_written(unfinished, where)
        except OSError:  # somebody else has made it in the meantime, or it can't be
            if not where.is_dir():
                raise
        else:
            sync_folder(where.parent)
            return
    with lock_folder(where):
        _replace_files(unfinished, where, names)
    sync_folder(where)


@contextmanager
def lock_folder(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Lock a folder against other programs that replace its files; without ``wait``, raise where one does."""
    descriptor = -1
    try:
        # Windows and some network file systems have no locks, and some folders can't be opened.
        with suppress(OSError, AttributeError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                expected = "a folder that no other run is writing to"
                raise InputError(f"{show_path(folder)}: expected {expected}, got one that is in use.") from None
        yield
    finally:
        # Nothing was opened, or the files are in place and a lock that was not freed in time is no error.
        with suppress(OSError):
            os.close(descriptor)


def _replace_files(unfinished: Path, where: Path, names: tuple[str, ...]) -> None:
    """Replace or remove every file of these names, or none: where one fails, the others are put back."""
    old = unfinished / ".old"
    old.mkdir()
    there = [name for name in names if (where / name).exists()]
    for name in there:  # copies: no file is missing for a moment
        shutil.copy2(where / name, old / name)
    try:
        for name in names:
            if (unfinished / name).exists():
                copy_mode(unfinished / name, where / name)
                rename_written(unfinished / name, where / name)
            else:
                (where / name).unlink(missing_ok=True)
    except BaseException:
        for name in names:
            if name in there:
                os.replace(old / name, where / name)
            else:
                (where / name).unlink(missing_ok=True)
        raise


def _temporary_folder(where: Path) -> Path:
    if where.exists() and not where.is_dir():
        raise InputError(f"{show_path(where)}: expected a folder, got a file.")
    # On the same disc as what it becomes: inside a folder that is there, else next to it.
    return temporary_name(where / "files" if where.is_dir() else where)


def check_folder(path: Any) -> None:
    """Raise where :func:`fill_folder` would, before the work begins; leave no folder behind.

    Examples
    --------
    >>> check_folder("no-such-folder/answer")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: ...answer: expected a file that can be written, got no folder for it.
    """
    where = Path(os.path.abspath(as_path(path)))
    with report_write_errors(where):
        trial = _temporary_folder(where)
        trial.mkdir()
        trial.rmdir()
