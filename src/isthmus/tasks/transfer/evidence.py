"""Evidence, without a label that is not given, on whether the source has anything to say."""

from __future__ import annotations

import numpy as np

from isthmus._core.arrays import FloatArray
from isthmus.tasks.transfer.guesses import AXES_PER_CLASS, agreement, class_means, correlation, means_of_guesses
from isthmus.tasks.transfer.problem import TransferRows
from isthmus.tasks.transfer.rules import polish_guesses
from isthmus.tasks.transfer.starts.class_means import guess_by_relative_means, guess_by_zero_shot

RENAMINGS = 300
"""Renamings of classes whose inner products are compared."""
REFITS, ROUNDS, MOST_ROWS = 10, 5, 1500
"""Renamed sources that the starts are run with, rounds of their polish, and unlabelled rows in it at most."""
LEAST_CLASSES = 4


def geometry_against_renamings(rows: TransferRows, P: FloatArray, rng: np.random.Generator) -> float:
    """How many deviations the agreement of the classes' inner products lies above that of random renamings.

    Zero with fewer than three classes: two have one inner product, which every naming shares.
    """
    if rows.n_classes < 3:
        return 0.0
    view = rows.at(AXES_PER_CLASS)
    A = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    B = means_of_guesses(view.L, rows.one_hot, view.U, P) - view.target.mean(axis=0)
    A, B = A @ A.T, B @ B.T
    orders = [rng.permutation(rows.n_classes) for _ in range(RENAMINGS)]
    null = np.array([correlation(A[np.ix_(order, order)], B) for order in orders])
    return float((correlation(A, B) - null.mean()) / (null.std() + 1e-12))


def naming_against_renamings(rows: TransferRows, rng: np.random.Generator) -> float:
    """How many deviations the mean agreement of two starts lies above that with renamed sources.

    Each renamed source is taken through the same starts and a short polish, so that what a start can make of any
    source, by fitting its guesses to it, is no evidence. Zero with fewer than four classes, whose names are too few.
    """
    if rows.n_classes < LEAST_CLASSES:
        return 0.0
    some = rows.with_fewer(MOST_ROWS, rng)
    orders = [rng.permutation(rows.n_classes) for _ in range(REFITS)]
    null = np.array([_mean_agreement(some.renamed(order)) for order in orders])
    return float((_mean_agreement(some) - null.mean()) / (null.std(ddof=1) + 1e-12))


def _mean_agreement(rows: TransferRows) -> float:
    starts = guess_by_zero_shot(rows), guess_by_relative_means(rows)
    return float(np.mean([agreement(rows, polish_guesses(rows, guess.P, rounds=ROUNDS)[0]) for guess in starts]))
