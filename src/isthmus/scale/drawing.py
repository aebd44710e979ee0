"""A random sample of rows that lie in partitions: of each code its share, from each partition its own."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import IntArray, Matrix, is_sparse

LOCAL = 50_000
"""No more rows than this are brought to one place: larger samples stay in partitions."""


def shares(counts: IntArray, n: int, random: np.random.Generator) -> IntArray:
    """How many rows of each code (P, C) to draw from each partition, about n in all: at least one of each code.

    Examples
    --------
    >>> shares(np.array([[50, 0], [50, 4]]), 52, np.random.default_rng(0)).sum(axis=0)
    array([50,  2])
    """
    of_code = counts.sum(axis=0)
    wanted = np.minimum(of_code, np.maximum(1, np.round(n * of_code / max(1, of_code.sum())))).astype(int)
    # Whole numbers whose sums are right: a staircase that begins at a random height.
    heights = np.cumsum(counts, axis=0) * (wanted / np.maximum(of_code, 1)) + random.random(counts.shape[1])
    stairs = np.minimum(np.floor(heights).astype(int), wanted)
    stairs[-1] = wanted
    drawn = np.diff(stairs, axis=0, prepend=0)
    return np.asarray(np.minimum(drawn, counts))


def drawn(X: Matrix, codes: IntArray, wanted: IntArray, seed: int) -> tuple[Matrix, IntArray]:
    """So many rows of each code, in their order.

    Examples
    --------
    >>> drawn(np.eye(4), np.array([0, 1, 0, 1]), np.array([2, 1]), seed=0)[1]
    array([0, 0, 1])
    """
    random = np.random.default_rng(seed)
    runs = [random.choice(np.flatnonzero(codes == c), k, replace=False) for c, k in enumerate(wanted) if k]
    chosen = np.sort(np.concatenate(runs)) if runs else np.empty(0, dtype=int)
    rows = X[chosen]
    return rows if is_sparse(rows) else np.ascontiguousarray(rows), codes[chosen]
