"""What a split can take: so many rows of a class, when there may not be enough of them, and one row per object."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import length
from isthmus.domains import as_labels
from isthmus.exceptions import InputError


class Supply(NamedTuple):
    """What there is of a class: rows of the source, rows of the target, and objects that are in both."""

    source: int
    target: int
    shared: int


class Quota(NamedTuple):
    """What is taken of a class."""

    source: int
    labelled: int
    unlabelled: int


def quota(supply: Supply, wanted: Quota) -> Quota | None:
    """As much of what is wanted as the class allows, or None where it can't fill every part with one row.

    One row is left for the test, one object is for the source and one row is labelled in any case. What is left
    goes to the labelled rows, then to the source, then to the unlabelled rows.

    Examples
    --------
    >>> wanted = Quota(source=20, labelled=1, unlabelled=20)
    >>> quota(Supply(source=100, target=100, shared=100), wanted) == wanted
    True
    >>> quota(Supply(source=12, target=15, shared=0), wanted)
    Quota(source=12, labelled=1, unlabelled=13)
    >>> quota(Supply(source=30, target=30, shared=30), wanted)
    Quota(source=20, labelled=1, unlabelled=8)
    >>> quota(Supply(source=2, target=2, shared=2), wanted) is None
    True
    """
    own = supply.source - supply.shared  # source rows that the target does not miss
    first = 0 if own else 1
    if supply.source < 1 or supply.target - first < 2:
        return None
    labelled = min(wanted.labelled, supply.target - first - 1)
    source = min(wanted.source, own + min(supply.shared, supply.target - labelled - 1))
    left = supply.target - max(0, source - own) - labelled - 1
    return Quota(source, labelled, min(wanted.unlabelled, left))


def numbered(source: Any, target: Any, n_source: int, n_target: int) -> tuple[IntArray, IntArray] | None:
    """Objects of any type as numbers that count through both domains."""
    if source is None and target is None:
        return None
    if source is None or target is None:
        missing = "objects_source" if source is None else "objects_target"
        raise InputError(f"{missing}: expected the objects of both domains or of neither, got None.")
    source = as_labels(source, "objects_source", "object")
    target = as_labels(target, "objects_target", "object")
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
