"""Probabilities that mean what they say, as far as labels can tell: one temperature for all scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import softmax

from isthmus.transfer.rows import TransferRows
from isthmus.transfer.rules import Rule
from isthmus.transfer.tempering import calibrating_power, folds

FEWEST = 3
"""Labels that every labelled class needs for its rows to be held out in turn; as many folds."""


def temperature(rows: TransferRows, again: Callable[[TransferRows], Rule]) -> float:
    r"""The τ that divides scores so that held-out labels are most likely; one where labels are too few to hold out.

    The scores of each labelled row come from a rule that is made ``again`` without the rows of its fold; the guesses
    of the unlabelled rows stay as they are. 1 / τ is the power of the probabilities that
    :func:`~isthmus.transfer.tempering.calibrating_power` finds. Classes without a label share the temperature of the
    others.
    """
    labelled = np.flatnonzero(~rows.unlabelled)
    y = rows.yt[labelled]
    if np.bincount(y, minlength=rows.n_classes)[rows.known].min() < FEWEST:
        return 1.0
    fold = folds(y, FEWEST)
    P = np.empty((len(y), rows.n_classes))
    for k in range(FEWEST):
        kept = np.ones(len(rows.yt), dtype=bool)
        kept[labelled[fold == k]] = False
        rule = again(replace(rows, target=rows.target[kept], yt=rows.yt[kept], pairs=None))
        P[fold == k] = softmax(rule.scores(rows.target[labelled[fold == k]]), axis=1)
    return 1.0 / calibrating_power(P, y)
