"""What known pairs say of a model: some are held back, and asked for, beside the words that both files share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isthmus.cli.shared import shared_rows

if TYPE_CHECKING:
    from isthmus._arrays import IntArray
    from isthmus.cli.sides import Side

ENOUGH = 10
"""Pairs from which on a third is held back."""
AMONG = 10
"""The partner is looked for among so many neighbours, too."""


@dataclass(frozen=True)
class HeldBack:
    """Shares of held-back pairs.

    Parameters
    ----------
    pairs : int
        How many were held back.
    recall, among : float
        The share whose partner comes first, and among the first ten.
    interval : (float, float)
        Of the recall.
    columns : int
        Words and columns that the files share.
    shared : float or None
        The share whose partner comes first by these alone.
    """

    pairs: int
    recall: float
    among: float
    interval: tuple[float, float]
    columns: int
    shared: float | None

    @property
    def sentence(self) -> str:
        """For the screen."""
        low, high = self.interval
        alone = "nothing to compare with" if self.shared is None else f"these alone find {self.shared:.0%}"
        return (
            f"Of {self.pairs:,} known pairs that were held back, {self.recall:.0%} were found "
            f"[{low:.0%}, {high:.0%}], {self.among:.0%} among the first {AMONG}; the files share {self.columns:,} "
            f"words or columns: {alone}."
        )

    @property
    def warning(self) -> str | None:
        """What speaks against using the model, if anything."""
        if not self.among:
            return "none of the pairs that were held back is found: these pairs do not teach how the files belong."
        if self.shared is not None and self.shared > self.recall:
            return "the words and columns that the files share find more by themselves than what was learned."
        return None

    @property
    def facts(self) -> dict[str, Any]:
        """For machines."""
        shares = {"recall": self.recall, "recall_among_10": self.among, "interval": list(self.interval)}
        return {"pairs": self.pairs, **shares, "shared_columns": self.columns, "shared_recall": self.shared}


def held_back(fitted: Callable[[IntArray], Any], source: Side, target: Side, pairs: IntArray) -> HeldBack | None:
    """A third of the pairs, by a model of the others; None where they are too few, or the model can't search.

    Parameters
    ----------
    fitted : callable
        From pairs (m, 2) to a model.
    source, target : Side
        The files.
    pairs : array (p, 2)
        Row numbers.
    """
    import numpy as np

    from isthmus.evaluation.intervals import wilson_interval
    from isthmus.matching.shared import shared_recall

    if len(pairs) < ENOUGH:
        return None
    order = np.random.default_rng(0).permutation(len(pairs))
    held, kept = pairs[order[: len(pairs) // 3]], pairs[order[len(pairs) // 3 :]]
    model = fitted(kept)
    if not hasattr(model, "search"):
        return None
    others = np.setdiff1d(kept[:, 1], held[:, 1])
    candidates = np.setdiff1d(np.arange(target.table.n_rows), others)
    k = min(AMONG, len(candidates))
    _, found = model.search(source.X[held[:, 0]], target.X[candidates], k, ("source", "target"))
    right = candidates[found] == held[:, 1:]
    hits, shared = int(right[:, 0].sum()), shared_rows(source, target)
    return HeldBack(
        pairs=len(held),
        recall=hits / len(held),
        among=float(right.any(axis=1).mean()),
        interval=wilson_interval(hits, len(held)),
        columns=0 if shared is None else int(shared[0].shape[1]),
        shared=None if shared is None else shared_recall(*shared, held, others),
    )
