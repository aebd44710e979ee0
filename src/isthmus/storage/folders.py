"""Folders of several files that belong together."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isthmus.exceptions import InputError
from isthmus.storage.files import as_path, shown, unfinished_name, writing_complaints

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None  # type: ignore[assignment]


@contextmanager
def filling(path: Any, names: tuple[str, ...]) -> Iterator[Path]:
    """An empty folder to put files into, whose files are in ``path`` when all are written.

    A new folder appears whole. In one that is there, files of these names are replaced, or removed where there is no
    new one, and others are left alone; two who write at the same time do so one after the other. Where writing
    fails, nothing has changed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with filling(f"{folder}/answer", ("a.txt", "b.txt")) as place:
    ...         _ = (place / "a.txt").write_text("whole")
    ...     [path.name for path in (Path(folder) / "answer").iterdir()]
    ['a.txt']
    """
    where = _place(path)
    unfinished = _unfinished(where)
    try:
        with writing_complaints(where):
            unfinished.mkdir()
            yield unfinished
            _take(unfinished, where, names)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def require_folder(path: Any) -> None:
    """Raise where a folder could not be filled; nothing stays behind.

    Examples
    --------
    >>> require_folder("no-such-folder/answer")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: ...answer: expected a file that can be written, got no folder for it.
    """
    where = _place(path)
    with writing_complaints(where):
        trial = _unfinished(where)
        trial.mkdir()
        trial.rmdir()


def _place(path: Any) -> Path:
    where = Path(os.path.abspath(as_path(path)))
    if where.exists() and not where.is_dir():
        raise InputError(f"{shown(path)}: expected a folder, got a file.")
    return where


def _unfinished(where: Path) -> Path:
    # On the same disc as what it becomes: inside a folder that is there, else beside its name.
    return unfinished_name(where / "files" if where.is_dir() else where)


def _take(unfinished: Path, where: Path, names: tuple[str, ...]) -> None:
    if unfinished.parent != where:
        try:
            unfinished.rename(where)
            return
        except OSError:  # somebody else has made it in the meantime, or it can't be
            if not where.is_dir():
                raise
    with _alone_in(where):
        for name in names:
            if (unfinished / name).exists():
                (unfinished / name).replace(where / name)
            else:
                (where / name).unlink(missing_ok=True)


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
        os.close(descriptor)
