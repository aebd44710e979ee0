"""A random sample of rows, by their numbers: the same rows are drawn whoever holds them, and in how many parts.

The rows of a code are cut into as many runs as rows are wanted, from a random row on and around the end, and of each
run one row is drawn. So every row is as likely as any other, and each part of the rows can tell which of its own are
drawn from three numbers per code, without a word from the other parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray, IntArray, Matrix, is_sparse

AT_ONCE = 4
"""Numbers that one step of the counter makes."""


@dataclass(frozen=True, eq=False)
class Draw:
    """Which rows are drawn of all rows.

    Parameters
    ----------
    counts : array (C,)
        How many rows of each code there are.
    n : int
        How many rows are wanted: of each code its share, but at least one.
    seed : int
        What chance depends on.

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
        """How many rows of each code (C,) are drawn."""
        share = np.round(self.n * (self.counts / max(1, self.counts.sum()))).astype(np.int64)
        return np.asarray(np.minimum(self.counts, np.maximum(1, share)))

    def ranks(self, code: int, start: int, stop: int) -> IntArray:
        """Those drawn from ``start`` up to ``stop``, where the rows of a code are numbered among themselves."""
        N, k = int(self.counts[code]), int(self.wanted[code])
        first = int(N * self._chance(code, k, k + 1)[0]) if k else 0
        low, high = start + first, stop + first
        around = [self._in_runs(code, max(0, low - turn), min(N, high - turn)) + turn for turn in (0, N)]
        return np.concatenate(around) - first

    def _in_runs(self, code: int, low: int, high: int) -> IntArray:
        """Those from ``low`` up to ``high``, counted from the beginning of the first run."""
        if low >= high:
            return np.empty(0, dtype=np.int64)
        N, k = int(self.counts[code]), int(self.wanted[code])
        first, last = low * k // N, min(k, high * k // N + 1)
        j, (width, rest) = np.arange(first, last + 1), divmod(N, k)
        edges = j * width + j * rest // k  # j N / k, in whole numbers that are not too large
        found = edges[:-1] + (np.diff(edges) * self._chance(code, first, last)).astype(np.int64)
        return np.asarray(found[(found >= low) & (found < high)])

    def _chance(self, code: int, start: int, stop: int) -> FloatArray:
        """Numbers of a code's own row of random numbers, without those before."""
        counter = np.random.Philox(key=np.array([self.seed, code], dtype=np.uint64))
        counter.advance(start // AT_ONCE)
        return np.random.Generator(counter).random(start % AT_ONCE + stop - start)[start % AT_ONCE :]


def code_counts(codes: IntArray, least: int = 0) -> IntArray:
    """How many rows of each code there are (C,).

    Examples
    --------
    >>> code_counts(np.array([0, 2, 2], dtype=np.uint64))
    array([1, 0, 2])
    """
    return np.bincount(np.asarray(codes).astype(np.intp, copy=False), minlength=least)


def drawn(X: Matrix, codes: IntArray, draw: Draw, before: IntArray) -> tuple[Matrix, IntArray]:
    """The rows of a part that are drawn, in their order, and their codes.

    Parameters
    ----------
    X : array, memory map or CSR matrix (m, d)
        The rows of the part.
    codes : array (m,)
        Their codes.
    draw : Draw
        From all rows.
    before : array (C,)
        How many rows of each code the parts before it have.

    Examples
    --------
    >>> drawn(np.eye(4), np.array([0, 1, 0, 1]), Draw(np.array([2, 2]), 2, seed=0), np.zeros(2, int))[1]
    array([0, 1])
    """
    codes = np.asarray(codes)
    counts = code_counts(codes, len(before))
    # Of small numbers sorting takes no comparisons; then the rows of a code lie side by side.
    order = np.argsort(codes.astype(np.min_scalar_type(len(counts))), kind="stable")
    shift = np.cumsum(counts) - counts - before
    ranges = zip(before.tolist(), (before + counts).tolist(), strict=True)
    chosen = [draw.ranks(code, start, stop) + shift[code] for code, (start, stop) in enumerate(ranges)]
    rows = np.sort(order[np.concatenate(chosen)])
    part = X[rows]
    return part if is_sparse(part) else np.ascontiguousarray(part), codes[rows]


def systematic(chance: FloatArray, codes: IntArray, random: np.random.Generator) -> IntArray:
    """Different places at random, in rising order: each with its own chance, and of each code its share, about.

    Places of one code are mixed up and put one behind the other. Their chances are steps of a staircase that begins
    at a random height; a place is drawn where it passes a whole number.

    Examples
    --------
    >>> codes = np.repeat([0, 1], 50)
    >>> codes[systematic(np.full(100, 0.04), codes, np.random.default_rng(0))]
    array([0, 0, 1, 1])
    """
    order = random.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    heights = np.floor(np.cumsum(chance[order]) + random.random())
    return np.sort(order[np.diff(heights, prepend=0.0) > 0.0])
