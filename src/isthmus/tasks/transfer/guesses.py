"""Whether two guesses of the same rows' classes say the same, and under the same names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from isthmus._core.arrays import FloatArray, IntArray
from isthmus.geometry.coordinates import normalize_rows
from isthmus.geometry.discriminants import balance
from isthmus.tasks.transfer.problem import TransferRows

ROUNDING = 1e-9
"""A deviation below this share of the largest count is none."""


def count_agreements(P: FloatArray, Q: FloatArray) -> FloatArray:
    """How many rows have class a by one guess and class b by the other (C, C)."""
    C = P.shape[1]
    cells = P.argmax(axis=1) * C + Q.argmax(axis=1)
    return np.bincount(cells, minlength=C * C).reshape(C, C).astype(np.float64)


def kappa(P: FloatArray, Q: FloatArray) -> float:
    r"""Cohen's κ: :math:`(a - e) / (1 - e)`, with the share a of rows that agree, and e what chance would give.

    Parameters
    ----------
    P, Q : array (n, C)
        Two guesses: how likely each class is for each row.

    Returns
    -------
    float
        One for the same guesses, around zero for unrelated ones; zero where both always say the same one class.

    Examples
    --------
    >>> kappa(np.eye(2), np.eye(2)), kappa(np.eye(2), np.eye(2)[::-1])
    (1.0, -1.0)
    """
    F = count_agreements(P, Q)
    n = F.sum()
    if not n:
        return 0.0
    chance = float(F.sum(axis=0) @ F.sum(axis=1)) / n**2
    return float((np.trace(F) / n - chance) / (1.0 - chance)) if chance < 1.0 else 0.0


def identity_share(P: FloatArray, Q: FloatArray) -> float:
    """The rows on which two guesses agree, over those on which they would under the best renaming of the classes.

    One where no renaming does better: both speak of the same classes by the same names. A source whose classes were
    renamed gives a guess that agrees well with the target's own, but under other names.

    Examples
    --------
    >>> identity_share(np.eye(3), np.eye(3)), identity_share(np.eye(3), np.eye(3)[[1, 0, 2]]).__round__(2)
    (1.0, 0.33)
    """
    F = count_agreements(P, Q)
    i, j = linear_sum_assignment(-F)
    best = float(F[i, j].sum())
    return float(np.trace(F)) / best if best else 0.0


def naming_z(F: FloatArray) -> float:
    r"""How far two guesses agree under the names that they have, against all renamings of the classes.

    .. math:: z = \frac{\mathrm{tr}\,F - \frac1C \sum_{ab} F_{ab}}{\sqrt{\frac{1}{C - 1} \sum_{ab} G_{ab}^2}}, \qquad
              G = \bigl(I - \tfrac1C 1 1^T\bigr)\, F\, \bigl(I - \tfrac1C 1 1^T\bigr)

    Mean and deviation of :math:`\sum_a F_{a\,\pi(a)}` over all permutations π are known in closed form; z of perfect
    agreement of equally large classes is C - 1.

    Parameters
    ----------
    F : array (C, C)
        How often, or with which total probability, class a of one guess meets class b of the other.

    Examples
    --------
    >>> round(naming_z(np.eye(5)), 6), round(naming_z(np.roll(np.eye(5), 1, axis=0)), 6), naming_z(np.ones((5, 5)))
    (4.0, -1.0, 0.0)
    """
    C = len(F)
    G = F - F.mean(axis=0) - F.mean(axis=1)[:, None] + F.mean()
    deviation = float(np.sqrt((G**2).sum() / max(C - 1, 1)))
    if deviation <= ROUNDING * float(np.abs(F).max(initial=0.0)):  # all renamings are as good
        return 0.0
    return float(np.trace(F) - F.sum() / C) / deviation


TEMPERATURE = 0.5
"""Of scores in units of their deviation, before they are balanced."""
AXES_PER_CLASS = 3
"""Where the classes of the two domains are compared."""


@dataclass(frozen=True, eq=False)
class Guess:
    """One idea of the classes of the unlabelled target rows: probabilities P (n_u, C), and whose idea it is."""

    name: str
    P: FloatArray


def guess_from_scores(scores: FloatArray, shares: FloatArray, prior: FloatArray | float = 0.0) -> FloatArray:
    """Balanced guesses (n, C) from scores of any unit, the larger the better, and a prior in logarithms.

    Examples
    --------
    >>> guess_from_scores(np.array([[5.0, 1.0], [4.0, 3.0]]), np.array([0.5, 0.5])).round(2)
    array([[0.88, 0.12],
           [0.12, 0.88]])
    """
    deviation = scores.std()
    return balance(scores / (deviation if deviation > 0.0 else 1.0) / TEMPERATURE + prior, shares)


def class_means(Z: FloatArray, y: IntArray, n_classes: int) -> FloatArray:
    """The mean of the rows of each class (C, k)."""
    Y = np.eye(n_classes)[y]
    return np.asarray(Y.T @ Z / Y.sum(axis=0)[:, None])


def means_of_guesses(L: FloatArray, Y: FloatArray, U: FloatArray, P: FloatArray, weight: float = 1.0) -> FloatArray:
    """The mean of each class (C, k) by labels Y of rows L, of this weight each, and guesses P of rows U."""
    return np.asarray((P.T @ U + weight * Y.T @ L) / (P.sum(axis=0) + weight * Y.sum(axis=0))[:, None])


def squared_distances(A: FloatArray, M: FloatArray) -> FloatArray:
    """Of all rows A (n, k) to a few points M (C, k), as (n, C)."""
    D = (A * A).sum(axis=1)[:, None] + (M * M).sum(axis=1) - 2.0 * A @ M.T
    return np.asarray(np.maximum(D, 0.0))


def class_cosines(M: FloatArray) -> FloatArray:
    """Cosines (C, C) between class means (C, k), seen from their mean."""
    N = normalize_rows(M - M.mean(axis=0))
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
    B = means_of_guesses(view.L, rows.one_hot, view.U, P)[both]
    return correlation(class_cosines(A), class_cosines(B))


def _means_of(rows: TransferRows, S: FloatArray) -> FloatArray:
    y = rows.ys[rows.ys >= 0]
    return class_means(S, np.searchsorted(rows.shared, y), len(rows.shared))
