"""How far each match can be believed, and which are returned."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from isthmus._core.validation import BoolArray, FloatArray
from isthmus.evidence.scores import wilson_interval
from isthmus.tasks.matching.refinement import Runs

ALONE = -8.3
"""The log-odds of a match that nothing confirms, at a score of zero."""
PER_SCORE = 8.5
"""What one unit of the score of a row that is left out adds."""
CHOSEN_BACK, FOUND_AGAIN, FOUND_LEFT_OUT = 3.0, 1.2, 2.3
"""What is added if the partner chooses the row too; if another run finds it; if it is found when left out."""

LOWEST = 100.0
"""So much log-odds are lowered at most."""


def estimate_confidence(runs: Runs, precision: float) -> FloatArray:
    r"""The probability (n,) that the best partner of each row of A is the right one.

    .. math:: \sigma\bigl(\beta_0 + \beta_1 s + \beta_2 [\text{mutual}] + \beta_3 [\text{found by another run}]
              + \beta_4 [\text{found when left out}]\bigr)

    s is the score, without hubs, of the best partner when the row's own pair is left out. The weights were fitted
    to pairs of collections, part of whose rows have a partner; they are the same for all data. Where the confirmed
    pairs would have a higher mean than the estimated ``precision``, the log-odds of all are lowered to that.
    """
    chosen_back, again, left_out = collect_confirmations(runs)
    score = np.clip(runs.left_out_score, -4.0, 4.0)
    odds = ALONE + PER_SCORE * score
    odds += CHOSEN_BACK * chosen_back + FOUND_AGAIN * again + FOUND_LEFT_OUT * left_out
    odds += _shift_log_odds(odds[chosen_back & left_out], precision)
    return np.asarray(np.where(runs.found.partner >= 0, expit(odds), 1.0))


def _shift_log_odds(odds: FloatArray, precision: float) -> float:
    """What has to be added to log-odds for their mean probability to be no higher than this."""
    if not len(odds) or expit(odds).mean() <= precision:
        return 0.0
    if precision <= 0.0:
        return -LOWEST
    return float(brentq(lambda shift: expit(odds + shift).mean() - precision, -LOWEST, 0.0))


def collect_confirmations(runs: Runs) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Which rows' partners choose them too, are found by another run, are found when the row is left out."""
    return runs.found.mutual, runs.again.partner == runs.found.partner, runs.found_left_out


def accept_matches(runs: Runs, confidence: FloatArray, enough: float, one_to_one: bool) -> BoolArray:
    """Which rows of A have a match to be returned: all that is asked of it confirms it, with enough confidence."""
    chosen_back, again, left_out = collect_confirmations(runs)
    confirmed = again & left_out & (chosen_back | (not one_to_one))
    return np.asarray((confirmed & (confidence >= enough)) | (runs.found.partner < 0))


NEAR = 10
"""A held-back pair counts as near if the partner is among the first ten."""
MOST_NEAR = 0.5
"""The share of the held-back pairs that has to be near."""
MOSTLY_RIGHT = 0.53
"""The estimated precision that the confirmed pairs have to have; with less, it is doubtful."""
CONSENSUS = 0.23
"""The consensus from which on a matching without pairs held back has succeeded."""
RIGHT_CONSENSUS, MANY_ERRORS = 0.1, 6.0
"""It has also succeeded with so much consensus on right pairs, if the excess is so many standard errors."""
SOME_CONSENSUS = 0.1
"""With less, most other rows than the known ones have no partner, or not the one that was found."""
GAIN = 0.03
"""By how much the mean best score has to exceed that of the run from nothing."""
ENOUGH_KNOWN, KNOWN_NEAR = 3, 2.0 / 3.0
"""So many known pairs can contradict a matching, if fewer than this share of them are near."""


