"""Probabilities that mean what they say, as far as labels can tell: one temperature for all scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from isthmus._arrays import FloatArray, IntArray
from isthmus.transfer.rows import TransferRows
from isthmus.transfer.rules import Rule

FEWEST = 3
"""Labels that every labelled class needs for its rows to be held out in turn; as many folds."""
COLDEST, HOTTEST = 0.1, 10.0


def temperature(rows: TransferRows, again: Callable[[TransferRows], Rule]) -> float:
    r"""The τ that divides scores so that held-out labels are most likely; one where labels are too few to hold out.

    .. math:: \min_\tau -\sum_{ic} \tilde y_{ic} \log \mathrm{softmax}(s_i / \tau)_c, \qquad
              \tilde y_{i y_i} = \frac{n_l + 1}{n_l + 2}

    The scores of each labelled row come from a rule that is made ``again`` without the rows of its fold; the guesses
    of the unlabelled rows stay as they are. Classes without a label share the temperature of the others.
    """
    labelled = np.flatnonzero(~rows.unlabelled)
    y = rows.yt[labelled]
    if np.bincount(y, minlength=rows.n_classes)[rows.known].min() < FEWEST:
        return 1.0
    fold = _folds(y)
    scores = np.empty((len(y), rows.n_classes))
    for k in range(FEWEST):
        kept = np.ones(len(rows.yt), dtype=bool)
        kept[labelled[fold == k]] = False
        rule = again(replace(rows, target=rows.target[kept], yt=rows.yt[kept], pairs=None))
        scores[fold == k] = rule.scores(rows.target[labelled[fold == k]])
    return _best(scores, y)


def _best(scores: FloatArray, y: IntArray) -> float:
    # Labels that are all found would make the best temperature zero: as by Platt, one more row is taken to be lost.
    n, C = scores.shape
    Y = np.full((n, C), 1.0 / ((n + 2) * (C - 1)))
    Y[np.arange(n), y] = (n + 1) / (n + 2)

    def loss(logarithm: float) -> float:
        return -float((Y * log_softmax(scores / np.exp(logarithm), axis=1)).sum())

    found = minimize_scalar(loss, bounds=(np.log(COLDEST), np.log(HOTTEST)), method="bounded")
    return float(np.exp(found.x))


def _folds(y: IntArray) -> IntArray:
    """A fold for each row: the rows of each class take turns."""
    fold = np.zeros(len(y), dtype=np.intp)
    for c in np.unique(y):
        of_class = np.flatnonzero(y == c)
        fold[of_class] = np.arange(len(of_class)) % FEWEST
    return fold
