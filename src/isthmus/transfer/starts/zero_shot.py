"""Zero-shot ridge: labelled target rows are mapped to the source's means of their classes, and the rest follow."""

from __future__ import annotations

import numpy as np

from isthmus.matching.preparation import unit
from isthmus.transfer.guesses import AXES_PER_CLASS, Guess, class_means, from_scores
from isthmus.transfer.rows import TransferRows

PENALTY = 1.0
"""For rows of unit length."""


def zero_shot(rows: TransferRows) -> Guess:
    r"""Guesses by the cosine of a mapped row to the source's class means.

    .. math:: W = L^T (L L^T + \alpha I)^{-1} M_{y}, \qquad s_{ic} = \cos(W^T u_i, \mu^s_c)
    """
    view = rows.at(AXES_PER_CLASS)
    M = class_means(view.S, view.ys, rows.n_classes)
    W = view.L.T @ np.linalg.solve(view.L @ view.L.T + PENALTY * np.eye(len(view.L)), M[view.yl])
    return Guess("zero-shot", from_scores(unit(view.U @ W) @ unit(M).T, rows.shares))
