"""The rows of a trial with few labels: whose labels are hidden, and what controls do to the rows before their fit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from isthmus._core.linalg import normalize_rows, principal_axes
from isthmus._core.validation import UNLABELLED, IntArray
from isthmus.data.datasets import load_digits
from isthmus.data.domains import Split
from isthmus.data.splits import Protocol
from isthmus.study.trial_rows import Trial, TrialRows, hash_name, prepare_trial_rows
from studies.labels.data import Pair, pair_of

DEMO = "digits demo"
"""The digits of :func:`isthmus.data.datasets.load_digits` as they are split there."""
MOST_TESTED = 500


@dataclass(frozen=True, eq=False)
class LabelRows(TrialRows):
    """Rows of a trial, and what is hidden in them.

    Parameters
    ----------
    y_all : array (n_t,)
        The labels with those of the hidden classes; -1 for rows that are unlabelled in any case.
    y_true : array (n_t,)
        The classes of all target rows, to score by.
    """

    y_all: IntArray
    y_true: IntArray

    @property
    def known(self) -> IntArray:
        """The classes that a target row is labelled with."""
        return np.unique(self.y_target[self.y_target != UNLABELLED])


def label_rows(pair: Pair, split: Split, hidden: IntArray | None = None) -> LabelRows:
    """The rows of a split, prepared by the training rows of either domain; labels of hidden classes are left out."""
    target = np.concatenate([split.labelled, split.unlabelled])
    y_true = pair.target.y[target]
    y_all = np.where(np.arange(len(target)) < len(split.labelled), y_true, UNLABELLED)
    y = y_all if hidden is None else np.where(np.isin(y_all, hidden), UNLABELLED, y_all)
    source = pair.source.X[split.source], pair.source.y[split.source]
    test = pair.target.X[split.test], pair.target.y[split.test]
    rows = LabelRows(*source, pair.target.X[target], y, *test, y_all, y_true)
    prepare = pair.preparation(rows.X_source), pair.preparation(rows.X_target)
    found = prepare_trial_rows(rows, *prepare)
    assert isinstance(found, LabelRows)
    return found


def half_hidden(n_classes: int, rng: np.random.Generator) -> IntArray:
    """The classes whose labels are hidden: a random half, the smaller one where their number is odd."""
    return np.sort(rng.permutation(n_classes)[: n_classes // 2])


@dataclass(frozen=True)
class Drawn:
    """Trials out of :mod:`studies.labels.data`.

    ``folder`` has the data, and ``needed`` are the groups whose data have to be there (None: all); no record is known
    by either.
    """

    groups: tuple[str, ...]
    folder: Path | None = field(default=None, compare=False, kw_only=True)
    needed: tuple[str, ...] | None = field(default=None, compare=False, kw_only=True)

    def check(self) -> None:
        """Raise if data are not there."""
        for group in self.groups if self.needed is None else self.needed:
            if group != DEMO:
                pair_of(group, self.folder)

    def pair(self, trial: Trial) -> Pair:
        """The pair of a trial."""
        return pair_of(trial.group, self.folder)

    def seed(self, trial: Trial) -> list[int]:
        """Of the draw: the same for every variant."""
        return [trial.seed, hash_name(trial.group)]


@dataclass(frozen=True)
class NamingDraw(Drawn):
    """Half of the classes labelled; balanced source, target and test rows. The variant is labels per class."""

    source: int = 20
    unlabelled: int = 30
    test: int = 50

    def __call__(self, trial: Trial) -> LabelRows:
        """The rows of a trial; the labelled rows of hidden classes stay, without their label."""
        rng = np.random.default_rng([*self.seed(trial), 1])
        if trial.group == DEMO:
            return demo_rows(int(trial.variant), trial.seed)
        pair = self.pair(trial)
        split = draw_pair_split(pair, Protocol(self.source, int(trial.variant), self.unlabelled), self.seed(trial))
        split = replace(split, test=at_most(split.test, pair.target.y, self.test, rng))
        return label_rows(pair, split, half_hidden(int(pair.source.y.max()) + 1, rng))


def demo_rows(labels: int, seed: int) -> LabelRows:
    """The digits of the front page, labels of five random digits hidden."""
    d = load_digits(labels, random_state=seed)
    hidden = half_hidden(10, np.random.default_rng(seed))
    y = np.where(np.isin(d.y_target, hidden), UNLABELLED, d.y_target)
    rows = LabelRows(d.X_source, d.y_source, d.X_target, y, d.X_test, d.y_test, d.y_target, d.target_classes)
    pair = pair_of("digits", None)
    found = prepare_trial_rows(rows, pair.preparation(d.X_source), pair.preparation(d.X_target))
    assert isinstance(found, LabelRows)
    return found


@dataclass(frozen=True)
class PaperDraw(Drawn):
    """The paper's size, every class labelled. The variant is labels per class."""

    source: int = 20
    unlabelled: int = 20

    def __call__(self, trial: Trial) -> LabelRows:
        """The rows of a trial; fewer labels of a seed are among more."""
        pair, rng = self.pair(trial), np.random.default_rng([*self.seed(trial), 1])
        split = draw_pair_split(pair, Protocol(self.source, int(trial.variant), self.unlabelled), self.seed(trial))
        return label_rows(pair, replace(split, test=np.sort(rng.permutation(split.test)[:MOST_TESTED])))


