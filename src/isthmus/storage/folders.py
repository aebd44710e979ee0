"""Folders of several files that belong together."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from isthmus.exceptions import InputError
from isthmus.storage.files import (
    as_path,
    keep_mode,
    rename_written,
    shown,
    sync_folder,
    unfinished_name,
    writing_complaints,
)

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None  # type: ignore[assignment]


@contextmanager
def filling(path: Any, names: tuple[str, ...]) -> Iterator[Path]:
    """Yield an empty folder to put files into, whose files are in ``path`` when all are written.

    A new folder appears whole. In one that is there, files of these names are replaced, or removed where there is no
    new one, and others are left alone; two who write at the same time do so one after the other. Where writing
    fails or is interrupted, the files are those that were there before.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with filling(f"{folder}/answer", ("a.txt", "b.txt")) as place:
    ...         _ = (place / "a.txt").write_text("whole")
    ...     [path.name for path in (Path(folder) / "answer").iterdir()]
    ['a.txt']
    """
    where = Path(os.path.abspath(as_path(path)))
    with writing_complaints(where):
        unfinished = _unfinished(where)
        try:
            unfinished.mkdir()
            yield unfinished
            _take(unfinished, where, names)
        finally:
            _remove(unfinished)


def require_folder(path: Any) -> None:
    """Raise where a folder could not be filled; nothing stays behind.

    Examples
    --------
    >>> require_folder("no-such-folder/answer")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: ...answer: expected a file that can be written, got no folder for it.
    """
    where = Path(os.path.abspath(as_path(path)))
    with writing_complaints(where):
        trial = _unfinished(where)
        trial.mkdir()
        trial.rmdir()


def _unfinished(where: Path) -> Path:
    if where.exists() and not where.is_dir():
        raise InputError(f"{shown(where)}: expected a folder, got a file.")
    # On the same disc as what it becomes: inside a folder that is there, else beside its name.
    return unfinished_name(where / "files" if where.is_dir() else where)


def _take(unfinished: Path, where: Path, names: tuple[str, ...]) -> None:
    sync_folder(unfinished)
    if unfinished.parent != where:
        try:
            rename_written(unfinished, where)
        except OSError:  # somebody else has made it in the meantime, or it can't be
            if not where.is_dir():
                raise
        else:
            sync_folder(where.parent)
            return
    with _alone_in(where):
        _replace_files(unfinished, where, names)
        sync_folder(where)


def _replace_files(unfinished: Path, where: Path, names: tuple[str, ...]) -> None:
    """Replace or remove every file of these names, or none: where one fails, the others are put back."""
    old = unfinished / ".old"
    old.mkdir()
    there = [name for name in names if (where / name).exists()]
    for name in there:
        _keep(where / name, old / name)
    try:
        for name in names:
            if (unfinished / name).exists():
                keep_mode(unfinished / name, where / name)
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


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:  # once more after Ctrl-C, or where the first try left something
        if os.path.lexists(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _keep(path: Path, copy: Path) -> None:
    try:
        os.link(path, copy)
    except OSError:  # a file system without hard links
        shutil.copy2(path, copy)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        with suppress(OSError):  # nothing was written through it, so nothing can be lost
            os.close(descriptor)
