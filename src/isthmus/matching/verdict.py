"""Whether a matching worked: by known pairs that were held back, or by what can be seen without any."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus.evaluation.intervals import wilson_interval
from isthmus.matching.runs import Runs

NEAR = 10
"""A held-back pair counts as near if the partner is among the first ten."""
MOST_NEAR = 0.5
SURE, DOUBTFUL = 0.75, 0.6
"""Agreement of two runs from which on a matching is sure, and below which it failed."""
GAIN = 0.04
"""By how much the value has to exceed that of a run from nothing."""


@dataclass(frozen=True)
class Evidence:
    """The figures that a verdict rests on.

    Parameters
    ----------
    agreement : float
        Among the rows that two runs find mutual partners for, the share for which these are the same.
    confirmed, null_confirmed : float
        The share of the mutual pairs that are found again when they are left out; the same of the run from nothing.
    value, null_value : float
        The mean best score of a row, over the highest possible; the same of the run from nothing.
    held_back, held_back_first, held_back_near : int
        How many known pairs were held back; for how many the partner came first; was among the first ten.
    shuffled_first, shuffled_near : int
        The same by the run from nothing.
    engine, schedule : str
        Who learned, and how the best refinement went.
    """

    agreement: float
    confirmed: float
    null_confirmed: float
    value: float
    null_value: float
    held_back: int
    held_back_first: int
    held_back_near: int
    shuffled_first: int
    shuffled_near: int
    engine: str
    schedule: str

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


def evidence(runs: Runs, engine: str) -> Evidence:
    """The figures of some runs."""
    rows = np.flatnonzero(runs.unknown)
    mutual = np.intersect1d(runs.found.mutual, rows)
    both = np.intersect1d(mutual, runs.again.mutual)
    same = runs.found.of_rows[both] == runs.again.of_rows[both]
    return Evidence(
        agreement=float(same.mean()) if len(both) else 0.0,
        confirmed=runs.left_out.confirmed(runs.found, mutual),
        null_confirmed=runs.null_confirmed,
        value=runs.final.value,
        null_value=runs.null.value,
        held_back=len(runs.held_back),
        held_back_first=int((runs.held_back == 1).sum()),
        held_back_near=int((runs.held_back <= NEAR).sum()),
        shuffled_first=int((runs.shuffled == 1).sum()),
        shuffled_near=int((runs.shuffled <= NEAR).sum()),
        engine=engine,
        schedule=runs.final.refined.schedule.name,
    )


def success(seen: Evidence) -> bool | None:
    """True, False, or None where it is doubtful.

    With pairs held back: at least half of the partners among the first ten, and more than by the run from nothing.
    Without: two runs agree, and the best scores are better than those of the run from nothing.
    """
    if seen.held_back:
        near = seen.held_back_near >= MOST_NEAR * seen.held_back
        return bool(near and seen.held_back_near > seen.shuffled_near)
    if seen.value < seen.null_value + GAIN or seen.agreement < DOUBTFUL:
        return False
    return True if seen.agreement >= SURE else None


def sentence(seen: Evidence, succeeded: bool | None, n_pairs: int, shape: tuple[int, int]) -> str:
    """The verdict with its figures, in one sentence."""
    word = {True: "matched", False: "failed", None: "doubtful"}[succeeded]
    count = f"{n_pairs:,} of {shape[0]:,} and {shape[1]:,} rows"
    return f"{word}: {count}; {_reason(seen)}."


def _reason(seen: Evidence) -> str:
    if seen.held_back:
        low, high = seen.held_back_interval or (0.0, 1.0)
        return (
            f"of {seen.held_back} known pairs that were held back, {seen.held_back_recall:.0%} were found "
            f"[{low:.0%}, {high:.0%}], {seen.held_back_near / seen.held_back:.0%} among the first {NEAR} "
            f"(from shuffled pairs {seen.shuffled_near / seen.held_back:.0%})"
        )
    return (
        f"two runs agree on {seen.agreement:.0%} of the rows, mean best score {seen.value:.2f} "
        f"(from nothing {seen.null_value:.2f})"
    )
