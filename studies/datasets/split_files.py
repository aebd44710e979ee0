"""Published splits in the MATLAB files of their authors, as row numbers that count from 0."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isthmus._core.archives import Expected, show_shape
from isthmus._core.files import show_path
from isthmus._core.validation import IntArray, check_number
from isthmus.data.domains import Split
from isthmus.exceptions import InputError
from studies.datasets.files.matlab import check_content, kind_of, read_variables
from studies.datasets.parts import distinct, published_split

MOST_SPLITS = 1000
MOST_BYTES = 2**23
"""Of a variable of such a file: many times what twenty splits of Office take."""


def read_hoffman_splits(path: str | os.PathLike[str], n_source: int, n_target: int) -> tuple[Split, ...]:
    """The random splits of a file such as ``SameCategory_amazon-dslr_20RandomTrials_10Categories.mat``.

    Two structures, ``train`` and ``test``, hold cell arrays ``source`` and ``target``, one cell per split, each with
    row numbers from 1. The split has ``train.source`` as its source, ``train.target`` as the labelled rows and
    ``test.target`` as the test, with no unlabelled rows; ``test.source`` and other variables do not matter. Files of
    held-out categories (``DiffCategory_…``) look the same, but their test is of other classes than their training.

    Parameters
    ----------
    path : path
        The file, saved with ``-v7`` or ``-v6``.
    n_source, n_target : int
        How many rows the two domains have, all classes and in the order of the features that the file was made for.

    Returns
    -------
    tuple of Split
        In the order of the cells.

    Raises
    ------
    InputError
        One sentence that names the file, and the cell or the split: the file is damaged or of another kind, a row is
        out of range or comes twice, a target row is in training and test, or the numbers of splits differ.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> source, labelled, test = (np.empty(2, dtype=object) for _ in range(3))
    >>> source[:], labelled[:], test[:] = ([1, 4], [2, 3]), ([2], [1]), ([1, 3], [3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.mat"
    ...     savemat(path, {"train": {"source": source, "target": labelled}, "test": {"target": test}})
    ...     splits = read_hoffman_splits(path, n_source=4, n_target=3)
    >>> splits[0].source, splits[0].labelled, splits[0].test
    (array([0, 3]), array([1]), array([0, 2]))
    """
    file, source, target = Path(path), _rows(n_source, "n_source"), _rows(n_target, "n_target")
    parts = read_variables(file, ("train", "test"), most_bytes=MOST_BYTES)
    lists = (
        _cells(parts, "train", "source", source, show_path(file)),
        _cells(parts, "train", "target", target, show_path(file)),
        _cells(parts, "test", "target", target, show_path(file)),
    )
    counts = [len(rows) for rows in lists]
    if len(set(counts)) > 1 or not counts[0]:
        got = f"{counts[0]} and {counts[1]} in 'train', {counts[2]} in 'test'"
        raise InputError(f"{show_path(file)}: expected at least one split, and as many in every field, got {got}.")
    return tuple(
        _split(rows, n_source, n_target, f"{show_path(file)}, split {k}")
        for k, rows in enumerate(zip(*lists, strict=True), start=1)
    )


def read_shfa_split(path: str | os.PathLike[str], n_source: int, n_target: int) -> Split:
    """The one split of SHFA's ``rand_indices.mat``, or of a file like it.

    Three vectors of row numbers from 1: ``source_index``, ``target_training_index`` and ``target_test_index``. There
    are no unlabelled rows; SHFA, which is transductive, takes the test rows for that.

    Parameters
    ----------
    path : path
        The file, saved with ``-v7`` or ``-v6``.
    n_source, n_target : int
        How many rows the two domains have: 2813 and 498 for ``data_amazon.mat`` and ``data_dslr_600.mat``.

    Raises
    ------
    InputError
        As :func:`read_hoffman_splits`.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import savemat
    >>> rows = {"source_index": [1, 4], "target_training_index": [2, 1], "target_test_index": [3]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rand_indices.mat"
    ...     savemat(path, rows)
    ...     read_shfa_split(path, n_source=4, n_target=3).labelled
    array([1, 0])
    """
    file, source, target = Path(path), _rows(n_source, "n_source"), _rows(n_target, "n_target")
    expected = {"source_index": source, "target_training_index": target, "target_test_index": target}
    parts = read_variables(file, expected, most_bytes=MOST_BYTES)
    rows = tuple(check_content(parts[name], each, f"{show_path(file)}, {name!r}") for name, each in expected.items())
    return _split(rows, n_source, n_target, show_path(file))


def _rows(n: int, name: str) -> Expected:
    most = int(check_number(n, name, low=1, whole=True))
    return Expected((None,), "whole", low=1, high=most)


def _cells(parts: Mapping[str, Any], variable: str, field: str, each: Expected, file: str) -> list[IntArray]:
    """The arrays in a row or a column of cells that a field of a structure has."""
    structure, name = parts[variable], f"{file}, {variable!r}"
    if (kind := kind_of(structure)) != "a structure" or structure.shape != (1, 1):
        got = f"{kind} of shape {show_shape(structure.shape)}"
        raise InputError(f"{name}: expected one structure with the field {field!r}, got {got}.")
    if field not in structure.dtype.names:
        raise InputError(
            f"{name}: expected a field {field!r}, got {', '.join(map(show_path, structure.dtype.names[:8]))}."
        )
    cells, name = structure[field][0, 0], f"{name}.{field}"
    if (kind := kind_of(cells)) != "a cell array":
        raise InputError(f"{name}: expected cells of {each}, got {kind}.")
    if cells.ndim != 2 or (cells.size and 1 not in cells.shape) or cells.size > MOST_SPLITS:
        got = f"shape {show_shape(cells.shape)}"
        raise InputError(f"{name}: expected a row or a column of at most {MOST_SPLITS} cells, got {got}.")
    return [check_content(cell, each, f"{name}{{{k}}}") for k, cell in enumerate(cells.flat, start=1)]


def _split(rows: tuple[IntArray, ...], n_source: int, n_target: int, where: str) -> Split:
    for part, name in zip(rows, ("source", "labelled", "test"), strict=True):
        distinct(part, len(part), f"{where}, {name} rows")  # here, so that the message counts as the file does
        if not len(part):
            raise InputError(f"{where}: expected at least one {name} row, got none.")
    source, labelled, test = (part - 1 for part in rows)
    return published_split(source, labelled, test, n_source, n_target, where)
