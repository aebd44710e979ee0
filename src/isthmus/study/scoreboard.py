"""Records of one study and one variant as arrays: groups by seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from isthmus._arrays import BoolArray, FloatArray
from isthmus._validation import choice
from isthmus.evaluation import Difference, paired_difference
from isthmus.exceptions import InputError
from isthmus.study.claims import Claim, family
from isthmus.study.design import Design
from isthmus.study.entrants import SETTINGS
from isthmus.study.records import Record


class Scoreboard:
    """Accuracy of every column and setting over the same groups and seeds.

    Parameters
    ----------
    design : Design
        The study.
    records : iterable of Record
        Whatever there is; only those of the study, the variant and the seeds are read.
    variant : str
        The preparation of the features.
    seeds : sequence of int
        The draws.
    """

    def __init__(self, design: Design, records: Iterable[Record], variant: str, seeds: Sequence[int]) -> None:
        self.design, self.seeds, self.groups = design, tuple(seeds), design.groups
        self.variant = choice(variant, "variant", design.variants)
        wanted = set(seeds)
        self._records = {
            (r.group, r.seed, r.system, r.setting): r
            for r in records
            if r.experiment == design.name and r.variant == variant and r.seed in wanted
        }

    def first(self, n: int) -> Scoreboard:
        """The same for the first n draws."""
        return Scoreboard(self.design, self._records.values(), self.variant, self.seeds[:n])

    def records(self, system: str, setting: str = "default") -> list[list[Record | None]]:
        """One record for each group and seed, None where there is none."""
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

    def uncertified(self, system: str, setting: str = "default") -> BoolArray:
        """Which groups (groups,) have a trial whose fit was not certified or failed."""
        return np.array(
            [any(r is not None and not r.certified for r in row) for row in self.records(system, setting)]
        )

    def outdated(self) -> int:
        """How many records are of another version, or of other systems or rows than the study now has."""
        cells = set(self.design.cells(tuple(SETTINGS)))
        marked = [r for r in self._records.values() if (r.system, r.setting) in cells]
        return sum(
            not r.of_this_version
            or r.fingerprint not in (None, self.design.fingerprint(r.variant, r.system, r.setting))
            for r in marked
        )

    def has(self, system: str, setting: str) -> bool:
        """Whether there is any record, of a failure too: a column that failed is shown as such, not left out."""
        return any(record is not None for row in self.records(system, setting) for record in row)

    def grid(self, system: str, setting: str = "oracle") -> FloatArray:
        """What was chosen by, at every point of the grid (groups, seeds, *grid), NaN where there is none."""
        shape = tuple(len(values) for values in self.design.entrant(system).grid.values())
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

    def difference(self, a: str, b: str, setting: str = "default") -> Difference:
        """The mean of a - b over all trials, clustered by seed and by group, whichever is the more cautious.

        Parameters
        ----------
        a, b : str
            Columns.
        setting : {"default", "oracle", "selected"}
            How the parameters of both were chosen.
        """
        for name in (a, b):
            scores = self.scores(choice(name, "system", self.design.columns), setting)
            if np.isnan(scores).any():
                g, s = np.argwhere(np.isnan(scores))[0]
                lost = self.records(name, setting)[g][s]
                trial = " ".join(filter(None, (self.groups[g], f"seed {self.seeds[s]}")))
                status = "no record" if lost is None else lost.status
                raise InputError(f"{name}: expected a score in every trial, got none in {trial} ({status}).")
        found = self._difference(a, b, setting)
        if found is None:
            raise InputError(
                "seeds: expected at least two trials with rows of their own (drawn by a protocol or a loader) or "
                f"two groups, got {len(self.seeds)} seed(s) and {len(self.groups)} group(s)."
            )
        return found

    def claim(self, a: str, b: str, setting: str = "default") -> Claim:
        """That a is better than b, with its verdict."""
        self.difference(a, b, setting)  # says what is missing
        return self.claims([(a, b)], setting)[0]

    def claims(self, pairs: Sequence[tuple[str, str]], setting: str = "default") -> list[Claim]:
        """That the first of each pair of columns is better, as one family: p-values adjusted for their number (Holm).

        Where trials are missing a claim is not judged: a difference over those that happen to be there could mislead.
        """
        return family([(f"{a} > {b}", self._difference(a, b, setting)) for a, b in pairs])

    def _difference(self, a: str, b: str, setting: str) -> Difference | None:
        return self.clustered(self.scores(a, setting), self.scores(b, setting))

    def clustered(self, a: FloatArray, b: FloatArray) -> Difference | None:
        """The difference of two arrays (groups, seeds); None where values are missing, or there is no second cluster.

        Where seeds only move the systems, on the same rows, they are no evidence about other rows: then groups alone
        are clusters.
        """
        axes = [0, 1] if self.design.redrawn else [0]
        indices = np.indices(a.shape)
        clusters = [indices[axis].ravel() for axis in axes if a.shape[axis] > 1]
        if not np.isfinite(a - b).all() or not clusters:
            return None
        return paired_difference(a.ravel(), b.ravel(), clusters)
