"""The numbers of a figure, checked: shapes agree, and NaN stands for what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.exceptions import InputError


def array_of_shape(values: Any, name: str, shape: tuple[int, ...], like: str) -> FloatArray:
    """A float array of the shape that ``like`` asks for, the caller's own untouched; NaN allowed, infinity not."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected numbers in shape {shape} to match {like}, got something else.") from None
    if array.shape != shape:
        raise InputError(f"{name}: expected shape {shape} to match {like}, got {array.shape}.")
    if np.isinf(array).any():
        raise InputError(f"{name}: expected finite numbers, or NaN where there is none, got inf.")
    return array


def name_list(values: Sequence[Any], name: str) -> list[str]:
    """At least one name."""
    if isinstance(values, str) or len(values) == 0:
        raise InputError(f"{name}: expected a sequence of at least one name, got {values!r}.")
    return [str(value) for value in values]
