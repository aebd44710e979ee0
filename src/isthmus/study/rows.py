"""The rows of a trial: the same for everyone who takes part in it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from isthmus._arrays import IntArray, Matrix
from isthmus.controls.corrupted import KINDS
from isthmus.domains import UNLABELLED


class Trial(NamedTuple):
    """One draw: a source and a target as tables name them, a preparation of the features, a seed."""

    group: str
    variant: str
    seed: int


@dataclass(frozen=True, eq=False)
class Rows:
    """What a system is fitted to, and what it is tested on; classes are codes, -1 where there is no label."""

    X_source: Matrix
    y_source: IntArray
    X_target: Matrix
    y_target: IntArray
    X_test: Matrix
    y_test: IntArray

    @property
    def fit(self) -> tuple[Matrix, IntArray, Matrix, IntArray]:
        """The arguments of ``fit``."""
        return self.X_source, self.y_source, self.X_target, self.y_target

    @property
    def labelled(self) -> IntArray:
        """The numbers of the labelled target rows."""
        return np.flatnonzero(self.y_target != UNLABELLED)


@dataclass(frozen=True)
class CorruptedSource:
    """The same rows with a source that says nothing: "noise", "permuted" or "renamed" (:mod:`isthmus.controls`).

    The draw depends on the seed alone: groups of one seed that are alike in size share it.
    """

    kind: str

    def __call__(self, rows: Rows, seed: int) -> Rows:
        """The rows with their source corrupted."""
        X, y = KINDS[self.kind](rows.X_source, rows.y_source, np.random.default_rng([seed, name_number(self.kind)]))
        return replace(rows, X_source=X, y_source=np.asarray(y, dtype=np.intp))


def name_number(name: str) -> int:
    """A name as part of a seed, the same on every machine."""
    return zlib.crc32(name.encode())
