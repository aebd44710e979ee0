"""Procrustes-EM: a rotation between class means and the guesses that it gives, in turn."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.matching.preparation import unit
from isthmus.transfer.guesses import AXES_PER_CLASS, Guess, class_means, from_scores, guessed_means
from isthmus.transfer.rows import TransferRows

ROUNDS = 15


def procrustes_em(rows: TransferRows, guess: Guess) -> Guess:
    r"""Guesses from the rotation that they imply, some rounds on.

    .. math:: R = U V^T \text{ of } (M^t)^T M^s = U \Sigma V^T, \qquad s_{ic} = \cos(R^T u_i, \mu^s_c)
    """
    view = rows.at(AXES_PER_CLASS)
    M = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    mean = view.target.mean(axis=0)
    U, L, P = view.U - mean, view.L - mean, guess.P
    for _ in range(ROUNDS):
        P = from_scores(unit(U @ _rotation(guessed_means(L, rows.one_hot, U, P), M)) @ unit(M).T, rows.shares)
    return Guess(f"{guess.name}, rotated", P)


def _rotation(A: FloatArray, B: FloatArray) -> FloatArray:
    """The rotation (d, e) of rows A that agrees best with rows B."""
    left, _, right = np.linalg.svd(A.T @ B, full_matrices=False)
    return np.asarray(left @ right)
