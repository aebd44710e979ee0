"""Each row's best partners in the other collection, found block by block, and the means of these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.matching.neighbours import NO_PARTNER
from isthmus.matching.preparation import unit
from isthmus.matching.scores import Scores

PARTNERS = 20
"""Rows in a barycentre, where either collection has four times as many."""


@dataclass(frozen=True, eq=False)
class Partners:
    """The k best partners of each row of A, and of each row of B, with their scores; in no order.

    Parameters
    ----------
    of_rows, row_scores : array (n, k)
        Rows of B.
    of_columns, column_scores : array (m, k)
        Rows of A.
    """

    of_rows: IntArray
    row_scores: FloatArray
    of_columns: IntArray
    column_scores: FloatArray


def partners(scores: Scores, k: int | None = None) -> Partners:
    """The best ``k`` in each row and each column of a table, of which a block is held at a time.

    Examples
    --------
    >>> found = partners(Scores(np.eye(3), np.eye(3)), 1)
    >>> found.of_rows.ravel(), found.of_columns.ravel()
    (array([0, 1, 2]), array([0, 1, 2]))
    """
    n, m = scores.shape
    k = max(1, min(PARTNERS, n // 4, m // 4)) if k is None else k
    of_rows, row_scores = np.empty((n, k), np.intp), np.empty((n, k), scores.left.dtype)
    of_columns, column_scores = np.empty((m, 0), np.intp), np.empty((m, 0), scores.left.dtype)
    for rows, S in scores.blocks():
        of_rows[rows], row_scores[rows] = _largest(S, k)
        i, found = _largest(np.ascontiguousarray(S.T), min(k, len(S)))
        of_columns, column_scores = np.hstack([of_columns, i + rows.start]), np.hstack([column_scores, found])
        if column_scores.shape[1] > k:
            kept, column_scores = _largest(column_scores, k)
            of_columns = np.take_along_axis(of_columns, kept, axis=1)
    return Partners(of_rows, row_scores, of_columns, column_scores)


def _largest(S: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """Places and values of the k largest of each row."""
    places = np.argpartition(S, S.shape[1] - k, axis=1)[:, -k:]
    return places, np.take_along_axis(S, places, axis=1)


def barycentres(X: FloatArray, places: IntArray, scores: FloatArray) -> FloatArray:
    r"""Means of partners, of unit length: :math:`\sum_j X_{p_{ij}}` over those that are allowed (n, d).

    A row of which fewer partners than asked for are allowed, because few rows of its class are known, has the mean
    of these; one that has none, the mean of all that were offered.

    Parameters
    ----------
    X : array (m, d)
        Rows of the other collection.
    places, scores : array (n, k)
        The partners of each row, and how good they are; forbidden ones have scores far below zero.
    """
    allowed = scores > NO_PARTNER
    weights = np.where(allowed.any(axis=1, keepdims=True), allowed, True).astype(X.dtype)
    total = np.zeros((len(places), X.shape[1]), X.dtype)
    for j in range(
        places.shape[1]
    ):  # one partner of all rows at a time: an array (n, k, d) would be k times as large
        total += weights[:, j, None] * X[places[:, j]]
    return unit(total)
