"""Records of one experiment and one variant as arrays: groups by seeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray
from isthmus.evaluation import Difference, holm, paired_difference
from isthmus.exceptions import InputError
from isthmus.experiments.experiment import Experiment
from isthmus.experiments.records import Record


class Scoreboard:
    """Accuracy of every column and setting over the same groups and seeds.

    Parameters
    ----------
    experiment : Experiment
        The table.
    records : iterable of Record
        Whatever there is; only those of the experiment, the variant and the seeds are read.
    variant : str
        The preparation of the features.
    seeds : tuple of int
        The draws.
    """

    def __init__(
        self, experiment: Experiment, records: Iterable[Record], variant: str, seeds: tuple[int, ...]
    ) -> None:
        self.experiment, self.variant, self.seeds = experiment, variant, seeds
        self.groups = tuple(trial.group for trial in experiment.trials((variant,), seeds[:1]))
        wanted = set(seeds)
        self._records = {
            (r.group, r.seed, r.system, r.setting): r
            for r in records
            if r.experiment == experiment.name and r.variant == variant and r.seed in wanted
        }

    def searched(self) -> Scoreboard:
        """The same for the draws in which grids are searched."""
        seeds = self.seeds[: self.experiment.searched_seeds]
        return Scoreboard(self.experiment, self._records.values(), self.variant, seeds)

    def records(self, system: str, setting: str = "default") -> list[list[Record | None]]:
        """One record a group and seed, None where there is none."""
        return [[self._records.get((group, seed, system, setting)) for seed in self.seeds] for group in self.groups]

    def scores(self, system: str, setting: str = "default") -> FloatArray:
        """Accuracy (groups, seeds), NaN where there is none."""
        rows = self.records(system, setting)
        return np.array([[np.nan if r is None or r.score is None else r.score for r in row] for row in rows])

    def figures(self, system: str, name: str) -> FloatArray:
        """A further number (groups, seeds), NaN where there is none."""
        rows = self.records(system)
        return np.array(
            [[np.nan if r is None or not r.figures else r.figures.get(name, np.nan) for r in row] for row in rows]
        )

    def uncertified(self, system: str, setting: str = "default") -> NDArray[np.bool_]:
        """Which groups (groups,) have a trial whose fit was not certified or failed."""
        return np.array(
            [any(r is not None and not r.certified for r in row) for row in self.records(system, setting)]
        )

    def has(self, system: str, setting: str) -> bool:
        """Whether there is any record, of a failure too: a column that failed is shown as such, not left out."""
        return any(record is not None for row in self.records(system, setting) for record in row)

    def grid(self, system: str, setting: str = "oracle") -> FloatArray:
        """What was chosen by, at every point of the grid (groups, seeds, *grid), NaN where there is none."""
        shape = tuple(len(values) for values in self.experiment.entrant(system).grid.values())
        empty = np.full(int(np.prod(shape)), np.nan)
        rows = self.records(system, setting)
        for found in (record for row in rows for record in row if record is not None and record.grid is not None):
            if len(found.grid or ()) != len(empty):
                raise InputError(
                    f"records of {system}, {found.group}, seed {found.seed}: expected a grid of {len(empty)} values, "
                    f"got {len(found.grid or ())}; remove them to run them again."
                )
        values = [
            [empty if r is None or r.grid is None else [np.nan if v is None else v for v in r.grid] for r in row]
            for row in rows
        ]
        return np.array(values, dtype=float).reshape(len(self.groups), len(self.seeds), *shape)

    def difference(self, a: FloatArray, b: FloatArray) -> Difference | None:
        """The mean of a - b over all trials, clustered by seed and by group, whichever is the more cautious.

        None unless every trial has both: a difference over the trials that happen to be there could mislead.
        """
        clusters = [index.ravel() for index, n in zip(np.indices(a.shape), a.shape, strict=True) if n > 1]
        if not np.isfinite(a - b).all() or not clusters:
            return None
        return paired_difference(a.ravel(), b.ravel(), clusters)

    def differences(self, pairs: Iterable[tuple[str, str]], setting: str = "default") -> list[Difference | None]:
        """The differences of several pairs of columns, p-values adjusted for their number (Holm)."""
        raw = [self.difference(self.scores(a, setting), self.scores(b, setting)) for a, b in pairs]
        return adjusted(raw)


def adjusted(raw: list[Difference | None]) -> list[Difference | None]:
    """The same differences as one family of comparisons."""
    found = [d for d in raw if d is not None]
    family = iter(holm([d.p_value for d in found])) if found else iter(())
    return [None if d is None else replace(d, p_adjusted=float(next(family))) for d in raw]