@dataclass(frozen=True)
class Evidence:
    """The figures that a verdict rests on.

    Parameters
    ----------
    rows : int
        How many rows of A had no known partner.
    agreement : float
        Among the rows that two runs find mutual partners for, the share for which these are the same.
    confirmed, null_confirmed : float
        The share of the mutual pairs that are found again when they are left out; the same of the run from nothing.
    value, null_value : float
        The mean best score of a row, over the highest possible; the same of the run from nothing.
    mutual, null_mutual : float
        The share of the rows that choose each other with another; the same of the run from nothing.
    known, known_near : int
        How many pairs were known; for how many the partner is among the first ten by what is learned from others.
    held_back, held_back_first, held_back_near : int
        How many known pairs were held back; for how many the partner came first; was among the first ten.
    shuffled_first, shuffled_near : int
        The same by the run from nothing.
    engine, schedule : str
        Who learned, and how the best refinement went.
    """

    rows: int
    agreement: float
    confirmed: float
    null_confirmed: float
    value: float
    null_value: float
    mutual: float
    null_mutual: float
    known: int
    known_near: int
    held_back: int
    held_back_first: int
    held_back_near: int
    shuffled_first: int
    shuffled_near: int
    engine: str
    schedule: str

    @property
    def consensus(self) -> float:
        """The agreement, times the gain over the run from nothing in the share of pairs found when left out."""
        gain = (self.confirmed - self.null_confirmed) / max(1.0 - self.null_confirmed, 1e-9)
        return self.agreement * max(gain, 0.0)

    @property
    def precision(self) -> float:
        r"""An estimate of the share of the confirmed pairs that are right.

        .. math:: 1 - (1 - \pi)\, q_0 / q, \qquad \pi = (q - q_0) / (1 - q_0)

        q is the share of the rows whose pair is mutual and confirmed, q_0 the same of the run from nothing, which
        finds wrong pairs only: what a row without a partner does. π is then the share of the rows that have one.
        """
        q, nothing = self._confirmed_rows
        if q <= nothing or nothing >= 1.0:
            return 0.0
        return 1.0 - (1.0 - q) / (1.0 - nothing) * nothing / q

    @property
    def excess(self) -> float:
        r"""By how many standard errors more rows are confirmed than by chance.

        .. math:: (q - q_0) / \sqrt{(q + q_0) / n}

        q and q_0 as in :attr:`precision`, n is the number of rows.
        """
        q, nothing = self._confirmed_rows
        return (q - nothing) / max(sqrt((q + nothing) / max(self.rows, 1)), 1e-9)

    @property
    def _confirmed_rows(self) -> tuple[float, float]:
        """The share of the rows whose pair is mutual and confirmed, and the same of the run from nothing."""
        return self.mutual * self.confirmed, self.null_mutual * self.null_confirmed

    @property
    def contradicted(self) -> bool:
        """Whether many of the known pairs are far from what is learned from all others."""
        return self.known >= ENOUGH_KNOWN and self.known_near < KNOWN_NEAR * self.known

    @property
    def held_back_recall(self) -> float | None:
        """The share of the held-back pairs whose partner came first."""
        return self.held_back_first / self.held_back if self.held_back else None

    @property
    def held_back_interval(self) -> tuple[float, float] | None:
        """Its 95 % interval (Wilson)."""
        return wilson_interval(self.held_back_first, self.held_back) if self.held_back else None

    @property
    def shuffled_recall(self) -> float | None:
        """The share of the held-back pairs whose partner came first in the run from nothing."""
        return self.shuffled_first / self.held_back if self.held_back else None


def gather_evidence(runs: Runs, engine: str) -> Evidence:
    """The figures of some runs."""
    return Evidence(
        rows=len(runs.final.problem.rows),
        agreement=runs.agreement,
        confirmed=runs.confirmed,
        null_confirmed=runs.null_confirmed,
        value=runs.value,
        null_value=runs.null.value,
        mutual=runs.mutual,
        null_mutual=runs.null_mutual,
        known=len(runs.known_ranks),
        known_near=int((runs.known_ranks <= NEAR).sum()),
        held_back=len(runs.held_back),
        held_back_first=int((runs.held_back == 1).sum()),
        held_back_near=int((runs.held_back <= NEAR).sum()),
        shuffled_first=int((runs.shuffled == 1).sum()),
        shuffled_near=int((runs.shuffled <= NEAR).sum()),
        engine=engine,
        schedule=runs.final.refined.schedule.name,
    )


def judge(seen: Evidence) -> bool | None:
    """True, False, or None where it is doubtful.

    With pairs held back: at least half of their partners are among the first ten, and more than by the run from
    nothing. Without: by the consensus, or by less of it where far more rows are confirmed than by chance, and by
    better scores than from nothing, unless known pairs, however few, contradict. That speaks of the maps; where
    other rows have hardly more partners than by chance, it is doubtful.
    """
    if seen.held_back:
        maps = seen.held_back_near >= MOST_NEAR * seen.held_back and seen.held_back_near > seen.shuffled_near
        others = seen.consensus >= SOME_CONSENSUS
    else:
        maps = seen.value >= seen.null_value + GAIN and _agreed(seen) and not seen.contradicted
        others = True
    if not maps:
        return False
    return True if others and seen.precision >= MOSTLY_RIGHT else None


def _agreed(seen: Evidence) -> bool:
    """Where few rows have a partner, runs agree on few of the others: what counts then are rows that are right."""
    some = seen.consensus * seen.precision >= RIGHT_CONSENSUS and seen.excess >= MANY_ERRORS
    return seen.consensus >= CONSENSUS or some


def write_sentence(seen: Evidence, succeeded: bool | None, n_pairs: int, shape: tuple[int, int]) -> str:
    """The verdict with its figures, in one sentence."""
    word = {True: "matched", False: "failed", None: "doubtful"}[succeeded]
    return f"{word}: {n_pairs:,} pairs of {shape[0]:,} and {shape[1]:,} rows; {_reason(seen, succeeded)}."


def _reason(seen: Evidence, succeeded: bool | None) -> str:
    runs = (
        f"two runs agree on {seen.agreement:.0%} of the rows, and {seen.confirmed:.0%} are found when they are left "
        f"out (from nothing {seen.null_confirmed:.0%}), mean best score {seen.value:.2f} ({seen.null_value:.2f})"
    )
    if seen.held_back:
        low, high = seen.held_back_interval or (0.0, 1.0)
        held = (
            f"of {seen.held_back} known pairs that were held back, {seen.held_back_recall:.0%} were found "
            f"[{low:.0%}, {high:.0%}], {seen.held_back_near / seen.held_back:.0%} among the first {NEAR} "
            f"(from shuffled pairs {seen.shuffled_near / seen.held_back:.0%})"
        )
        if succeeded is None:
            return f"{held}, but other rows may have no partner ({_share(seen)}): {runs}"
        return f"{held}; {_share(seen)}" if succeeded else held
    if seen.contradicted:
        return f"only {seen.known_near} of {seen.known} known pairs are near by what is learned from all others"
    return runs if succeeded is False else f"{_share(seen)}; {runs}"


def _share(seen: Evidence) -> str:
    return f"about {seen.precision:.0%} of the confirmed pairs should be right"
