"""Whether an adapter will do, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

from isthmus.migration.recall import Recall

BRIDGE, UNTIL, REEMBED = "bridge", "bridge until re-embedded", "re-embed"
FOUND = 0.95
"""Recall@10 that a bridge to stay needs, at the lower end of its interval: nineteen of twenty objects are still
found on the first page."""
USABLE = 0.5
"""Recall@10 below which no bridge is worth having: more objects are lost than found."""


@dataclass(frozen=True)
class Advice:
    """What to do, and why.

    Parameters
    ----------
    action : {"bridge", "bridge until re-embedded", "re-embed"}
    reason : str
        One sentence with the numbers.
    """

    action: str
    reason: str

    def __str__(self) -> str:
        return f"{self.action}: {self.reason}"


def advice(recall: Recall) -> Advice:
    """The rule, on the figures of held-out pairs.

    - *re-embed* where recall@10 is below ``USABLE``, or no better than that of shuffled pairs;
    - *bridge* where recall@10 reaches ``FOUND`` with certainty, and the new model's neighbours are recovered at least
      as well as by the old model on its own index: nobody is served worse than before;
    - *bridge until re-embedded* for all between.
    """
    last, old = recall.last, recall.controls.get("old model")
    shuffled = recall.controls.get("shuffled pairs")
    found = f"of {recall.n_queries} held-out objects {last.at_10} are among the first ten"
    if shuffled is not None and last.at_10.low <= shuffled.at_10.high:
        return Advice(REEMBED, f"{found}, with shuffled pairs {shuffled.at_10}.")
    if last.at_10.value < USABLE:
        return Advice(REEMBED, f"{found}, fewer than {USABLE:g}.")
    if last.overlap is not None and old is not None and old.overlap is not None:
        neighbours = f"{last.overlap.value:.2f} of the new model's neighbours among {recall.n_neighbours:,} rows are "
        neighbours += f"found, by the old model {old.overlap.value:.2f}"
        as_before = last.overlap.value >= old.overlap.value
    else:
        neighbours, as_before = "too few rows are known in both spaces to compare neighbours", False
    stays = last.at_10.low >= FOUND and as_before
    return Advice(BRIDGE if stays else UNTIL, f"{found}, and {neighbours}.")
