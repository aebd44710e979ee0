"""What the paper says, and what the controls ask, as comparisons with a verdict that the numbers give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.evaluation import Difference, paired_difference
from isthmus.experiments.entrants import BY_TARGET
from isthmus.experiments.scoreboard import Scoreboard, adjusted

LEVEL = 0.05
HOLDS, REVERSED, OPEN = "holds", "reversed", "not shown"
UNRUN = "not run"
MIXED, CONTRADICTORY = "not shown in every set of seeds", "contradictory"
"""Verdicts over several sets of seeds that do not agree."""

TARGET_ONLY = ("target 1-NN", "target SVM", "target label spreading", "target self-trained LDA")
SPOILT = ("noise", "permuted", "renamed")
ORDER = (("mlhd", "arc"), ("arc", "kcca+itml"), ("kcca+itml", "kcca+nn"))
"""The paper's order of its systems."""
READINGS = ("mlhd", f"mlhd {BY_TARGET}")
AGAINST_TARGET = tuple((system, control) for system in ("arc", *READINGS) for control in TARGET_ONLY)
AGAINST_SPOILT = tuple((system, f"{system}, {kind}") for system in READINGS for kind in SPOILT)
COMPARISONS = ORDER + AGAINST_TARGET + AGAINST_SPOILT
"""One family: its p-values are adjusted together."""


@dataclass(frozen=True)
class Claim:
    """That one thing is larger than another, and what the trials say about it.

    Parameters
    ----------
    statement : str
        The claim, in words.
    difference : Difference or None
        Of the first thing and the second, given the data: trials draw anew from the same rows. None where trials
        are missing.
    """

    statement: str
    difference: Difference | None

    @property
    def verdict(self) -> str:
        """What the adjusted p-value allows to say: below 5 % the claim holds or is reversed, else it is not shown."""
        if self.difference is None:
            return UNRUN
        if self.difference.p_adjusted >= LEVEL or self.difference.mean == 0:
            return OPEN
        return HOLDS if self.difference.mean > 0 else REVERSED


def table_claims(board: Scoreboard, setting: str = "default") -> list[Claim]:
    """Every comparison of a table, in the order of :data:`COMPARISONS`."""
    found = board.differences(COMPARISONS, setting)
    return [Claim(f"{a} > {b}", d) for (a, b), d in zip(COMPARISONS, found, strict=True)]


def sensitivity_claims(board: Scoreboard, system: str = "mlhd") -> list[Claim]:
    """Whether accuracy rises with λ1, and whether λ2 matters less than λ1."""
    accuracy = board.grid(system)
    if not np.isfinite(accuracy).all() or len(board.seeds) < 2 or len(board.groups) < 2:
        return [Claim(statement, None) for statement in _SENSITIVITY]
    slope = slopes(accuracy)
    group, seed = np.indices(slope.shape)
    clusters = [seed.ravel(), group.ravel()]
    rises = paired_difference(slope.ravel(), np.zeros(slope.size), clusters)
    by_seed = accuracy.mean(axis=0)  # of a single trial, a range is mostly noise
    ranges = np.ptp(by_seed.mean(axis=2), axis=1), np.ptp(by_seed.mean(axis=1), axis=1)
    matters = paired_difference(*ranges)
    return [Claim(s, d) for s, d in zip(_SENSITIVITY, adjusted([rises, matters]), strict=True)]


_SENSITIVITY = ("accuracy rises with λ1, a decade", "range over λ1 > range over λ2")


def slopes(accuracy: FloatArray) -> FloatArray:
    """By how much accuracy rises a decade of λ1, on average over λ2 (groups, seeds)."""
    profile = accuracy.mean(axis=3)
    decades = np.arange(profile.shape[2]) - (profile.shape[2] - 1) / 2
    return np.asarray(profile @ decades / (decades @ decades))


def agreed(verdicts: list[str]) -> str:
    """One verdict for several sets of seeds: theirs, where they agree.

    Examples
    --------
    >>> agreed(["holds", "holds"]), agreed(["holds", "not shown"]), agreed(["holds", "reversed"])
    ('holds', 'not shown in every set of seeds', 'contradictory')
    """
    found = set(verdicts)
    if len(found) == 1:
        return verdicts[0]
    if UNRUN in found:
        return UNRUN
    return CONTRADICTORY if {HOLDS, REVERSED} <= found else MIXED
