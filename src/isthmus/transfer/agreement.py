"""Whether two guesses of the same rows' classes say the same, and under the same names."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from isthmus._arrays import FloatArray

ROUNDING = 1e-9
"""A deviation below this share of the largest count is none."""


def counts(P: FloatArray, Q: FloatArray) -> FloatArray:
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
    F = counts(P, Q)
    n = F.sum()
    if not n:
        return 0.0
    chance = float(F.sum(axis=0) @ F.sum(axis=1)) / n**2
    return float((np.trace(F) / n - chance) / (1.0 - chance)) if chance < 1.0 else 0.0


def identity(P: FloatArray, Q: FloatArray) -> float:
    """The rows on which two guesses agree, over those on which they would under the best renaming of the classes.

    One where no renaming does better: both speak of the same classes by the same names. A source whose classes were
    renamed gives a guess that agrees well with the target's own, but under other names.

    Examples
    --------
    >>> identity(np.eye(3), np.eye(3)), identity(np.eye(3), np.eye(3)[[1, 0, 2]]).__round__(2)
    (1.0, 0.33)
    """
    F = counts(P, Q)
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
