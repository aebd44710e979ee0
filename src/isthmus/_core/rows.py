"""Rows in blocks: sums over many rows that are never held in one place, and random samples of them.

A sample is drawn by row numbers: the same rows whoever holds them, and in however many parts. The rows of a code are
cut into as many runs as rows are wanted, from a random row on and around the end, and of each run one row is drawn.
So every row is equally likely, and each part can compute which of its own rows are drawn from three numbers per code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from isthmus._core.threads import sum_over_items
from isthmus._core.validation import FloatArray, IntArray, Matrix, ShortRepr, is_sparse
from isthmus.exceptions import InputError

# Rows that are worked on at once: their products stay in the cache.
BLOCK = 2048


class Share(Protocol):
    """A function of a block of rows, to be summed over all blocks, that can be sent to where the rows are."""

    def __call__(self, X: Matrix, codes: IntArray, /) -> tuple[FloatArray, ...]:
        """Return arrays whose shapes are the same for every block, however few rows it has."""


@runtime_checkable
class Rows(Protocol):
    """Rows (n, d) of which blocks, samples and sums over blocks can be computed, each with a code, such as its class.

    Arrays, memory maps and CSR matrices (:class:`ArrayRows`), Parquet files and Dask arrays are such rows.
    """

    @property
    def n(self) -> int:
        """The number of rows."""

    @property
    def d(self) -> int:
        """The number of columns."""

    def total(self, share: Share) -> tuple[FloatArray, ...]:
        """Return the sum of all blocks' shares in double precision, computed where the rows are."""

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[Matrix, IntArray]]:
        """Yield all rows and their codes, a block of at most ``size`` at a time, in one order."""

    def sample(self, n: int, random: np.random.Generator) -> Rows:
        """Return about n different rows at random, of each code its share; all rows if there are no more.

        They are those of a :class:`~isthmus._core.rows.Draw`: the same rows whoever holds them.
        """


@dataclass(frozen=True, eq=False, repr=False)
class ArrayRows(ShortRepr):
    """Rows in an array or a memory map, of single or double precision; nothing is copied but what is drawn.

    Sums are made by as many threads as BLAS may use (:mod:`isthmus._core.threads`).

    Parameters
    ----------
    X : array, memory map or CSR matrix (n, d)
        The rows.
    codes : array (n,), optional
        A number from 0 for each; 0 for all unless given.

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
            raise InputError(f"X: expected a two-dimensional array or CSR of floats, got {kind} of shape {shape}.")
        if self.codes is None:
            object.__setattr__(self, "codes", np.broadcast_to(np.uint8(0), shape[:1]))
        if np.shape(self.codes) != shape[:1] or np.asarray(self.codes[:0]).dtype.kind not in "iu":
            raise InputError(f"codes: expected a whole number for each of {shape[0]} rows, got {self.codes!r:.60}.")

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    def check_codes(self, n_codes: int) -> None:
        """Raise unless every code is below ``n_codes``."""
        codes = np.asarray(self.codes)
        if len(codes) and not 0 <= codes.min() <= codes.max() < n_codes:
            raise InputError(f"codes: expected numbers from 0 to {n_codes - 1}, got {codes.min()} to {codes.max()}.")

    def total(self, share: Share) -> tuple[FloatArray, ...]:
        """Return the sum of all blocks' shares, made in a few threads."""
        return sum_over_items(lambda start: share(*self._part(start, BLOCK)), range(0, max(1, self.n), BLOCK))

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[Matrix, IntArray]]:
        """Yield views of the rows and of their codes."""
        for start in range(0, self.n, size):
            yield self._part(start, size)

    def _part(self, start: int, size: int) -> tuple[Matrix, IntArray]:
        part = slice(start, start + size)
        X = self.X[part]
        return X if is_sparse(X) else np.asarray(X), np.asarray(self.codes[part])

    def sample(self, n: int, random: np.random.Generator) -> ArrayRows:
        """Return about n rows, in their order: of each code its share, and at least one."""
        if n >= self.n:
            return self
        counts = count_codes(self.codes)
        draw = Draw(counts, n, int(random.integers(2**63)))
        return ArrayRows(*take_sample(self.X, self.codes, draw, np.zeros_like(counts)))


# Numbers that one step of the counter makes.
AT_ONCE = 4


