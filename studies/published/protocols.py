"""Which rows the published protocols draw, who takes part, and the published figures that could be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from isthmus import KPGRL, LabelTransfer, systems
from isthmus._core.linalg import normalize_rows
from isthmus._core.validation import IntArray
from isthmus.data.domains import Split
from isthmus.estimators.controls import BalancedKMeans, SelfTrainedLDA, TargetOnly
from isthmus.study.design import Entrant
from isthmus.study.study import Study
from isthmus.study.trial_rows import CorruptedRows, Trial, hash_name
from studies.datasets import load_cdls, load_office31_released, load_office_caltech
from studies.labels.controls import MeanOfBoth
from studies.labels.data import Pair
from studies.labels.parts import BOTH, ON_AXES, ON_MORE_AXES, SPOILT, TARGET_ONLY, TRANSFER
from studies.labels.rows import LabelRows, label_rows
from studies.labels.task import Calling

SOURCE, LABELLED = 20, 3
"""Rows per class; all other target rows are unlabelled, and scored."""
SURF, NET = "surf800", "decaf4096"
TO_NET = {
    f"SURF→DeCAF {way}": (SURF, NET, *way.split("→"))
    for way in ("amazon→dslr", "caltech10→dslr", "webcam→dslr", "amazon→webcam", "caltech10→webcam", "dslr→webcam")
}
BACK = {
    f"DeCAF→SURF {way}": (NET, SURF, *way.split("→"))
    for way in (
        "amazon200→dslr", "webcam→dslr", "amazon200→webcam", "dslr→webcam", "webcam→amazon", "webcam→caltech10"
    )
}  # fmt: skip
RELEASED = {
    "CDLS split amazon→dslr": "cdls",
    "SHFA split amazon→dslr": "shfa",
    "Hoffman splits amazon→dslr": "hoffman",
}
BLOCKS = {
    "Office-Caltech, SURF→DeCAF": tuple(TO_NET),
    "Office-Caltech, DeCAF→SURF": tuple(BACK),
    "Hoffman's splits of Office-31": tuple(RELEASED)[2:],
    "Single splits that were released": tuple(RELEASED)[:2],
}
"""Groups by table."""
ONCE = BLOCKS["Single splits that were released"]
"""Groups with one split, which have seed 0 only."""
GROUPS = tuple(group for groups in BLOCKS.values() for group in groups)
NAME, CELLS, ALIGN = "published", "SNARE-seq ATAC→RNA", "align"


PUBLISHED = (
    (ONCE[1], "hfa, unit rows", "accuracy", 0.567901, "README of the release of HFA (Li et al. 2014)"),
    (CELLS, ALIGN, "FOSCTTM", 0.14902407, "replication notebook of SCOT (Demetci et al. 2022)"),
)
"""Published figures: the group and the system of the records that answer them, what is measured, and their origin."""
EQUAL_SHARES = f"{TRANSFER}, equal shares"


@cache
def load_pair(group: str, folder: Path | None) -> tuple[Pair, tuple[Split, ...]]:
    """A pair of domains, and its published splits; none where they are drawn."""
    if group in RELEASED:
        name = RELEASED[group]
        found = load_cdls(folder) if name == "cdls" else load_office31_released(folder)
        one, other = (found[domain] for domain in found.split_domains[name])
        splits = found.splits[name]
    else:
        kind, other_kind, source, target = (TO_NET | BACK)[group]
        one = load_office_caltech(folder, features=kind)[source]
        other, splits = load_office_caltech(folder, features=other_kind)[target], ()
    # Images of two cameras: no object is in both.
    objects = np.arange(len(one.y)), len(one.y) + np.arange(len(other.y))
    return Pair(one, other, *objects, counts=True), splits


def take_per_class(y: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """At most n rows of each class, drawn at random."""
    return np.sort(np.concatenate([rng.permutation(np.flatnonzero(y == c))[:n] for c in np.unique(y)]))


@dataclass(frozen=True)
class PublishedDraw:
    """The rows of a trial; all target rows without a label are both unlabelled and test rows."""

    folder: Path | None = field(default=None, compare=False)

    def __call__(self, trial: Trial) -> LabelRows:
        """Draw the rows, or take the published split of the seed's number."""
        pair, splits = load_pair(trial.group, self.folder)
        if splits:
            split = splits[trial.seed]
            return label_rows(pair, replace(split, unlabelled=split.test))
        rng = np.random.default_rng([trial.seed, hash_name(trial.group)])
        source, labelled = take_per_class(pair.source.y, SOURCE, rng), take_per_class(pair.target.y, LABELLED, rng)
        rest = np.setdiff1d(np.arange(len(pair.target.y)), labelled)
        return label_rows(pair, Split(source, labelled, rest, rest))


@dataclass(frozen=True)
class Seen:
    """What an entrant sees: a corrupted source, or rows on principal axes, or both."""

    kind: str = ""
    on_axes: bool = False

    def __call__(self, rows: LabelRows, seed: int) -> LabelRows:
        """The rows as they are seen."""
        seen: Any = CorruptedRows(self.kind)(rows, seed) if self.kind else rows
        return ON_AXES(seen, seed) if self.on_axes else seen


def square_rows(rows: LabelRows, seed: int) -> LabelRows:
    """Rows of unit length without the roots of counts, as the releases of HFA, CDLS and CDSPP have them."""
    names = "X_source", "X_target", "X_test"
    return replace(rows, **{name: normalize_rows(np.square(getattr(rows, name))) for name in names})  # type: ignore[arg-type]


def _systems() -> Iterator[Entrant]:
    for system in systems(control=False):
        if system.needs_pairs or system.equal_features or system.transductive or system.name == "label-transfer":
            continue
        on_axes = system.name.startswith(("mlhd", "arc"))  # their cost grows with the square of the columns
        yield Entrant(system.name, system.make, rows=Seen(on_axes=on_axes))
        yield Entrant(f"{system.name}, noise source", system.make, control=True, rows=Seen("noise", on_axes))
        if system.name in ("hfa", "cdls", "cdspp"):
            yield Entrant(f"{system.name}, unit rows", system.make, rows=square_rows)


TARGET_RULES = (
    *TARGET_ONLY,
    Entrant("target 1-NN, all features", TargetOnly, control=True),
    Entrant(BOTH, MeanOfBoth, control=True, rows=ON_MORE_AXES),
    *(
        Entrant(f"{entrant.name}, labelled shares", partial(make, shares="labelled"), control=True, rows=entrant.rows)
        for entrant, make in zip(TARGET_ONLY, (SelfTrainedLDA, BalancedKMeans), strict=False)
    ),
)
"""Rules that never see the source."""
ENTRANTS = (
    Entrant(TRANSFER, LabelTransfer),
    Entrant(EQUAL_SHARES, partial(LabelTransfer, shares="uniform")),
    *(Entrant(name, LabelTransfer, control=True, rows=CorruptedRows(kind)) for kind, name in SPOILT.items()),
    *_systems(),
    Entrant("kpg-rl, labelled shares", partial(KPGRL, shares="labelled")),
    *TARGET_RULES,
)


def study(folder: Path | None = None, groups: tuple[str, ...] = GROUPS) -> Study:
    """The protocols with labels, on the data of a folder."""
    return Study(NAME, PublishedDraw(folder), ENTRANTS, title="Published protocols", groups=groups, task=Calling())
