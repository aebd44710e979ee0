"""A table of scores between the rows of two collections, known by its factors; only blocks of it are written out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator

from isthmus._core.arrays import FloatArray, IntArray
from isthmus._core.validation import short_repr
from isthmus.data.domains import TwoDomains
from isthmus.geometry.common_space import DOMAINS, CommonSpace, top_k

CELLS = 4_000_000
"""Cells of a table that are held at once."""


@dataclass(frozen=True, eq=False)
class Scores:
    r""":math:`S = L R^T`: one row per row of A (n), one column per row of B (m).

    Sums, multiples, offsets per row or column, and standardisation are all of this form, with some more columns in
    the factors: a table of 20,000 by 20,000 scores is two slim arrays.

    Parameters
    ----------
    left : array (n, q)
        L.
    right : array (m, q)
        R.

    Examples
    --------
    >>> Scores(np.array([[1.0], [2.0]]), np.array([[3.0], [5.0]])).shifted(rows=np.array([0.0, 1.0])).table()
    array([[ 3.,  5.],
           [ 7., 11.]])
    """

    left: FloatArray
    right: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns (n, m)."""
        return len(self.left), len(self.right)

    def table(self) -> FloatArray:
        """All scores (n, m)."""
        return np.asarray(self.left @ self.right.T)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Some rows after others: which, and their scores."""
        n, m = self.shape
        step = max(1, CELLS // max(1, m))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, self.left[rows] @ self.right.T

    def at(self, i: IntArray, j: IntArray) -> FloatArray:
        """The scores of pairs of a row and a column."""
        return np.asarray(np.einsum("ij,ij->i", self.left[i], self.right[j]))

    def among(self, rows: IntArray, columns: IntArray) -> Scores:
        """The table of some rows and columns."""
        return Scores(self.left[rows], self.right[columns])

    def __add__(self, other: Scores) -> Scores:
        return Scores(np.hstack([self.left, other.left]), np.hstack([self.right, other.right]))

    def __rmul__(self, factor: float) -> Scores:
        return Scores(self.left.dtype.type(factor) * self.left, self.right)

    def shifted(self, rows: FloatArray | float = 0.0, columns: FloatArray | float = 0.0) -> Scores:
        """The same plus a number per row and a number per column."""
        (n, m), kind = self.shape, self.left.dtype
        left = np.stack([np.broadcast_to(rows, n), np.ones(n)], axis=1).astype(kind)
        right = np.stack([np.ones(m), np.broadcast_to(columns, m)], axis=1).astype(kind)
        return self + Scores(left, right)

    def standardised(self) -> Scores:
        """The same with mean 0 and deviation 1 over all cells; a constant table becomes zero."""
        (a, K), (b, H) = (_moments(F) for F in (self.left, self.right))
        mean = float(a @ b)
        variance = float((K * H).sum() + b @ K @ b + a @ H @ a)
        factor = 1.0 / np.sqrt(variance) if variance > 1e-12 * max(mean**2, 1e-12) else 0.0
        return (factor * self).shifted(rows=-factor * mean)


def _moments(F: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of rows. Of centred rows: a difference of two large sums would lose the spread."""
    mean = F.mean(axis=0, dtype=np.float64)
    centred = F - mean.astype(F.dtype)
    return mean, (centred.T @ centred).astype(np.float64) / len(F)


NEAR = 10
"""How many of the best scores of a row tell how much of a hub it is."""
NO_PARTNER = -50.0
"""Scores below are of candidates that are hidden or forbidden; others (without hubs, or of deviation 1) are small."""


@dataclass(frozen=True, eq=False)
class Hubness:
    """How close each row of either collection is to the other: the mean of its best scores, and the best of all."""

    rows: FloatArray
    columns: FloatArray
    best_of_rows: FloatArray
    best_of_columns: FloatArray

    @property
    def value(self) -> float:
        """The mean best score, over both collections."""
        return 0.5 * float(self.best_of_rows.mean(dtype=np.float64) + self.best_of_columns.mean(dtype=np.float64))


def measure_hubness(scores: Scores) -> Hubness:
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
    return Hubness(rows, columns.mean(axis=1), top, columns.max(axis=1))


def _largest(S: FloatArray, k: int) -> FloatArray:
    return np.asarray(np.partition(S, S.shape[1] - k, axis=1)[:, -k:])


