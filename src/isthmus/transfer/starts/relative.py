"""Relative representations: rows and classes by their cosines to the classes that both domains have labels of."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.matching.preparation import unit
from isthmus.transfer.guesses import AXES_PER_CLASS, Guess, class_means, from_scores, squared_distances
from isthmus.transfer.rows import TransferRows


def relative(rows: TransferRows) -> Guess:
    """Guesses by the distance between a row's cosines to the labelled means and a class's, both standardised."""
    view = rows.at(AXES_PER_CLASS)
    M = class_means(view.S, view.ys, rows.n_classes)
    labelled = class_means(view.L, np.searchsorted(rows.known, view.yl), len(rows.known))
    classes, targets = unit(M) @ unit(M[rows.known]).T, view.U @ unit(labelled).T
    return Guess("relative", from_scores(-squared_distances(_standard(targets), _standard(classes)), rows.shares))


def _standard(F: FloatArray) -> FloatArray:
    return np.asarray((F - F.mean(axis=0)) / (F.std(axis=0) + 1e-9))
