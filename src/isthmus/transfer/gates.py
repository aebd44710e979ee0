"""Evidence, without a label that is not given, on whether the source has anything to say."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.controls.discriminants import SoftLDA
from isthmus.transfer.guesses import AXES_PER_CLASS, class_means, correlation, guessed_means
from isthmus.transfer.rows import TransferRows

FOLDS = 5
CHANCE = 3.0
"""Standard errors above chance from which the source's rows tell its classes apart."""
RENAMINGS = 300


def source_tells_classes(rows: TransferRows, rng: np.random.Generator) -> bool:
    """Whether discriminants of the source find the classes of source rows that they have not seen."""
    view, C = rows.at(AXES_PER_CLASS), rows.n_classes
    fold = _folds(view.ys, rng)
    hits = 0
    for k in range(FOLDS):
        seen, held = fold != k, fold == k
        present, y = np.unique(view.ys[seen], return_inverse=True)
        mean = view.S[seen].mean(axis=0)
        lda = SoftLDA.of(view.S[seen] - mean, np.eye(len(present))[y])
        hits += int((present[lda.scores(view.S[held] - mean).argmax(axis=1)] == view.ys[held]).sum())
    chance = 1.0 / C
    return bool(hits / len(view.ys) > chance + CHANCE * np.sqrt(chance * (1.0 - chance) / len(view.ys)))


def _folds(y: IntArray, rng: np.random.Generator) -> IntArray:
    """A fold for each row, with the rows of each class dealt out evenly."""
    fold = np.zeros(len(y), dtype=np.intp)
    for c in np.unique(y):
        of_class = rng.permutation(np.flatnonzero(y == c))
        fold[of_class] = np.arange(len(of_class)) % FOLDS
    return fold


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
