"""What every block of features can do, and checks of what a file says about one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from isthmus._arrays import FloatArray, Matrix
from isthmus._validation import LARGEST
from isthmus.exceptions import InputError
from isthmus.storage.files import shown
from isthmus.tables.table import Table


class Block(Protocol):
    """Some features of a table, learned and ready to be computed for other rows."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name per feature."""

    @property
    def line(self) -> str:
        """What it is, for the screen."""

    def transform(self, table: Table) -> Matrix:
        """The features (n, d) of the rows of a table."""

    def about(self) -> dict[str, Any]:
        """What is not an array, fit for JSON."""

    def arrays(self) -> dict[str, FloatArray]:
        """What was learned, as arrays of double precision."""


def strings(about: Mapping[str, Any], part: str, *, unique: bool = True) -> tuple[str, ...]:
    """A list of texts from a file."""
    found = about.get(part)
    right = isinstance(found, list) and all(isinstance(item, str) for item in found)
    if not right or (unique and len(set(found or ())) < len(found or ())):
        raise InputError(f"features, {part}: expected a list of different texts, got {shown(repr(found)[:40])}.")
    return tuple(found or ())


def flags(about: Mapping[str, Any], part: str, n: int) -> tuple[bool, ...]:
    """A list of n truth values from a file."""
    found = about.get(part)
    if not isinstance(found, list) or len(found) != n or not all(isinstance(item, bool) for item in found):
        raise InputError(f"features, {part}: expected a list of {n} truth values, got {shown(repr(found)[:40])}.")
    return tuple(found)


def count(about: Mapping[str, Any], part: str, high: int) -> int:
    """A whole number from 0 to ``high`` from a file."""
    found = about.get(part)
    if type(found) is not int or not 0 <= found <= high:
        raise InputError(f"features, {part}: expected a whole number up to {high}, got {shown(repr(found)[:40])}.")
    return found


def array(arrays: Mapping[str, Any], part: str, shape: tuple[int, ...], *, positive: bool = False) -> FloatArray:
    """A finite array of double precision and a given shape from a file."""
    found = arrays.get(part)
    if not isinstance(found, np.ndarray) or found.dtype != np.float64 or found.shape != shape:
        got = f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else "none"
        raise InputError(f"features, {part}: expected float64 of shape {shape}, got {shown(got[:80])}.")
    if not (np.abs(found) <= LARGEST).all() or (positive and not (found > 0.0).all()):
        kind = "positive numbers" if positive else "finite numbers"
        raise InputError(f"features, {part}: expected {kind} of at most {LARGEST:.0e}, got others.")
    fixed: FloatArray = found.astype(np.float64)  # native byte order, and the caller's array stays his
    fixed.setflags(write=False)
    return fixed
