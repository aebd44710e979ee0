"""From the arrays of a file to the parts of a collection: what a reader of shapes cannot know is checked here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._core.validation import IntArray, check_length, check_matrix
from isthmus.data.domains import Domain, Split
from isthmus.exceptions import InputError


def domain(
    X: Any, y: Any, n_classes: int, where: str, *, first: int = 1, columns: Sequence[str] | None = None
) -> Domain:
    """Rows of finite float64 numbers, dense or CSR, and their classes as codes from 0.

    Parameters
    ----------
    X, y : array (n, d) or CSR, array (n,)
        The rows and their labels, numbered from ``first``.
    n_classes : int
        How many classes there are.
    where : str
        File and array, for the errors.
    first : int
        The label of the first class in the file.
    columns : sequence of str, optional
        The names of the d columns.

    Examples
    --------
    >>> domain(np.eye(3), [1, 2, 1], 2, "three.npz").y
    array([0, 1, 0])
    """
    table = check_matrix(X, where).astype(np.float64)
    return Domain(table, codes(y, table.shape[0], n_classes, where, first=first), tuple(columns) if columns else None)


def codes(y: Any, n: int, n_classes: int, where: str, *, first: int = 1) -> IntArray:
    """The labels of n rows, whole numbers from ``first``, as codes from 0."""
    labels = np.asarray(y)
    name = f"{where}, labels"
    check_length(labels, n, name, "the rows")
    last = first + n_classes - 1
    wrong = np.flatnonzero(~((labels >= first) & (labels <= last) & (labels == np.floor(labels))))
    if len(wrong):
        raise InputError(f"{name}: expected whole numbers from {first} to {last}, got {labels[wrong[0]]}.")
    return labels.astype(np.intp) - first


def distinct(ids: Any, n: int, where: str) -> NDArray[Any]:
    """One name for each of n things, none of them twice."""
    names = np.asarray(ids)
    check_length(names, n, where, "the rows")
    values, counts = np.unique(names, return_counts=True)
    if len(values) < n:
        raise InputError(f"{where}: expected every entry once, got {values[counts.argmax()]} {counts.max()} times.")
    return names


def class_names(names: Any, n_classes: int, where: str) -> tuple[str, ...]:
    """The names of the classes."""
    return tuple(str(name) for name in distinct(names, n_classes, f"{where}, classes"))


def row_numbers(rows: Any, n: int, where: str) -> IntArray:
    """Numbers of some of n rows, from 0, none of them twice."""
    numbers = distinct(rows, len(rows), where)
    outside = numbers[(numbers < 0) | (numbers >= n)]
    if len(outside):
        raise InputError(f"{where}: expected row numbers from 0 to {n - 1}, got {outside[0]}.")
    return numbers.astype(np.intp)


def published_split(source: Any, labelled: Any, test: Any, n_source: int, n_target: int, where: str) -> Split:
    """A split without unlabelled rows, as most papers publish them: no target row is in two places."""
    parts = row_numbers(source, n_source, where), row_numbers(labelled, n_target, where)
    held_out = row_numbers(test, n_target, where)
    both = np.intersect1d(parts[1], held_out)
    if len(both):
        raise InputError(f"{where}: expected test rows that are not labelled rows too, got {len(both)} in both.")
    return Split(*parts, unlabelled=np.empty(0, dtype=np.intp), test=held_out)
