"""The control of a matching: what the columns find that both collections share, without any pair or map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.preprocessing import normalize

from isthmus._core.validation import FloatArray, IntArray, Matrix, as_dense, check_matrix, is_sparse
from isthmus.geometry.similarity import normalize_precisely

TIE = 1e-9


def measure_shared_recall(A: Any, B: Any, pairs: IntArray, without: IntArray | None = None) -> float:
    r"""The share of pairs whose partner comes first by the cosine of columns that both collections have.

    .. math:: \frac{1}{p} \sum_{(i, j)} [j \in J_i] / |J_i|, \qquad J_i = \arg\max_k \cos(a_i, b_k)

    A partner that is one of several with the same cosine is found by chance, and counts as much as that.

    Parameters
    ----------
    A, B : array or sparse matrix (n, d), (m, d)
        The same columns of either collection.
    pairs : array (p, 2)
        Rows of A and of B that are the same object.
    without : array (q,), optional
        Rows of B that are no candidates.

    Examples
    --------
    >>> measure_shared_recall(np.eye(3), np.eye(3)[[1, 0, 2]], np.array([[0, 1], [1, 2]]))
    0.5
    """
    X, Z = (normalize_precisely(check_matrix(rows, name)) for rows, name in ((A, "A"), (B, "B")))
    cosines = np.asarray(as_dense(X[pairs[:, 0]] @ Z.T), dtype=np.float64)
    own = cosines[np.arange(len(pairs)), pairs[:, 1]][:, None]
    candidates = np.ones(Z.shape[0], dtype=bool)
    candidates[np.asarray([] if without is None else without, dtype=np.intp)] = False
    better, equal = (cosines > own + TIE) & candidates, (np.abs(cosines - own) <= TIE) & candidates
    return float(np.mean(~better.any(axis=1) / np.maximum(equal.sum(axis=1), 1)))


K = 10
"""Neighbours that are compared."""
BLOCK = 256
"""Queries at once."""
ROUNDING = 1e-14
"""Of a mean, relative to its size: a row that is this near to it is the mean itself."""
Score: TypeAlias = Callable[[IntArray], FloatArray]
"""The scores (q, g) of some queries, by their numbers, with every row of the gallery."""


@dataclass(frozen=True, eq=False)
class Found:
    """What queries found.

    Parameters
    ----------
    ranks : array (q,)
        Of the query's own row among the gallery, from one; rows with the same score share the mean rank.
    nearest : array (q, K) or None
        The places, within the pool, of the nearest rows without the query's own, in no order.
    """

    ranks: FloatArray
    nearest: IntArray | None


def search_gallery(score: Score, queries: IntArray, own: IntArray, pool: IntArray | None, within: IntArray) -> Found:
    """Search a gallery for the queries.

    Parameters
    ----------
    score : function
        Numbers of queries to their scores with the gallery.
    queries : array (q,)
        Their numbers.
    own : array (q,)
        The place of each query's own row in the gallery.
    pool : array (p,) or None
        The places in the gallery of the rows that neighbours are looked for among.
    within : array (q,)
        The place of each query's own row in the pool.
    """
    ranks, nearest = [], []
    for start in range(0, len(queries), BLOCK):
        part = slice(start, start + BLOCK)
        S = score(queries[part])
        rows = np.arange(len(S))
        truth = S[rows, own[part]][:, None]
        better, equal = (compare(S, truth).sum(axis=1) for compare in (np.greater, np.equal))
        ranks.append(1.0 + better + (equal - 1.0) / 2.0)
        if pool is not None:
            near = S[:, pool]
            near[rows, within[part]] = -np.inf
            nearest.append(np.argpartition(-near, K - 1, axis=1)[:, :K])
    return Found(np.concatenate(ranks), None if pool is None else np.concatenate(nearest))


def shared_neighbours(found: IntArray, wanted: IntArray) -> FloatArray:
    """The share (q,) of the wanted rows (q, K) that were found (q, K).

    Examples
    --------
    >>> shared_neighbours(np.array([[3, 1]]), np.array([[1, 2]]))
    array([0.5])
    """
    return np.asarray((found[:, :, None] == wanted[:, None, :]).any(axis=1).mean(axis=1))


def unit_rows(X: Matrix) -> Matrix:
    """Rows of length one, whatever their unit, and zero where they are zero.

    Dense ones are in single precision: enough to rank by, and half the memory.

    Examples
    --------
    >>> unit_rows(np.array([[3e-200, 4e-200], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    if is_sparse(X):
        return normalize(X.astype(np.float64, copy=False))
    # Squares of the features themselves may be too large or too small, and scikit-learn takes tiny rows for zero.
    largest = np.maximum(X.max(axis=1), -X.min(axis=1)).astype(np.float64)[:, None]
    U = X / np.where(largest > 0.0, largest, 1.0)
    U /= np.maximum(np.sqrt(np.einsum("ij,ij->i", U, U)), 1.0)[:, None]
    return U.astype(np.float32)


def unit_directions(X: Matrix, origin: FloatArray) -> FloatArray:
    """Rows of length one that point from the origin (d,) to the rows X; zero where the two differ by rounding."""
    D = as_dense(X) - origin
    D[np.abs(D).max(axis=1) <= ROUNDING * np.abs(origin).max()] = 0.0
    return np.asarray(unit_rows(D))


def inner_products(Q: Matrix, G: Matrix) -> FloatArray:
    """Of rows, dense or sparse, with rows: (q, g)."""
    S = (G @ Q.T).T if is_sparse(G) else Q @ G.T
    return np.asarray(S.toarray() if is_sparse(S) else S)
