"""Labels that lie in partitions: the classes of all from those of each, and codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import IntArray
from isthmus.domains.labels import is_unlabelled
from isthmus.exceptions import InputError


def distinct(y: NDArray[Any], name: str) -> NDArray[Any]:
    """The different labels of a partition, sorted.

    Examples
    --------
    >>> distinct(np.array(["b", "a", "b"]), "y")
    array(['a', 'b'], dtype='<U1')
    """
    y = np.asarray(y)
    missing = int(is_unlabelled(y).sum())
    if missing:
        raise InputError(
            f"{name}: expected a label for every row (-1, None and NaN mean none), got {missing} without."
        )
    try:
        return np.unique(y)
    except TypeError:
        raise InputError(f"{name}: expected labels of one sortable type, got a mixture.") from None


def united(parts: Sequence[NDArray[Any]], name: str) -> NDArray[Any]:
    """The different labels of all partitions, sorted.

    Examples
    --------
    >>> united([np.array([1, 3]), np.array([2, 3])], "y")
    array([1, 2, 3])
    """
    return distinct(np.concatenate(parts), name)


def codes_of(y: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """The place of each label among the classes, as a small whole number.

    Examples
    --------
    >>> codes_of(np.array(["b", "a"]), np.array(["a", "b"]))
    array([1, 0], dtype=uint8)
    """
    return np.searchsorted(classes, np.asarray(y)).astype(np.min_scalar_type(len(classes)))
