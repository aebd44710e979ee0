"""Where answers go, looked at before the work: what can't be written is told at once, and no input is overwritten."""

from __future__ import annotations

import os
from pathlib import Path

from isthmus.exceptions import InputError
from isthmus.storage.files import require_writable, shown


def require_output(path: Path | None, *inputs: Path | None) -> None:
    """Raise where a file could not be written, or is one of the inputs."""
    if path is None:
        return
    _require_no_folder(path)
    for given in inputs:
        if given is not None and _same(path, given):
            raise InputError(f"{shown(path)}: expected an output beside the inputs, got one of them.")
    require_writable(path)


def require_table(path: Path | None, *inputs: Path | None) -> None:
    """The same for a table, whose ending has to be one of those that can be written."""
    if path is None:
        return
    from isthmus.tables.frames import polars
    from isthmus.tables.writing import WRITERS

    polars()  # what is missing is told before the work
    _require_no_folder(path)
    if path.suffix.lower() not in WRITERS:
        raise InputError(f"{shown(path)}: expected a name that ends in one of {', '.join(WRITERS)}.")
    require_output(path, *inputs)


def _require_no_folder(path: Path) -> None:
    if os.path.isdir(path):
        raise InputError(f"{shown(path)}: expected a file, got a folder.")


def _same(path: Path, other: Path) -> bool:
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)
