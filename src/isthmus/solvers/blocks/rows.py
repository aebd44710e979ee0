"""Many rows, a block at a time: what the solver asks of whoever holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.exceptions import InputError

BLOCK = 2048
"""Rows that are worked on at once: their products stay in the cache."""


class Rows(Protocol):
    """Rows (n, d), each with a code that says what is asked of it: a class, as a rule."""

    @property
    def n(self) -> int:
        """How many rows there are."""

    @property
    def d(self) -> int:
        """How many columns they have."""

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[FloatArray, IntArray]]:
        """All rows and their codes, a block of at most ``size`` at a time, in one order."""

    def sample(self, n: int, random: np.random.Generator) -> Rows:
        """About n different rows at random, in memory, of each code its share; all rows if there are no more."""


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows in an array or a memory map, of single or double precision; nothing is copied but what is drawn.

    Parameters
    ----------
    X : array or memory map (n, d)
        The rows.
    codes : array (n,)
        A number from 0 for each.

    Examples
    --------
    >>> rows = ArrayRows(np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 0, 1, 1]))
    >>> [len(X) for X, codes in rows.blocks(4)]
    [4, 2]
    >>> rows.sample(3, np.random.default_rng(0)).codes
    array([0, 0, 1])
    """

    X: Any
    codes: Any

    def __post_init__(self) -> None:
        if np.ndim(self.X) != 2 or np.asarray(self.X[:0]).dtype.kind != "f":
            raise InputError(f"X: expected a two-dimensional array of floats, got {np.ndim(self.X)} dimension(s).")
        if np.shape(self.codes) != (len(self.X),) or np.asarray(self.codes[:0]).dtype.kind not in "iu":
            raise InputError(
                f"codes: expected a whole number for each of {len(self.X)} rows, got {self.codes!r:.60}."
            )

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.X)

    @property
    def d(self) -> int:
        """How many columns they have."""
        return int(self.X.shape[1])

    def require_codes(self, n_codes: int) -> None:
        """Raise unless every code is one of so many."""
        codes = np.asarray(self.codes)
        if len(codes) and not 0 <= codes.min() <= codes.max() < n_codes:
            raise InputError(f"codes: expected numbers from 0 to {n_codes - 1}, got {codes.min()} to {codes.max()}.")

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[FloatArray, IntArray]]:
        """Views of the rows and of their codes."""
        for start in range(0, self.n, size):
            part = slice(start, start + size)
            yield np.asarray(self.X[part]), np.asarray(self.codes[part])

    def sample(self, n: int, random: np.random.Generator) -> ArrayRows:
        """About n rows, in their order: of each code its share, and at least one."""
        if n >= self.n:
            return self
        codes = np.asarray(self.codes)
        order = np.argsort(codes, kind="stable")
        runs = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
        drawn = [random.choice(run, max(1, round(n * len(run) / self.n)), replace=False) for run in runs]
        chosen = np.sort(np.concatenate(drawn))
        return ArrayRows(np.ascontiguousarray(self.X[chosen]), codes[chosen])
