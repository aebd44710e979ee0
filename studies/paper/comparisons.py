"""What the paper says, and what the controls ask."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.evaluation import paired_difference
from isthmus.study import Claim, Scoreboard
from isthmus.study.scoreboard import HOLDS, REVERSED, UNRUN, family
from studies.paper.entrants import CONTROLS, MLHD_RBF, PAPER
from studies.paper.experiment import PaperBoard

TARGET_ONLY = tuple(entrant.name for entrant in CONTROLS)
CORRUPTED = ("noise", "permuted", "renamed")
ORDER = tuple(zip(PAPER[:0:-1], PAPER[-2::-1], strict=True))
"""The paper's order of its systems, the best first."""
READINGS = MLHD_RBF.columns
AGAINST_TARGET = tuple((system, control) for system in ("arc-rbf", *READINGS) for control in TARGET_ONLY)
AGAINST_CORRUPTED = tuple((system, f"{system}, {kind}") for system in READINGS for kind in CORRUPTED)
COMPARISONS = ORDER + AGAINST_TARGET + AGAINST_CORRUPTED
"""One family: its p-values are adjusted together."""
MIXED, CONTRADICTORY = "not shown in every set of seeds", "contradictory"
"""Verdicts over several sets of seeds that do not agree."""


def table_claims(board: Scoreboard, setting: str = "default") -> list[Claim]:
    """Every comparison of a table, in the order of :data:`COMPARISONS`."""
    return board.claims(COMPARISONS, setting)


def sensitivity_claims(board: PaperBoard, system: str) -> list[Claim]:
    """Whether accuracy rises with λ1, and whether λ2 matters less than λ1."""
    accuracy = board.grid(system)
    if not np.isfinite(accuracy).all() or len(board.seeds) < 2 or len(board.groups) < 2:
        return [Claim(statement, None) for statement in _SENSITIVITY]
    slope = slopes(accuracy)
    rises = board.clustered(slope, np.zeros_like(slope))
    by_seed = accuracy.mean(axis=0)  # of a single trial, a range is mostly noise
    ranges = np.ptp(by_seed.mean(axis=2), axis=1), np.ptp(by_seed.mean(axis=1), axis=1)
    return family(list(zip(_SENSITIVITY, (rises, paired_difference(*ranges)), strict=True)))


_SENSITIVITY = ("accuracy rises with λ1, per decade", "range over λ1 > range over λ2")


def slopes(accuracy: FloatArray) -> FloatArray:
    """By how much accuracy rises per decade of λ1, on average over λ2 (groups, seeds)."""
    profile = accuracy.mean(axis=3)
    decades = np.arange(profile.shape[2]) - (profile.shape[2] - 1) / 2
    return np.asarray(profile @ decades / (decades @ decades))


def agreed(verdicts: Sequence[str]) -> str:
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
