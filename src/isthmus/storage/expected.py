"""What an array in somebody else's file has to be: its shape, its kind and the range of its values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._validation import choice
from isthmus.exceptions import InputError

KINDS = {"number": "numbers", "whole": "whole numbers", "text": "text"}
LARGEST_ARRAY = 2**30
"""Bytes: an array that claims more is refused before any of it is read."""


@dataclass(frozen=True)
class Expected:
    """One array of a file, as it has to be.

    Parameters
    ----------
    shape : tuple of int or None
        The length along every axis; None allows any.
    kind : {"number", "whole", "text"}
        Finite real numbers, whole numbers (read as ``intp``), or printable unicode text.
    low, high : float, optional
        The smallest and the largest value allowed.
    longest : int, optional
        How many entries there may be, where the shape leaves it open.

    Examples
    --------
    >>> str(Expected((None, 800), "number"))
    'numbers of shape (any, 800)'
    >>> str(Expected((600,), "whole", low=1, high=6))
    'whole numbers of shape (600,), from 1 to 6'
    """

    shape: tuple[int | None, ...]
    kind: str
    low: float | None = None
    high: float | None = None
    longest: int | None = None

    def __post_init__(self) -> None:
        choice(self.kind, "kind", KINDS)

    def __str__(self) -> str:
        return f"{KINDS[self.kind]} of shape {shown_shape(self.shape)}{self._range()}"

    def _range(self) -> str:
        if self.low is None and self.high is None:
            return ""
        low = "" if self.low is None else f" from {self.low:.15g}"
        high = "" if self.high is None else f" to {self.high:.15g}"
        return f",{low}{high}"

    def require_shape(self, shape: tuple[int, ...], itemsize: int, name: str) -> None:
        """Raise unless an array may have this shape and is small enough to be read, before it is."""
        fits = len(shape) == len(self.shape) and all(
            want is None or want == got for want, got in zip(self.shape, shape, strict=True)
        )
        if not fits:
            raise InputError(f"{name}: expected {self}, got shape {shown_shape(shape)}.")
        if self.longest is not None and math.prod(shape) > self.longest:
            raise InputError(f"{name}: expected at most {self.longest} entries, got shape {shown_shape(shape)}.")
        # A length of zero would hide any other length from the product.
        if itemsize * math.prod(max(n, 1) for n in shape) > LARGEST_ARRAY:
            claimed = f"{shown_shape(shape)} at {itemsize} bytes each"
            raise InputError(f"{name}: expected at most {LARGEST_ARRAY} bytes, got a claim of {claimed}.")

    def checked(self, array: NDArray[Any], name: str, *, integral_floats: bool = False) -> NDArray[Any]:
        """The array in native byte order, its values checked; its shape and dtype have been before.

        ``integral_floats`` allows whole numbers that are stored as floats, as MATLAB does.
        """
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        if self.kind == "text":
            _require_printable(array, name)
            return array
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(f"{name}: expected finite {KINDS[self.kind]}, got NaN or inf.")
        self._require_range(array, name)
        if self.kind == "whole":
            return _whole(array, name, integral_floats=integral_floats)
        return array.astype(np.float32) if array.dtype == np.float16 else array

    def _require_range(self, array: NDArray[Any], name: str) -> None:
        if not array.size:
            return
        smallest, largest = array.min().item(), array.max().item()
        if self.low is not None and smallest < self.low:
            raise InputError(f"{name}: expected {self}, got {smallest!r}.")
        if self.high is not None and largest > self.high:
            raise InputError(f"{name}: expected {self}, got {largest!r}.")


def shown_shape(shape: tuple[int | None, ...]) -> str:
    """A shape as it is written in messages.

    Examples
    --------
    >>> shown_shape((None,)), shown_shape((3, None))
    ('(any,)', '(3, any)')
    """
    if len(shape) > 8:
        return f"of {len(shape)} axes"
    lengths = ", ".join("any" if n is None else str(n) for n in shape)
    return f"({lengths},)" if len(shape) == 1 else f"({lengths})"


def _whole(array: NDArray[Any], name: str, *, integral_floats: bool) -> NDArray[Any]:
    if array.dtype.kind == "f" and not (integral_floats and (array == np.rint(array)).all()):
        raise InputError(f"{name}: expected whole numbers, got fractions.")
    largest = np.iinfo(np.intp).max
    # Compared as Python numbers: 2**63 - 1 as a float is 2**63.
    if array.size and not (-largest <= int(array.min().item()) and int(array.max().item()) <= largest):
        raise InputError(f"{name}: expected whole numbers up to {largest}, got larger ones.")
    return array.astype(np.intp, copy=False)


def _require_printable(array: NDArray[Any], name: str) -> None:
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint32).reshape(array.size, array.dtype.itemsize // 4)
    # Code points that are none make NumPy fail later, when the text is used; control characters act on terminals.
    bad = (codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))
    bad |= ((codes > 0) & (codes < 0x20)) | ((codes >= 0x7F) & (codes < 0xA0)) | (codes == 0x2028) | (codes == 0x2029)
    inner = (codes[:, :-1] == 0) & (codes[:, 1:] != 0)
    if bad.any() or inner.any():
        raise InputError(f"{name}: expected printable text, got control characters or no characters at all.")
