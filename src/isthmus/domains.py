"""Two collections of rows, one set of classes: what the user gave, checked and with labels as codes."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import IntArray, Matrix
from isthmus._validation import length, matrix, ordinary
from isthmus.exceptions import InputError

UNLABELLED = -1
"""The code, and one of the user's marks, of a row without a label."""


@dataclass(frozen=True, eq=False)
class Domain:
    """One collection: rows X (n, d), label codes y (n,) with -1 for none, and the names of its columns."""

    X: Matrix
    y: IntArray
    columns: tuple[str, ...] | None = None

    @property
    def labelled(self) -> IntArray:
        """The numbers of the labelled rows."""
        return np.flatnonzero(self.y != UNLABELLED)


@dataclass(frozen=True, eq=False)
class TwoDomains:
    """A source and a target, with the classes that their codes count through, and what is known of them as pairs."""

    source: Domain
    target: Domain
    classes: NDArray[Any]
    """The classes (C,), sorted."""
    pairs: IntArray | None = None
    """Numbers of source and target rows (m, 2) that are the same object."""


@dataclass(frozen=True, eq=False)
class Split:
    """Which rows of a source domain and of a target domain take which part, as row numbers."""

    source: IntArray
    """Rows of the source, all of them labelled."""
    labelled: IntArray
    """Rows of the target that are learned from with their label."""
    unlabelled: IntArray
    """Rows of the target that are learned from without it."""
    test: IntArray
    """Rows of the target that are held out."""


def two_domains(X_source: Any, y_source: Any, X_target: Any, y_target: Any, pairs: Any = None) -> TwoDomains:
    """Check the arguments of ``fit`` and turn labels of any type into codes.

    Examples
    --------
    >>> domains = two_domains([[0.0], [1.0]], ["cat", "dog"], [[5.0, 6.0], [7.0, 8.0]], ["dog", None])
    >>> domains.target.y, domains.classes
    (array([ 1, -1]), array(['cat', 'dog'], dtype=object))
    """
    Xs, Xt = (ordinary(matrix(X, name), name) for X, name in ((X_source, "X_source"), (X_target, "X_target")))
    length(as_labels(y_source, "y_source"), Xs.shape[0], "y_source", "X_source")
    yt = as_labels(y_target, "y_target")
    length(yt, Xt.shape[0], "y_target", "X_target")
    ys, classes = encoded_classes(y_source, "y_source")
    source = Domain(Xs, ys)
    target = Domain(Xt, encoded(yt, classes, "y_target"))
    if not len(target.labelled):
        raise InputError(f"y_target: expected at least one labelled row, got none among {len(yt)}.")
    return TwoDomains(source, target, classes, None if pairs is None else as_pairs(pairs, len(ys), len(yt)))


def as_pairs(pairs: Any, n_source: int, n_target: int) -> IntArray:
    """Pairs of row numbers (m, 2): of the source, and of the target."""
    P = np.asarray(pairs)
    if P.ndim != 2 or P.shape[1] != 2 or not len(P) or P.dtype.kind not in "iu":
        raise InputError(f"pairs: expected whole row numbers (m, 2), got {P.dtype} of shape {P.shape}.")
    for rows, n, name in zip(P.T, (n_source, n_target), ("source", "target"), strict=True):
        if rows.min() < 0 or rows.max() >= n:
            bad = rows[(rows < 0) | (rows >= n)][0]
            raise InputError(f"pairs: expected {name} rows from 0 to {n - 1}, got {bad}.")
    return P.astype(np.intp)


def encoded_classes(y: Any, name: str) -> tuple[IntArray, NDArray[Any]]:
    """The codes of labels, of which none may be missing, and the classes that they count through."""
    labels = as_labels(y, name)
    if (missing := is_unlabelled(labels)).any():
        raise InputError(
            f"{name}: expected a label for every row (-1, None and NaN mean none), got {missing.sum()} without."
        )
    try:
        classes = np.unique(labels)
    except TypeError:
        raise InputError(f"{name}: expected labels of one sortable type, got a mixture.") from None
    return encoded(labels, classes, name), classes


def encoded(y: NDArray[Any], classes: NDArray[Any], name: str) -> IntArray:
    """Labels as positions in ``classes``, -1 for rows without one."""
    codes = {label: code for code, label in enumerate(classes.tolist())}
    values, missing = y.tolist(), is_unlabelled(y)
    unknown = sorted({str(v) for v, m in zip(values, missing, strict=True) if not m and v not in codes})
    if unknown:
        known = ", ".join(str(label) for label in classes[:5])
        raise InputError(
            f"{name}: expected only classes of the source ({known}{', …' if len(classes) > 5 else ''}), "
            f"got {', '.join(unknown[:5])}."
        )
    return np.array([UNLABELLED if m else codes[v] for v, m in zip(values, missing, strict=True)], dtype=np.intp)


def is_unlabelled(y: Any) -> NDArray[np.bool_]:
    """Which labels are marks for "none": -1, None, NaN, pandas' NA, and the string "-1"."""
    array = as_labels(y, "y")
    if array.dtype.kind in "iu":
        return np.asarray(array == UNLABELLED)
    return np.array([_means_none(value) for value in array.tolist()], dtype=bool)


def _means_none(value: Any) -> bool:
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, numbers.Real):
        return bool(value == UNLABELLED or value != value)  # only NaN differs from itself
    return isinstance(value, str) and value == str(UNLABELLED)


def as_labels(y: Any, name: str) -> NDArray[Any]:
    """Labels as a one-dimensional array, without turning numbers among strings into strings."""
    if y is None:
        raise InputError(f"{name}: expected one label per row, got None.")
    try:
        values = y.to_numpy() if hasattr(y, "to_numpy") else y
        array = np.asarray(values, dtype=object if isinstance(y, list | tuple) else None)
    except ValueError:
        raise InputError(f"{name}: expected one label per row, got rows of unequal length.") from None
    if array.ndim != 1:
        raise InputError(f"{name}: expected a one-dimensional array, got shape {array.shape}.")
    if array.dtype.kind == "O" and any(isinstance(v, list | tuple | dict | set | np.ndarray) for v in array):
        raise InputError(f"{name}: expected one label per row, got a row with several.")
    if array.dtype.kind == "O" and all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in array):
        return np.asarray(array.tolist())
    return array
