"""The evidence of a matching: figures of its runs, the verdict by them, and the confidence of each match.

A matching is measured against a control run, which learns from shuffled pairs and starts from shuffled likeness. What
that run finds is wrong; its figures are the chance level. One control run varies by chance itself: where a success is
not clear, further ones have to do worse too (:func:`add_null_runs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from isthmus._core.validation import BoolArray, FloatArray
from isthmus.evidence.held_out import NEAR, NO_BASELINE, PairRecall, SharedBaseline

if TYPE_CHECKING:
    from isthmus.tasks.matching.refinement import Runs

# The log-odds of a match that nothing confirms, at a score of zero.
BASE_ODDS = -8.3
# What one unit of the score of a held-out row adds.
PER_SCORE = 8.5
# What is added if the partner chooses the row too; if another run finds it; if it is re-found when held out.
MUTUAL, REPEATED, REFOUND = 3.0, 1.2, 2.3
# The most that log-odds are shifted by.
FARTHEST = 100.0
# The share of the held-out pairs that has to be near.
MOST_NEAR = 0.5
# The estimated precision that the confirmed pairs have to have; with less, the matching is doubtful.
MOSTLY_RIGHT = 0.53
# The consensus from which on a matching without held-out pairs has succeeded.
CONSENSUS = 0.23
# It has also succeeded with this much consensus on right pairs, if the excess is this many standard errors.
RIGHT_CONSENSUS, MANY_ERRORS = 0.1, 6.0
# Without held-out pairs, a success with a smaller excess than this is doubtful.
LEAST_ERRORS = 3.0
# From this excess on a success is clear: of 411 pairs of unrelated tables, none exceeded 4.1.
CLEAR = 12.0
# With less, most rows outside known pairs have no partner, or not the one that was found.
SOME_CONSENSUS = 0.1
# By how much the mean best score has to exceed that of the control run.
GAIN = 0.03
# From this many known pairs on they can contradict a matching, if fewer than this share of them are near.
ENOUGH_KNOWN, KNOWN_NEAR = 3, 2.0 / 3.0

# A matching by shared columns has to match this many times the rows that a control does.
TIMES_CHANCE = 2.0
# Tables without a common row can have a few rows that look the same, such as two editions of a paper: with fewer
# matches than this share of the rows, only known pairs tell these from a small overlap.
LEAST_SHARE = 0.03
# Without enough known pairs, matches by columns of which fewer are expected to be right are doubtful.
RIGHT_BY_COLUMNS = 0.6
# The same holds for fewer new pairs than this, of any number of rows.
FEWEST_NEW = 5
# By geometry alone, fewer new pairs than this share of the rows may be rows in like places: of short names, say.
LEAST_BY_GEOMETRY = 0.15
# With this many known pairs, they judge a matching by shared columns.
ENOUGH_TO_SETTLE = 10
# Rows that fit a row of B which has a partner: from this many on, and this share of the matches, they are mentioned.
FEW_SHARING, MUCH_SHARING = 3, 0.02


WORDS = {True: "matched", False: "failed", None: "doubtful"}


def _share_right(q: float, chance: float) -> float:
    """Return the share of matches that are right, if a share q of the rows has one, and by chance this share."""
    return 0.0 if q <= chance or chance >= 1.0 else 1.0 - (1.0 - q) / (1.0 - chance) * chance / q


@dataclass(frozen=True)
class MatchingEvidence:
    """The figures that a verdict rests on.

    Parameters
    ----------
    rows : int
        The number of rows of A without a known partner.
    agreement : float
        Among the rows that two runs find mutual partners for, the share for which these are the same.
    refound, null_refound : float
        The share of the mutual pairs that are re-found when held out; the same of the control run.
    value, null_value : float
        The mean best score of a row, over the highest possible; the same of the control run.
    mutual, null_mutual : float
        The share of the rows that choose each other with another; the same of the control run.
    known, known_near : int
        The number of known pairs; of those whose partner is among the first ten by what is learned from others.
    held_out, shuffled : PairRecall or None
        How many held-out pairs were found, and by the control run; None where none were held out.
    schedule : str
        How the best refinement went.
    baseline : SharedBaseline
        How many held-out pairs the columns find that both collections share.
    nulls : tuple of float
        The share of the rows whose pair is mutual and re-found in each further control run.
    """

    rows: int
    agreement: float
    refound: float
    null_refound: float
    value: float
    null_value: float
    mutual: float
    null_mutual: float
    known: int
    known_near: int
    held_out: PairRecall | None
    shuffled: PairRecall | None
    schedule: str
    baseline: SharedBaseline = NO_BASELINE
    nulls: tuple[float, ...] = ()

    @property
    def consensus(self) -> float:
        """The agreement, times the gain over the control run in the share of pairs re-found when held out."""
        # As of Cohen's kappa: the share of what chance leaves.
        gain = (self.refound - self.null_refound) / max(1.0 - self.null_refound, 1e-9)
        return self.agreement * max(gain, 0.0)

    @property
    def precision(self) -> float:
        r"""An estimate of the share of the confirmed pairs that are right.

        .. math:: 1 - (1 - \pi)\, q_0 / q, \qquad \pi = (q - q_0) / (1 - q_0)

        q is the share of the rows whose pair is mutual and re-found, q_0 the largest such share of a control run. It
        finds wrong pairs only: what a row without a partner does. π is then the share of the rows that have one.
        """
        q, chance = self._confirmed_rows
        return _share_right(q, max(chance, *self.nulls, 0.0))

    @property
    def excess(self) -> float:
        r"""By how many standard errors more rows are confirmed than by chance.

        .. math:: (q - q_0) / \sqrt{(q + q_0) / n}

        q and q_0 as in :attr:`precision`, q_0 of the first control run; n is the number of rows.
        """
        q, chance = self._confirmed_rows
        return (q - chance) / max(sqrt((q + chance) / max(self.rows, 1)), 1e-9)

    @property
    def _confirmed_rows(self) -> tuple[float, float]:
        """The share of the rows whose pair is mutual and re-found, and its chance level."""
        return self.mutual * self.refound, self.null_mutual * self.null_refound

    @property
    def contradicted(self) -> bool:
        """Whether many of the known pairs are far from what is learned from all others."""
        return self.known >= ENOUGH_KNOWN and self.known_near < KNOWN_NEAR * self.known


def judge(seen: MatchingEvidence) -> bool | None:
    """Return whether a matching succeeded; None where it is doubtful.

    With held-out pairs: at least half of their partners are among the first ten, and more than by the control run.
    Without: by the consensus, or by less of it where far more rows are confirmed than by chance, and by better scores
    than the control's, unless known pairs, however few, contradict. That judges the maps; where hardly
    more rows, or other rows, are confirmed than by chance, the matching is doubtful.
    """
    if seen.held_out is not None and seen.shuffled is not None:
        maps = seen.held_out.near >= MOST_NEAR * seen.held_out.n and seen.held_out.near > seen.shuffled.near
        # Held-out pairs are rows with a partner: they say nothing of rows that may have none.
        others = seen.consensus >= SOME_CONSENSUS
    else:
        # Where few rows have a partner, runs agree on few of the others: what counts then are rows that are right.
        # Further control runs ask whether these pairs are right, not whether the maps are: they can only cast doubt.
        right = replace(seen, nulls=()).precision
        some = seen.consensus * right >= RIGHT_CONSENSUS and seen.excess >= MANY_ERRORS
        agreed = seen.consensus >= CONSENSUS or some
        maps = seen.value >= seen.null_value + GAIN and agreed and not seen.contradicted
        others = seen.excess >= LEAST_ERRORS
    if not maps:
        return False
    return True if others and seen.precision >= MOSTLY_RIGHT else None


def add_null_runs(seen: MatchingEvidence, nulls: Iterable[Callable[[], float]]) -> MatchingEvidence:
    """Add further control runs to the evidence of a success that is not clear, until one of them decides against it.

    Each function runs one, and returns the share of the rows whose pair is mutual and re-found.
    """
    for run in nulls:
        if judge(seen) is not True or seen.excess >= CLEAR:
            break
        seen = replace(seen, nulls=(*seen.nulls, run()))
    return seen


def write_sentence(
    seen: MatchingEvidence, ok: bool | None, n_pairs: int, shape: tuple[int, int], claimed: float | None = None
) -> str:
    """Return the verdict with its figures, in one sentence; ``claimed`` is the mean confidence of the new pairs."""
    known = f", {seen.known:,} of them known" if seen.known and n_pairs else ""
    reason = _write_reason(seen, ok, claimed)
    return f"{WORDS[ok]}: {n_pairs:,} pairs of {shape[0]:,} and {shape[1]:,} rows{known}; {reason}."


def _write_reason(seen: MatchingEvidence, ok: bool | None, claimed: float | None) -> str:
    # The precision is that of all confirmed pairs; of these, the sure ones are returned.
    right = f"about {seen.precision if claimed is None else claimed:.0%} of the new pairs should be right"
    if ok is None and judge(seen):
        right = f"too few new pairs are sure enough; {right}"
    runs = (
        f"two runs agree on {seen.agreement:.0%} of the rows, {seen.refound:.0%} re-found when held out (chance "
        f"{seen.null_refound:.0%}), mean best score {seen.value:.2f} (chance {seen.null_value:.2f})"
    )
    if seen.held_out is not None and seen.shuffled is not None:
        held = f"{seen.held_out} (chance {seen.shuffled.at_10.value:.0%})"
        if ok is None:
            return f"{held}, but other rows may have no partner ({right}): {runs}"
        return f"{held}; {right}" if ok else held
    if seen.contradicted:
        return (
            f"only {seen.known_near} of {seen.known} known pairs are among the first {NEAR} when learned from all "
            "other pairs"
        )
    return runs if ok is False else f"{right}; {runs}"


def estimate_confidence(runs: Runs, precision: float) -> FloatArray:
    r"""Estimate the probability (n,) that the best partner of each row of A is the right one.

    .. math:: \sigma\bigl(\beta_0 + \beta_1 s + \beta_2 [\text{mutual}] + \beta_3 [\text{found by another run}]
              + \beta_4 [\text{re-found when held out}]\bigr)

    s is the score, without hubs, of the best partner when the row's own pair is held out. The weights were fitted to
    pairs of collections, part of whose rows have a partner; they are the same for all data. One shift of all log-odds
    brings the mean over the confirmed pairs to the estimated ``precision``.
    """
    # Scores of tiny collections can be far outside the range that the weights were fitted on.
    odds = BASE_ODDS + PER_SCORE * np.clip(runs.held_out_score, -4.0, 4.0)
    odds += MUTUAL * runs.mutual + REPEATED * runs.repeated + REFOUND * runs.refound
    # One shift for all keeps the order of the matches.
    odds += _shift_log_odds(odds[runs.mutual & runs.refound], precision)
    return np.asarray(np.where(runs.partner >= 0, expit(odds), 1.0))


def _shift_log_odds(odds: FloatArray, precision: float) -> float:
    """Return what has to be added to log-odds for their mean probability to be the precision."""
    if not len(odds):
        return 0.0
    # No finite shift brings a mean probability to zero or one: at best, the next pair would be wrong.
    target = min(precision, 1.0 - 0.5 / len(odds))
    if target <= 0.0:
        return -FARTHEST
    return float(brentq(lambda shift: expit(odds + shift).mean() - target, -FARTHEST, FARTHEST))


def accept_matches(runs: Runs, confidence: FloatArray, enough: float, one_to_one: bool) -> BoolArray:
    """Return which rows of A are in known pairs, or have a match that is confirmed in every way and confident."""
    # Several rows of A may share a partner where it need not be one to one: it can choose but one of them.
    confirmed = runs.repeated & runs.refound & (runs.mutual | (not one_to_one))
    return np.asarray((confirmed & (confidence >= enough)) | (runs.partner < 0))


@dataclass(frozen=True)
class LinkageEvidence:
    """The figures of a matching by shared columns.

    Parameters
    ----------
    rows : int
        The number of rows of the smaller collection, without known pairs.
    candidates : int
        The number of pairs that were compared.
    accepted : int
        The number of accepted pairs, without known ones.
    precision : float
        The mean probability of these: an estimate of the share that is right.
    null_share : float or None
        The share of the rows that the same procedure matches between two halves of one table; None where no control
        was run.
    known : int
        The number of known pairs.
    held_out : PairRecall or None
        How many held-out pairs were found; None where none were held out.
    fields : tuple of str
        What was compared.
    dropped, contradiction : tuple of str
        Shared columns that contradict the others; and those that contradict each other, with no known pair to tell
        which is right.
    confirmed : bool
        Whether maps between the other features confirm shared columns of numbers, where these need it.
    sharing : int
        The number of rows of A without a match that fit a matched row of B as well as its partner does.
    baseline : SharedBaseline
        How many held-out pairs shared columns find alone, where these are two tables of features.
    """

    rows: int
    candidates: int
    accepted: int
    precision: float
    null_share: float | None
    known: int
    held_out: PairRecall | None
    fields: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    contradiction: tuple[str, ...] = ()
    confirmed: bool = True
    sharing: int = 0
    baseline: SharedBaseline = NO_BASELINE

    @property
    def hardly_overlap(self) -> bool:
        """Whether so few rows are matched, and so few pairs known, that the collections may have none in common."""
        return self.known < ENOUGH_TO_SETTLE and self.accepted < max(LEAST_SHARE * self.rows, FEWEST_NEW)

    @property
    def least_precision(self) -> float:
        r"""The precision if rows without a partner are matched as often as in the control.

        .. math:: 1 - (1 - \pi)\, q_0 / q, \qquad \pi = (q - q_0) / (1 - q_0)

        q is the share of the rows that are matched, q_0 its chance level. It judges the matching, and does not change
        the probabilities: those of few rows, and halves have few, are the least reliable.
        """
        if self.null_share is None:
            return self.precision
        return min(self.precision, _share_right(self.accepted / max(1, self.rows), self.null_share))


def judge_linkage(seen: LinkageEvidence) -> bool | None:
    """Return whether a matching by shared columns succeeded; None where it is doubtful."""
    if not seen.accepted or not seen.confirmed:
        return False
    if seen.contradiction:
        return None
    chance, least = seen.null_share or 0.0, seen.least_precision
    if least <= 0.0:
        return False
    near_chance = seen.accepted < TIMES_CHANCE * chance * seen.rows or least < MOSTLY_RIGHT
    unsure = seen.known < ENOUGH_TO_SETTLE and seen.precision < RIGHT_BY_COLUMNS
    return None if near_chance or unsure or seen.hardly_overlap else True


def write_linkage_sentence(seen: LinkageEvidence, ok: bool | None, n_pairs: int, shape: tuple[int, int]) -> str:
    """Return the verdict of a matching by shared columns, with its figures, in one sentence."""
    parts = [f"{WORDS[ok]}: {n_pairs:,} pairs of {shape[0]:,} and {shape[1]:,} rows by {', '.join(seen.fields)}"]
    if ok and seen.accepted:
        right = "more than 99%" if seen.precision > 0.99 else f"about {seen.precision:.0%}"
        new = f"the {seen.accepted:,} new pairs" if seen.known else "them"
        parts.append(f"{right} of {new} should be right")
    elif seen.accepted and seen.confirmed:
        parts.append(f"{seen.accepted:,} pairs look alike")
    if not seen.confirmed:
        parts.append("the other features do not confirm what the shared columns propose")
    if seen.null_share is not None:
        halves = "two halves of one table, which have no row in common"
        parts.append(f"{halves}, match in {seen.null_share:.1%} of the rows")
    if seen.held_out is not None:
        parts.append(str(seen.held_out))
    if seen.dropped:
        parts.append(f"{_list_names(seen.dropped)} not used, because the other columns contradict it")
    if seen.contradiction:
        parts.append(f"{_list_names(seen.contradiction)} contradict each other: drop one, or confirm pairs")
    elif seen.hardly_overlap and seen.accepted:
        parts.append("so few matches may be chance")
    if ok is None:
        parts.append(f"{max(1, ENOUGH_TO_SETTLE - seen.known)} confirmed pairs would settle it")
    if seen.sharing > max(FEW_SHARING, MUCH_SHARING * seen.accepted):
        several = "use one_to_one=False (--many-to-one) if it may have several"
        parts.append(f"{seen.sharing:,} more rows of A fit a matched row of B: {several}")
    return "; ".join(parts) + "."


def _list_names(names: tuple[str, ...]) -> str:
    return " and ".join(f'"{name}"' for name in names)
