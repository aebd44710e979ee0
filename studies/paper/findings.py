"""What the trials of a table say, over all sets of seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isthmus.evidence.comparison import format_points
from isthmus.study.board import HOLDS, REVERSED, Claim
from studies.paper.comparisons import COMPARISONS, agreed, table_claims
from studies.paper.experiment import Experiment, PaperBoard


@dataclass(frozen=True, eq=False)
class Finding:
    """A table under one preparation of its features: a board and the claims for every set of seeds."""

    experiment: Experiment
    variant: str
    boards: list[PaperBoard]

    @cached_property
    def claims(self) -> list[list[Claim]]:
        """The comparisons, for every set of seeds."""
        return [table_claims(board) for board in self.boards]

    @cached_property
    def verdicts(self) -> dict[tuple[str, str], str]:
        """What all sets of seeds agree on, for every comparison."""
        by_claim = zip(*self.claims, strict=True)
        return {pair: agreed([c.verdict for c in same]) for pair, same in zip(COMPARISONS, by_claim, strict=True)}

    def difference(self, pair: tuple[str, str]) -> str:
        """The mean difference of a comparison in points, one number per set of seeds."""
        found = [claims[COMPARISONS.index(pair)].difference for claims in self.claims]
        return " / ".join("–" if d is None else format_points(100 * d.mean) for d in found)

    def count(self, pairs: Sequence[tuple[str, str]], verdict: str) -> int:
        """How many comparisons have this verdict in every set of seeds."""
        return sum(self.verdicts[pair] == verdict for pair in pairs)

    @cached_property
    def complete(self) -> bool:
        """Whether every column has every trial of every set of seeds: means over some would mislead."""
        return all(np.isfinite(b.scores(name)).all() for b in self.boards for name in self.experiment.columns)

    def mean(self, column: str) -> float:
        """Accuracy in per cent over all groups and the first set of seeds."""
        return float(100 * self.boards[0].scores(column).mean())

    def beaten(self, pairs: Sequence[tuple[str, str]]) -> str:
        """How many comparisons are won, lost and open."""
        won, lost = self.count(pairs, HOLDS), self.count(pairs, REVERSED)
        return f"beats {won}, loses to {lost}, open {len(pairs) - won - lost} of {len(pairs)}"

    @property
    def name(self) -> str:
        """As the page calls it."""
        return f"{self.experiment.name}, {self.variant}"
