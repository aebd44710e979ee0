"""How far each match can be believed, and which are returned."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from isthmus._arrays import BoolArray, FloatArray
from isthmus.matching.runs import Runs

ALONE = -8.3
"""The log-odds of a match that nothing confirms, at a score of zero."""
PER_SCORE = 8.5
"""What one unit of the score of a row that is left out adds."""
CHOSEN_BACK, FOUND_AGAIN, FOUND_LEFT_OUT = 3.0, 1.2, 2.3
"""What is added if the partner chooses the row too; if another run finds it; if it is found when left out."""

LOWEST = 100.0
"""So much log-odds are lowered at most."""


def confidences(runs: Runs, precision: float) -> FloatArray:
    r"""The probability (n,) that the best partner of each row of A is the right one.

    .. math:: \sigma\bigl(\beta_0 + \beta_1 s + \beta_2 [\text{mutual}] + \beta_3 [\text{found by another run}]
              + \beta_4 [\text{found when left out}]\bigr)

    s is the score, without hubs, of the best partner when the row's own pair is left out. The weights were fitted
    to pairs of collections, part of whose rows have a partner; they are the same for all data. Where the confirmed
    pairs would have a higher mean than the estimated ``precision``, the log-odds of all are lowered to that.
    """
    chosen_back, again, left_out = confirmations(runs)
    score = np.clip(runs.left_out_score, -4.0, 4.0)
    odds = ALONE + PER_SCORE * score
    odds += CHOSEN_BACK * chosen_back + FOUND_AGAIN * again + FOUND_LEFT_OUT * left_out
    odds += _lowered(odds[chosen_back & left_out], precision)
    return np.asarray(np.where(runs.found.partner >= 0, expit(odds), 1.0))


def _lowered(odds: FloatArray, precision: float) -> float:
    """What has to be added to log-odds for their mean probability to be no higher than this."""
    if not len(odds) or expit(odds).mean() <= precision:
        return 0.0
    if precision <= 0.0:
        return -LOWEST
    return float(brentq(lambda shift: expit(odds + shift).mean() - precision, -LOWEST, 0.0))


def confirmations(runs: Runs) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Which rows' partners choose them too, are found by another run, are found when the row is left out."""
    return runs.found.mutual, runs.again.partner == runs.found.partner, runs.found_left_out


def accepted(runs: Runs, confidence: FloatArray, enough: float, one_to_one: bool) -> BoolArray:
    """Which rows of A have a match to be returned: all that is asked of it confirms it, with enough confidence."""
    chosen_back, again, left_out = confirmations(runs)
    confirmed = again & left_out & (chosen_back | (not one_to_one))
    return np.asarray((confirmed & (confidence >= enough)) | (runs.found.partner < 0))
