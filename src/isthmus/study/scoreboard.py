"""Records of one study and variant as arrays, groups by seeds, and claims with a verdict that the numbers give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from isthmus._arrays import BoolArray, FloatArray
from isthmus._validation import choice
from isthmus.evaluation import Difference, holm, paired_difference
from isthmus.exceptions import InputError
from isthmus.study.design import Design
from isthmus.study.entrants import SETTINGS
from isthmus.study.fingerprints import SCHEME
from isthmus.study.records import Record

LEVEL = 0.05
HOLDS, REVERSED, OPEN = "holds", "reversed", "not shown"
UNRUN = "not run"


@dataclass(frozen=True)
class Claim:
    """That one thing is larger than another, and what the trials say about it.

    Parameters
    ----------
    statement : str
        The claim, in words.
    difference : Difference or None
        Of the first thing and the second, given the data: trials draw anew from the same rows. None where trials
        are missing, or too few to compare.

    Examples
    --------
    >>> print(Claim("mlhd > arc", Difference(0.03, 0.01, 0.05, 0.004, 0.02, 20, 20, 0.95, "permutation")))
    mlhd > arc: holds, +3.0 [1.0, 5.0], p = .004 (Holm .020)
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

    def __str__(self) -> str:
        return f"{self.statement}: {self.verdict}" + (f", {self.difference}" if self.difference else "")


def family(claims: Sequence[tuple[str, Difference | None]]) -> list[Claim]:
    """Statements with their differences as claims of one family: p-values are adjusted for their number (Holm)."""
    adjusted = iter(holm([difference.p_value for _, difference in claims if difference is not None]))
    return [Claim(s, None if d is None else replace(d, p_adjusted=float(next(adjusted)))) for s, d in claims]


class Scoreboard:
    """Scores of every column and setting over the same groups and seeds.

    Of the records only those of the study, the variant and the seeds are read.
    """

    def __init__(self, design: Design, records: Iterable[Record], variant: str, seeds: Sequence[int]) -> None:
        self.design, self.seeds, self.groups = design, tuple(seeds), design.groups
        self.variant = choice(variant, "variant", design.variants)
        self._records = {
            (r.group, r.seed, r.system, r.setting): r
            for r in records
            if r.experiment == design.name and r.variant == variant and r.seed in self.seeds
        }

    def records(self, system: str, setting: str = "default") -> list[list[Record | None]]:
        """One record for each group and seed, None where there is none."""
        choice(system, "system", self.design.columns)
        return [[self._records.get((group, seed, system, setting)) for seed in self.seeds] for group in self.groups]

    def scores(self, system: str, setting: str = "default") -> FloatArray:
        """Scores (groups, seeds), NaN where there is none."""
        return self._values(system, setting, lambda record: record.score)

    def figures(self, system: str, name: str) -> FloatArray:
        """A further number (groups, seeds), NaN where there is none."""
        return self._values(system, "default", lambda record: (record.figures or {}).get(name))

    def _values(self, system: str, setting: str, value: Callable[[Record], float | None]) -> FloatArray:
        rows = [[None if r is None else value(r) for r in row] for row in self.records(system, setting)]
        return np.array(rows, dtype=float)  # None becomes NaN

    def uncertified(self, system: str, setting: str = "default") -> BoolArray:
        """Which groups (groups,) have a trial whose fit was not certified or failed."""
        rows = self.records(system, setting)
        return np.array([any(r is not None and not r.certified for r in row) for row in rows])

    def outdated(self) -> int:
        """Count the records of another version, or of other systems or rows than the study now has.

        Nothing is loaded for that: data of loaders are compared when a run is resumed. Records without a fingerprint,
        or with one of an earlier scheme, can't be compared: they count by their version alone.
        """
        cells = set(self.design.cells(tuple(SETTINGS)))
        return sum(
            not r.of_this_version
            or (
                (r.fingerprint or "").startswith(SCHEME)
                and not str(r.fingerprint).startswith(self.design.fingerprint(r.variant, r.system, r.setting))
            )
            for r in self._records.values()
            if (r.system, r.setting) in cells
        )

    def difference(self, a: str, b: str, setting: str = "default") -> Difference:
        """The mean of a - b over all trials, clustered by seed and by group, whichever is the more cautious."""
        for name in (a, b):
            every = chain(*self.records(name, setting))
            lost = ["no record" if r is None else r.status for r in every if r is None or r.score is None]
            if lost:
                raise InputError(f"{name}: expected a score in every trial, got {len(lost)} without ({lost[0]}).")
        found = self.clustered(self.scores(a, setting), self.scores(b, setting))
        if found is None:
            raise InputError(
                "seeds: expected at least two trials with rows of their own (drawn by a protocol or a loader) or "
                f"two groups, got {len(self.seeds)} seed(s) and {len(self.groups)} group(s)."
            )
        return found

    def claim(self, a: str, b: str, setting: str = "default") -> Claim:
        """That a is better than b, with its verdict."""
        return Claim(f"{a} > {b}", self.difference(a, b, setting))

    def claims(self, pairs: Iterable[tuple[str, str]], setting: str = "default") -> list[Claim]:
        """That the first of each pair of columns is better, as one family: p-values adjusted for their number (Holm).

        Where trials are missing a claim is not judged: a difference over those that happen to be there could mislead.
        """
        names = [[choice(name, "system", self.design.columns) for name in pair] for pair in pairs]
        return family(
            [(f"{a} > {b}", self.clustered(self.scores(a, setting), self.scores(b, setting))) for a, b in names]
        )

    @property
    def clusters(self) -> tuple[str, ...]:
        """What differences are clustered by: seeds, where each has rows of its own, and groups, where several."""
        several = {"seed": self.design.redrawn and len(self.seeds) > 1, "group": len(self.groups) > 1}
        return tuple(name for name, there in several.items() if there)

    def clustered(self, a: FloatArray, b: FloatArray) -> Difference | None:
        """The difference of two arrays (groups, seeds); None where values are missing, or there is no second cluster.

        Where seeds only move the systems, on the same rows, they say nothing of other rows: only groups are clusters.
        """
        clusters = [np.indices(a.shape)[("group", "seed").index(name)].ravel() for name in self.clusters]
        if not np.isfinite(a - b).all() or not clusters:
            return None
        return paired_difference(a.ravel(), b.ravel(), clusters)
