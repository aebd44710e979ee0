"""AnnData's files as tables: ``X`` and ``obsm`` are matrices, ``obs`` says something about the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from isthmus._arrays import is_sparse
from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.storage.files import opened, shown
from isthmus.tables.frames import complaints
from isthmus.tables.limits import require_columns, require_room
from isthmus.tables.table import Table

ROW_NAMES = "obs_names"
"""The column of the rows' own names, as AnnData calls them."""
DEEPEST, MOST_OBJECTS = 6, 10_000
"""Groups within groups, and objects in all, that are looked at."""


def h5ad_table(path: Path, name: str) -> Table:
    """The parts ``X``, ``obsm/…`` and the columns of ``obs``; nothing else in the file is read."""
    try:
        import h5py
        from anndata.io import read_elem
    except ImportError as error:
        missing = "h5py" if error.name == "h5py" else "anndata"
        message = f'This format needs {missing}, which is not installed: pip install "isthmus[anndata]".'
        raise MissingDependencyError(message) from None
    with opened(path) as file:
        size = len(file.read(1)) and path.stat().st_size
    if not size:
        raise InputError(f"{name}: expected a table, got an empty file.")
    try:
        with complaints(name, "an .h5ad file in good order"), h5py.File(path, "r") as stored:
            wanted = [key for key in ("X", "obs", "obsm") if key in stored]
            require_room(_claim(stored, wanted, h5py, name), size, name)
            parts = _columns(read_elem(stored["obs"])) if "obs" in wanted else {}
            annotations = tuple(parts)
            matrices = {"X": stored["X"]} if "X" in wanted else {}
            matrices |= {f"obsm/{key}": stored["obsm"][key] for key in stored["obsm"]} if "obsm" in wanted else {}
            parts |= {key: _matrix(read_elem(element), f"{name}, {key}") for key, element in matrices.items()}
    except OSError:
        raise InputError(f"{name}: expected an .h5ad file in good order, got another or a damaged one.") from None
    return Table.of(parts, name, annotations)


def _claim(stored: Any, wanted: list[str], h5py: Any, name: str) -> int:
    """The bytes of all arrays in some groups, which have to lie in this file."""
    claim, seen, waiting = 0, 0, [(stored, key, 0) for key in wanted]
    while waiting:
        group, key, depth = waiting.pop()
        seen += 1
        if depth > DEEPEST or seen > MOST_OBJECTS:
            raise InputError(f"{name}: expected at most {MOST_OBJECTS} arrays, got more, or groups within groups.")
        if not isinstance(group.get(key, getlink=True), h5py.HardLink):
            raise InputError(f"{name}: expected all of its arrays in this file, got a link to another.")
        element = group[key]
        if isinstance(element, h5py.Group):
            waiting += [(element, inner, depth + 1) for inner in element]
        elif element.external or element.is_virtual:
            raise InputError(f"{name}: expected all of its arrays in this file, got a part of another.")
        else:
            claim += int(element.size or 0) * max(element.dtype.itemsize, 1)
    return claim


def _matrix(element: Any, name: str) -> Any:
    found = element.tocsr() if is_sparse(element) else np.asarray(element)
    if found.ndim != 2 or not found.shape[1] or found.dtype.kind not in "fiu":
        raise InputError(f"{name}: expected a matrix of numbers, got type {found.dtype.str[1:41]!r}.")
    require_columns(found.shape[1], name)
    return found


def _columns(frame: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {ROW_NAMES: [str(cell) for cell in frame.index]}
    for key in frame.columns:
        values = frame[key]
        plain = values.dtype.kind in "fiu" and isinstance(values.dtype, np.dtype)
        empty = None if plain else values.isna().to_numpy()
        columns[shown(key)] = (
            values.to_numpy()
            if empty is None
            else [None if e else str(v) for v, e in zip(values, empty, strict=True)]
        )
    return columns
