"""Many rows, a block at a time: what the solver asks of whoever holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from isthmus._arrays import FloatArray, IntArray, Matrix, is_sparse
from isthmus._threads import summed
from isthmus._validation import short_repr
from isthmus.exceptions import InputError
from isthmus.solvers.blocks.drawing import Draw, code_counts, drawn

BLOCK = 2048
"""Rows that are worked on at once: their products stay in the cache."""


class Share(Protocol):
    """What a block of rows adds to a sum: a value that can be sent to where the rows are."""

    def __call__(self, X: Matrix, codes: IntArray, /) -> tuple[FloatArray, ...]:
        """Arrays whose shapes are the same for every block, however few rows it has."""


class Rows(Protocol):
    """Rows (n, d), each with a code that says what is asked of it: a class, as a rule."""

    @property
    def n(self) -> int:
        """How many rows there are."""

    @property
    def d(self) -> int:
        """How many columns they have."""

    def total(self, share: Share) -> tuple[FloatArray, ...]:
        """The sum of all blocks' shares in double precision, made where the rows are; in every run the same."""

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[Matrix, IntArray]]:
        """All rows and their codes, a block of at most ``size`` at a time, in one order."""

    def sample(self, n: int, random: np.random.Generator) -> Rows:
        """About n different rows at random, of each code its share; all rows if there are no more.

        They are those of a :class:`~isthmus.solvers.blocks.drawing.Draw`: the same rows whoever holds them.
        """


@short_repr
@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows in an array or a memory map, of single or double precision; nothing is copied but what is drawn.

    Sums are made by as many threads as BLAS may use (:mod:`isthmus._threads`).

    Parameters
    ----------
    X : array, memory map or CSR matrix (n, d)
        The rows.
    codes : array (n,), optional
        A number from 0 for each; unless given, nothing tells them apart and it is 0.

    Examples
    --------
    >>> rows = ArrayRows(np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 0, 1, 1]))
    >>> [len(X) for X, codes in rows.blocks(4)]
    [4, 2]
    >>> rows.sample(3, np.random.default_rng(0)).codes
    array([0, 0, 1])
    """

    X: Any
    codes: Any = None

    def __post_init__(self) -> None:
        shape, dtype = np.shape(self.X), getattr(self.X, "dtype", None)
        form = self.X.format if is_sparse(self.X) else None
        if len(shape) != 2 or dtype is None or dtype.kind != "f" or form not in (None, "csr"):
            kind = type(self.X).__name__ if dtype is None else f"{dtype}{f' in {form.upper()}' if form else ''}"
            raise InputError(
                f"X: expected a two-dimensional array of floats, or a CSR matrix, got {kind} of shape {shape}."
            )
        if self.codes is None:
            object.__setattr__(self, "codes", np.broadcast_to(np.uint8(0), shape[:1]))
        if np.shape(self.codes) != shape[:1] or np.asarray(self.codes[:0]).dtype.kind not in "iu":
            raise InputError(f"codes: expected a whole number for each of {shape[0]} rows, got {self.codes!r:.60}.")

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """How many columns they have."""
        return int(self.X.shape[1])

    def require_codes(self, n_codes: int) -> None:
        """Raise unless every code is one of so many."""
        codes = np.asarray(self.codes)
        if len(codes) and not 0 <= codes.min() <= codes.max() < n_codes:
            raise InputError(f"codes: expected numbers from 0 to {n_codes - 1}, got {codes.min()} to {codes.max()}.")

    def total(self, share: Share) -> tuple[FloatArray, ...]:
        """In a few threads."""
        return summed(lambda start: share(*self._part(start, BLOCK)), range(0, max(1, self.n), BLOCK))

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[Matrix, IntArray]]:
        """Views of the rows and of their codes."""
        for start in range(0, self.n, size):
            yield self._part(start, size)

    def _part(self, start: int, size: int) -> tuple[Matrix, IntArray]:
        part = slice(start, start + size)
        X = self.X[part]
        return X if is_sparse(X) else np.asarray(X), np.asarray(self.codes[part])

    def sample(self, n: int, random: np.random.Generator) -> ArrayRows:
        """About n rows, in their order: of each code its share, and at least one."""
        if n >= self.n:
            return self
        counts = code_counts(self.codes)
        draw = Draw(counts, n, int(random.integers(2**63)))
        return ArrayRows(*drawn(self.X, self.codes, draw, np.zeros_like(counts)))
