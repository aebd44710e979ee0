"""Neighbours across two collections: scores without hubs, the best partner of each row, mutual choices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from isthmus._arrays import FloatArray, IntArray
from isthmus.matching.scores import Scores

NEAR = 10
"""How many of the best scores of a row tell how much of a hub it is."""
NO_PARTNER = -50.0
"""Scores below are of candidates that are hidden or forbidden; others (without hubs, or of deviation 1) are small."""


@dataclass(frozen=True, eq=False)
class Crowding:
    """How close each row of either collection is to the other: the mean of its best scores, and the best of all."""

    rows: FloatArray
    columns: FloatArray
    best_of_rows: FloatArray
    best_of_columns: FloatArray

    @property
    def value(self) -> float:
        """The mean best score, over both collections."""
        return 0.5 * float(self.best_of_rows.mean(dtype=np.float64) + self.best_of_columns.mean(dtype=np.float64))


def crowding(scores: Scores) -> Crowding:
    """The mean of the ten best scores in each row and each column, and the best."""
    n, m = scores.shape
    rows, top = np.empty(n, np.float32), np.empty(n, np.float32)
    k_rows, k_columns = min(NEAR, m), min(NEAR, n)
    columns = np.empty((m, 0), np.float32)
    for place, S in scores.blocks():
        best = _largest(S, k_rows)
        rows[place], top[place] = best.mean(axis=1), best.max(axis=1)
        turned = np.ascontiguousarray(S.T)
        columns = np.hstack([columns, _largest(turned, min(k_columns, turned.shape[1]))])
        columns = _largest(columns, min(k_columns, columns.shape[1]))
    return Crowding(rows, columns.mean(axis=1), top, columns.max(axis=1))


def _largest(S: FloatArray, k: int) -> FloatArray:
    return np.asarray(np.partition(S, S.shape[1] - k, axis=1)[:, -k:])


def without_hubs(scores: Scores, crowd: Crowding | None = None) -> Scores:
    r"""Cross-domain similarity local scaling: :math:`2 S_{ij} - r_i - c_j`.

    r and c are the means of the ten best scores of a row and of a column: a row that is near to everything is no
    longer everybody's neighbour.
    """
    crowd = crowding(scores) if crowd is None else crowd
    return (2.0 * scores).shifted(-crowd.rows, -crowd.columns)


@dataclass(frozen=True, eq=False)
class Best:
    """The best partner of each row of A and of each row of B, with its score."""

    of_rows: IntArray
    of_columns: IntArray
    row_scores: FloatArray
    column_scores: FloatArray

    @property
    def mutual(self) -> IntArray:
        """The rows of A whose best partner has them as its best, where there is one that can be."""
        both = self.of_columns[self.of_rows] == np.arange(len(self.of_rows))
        return np.flatnonzero(both & (self.row_scores > NO_PARTNER))


def best(scores: Scores, hide: float = 0.0, rng: Generator | None = None) -> Best:
    """The best partners; with ``hide``, among candidates of which that share is hidden at random."""
    n, m = scores.shape
    j, score = np.empty(n, np.intp), np.empty(n, np.float32)
    i, highest = np.zeros(m, np.intp), np.full(m, -np.inf, np.float32)
    for rows, S in scores.blocks():
        if hide > 0.0 and rng is not None:
            S[rng.random(S.shape, dtype=np.float32) < hide] = -np.inf
        j[rows] = S.argmax(axis=1)
        score[rows] = S[np.arange(len(S)), j[rows]]
        of_block = S.argmax(axis=0)
        found = S[of_block, np.arange(m)]
        better = found > highest
        i[better], highest[better] = of_block[better] + rows.start, found[better]
    return Best(j, i, score, highest)
