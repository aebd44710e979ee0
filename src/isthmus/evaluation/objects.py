"""Which rows are descriptions of one object, in one domain or in both."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import length
from isthmus.exceptions import InputError


def numbered(source: Any, target: Any, n_source: int, n_target: int) -> tuple[IntArray, IntArray] | None:
    """Objects of any type as numbers that count through both domains."""
    if source is None and target is None:
        return None
    if source is None or target is None:
        missing = "objects_source" if source is None else "objects_target"
        raise InputError(f"{missing}: expected the objects of both domains or of neither, got None.")
    source, target = np.asarray(source), np.asarray(target)
    length(source, n_source, "objects_source", "y_source")
    length(target, n_target, "objects_target", "y_target")
    numbers: dict[Any, int] = {}
    coded = [numbers.setdefault(value, len(numbers)) for value in [*source.tolist(), *target.tolist()]]
    return np.array(coded[:n_source], dtype=np.intp), np.array(coded[n_source:], dtype=np.intp)


def check_one_class(objects: IntArray, y: IntArray) -> None:
    """Raise where an object has rows of two classes."""
    first = np.empty(objects.max() + 1, dtype=np.intp)
    first[objects] = y
    if (other := np.flatnonzero(first[objects] != y)).size:
        a, b = sorted((int(y[other[0]]), int(first[objects[other[0]]])))
        raise InputError(f"objects: expected every object to be of one class, got one of classes {a} and {b}.")


def one_row_per_object(lots: FloatArray, objects: IntArray) -> IntArray:
    """Rows in the order of their lots, of each object the first."""
    order = np.argsort(lots, kind="stable")
    _, first = np.unique(objects[order], return_index=True)
    return np.asarray(order[np.sort(first)], dtype=np.intp)
