"""Guesses of the classes of unlabelled target rows, and what they say of the classes' geometry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.controls.discriminants import balanced
from isthmus.matching.preparation import unit
from isthmus.transfer.rows import TransferRows

TEMPERATURE = 0.5
"""Of scores in units of their deviation, before they are balanced."""
AXES_PER_CLASS = 3
"""Where the classes of the two domains are compared."""


@dataclass(frozen=True, eq=False)
class Guess:
    """One idea of the classes of the unlabelled target rows: probabilities P (n_u, C), and whose idea it is."""

    name: str
    P: FloatArray


def from_scores(scores: FloatArray, shares: FloatArray, prior: FloatArray | float = 0.0) -> FloatArray:
    """Balanced guesses (n, C) from scores of any unit, the larger the better, and a prior in logarithms.

    Examples
    --------
    >>> from_scores(np.array([[5.0, 1.0], [4.0, 3.0]]), np.array([0.5, 0.5])).round(2)
    array([[0.88, 0.12],
           [0.12, 0.88]])
    """
    deviation = scores.std()
    return balanced(scores / (deviation if deviation > 0.0 else 1.0) / TEMPERATURE + prior, shares)


def class_means(Z: FloatArray, y: IntArray, n_classes: int) -> FloatArray:
    """The mean of the rows of each class (C, k)."""
    Y = np.eye(n_classes)[y]
    return np.asarray(Y.T @ Z / Y.sum(axis=0)[:, None])


def guessed_means(L: FloatArray, Y: FloatArray, U: FloatArray, P: FloatArray, weight: float = 1.0) -> FloatArray:
    """The mean of each class (C, k) by labels Y of rows L, of this weight each, and guesses P of rows U."""
    return np.asarray((P.T @ U + weight * Y.T @ L) / (P.sum(axis=0) + weight * Y.sum(axis=0))[:, None])


def squared_distances(A: FloatArray, M: FloatArray) -> FloatArray:
    """Of all rows A (n, k) to a few points M (C, k), as (n, C)."""
    D = (A * A).sum(axis=1)[:, None] + (M * M).sum(axis=1) - 2.0 * A @ M.T
    return np.asarray(np.maximum(D, 0.0))


def class_cosines(M: FloatArray) -> FloatArray:
    """Cosines (C, C) between class means (C, k), seen from their mean."""
    N = unit(M - M.mean(axis=0))
    return np.asarray(N @ N.T)


def correlation(A: FloatArray, B: FloatArray) -> float:
    """Of the entries above the diagonals; zero where there are fewer than three or one side is constant."""
    above = np.triu_indices(len(A), 1)
    a, b = A[above] - A[above].mean(), B[above] - B[above].mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if len(a) >= 3 and size > 0.0 else 0.0


def agreement(rows: TransferRows, P: FloatArray) -> float:
    r"""How far the classes lie to each other, in the target as guessed, as they do in the source.

    .. math:: r = \mathrm{corr}_{c < d}\big(\cos(\mu^s_c, \mu^s_d),\; \cos(\mu^t_c, \mu^t_d)\big)

    over the classes that both domains have. It needs no feature in common and no label that is not given.
    """
    view, both = rows.at(AXES_PER_CLASS), rows.shared
    A = class_means(view.S, view.ys, rows.n_classes) if len(both) == rows.n_classes else _means_of(rows, view.S)
    B = guessed_means(view.L, rows.one_hot, view.U, P)[both]
    return correlation(class_cosines(A), class_cosines(B))


def _means_of(rows: TransferRows, S: FloatArray) -> FloatArray:
    y = rows.ys[rows.ys >= 0]
    return class_means(S, np.searchsorted(rows.shared, y), len(rows.shared))