@dataclass(frozen=True, eq=False)
class Draw:
    """A random choice among all rows, as row numbers that each part can compute by itself.

    Parameters
    ----------
    counts : array (C,)
        The number of rows of each code.
    n : int
        How many rows are wanted: of each code its share, but at least one.
    seed : int
        The seed of all random numbers.

    Examples
    --------
    >>> draw = Draw(np.array([90, 3]), 30, seed=0)
    >>> draw.wanted
    array([29,  1])
    >>> whole, parts = draw.ranks(0, 0, 90), [draw.ranks(0, 0, 41), draw.ranks(0, 41, 90)]
    >>> len(whole), bool((whole == np.concatenate(parts)).all())
    (29, True)
    """

    counts: IntArray
    n: int
    seed: int

    @property
    def wanted(self) -> IntArray:
        """The number of rows of each code (C,) that are drawn."""
        share = np.round(self.n * (self.counts / max(1, self.counts.sum()))).astype(np.int64)
        return np.asarray(np.minimum(self.counts, np.maximum(1, share)))

    def ranks(self, code: int, start: int, stop: int) -> IntArray:
        """Return the numbers drawn from ``start`` up to ``stop``, of the rows of a code numbered among themselves."""
        N, k = int(self.counts[code]), int(self.wanted[code])
        # The runs begin at a random row: every row is equally likely, also where one run is longer than another.
        first = int(N * self._random_numbers(code, k, k + 1)[0]) if k else 0
        low, high = start + first, stop + first
        # They go around the end, so a range may lie in the first turn, in the second, or in both.
        around = [self._in_runs(code, max(0, low - turn), min(N, high - turn)) + turn for turn in (0, N)]
        return np.concatenate(around) - first

    def _in_runs(self, code: int, low: int, high: int) -> IntArray:
        """Return those from ``low`` up to ``high``, counted from the beginning of the first run."""
        if low >= high:
            return np.empty(0, dtype=np.int64)
        N, k = int(self.counts[code]), int(self.wanted[code])
        first, last = low * k // N, min(k, high * k // N + 1)
        j, (width, rest) = np.arange(first, last + 1), divmod(N, k)
        edges = j * width + j * rest // k  # j N / k, in whole numbers that are not too large
        found = edges[:-1] + (np.diff(edges) * self._random_numbers(code, first, last)).astype(np.int64)
        return np.asarray(found[(found >= low) & (found < high)])

    def _random_numbers(self, code: int, start: int, stop: int) -> FloatArray:
        """Return entries of a code's own sequence of random numbers, without making those before."""
        # Philox is a counter: any entry can be made without those before it.
        counter = np.random.Philox(key=np.array([self.seed, code], dtype=np.uint64))
        counter.advance(start // AT_ONCE)
        return np.random.Generator(counter).random(start % AT_ONCE + stop - start)[start % AT_ONCE :]


def count_codes(codes: IntArray, least: int = 0) -> IntArray:
    """Return the number of rows of each code (C,).

    Examples
    --------
    >>> count_codes(np.array([0, 2, 2], dtype=np.uint64))
    array([1, 0, 2])
    """
    return np.bincount(np.asarray(codes).astype(np.intp, copy=False), minlength=least)


def take_sample(X: Matrix, codes: IntArray, draw: Draw, before: IntArray) -> tuple[Matrix, IntArray]:
    """Return the rows of a part that are drawn, in their order, and their codes.

    Parameters
    ----------
    X : array, memory map or CSR matrix (m, d)
        The rows of the part.
    codes : array (m,)
        Their codes.
    draw : Draw
        From all rows.
    before : array (C,)
        The numbers of rows of each code in the parts before it.

    Examples
    --------
    >>> take_sample(np.eye(4), np.array([0, 1, 0, 1]), Draw(np.array([2, 2]), 2, seed=0), np.zeros(2, int))[1]
    array([0, 1])
    """
    codes = np.asarray(codes)
    counts = count_codes(codes, len(before))
    # Of small numbers sorting takes no comparisons; then the rows of a code lie side by side.
    order = np.argsort(codes.astype(np.min_scalar_type(len(counts))), kind="stable")
    # From ranks among all rows of a code to places in the sorted rows of this part.
    shift = np.cumsum(counts) - counts - before
    ranges = zip(before.tolist(), (before + counts).tolist(), strict=True)
    chosen = [draw.ranks(code, start, stop) + shift[code] for code, (start, stop) in enumerate(ranges)]
    rows = np.sort(order[np.concatenate(chosen)])
    part = X[rows]
    return part if is_sparse(part) else np.ascontiguousarray(part), codes[rows]


def sample_systematically(chance: FloatArray, codes: IntArray, random: np.random.Generator) -> IntArray:
    """Return different places at random, in rising order: each with its own chance, of each code about its share.

    Places of one code are mixed up and put one behind the other. Their chances are steps of a staircase that begins
    at a random height; a place is drawn where it passes a whole number.

    Examples
    --------
    >>> codes = np.repeat([0, 1], 50)
    >>> codes[sample_systematically(np.full(100, 0.04), codes, np.random.default_rng(0))]
    array([0, 0, 1, 1])
    """
    order = random.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    heights = np.floor(np.cumsum(chance[order]) + random.random())
    return np.sort(order[np.diff(heights, prepend=0.0) > 0.0])
