"""What the paper says, and what the controls ask."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.evidence.comparison import paired_difference
from isthmus.study.board import HOLDS, REVERSED, UNRUN, Board, Claim, adjust_claims
from studies.paper.entrants import BY_MEANS, CONTROLS, MLHD_FLAT, MLHD_RBF, PAPER
from studies.paper.experiment import PaperBoard

TARGET_ONLY = tuple(entrant.name for entrant in CONTROLS)
CORRUPTED = ("noise", "permuted", "renamed")
ORDER = tuple(zip(PAPER[:0:-1], PAPER[-2::-1], strict=True))
"""The paper's order of its systems, the best first."""
ORDER_BY_MEANS = tuple((f"{a} {BY_MEANS}", f"{b} {BY_MEANS}") for a, b in ORDER)
"""The same, with rows called by the nearest class mean."""
READINGS = MLHD_RBF.columns
FLAT = MLHD_FLAT.name
WHERE_FLAT = ((FLAT, "arc-rbf"), (f"{FLAT} {BY_MEANS}", f"arc-rbf {BY_MEANS}"), (FLAT, MLHD_RBF.name))
"""MLHD at a weight where accuracy does not depend on it any more."""
TRANSFER = "label-transfer"
JUDGED = ("arc-rbf", *READINGS, FLAT, TRANSFER)
"""The systems that have to be better than the target alone."""
AGAINST_TARGET = {system: tuple((system, control) for control in TARGET_ONLY) for system in JUDGED}
AGAINST_CORRUPTED = {system: tuple((system, f"{system}, {kind}") for kind in CORRUPTED) for system in READINGS}
FAMILIES = (ORDER, ORDER_BY_MEANS, WHERE_FLAT, *AGAINST_TARGET.values(), *AGAINST_CORRUPTED.values())
"""The questions: the p-values of one are adjusted together (one family of all could hold nothing with ten seeds)."""
COMPARISONS = tuple(pair for pairs in FAMILIES for pair in pairs)
MIXED, CONTRADICTORY = "not shown in every set of seeds", "contradictory"
"""Verdicts over several sets of seeds that do not agree."""


def table_claims(board: Board, setting: str = "default") -> list[Claim]:
    """Every comparison of a table, in the order of :data:`COMPARISONS`."""
    return [claim for pairs in FAMILIES for claim in board.claims(pairs, setting)]


def sensitivity_claims(board: PaperBoard, system: str, *, flat: bool = False) -> list[Claim]:
    """Whether accuracy rises with λ1, and whether λ2 matters less than λ1; ``flat``: over large λ2 only."""
    accuracy = board.grid(system)[..., flat_columns(board, system) if flat else slice(None)]
    if not accuracy.size or not np.isfinite(accuracy).all() or len(board.seeds) < 2 or len(board.groups) < 2:
        return [Claim(statement, None) for statement in _SENSITIVITY]
    slope = slopes(accuracy)
    rises = board.compare(slope, np.zeros_like(slope))
    by_seed = accuracy.mean(axis=0)  # of a single trial, a range is mostly noise
    ranges = np.ptp(by_seed.mean(axis=2), axis=1), np.ptp(by_seed.mean(axis=1), axis=1)
    return adjust_claims(list(zip(_SENSITIVITY, (rises, paired_difference(*ranges)), strict=True)))


FROM_FLAT = 10.0
"""The least λ2 of the grid that counts as large."""


def flat_columns(board: PaperBoard, system: str) -> list[int]:
    """Which values of λ2, the second parameter of the grid, are large."""
    _, (_, values) = board.design.entrant(system).grid.items()
    return [k for k, value in enumerate(values) if value >= FROM_FLAT]


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
