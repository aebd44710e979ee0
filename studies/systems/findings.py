"""What the records say of a system: its scores, what it is better than, and on which pairs of domains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isthmus._core.validation import FloatArray, IntArray
from isthmus.evidence.comparison import Difference, paired_difference
from isthmus.study.board import Board, Claim, adjust_claims
from isthmus.study.records import Record
from isthmus.study.study import Study


@dataclass(frozen=True, eq=False)
class Findings:
    """The records of a study, and which of its columns are target-only rules."""

    board: Board
    target_only: tuple[str, ...]

    @classmethod
    def of(cls, study: Study, records: Iterable[Record], target_only: Sequence[str]) -> Findings:
        """The findings of a study's records, over the seeds that they have."""
        found = [record for record in records if record.experiment == study.name]
        return cls(study.board(found, sorted({record.seed for record in found})), tuple(target_only))

    @property
    def groups(self) -> tuple[str, ...]:
        """The pairs of domains."""
        return self.board.groups

    def scores(self, name: str) -> FloatArray:
        """In per cent (groups, seeds); NaN where there is none."""
        return 100.0 * self.board.scores(name)

    def there(self, name: str) -> bool:
        """Whether a column has a score in every trial of some group."""
        return bool(np.isfinite(self.scores(name)).all(axis=1).any())

    def seconds(self, name: str) -> float:
        """The median time of a fit; NaN where there is none."""
        found = [r.seconds for row in self.board.records(name) for r in row if r is not None and r.score is not None]
        return float(np.median(found)) if found else float("nan")

    @cached_property
    def best(self) -> tuple[str, ...]:
        """For each group, the target-only rule with the largest mean: the bar, chosen by its own test score."""
        means = np.stack([self.scores(name).mean(axis=1) for name in self.target_only])
        return tuple(self.target_only[k] for k in np.where(np.isfinite(means), means, -1.0).argmax(axis=0))

    @cached_property
    def bar(self) -> FloatArray:
        """The scores of the best target-only rule of each group (groups, seeds)."""
        return np.stack([self.scores(name)[k] for k, name in enumerate(self.best)])

    def compare(self, names: Sequence[str], bars: Mapping[str, FloatArray] | FloatArray) -> Comparison:
        """Columns against a bar for each, or one for all; columns without records are left out."""
        kept = [name for name in names if self.there(name)]
        each = {name: bars[name] if isinstance(bars, Mapping) else bars for name in kept}
        return Comparison({name: self.scores(name) for name in kept}, each)

    def best_of(self, names: Sequence[str]) -> FloatArray:
        """The scores (groups, seeds) of whichever of some columns has the largest mean, in each group."""
        every = np.stack([self.scores(name) for name in names])
        means = every.mean(axis=2)
        chosen = np.where(np.isfinite(means), means, -1.0).argmax(axis=0)
        return np.asarray(every[chosen, np.arange(every.shape[1])])


def over_trials(a: FloatArray, b: FloatArray) -> Difference | None:
    """The mean difference of two arrays (groups, seeds) over the groups where both have all trials.

    Each trial is a unit: trials of different groups have nothing in common, those of one group draw anew.

    Examples
    --------
    >>> a = np.array([[50.0, 60.0, 70.0], [60.0, 50.0, 60.0], [1.0, np.nan, 2.0]])
    >>> print(over_trials(a / 100, a / 100 - 0.1))
    +10.0 [10.0, 10.0], p = .031
    """
    kept = np.isfinite(a - b).all(axis=1)
    return _difference(a[kept].ravel(), b[kept].ravel(), None)


def over_groups(a: FloatArray, b: FloatArray) -> Difference | None:
    """The same with each group's mean as a unit: what may be expected of other pairs of domains of such kinds."""
    kept = np.isfinite(a - b).all(axis=1)
    groups = np.repeat(np.arange(int(kept.sum())), a.shape[1])
    return _difference(a[kept].ravel(), b[kept].ravel(), groups) if kept.sum() > 1 else None


def _difference(a: FloatArray, b: FloatArray, clusters: IntArray | None) -> Difference | None:
    if len(a) < 2 or not np.isfinite(a - b).all():
        return None
    return paired_difference(a, b, clusters)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Columns against their bars, in per cent (groups, seeds): as one family, p-values adjusted for their number."""

    columns: Mapping[str, FloatArray]
    bars: Mapping[str, FloatArray]

    @cached_property
    def claims(self) -> dict[str, Claim]:
        """That each column is above its bar, over all trials."""
        said = [(name, over_trials(scores, self.bars[name])) for name, scores in self.columns.items()]
        return dict(zip(self.columns, adjust_claims(said), strict=True))

    def with_verdict(self, verdict: str) -> list[str]:
        """The columns of which the claim has this verdict, the largest difference first."""
        found = {name: claim.difference for name, claim in self.claims.items() if claim.verdict == verdict}
        return sorted(found, key=lambda name: -(0.0 if (d := found[name]) is None else abs(d.mean)))

    @cached_property
    def in_groups(self) -> dict[str, list[Difference | None]]:
        """The difference of each column in each group."""
        return {
            name: [_difference(x, y, None) for x, y in zip(scores, self.bars[name], strict=True)]
            for name, scores in self.columns.items()
        }

    def over_groups(self, name: str) -> Difference | None:
        """The difference with each group's mean as a unit: what may be expected of other pairs of such kinds."""
        return over_groups(self.columns[name], self.bars[name])