def apply_csls(scores: Scores, crowd: Hubness | None = None) -> Scores:
    r"""Cross-domain similarity local scaling: :math:`2 S_{ij} - r_i - c_j`.

    r and c are the means of the ten best scores of a row and of a column: a row that is near to everything is no
    longer everybody's neighbour.
    """
    crowd = measure_hubness(scores) if crowd is None else crowd
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


def find_best(scores: Scores, hide: float = 0.0, rng: Generator | None = None) -> Best:
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


NEIGHBOURHOOD = 10
"""So many of the best scores make up how near a point is to everything (Conneau et al. 2018)."""
CELLS_PER_BLOCK = 2**21
"""Scores that are held at once."""
SAMPLE = 1000
"""So many rows per domain are kept to tell by whether a point is near to everything."""


class Scored(Protocol):
    """What knows the similarities of points: a common space, or a measure."""

    def scores(self, queries: FloatArray, references: FloatArray) -> FloatArray:
        """All similarities (n, m), the larger the nearer."""
        ...


@short_repr
@dataclass(frozen=True, eq=False)
class Background:
    """Some points of either domain, against which it is measured how near others are to everything.

    That a row's rank does not depend on which other rows are asked for at the same time, they are rows of the fit.
    """

    source: FloatArray
    target: FloatArray

    @classmethod
    def of(cls, domains: TwoDomains, space: CommonSpace) -> Background:
        """Of rows of two domains, evenly spaced."""
        parts = []
        for name, X in zip(DOMAINS, (domains.source.X, domains.target.X), strict=True):
            rows = np.unique(np.linspace(0, X.shape[0] - 1, min(SAMPLE, X.shape[0])).astype(np.intp))
            parts.append(space.embed(X[rows], name))
        return cls(*parts)

    def hubs(self, space: CommonSpace, points: FloatArray, domain: str) -> FloatArray:
        """How near each point is to a domain as a whole."""
        return hub_scores(space, points, self.source if domain == "source" else self.target)


def hub_scores(space: Scored, points: FloatArray, others: FloatArray, n: int = NEIGHBOURHOOD) -> FloatArray:
    """How near each point (m,) is to the other domain: the mean of its n best scores there."""
    return np.concatenate([_best(scores, n) for scores in _blocks(space, points, others)])


def rank_neighbours(
    space: Scored, queries: FloatArray, references: FloatArray, k: int, hubs: FloatArray | None = None
) -> tuple[FloatArray, IntArray]:
    r"""The k best references for each query, best first: scores and numbers, both (n, k).

    .. math:: s(q, r), \quad\text{or}\quad 2\, s(q, r) - h(q) - h(r), \qquad
              h = \text{mean of the ten best scores}

    Parameters
    ----------
    space : CommonSpace
        What s is: inner products, or minus half the squared distances.
    queries, references : array (n, d), (m, d)
        Points.
    k : int
        How many.
    hubs : array (m,), optional
        h of the references, as :func:`hub_scores` has it.

    Examples
    --------
    >>> from isthmus.geometry.spaces import FeatureSpace
    >>> space = CommonSpace(FeatureSpace(1), FeatureSpace(1), np.ones((2, 1)))
    >>> references, hubs = np.array([[0.0], [1.0]]), np.array([0.0, 0.9])
    >>> rank_neighbours(space, np.array([[0.6]]), references, 1, hubs)[1]
    array([[0]])
    """
    scores, numbers = [], []
    for S in _blocks(space, queries, references):
        if hubs is not None:
            own = _best(S, NEIGHBOURHOOD)
            S *= 2.0
            S -= own[:, None]
            S -= hubs[None, :]
        found = top_k(S, k)
        scores.append(found[0])
        numbers.append(found[1])
    return np.concatenate(scores), np.concatenate(numbers)


def _best(S: FloatArray, n: int) -> FloatArray:
    """The mean of the n largest of each row."""
    k = min(n, S.shape[1])
    return np.asarray(np.partition(S, -k, axis=1)[:, -k:].mean(axis=1))


def _blocks(space: Scored, A: FloatArray, B: FloatArray) -> Iterator[FloatArray]:
    """The scores of some rows of A after the other, never more than :data:`CELLS_PER_BLOCK` at once."""
    height = max(1, CELLS_PER_BLOCK // max(len(B), 1))
    for start in range(0, len(A), height):
        yield space.scores(A[start : start + height], B)
