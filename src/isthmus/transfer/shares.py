"""Shares of the classes among the unlabelled target rows: equal, the source's, given, or estimated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import choice
from isthmus.exceptions import InputError

WORDS = ("auto", "uniform", "source", "estimated")
SMALLEST = 0.01
"""No class has a smaller share than this part of an equal one: what is assumed away can't be found."""


def checked_shares(shares: Any) -> str | FloatArray:
    """The parameter ``shares``: one of the words, or numbers (C,) that are not yet scaled."""
    if isinstance(shares, str):
        return choice(shares, "shares", WORDS)
    try:
        array = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"shares: expected one of {', '.join(WORDS)} or numbers, got {shares!r:.60}.") from None
    if array.ndim != 1 or not len(array) or not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise InputError(f"shares: expected a share of at least 0 per class, not all 0, got {shares!r:.60}.")
    return array


def assumed(shares: str | FloatArray, ys: IntArray, classes: NDArray[Any]) -> FloatArray:
    """Shares (C,) that sum to one, before anything is estimated.

    A class that the source lacks gets an equal share where the shares are the source's.

    Examples
    --------
    >>> assumed("source", np.array([0, 0, 0, 1]), np.array(["a", "b", "c"])).round(2)
    array([0.5 , 0.17, 0.33])
    """
    C = len(classes)
    if not isinstance(shares, str):
        if len(shares) != C:
            raise InputError(f"shares: expected a share for each of {C} classes, got {len(shares)}.")
        return floored(shares)
    if shares != "source":
        return np.full(C, 1.0 / C)
    counts = np.bincount(ys[ys >= 0], minlength=C).astype(float)
    lacking = counts == 0
    counts[lacking] = counts[~lacking].mean()
    return floored(counts)


def floored(shares: FloatArray) -> FloatArray:
    """Shares that sum to one, none of them too small to be found."""
    scaled = np.maximum(shares / shares.sum(), SMALLEST / len(shares))
    return np.asarray(scaled / scaled.sum())
