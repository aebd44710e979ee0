"""Labels of any type as codes, with a mark for rows that have none."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._core.arrays import IntArray
from isthmus.exceptions import InputError

UNLABELLED = -1
"""The code, and one of the user's marks, of a row without a label."""


def encode_all(y: Any, name: str) -> tuple[IntArray, NDArray[Any]]:
    """The codes of labels, of which none may be missing, and the classes that they count through."""
    labels = as_labels(y, name)
    if (missing := is_unlabelled(labels)).any():
        raise InputError(
            f"{name}: expected a label for every row (-1, None and NaN mean none), got {missing.sum()} without."
        )
    classes = _sorted_classes(labels, name)
    return encode(labels, classes, name), classes


def encode_both(
    both: tuple[NDArray[Any], NDArray[Any]], names: tuple[str, str]
) -> tuple[tuple[IntArray, IntArray], NDArray[Any]]:
    """The codes of two sets of labels, any of which may be missing, and the classes of both together."""
    known = [y[~is_unlabelled(y)].tolist() for y in both]
    values = as_labels([value for part in known for value in part], names[0])
    classes = _sorted_classes(values, " and ".join(names))
    first, second = (encode(y, classes, name) for y, name in zip(both, names, strict=True))
    return (first, second), classes


def _sorted_classes(labels: NDArray[Any], name: str) -> NDArray[Any]:
    try:
        return np.unique(labels)
    except TypeError:
        raise InputError(f"{name}: expected labels of one sortable type, got a mixture.") from None


def encode(y: NDArray[Any], classes: NDArray[Any], name: str) -> IntArray:
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
    return np.array([_is_missing(value) for value in array.tolist()], dtype=bool)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, numbers.Real):
        return bool(value == UNLABELLED or value != value)  # only NaN differs from itself
    return isinstance(value, str) and value == str(UNLABELLED)


def as_labels(y: Any, name: str, kind: str = "label") -> NDArray[Any]:
    """Labels, or what ``kind`` calls them, as a one-dimensional array: numbers among strings stay numbers."""
    if y is None:
        raise InputError(f"{name}: expected one {kind} per row, got None.")
    try:
        values = y.to_numpy() if hasattr(y, "to_numpy") else y
        array = np.asarray(values, dtype=object if isinstance(y, list | tuple) else None)
    except ValueError:
        raise InputError(f"{name}: expected one {kind} per row, got rows of unequal length.") from None
    if array.ndim != 1:
        raise InputError(f"{name}: expected a one-dimensional array, got shape {array.shape}.")
    if array.dtype.kind == "O" and any(isinstance(v, list | tuple | dict | set | np.ndarray) for v in array):
        raise InputError(f"{name}: expected one {kind} per row, got a row with several.")
    if array.dtype.kind == "O" and all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in array):
        return np.asarray(array.tolist())
    if array.dtype.kind == "O" and any(isinstance(v, np.str_ | np.bool_ | np.number) for v in array):
        plain = [v.item() if isinstance(v, np.str_ | np.bool_ | np.number) else v for v in array]
        return np.array([*plain, None], dtype=object)[:-1]  # None: or NumPy would look into strings
    return array
