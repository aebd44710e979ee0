"""Whether two guesses of the same rows' classes say the same, and under the same names."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from isthmus._arrays import FloatArray


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
