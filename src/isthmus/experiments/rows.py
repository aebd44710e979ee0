"""The rows of a trial: drawn by the protocol, with their features prepared."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.controls.corrupted import KINDS
from isthmus.datasets import Collection, load_toy
from isthmus.domains import UNLABELLED
from isthmus.evaluation import Protocol
from isthmus.experiments.features import components, loaded, scaled, whole_domain

VARIANTS = {
    "whole": "PCA fitted to the whole domain, test rows included, as in the paper",
    "held-out": "PCA fitted without the test rows",
}


@dataclass(frozen=True, eq=False)
class Rows:
    """What a system is fitted to, and what it is tested on; -1 for no label."""

    X_source: FloatArray
    y_source: IntArray
    X_target: FloatArray
    y_target: IntArray
    X_test: FloatArray
    y_test: IntArray

    @property
    def fit(self) -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
        """The arguments of ``fit``."""
        return self.X_source, self.y_source, self.X_target, self.y_target

    def spoilt(self, kind: str, seed: int) -> Rows:
        """The same rows with a source that says nothing; as they are where ``kind`` is empty.

        The draw depends on the seed alone: groups of one seed that are alike in size share it, and trials are
        independent only from seed to seed.
        """
        if not kind:
            return self
        X, y = KINDS[kind](self.X_source, self.y_source, np.random.default_rng([seed, _number(kind)]))
        return replace(self, X_source=X, y_source=np.asarray(y, dtype=np.intp))


class Trial(NamedTuple):
    """One draw: source and target domain, preparation of the features, seed."""

    source: str
    target: str
    variant: str
    seed: int

    @property
    def group(self) -> str:
        """Source and target as tables name them."""
        return f"{self.source} → {self.target}"


@dataclass(frozen=True)
class Collected:
    """Trials out of a collection: a callable that draws rows and prepares their features.

    Parameters
    ----------
    load : callable
        The collection, given the data folder.
    protocol : Protocol
        Which rows are drawn for what.
    sizes : (int, int)
        Principal components of the source and of the target domain.
    histogram : bool
        Whether the features are counts.
    """

    load: Callable[[Path | None], Collection]
    protocol: Protocol
    sizes: tuple[int, int] = (100, 150)
    histogram: bool = False

    def data(self, folder: Path | None) -> Collection:
        """The collection, read once a process."""
        return loaded(self.load, folder)

    def __call__(self, folder: Path | None, trial: Trial) -> Rows:
        """The rows of a trial, with their features prepared as its variant says."""
        data = self.data(folder)
        names = trial.source, trial.target
        y_source, y_target = (data[name].y for name in names)
        objects = [data.objects[name] for name in names]
        split = data.split(*names, self.protocol, [trial.seed, _number(trial.group)])
        tested = objects[1][split.test]
        X_source, X_target = (
            whole_domain(self.load, folder, name, size, self.histogram)
            if trial.variant == "whole"
            else components(scaled(data[name].X, self.histogram), size, np.flatnonzero(~np.isin(things, tested)))
            for name, size, things in zip(names, self.sizes, objects, strict=True)
        )
        learned = np.concatenate([split.labelled, split.unlabelled])
        return Rows(
            X_source[split.source],
            y_source[split.source],
            X_target[learned],
            np.where(np.arange(len(learned)) < len(split.labelled), y_target[learned], UNLABELLED),
            X_target[split.test],
            y_target[split.test],
        )


def toy_rows(folder: Path | None, trial: Trial) -> Rows:
    """The toy problem, which needs no folder."""
    toy = load_toy(trial.seed)
    return Rows(toy.X_source, toy.y_source, toy.X_target, toy.y_target, toy.X_test, toy.y_test)


def _number(name: str) -> int:
    """A name as part of a seed, the same on every machine."""
    return zlib.crc32(name.encode())
