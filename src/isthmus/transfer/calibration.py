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
SPREAD = 0.5
"""How far the logarithm of the temperature is from zero beforehand."""
COLDEST, HOTTEST = 0.1, 10.0


def temperature(rows: TransferRows, again: Callable[[TransferRows], Rule]) -> float:
    r"""The τ that divides scores so that held-out labels are most likely; one where labels are too few to hold out.

    .. math:: \min_\tau -\sum_i \log \mathrm{softmax}(s_i / \tau)_{y_i} + \frac{(\log \tau)^2}{2 \sigma^2}

    The second term keeps a few labels, which may all be found, from asking for probabilities of one.
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
    def loss(logarithm: float) -> float:
        likely = log_softmax(scores / np.exp(logarithm), axis=1)[np.arange(len(y)), y]
        return float(0.5 * (logarithm / SPREAD) ** 2 - likely.sum())

    found = minimize_scalar(loss, bounds=(np.log(COLDEST), np.log(HOTTEST)), method="bounded")
    return float(np.exp(found.x))


def _folds(y: IntArray) -> IntArray:
    """A fold for each row: the rows of each class take turns."""
    fold = np.zeros(len(y), dtype=np.intp)
    for c in np.unique(y):
        of_class = np.flatnonzero(y == c)
        fold[of_class] = np.arange(len(of_class)) % FEWEST
    return fold
