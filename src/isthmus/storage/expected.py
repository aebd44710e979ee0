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
DTYPES = {"number": "fiu", "whole": "iu", "text": "U"}
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
    low, high : float
        The smallest and the largest value allowed.

    Examples
    --------
    >>> str(Expected((None, 800), "number"))
    'numbers of shape (any, 800)'
    >>> str(Expected((600,), "whole", low=1, high=6))
    'whole numbers of shape (600,), from 1 to 6'
    """

    shape: tuple[int | None, ...]
    kind: str
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        choice(self.kind, "kind", KINDS)

    def __str__(self) -> str:
        limits = {"from": self.low, "to": self.high}
        said = "".join(f" {word} {limit:.15g}" for word, limit in limits.items() if math.isfinite(limit))
        return f"{KINDS[self.kind]} of shape {shown_shape(self.shape)}{',' * bool(said)}{said}"

    def require(self, dtype: np.dtype[Any], shape: tuple[int, ...], name: str) -> None:
        """Raise unless an array may be of this type and shape, and is small enough to be read; before it is."""
        if dtype.kind not in DTYPES[self.kind] or not dtype.itemsize or (dtype.kind == "f" and dtype.itemsize > 8):
            objects = " (objects are never unpickled)" if dtype.hasobject else ""
            raise InputError(f"{name}: expected {self}, got type {dtype.str[1:41]!r}{objects}.")
        self.require_shape(shape, dtype.itemsize, name)

    def require_shape(self, shape: tuple[int, ...], itemsize: int, name: str) -> None:
        """The same for an array whose type is known to be right."""
        axes = zip(self.shape, shape, strict=False)
        if len(shape) != len(self.shape) or any(want not in (None, got) or got < 0 for want, got in axes):
            raise InputError(f"{name}: expected {self}, got shape {shown_shape(shape)}.")
        # A length of zero would hide any other length from the product.
        if itemsize * math.prod(max(n, 1) for n in shape) > LARGEST_ARRAY:
            claim = f"{shown_shape(shape)} at {itemsize} bytes each"
            raise InputError(f"{name}: expected at most {LARGEST_ARRAY} bytes, got a claim of {claim}.")

    def checked(self, array: NDArray[Any], name: str) -> NDArray[Any]:
        """The array in native byte order, its values checked; its shape and type have been before."""
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        if self.kind == "text":
            if not _is_printable(array):
                raise InputError(f"{name}: expected printable text, got other characters, or none at all.")
            return array
        if not np.isfinite(array).all():
            raise InputError(f"{name}: expected finite {KINDS[self.kind]}, got NaN or inf.")
        most = min(self.high, np.iinfo(np.intp).max) if self.kind == "whole" else self.high
        for extreme in (array.min().item(), array.max().item()) if array.size else ():
            if not self.low <= extreme <= most:
                raise InputError(f"{name}: expected {self}, got {extreme!r}.")
        if self.kind == "whole":
            if array.dtype.kind == "f" and (array != np.rint(array)).any():
                raise InputError(f"{name}: expected whole numbers, got fractions.")
            return array.astype(np.intp, copy=False)
        return array.astype(np.float32) if array.dtype == np.float16 else array


def shown_shape(shape: tuple[int | None, ...]) -> str:
    """A shape as it is written in messages.

    Examples
    --------
    >>> shown_shape((None,)), shown_shape((3, None))
    ('(any,)', '(3, any)')
    """
    text = str(shape).replace("None", "any")
    return text if len(text) <= 80 else f"{text[:80]}…"


def _is_printable(array: NDArray[Any]) -> bool:
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint32).astype("<u4")
    try:
        text = codes[codes > 0].tobytes().decode("utf-32-le")
    except UnicodeDecodeError:  # code points that are none: NumPy would fail over them later
        return False
    inner = len(text) != np.char.str_len(array).sum()  # lengths are without the NULs at the end
    return text.isprintable() and not inner