@dataclass(frozen=True)
class RealDraw(Drawn):
    """So many rows of either domain, whatever their class, and some held out. The variant is labels per class."""

    sizes: tuple[tuple[str, int], ...]

    def __call__(self, trial: Trial) -> LabelRows:
        """The rows of a trial; fewer labels of a seed are among more."""
        pair, n = self.pair(trial), dict(self.sizes)[trial.group]
        rng = np.random.default_rng(self.seed(trial))
        source, target = disjoint_rows(pair, n, n + MOST_TESTED, rng)
        rows, test = target[:n], target[n:]
        y = pair.target.y[rows]
        first = [np.flatnonzero(y == c)[: int(trial.variant)] for c in np.unique(pair.source.y[source])]
        labelled = rows[np.sort(np.concatenate(first))]
        return label_rows(pair, Split(source, labelled, np.setdiff1d(rows, labelled), test))


def disjoint_rows(pair: Pair, n_source: int, n_target: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Row numbers of either domain in random order, no object in both; the smaller domain takes its rows first."""
    objects, wanted = (pair.source_objects, pair.target_objects), (n_source, n_target)
    first = int(len(objects[1]) < len(objects[0]))
    taken = rng.permutation(len(objects[first]))[: wanted[first]]
    free = np.flatnonzero(~np.isin(objects[1 - first], objects[first][taken]))
    others = rng.permutation(free)[: wanted[1 - first]]
    return (others, taken) if first else (taken, others)


def draw_pair_split(pair: Pair, protocol: Protocol, seed: list[int]) -> Split:
    """A split of a pair; of what a class has beside labelled rows, no more is unlabelled than tested."""
    objects = {"objects_source": pair.source_objects, "objects_target": pair.target_objects}
    split, y = protocol.split(pair.source.y, pair.target.y, **objects, seed=seed), pair.target.y
    passed, rng = [], np.random.default_rng([*seed, 2])
    for c in np.unique(y):
        unlabelled, tested = (rng.permutation(part[y[part] == c]) for part in (split.unlabelled, split.test))
        passed.append(unlabelled[(len(unlabelled) + len(tested)) // 2 :])
    moved = np.concatenate(passed)
    return replace(split, unlabelled=np.setdiff1d(split.unlabelled, moved), test=np.union1d(split.test, moved))


def at_most(rows: IntArray, y: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """At most n rows of each class, drawn at random."""
    mixed = rng.permutation(rows)
    return np.sort(np.concatenate([mixed[y[mixed] == c][:n] for c in np.unique(y[rows])]))


@dataclass(frozen=True)
class OnAxes:
    """Rows on so many principal axes per class of either domain, of unit length: for systems that choose none."""

    per_class: int = 3

    def __call__(self, rows: LabelRows, seed: int) -> LabelRows:
        """The rows, each domain on axes of its own training rows."""
        k = self.per_class * len(np.unique(rows.y_source))
        source, target = principal_axes(rows.X_source), principal_axes(rows.X_target)
        target = target.leading(min(k, len(target.deviations)))
        X_target, X_test = (normalize_rows(target.coordinates(X)) for X in (rows.X_target, rows.X_test))
        X_source = normalize_rows(source.leading(min(k, len(source.deviations))).coordinates(rows.X_source))
        return replace(rows, X_source=X_source, X_target=X_target, X_test=X_test)


def label_all_classes(rows: LabelRows, seed: int) -> LabelRows:
    """The same rows with the labels of the hidden classes: what it would be worth to label them too."""
    return replace(rows, y_target=rows.y_all)
