"""Where the data are: a folder that the caller names, an environment variable, or a per-user cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from isthmus._core.files import show_path
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


def check_file(path: Path, name: str, what: str) -> Path:
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
    >>> check_file(Path("somewhere/digits.npz"), "digits", "2000 rows, 6 views")
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
            f"{name}: expected the file {show_path(path)} ({what}), found none; put it there, or name its folder by "
            f"the argument 'folder' (--data on the command line) or the environment variable {VARIABLE}."
        )
    return path


def _cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
