"""Evidence, without a label that is not given, on whether the source has anything to say."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.transfer.guesses import AXES_PER_CLASS, class_means, correlation, guessed_means
from isthmus.transfer.rows import TransferRows

RENAMINGS = 300


def geometry_against_renamings(rows: TransferRows, P: FloatArray, rng: np.random.Generator) -> float:
    """How many deviations the agreement of the classes' inner products lies above that of random renamings.

    Zero with fewer than three classes: two have one inner product, which every naming shares.
    """
    if rows.n_classes < 3:
        return 0.0
    view = rows.at(AXES_PER_CLASS)
    A = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    B = guessed_means(view.L, rows.one_hot, view.U, P) - view.target.mean(axis=0)
    A, B = A @ A.T, B @ B.T
    orders = [rng.permutation(rows.n_classes) for _ in range(RENAMINGS)]
    null = np.array([correlation(A[np.ix_(order, order)], B) for order in orders])
    return float((correlation(A, B) - null.mean()) / (null.std() + 1e-12))
