"""What a matching is asked: two collections in coordinates, what is known of them, and who learns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from isthmus._arrays import BoolArray, FloatArray, IntArray
from isthmus.matching.engines import Bridge, Engine, scored
from isthmus.matching.neighbours import without_hubs
from isthmus.matching.scores import Scores


@dataclass(frozen=True, eq=False)
class Links:
    """Rows of A and of B that are taken to be the same object, and how much each such pair counts."""

    i: IntArray
    j: IntArray
    weights: FloatArray

    @classmethod
    def of(cls, i: IntArray, j: IntArray, weights: FloatArray | None = None) -> Links:
        """With weights of one, unless given."""
        w = np.ones(len(i), np.float32) if weights is None else np.asarray(weights, np.float32)
        return cls(np.asarray(i, np.intp), np.asarray(j, np.intp), w)

    def __len__(self) -> int:
        return len(self.i)

    def some(self, which: IntArray | BoolArray) -> Links:
        """Some of them, by place or by mask."""
        return Links(self.i[which], self.j[which], self.weights[which])

    def first(self, others: Links) -> Links:
        """These, then those others that share no row with them."""
        rest = others.some(~(np.isin(others.i, self.i) | np.isin(others.j, self.j)))
        i, j = np.concatenate([self.i, rest.i]), np.concatenate([self.j, rest.j])
        return Links(i, j, np.concatenate([self.weights, rest.weights]))


@dataclass(frozen=True, eq=False)
class Problem:
    """Two collections and what is known of them.

    Parameters
    ----------
    A, B : array (n, k), (m, k')
        Coordinates along principal axes, of unit length, in single precision.
    alike : Scores
        How alike rows are by what is known without pairs.
    veto : Scores or None
        Large and negative where labels differ, else zero.
    engine : Engine
        Who learns from pairs.
    """

    A: FloatArray
    B: FloatArray
    alike: Scores
    veto: Scores | None
    engine: Engine

    @property
    def axes(self) -> int:
        """How many axes there are, on the side that has more."""
        return int(max(self.A.shape[1], self.B.shape[1]))

    def among(self, rows: IntArray) -> Problem:
        """The problem of some rows of A and all of B."""
        every = np.arange(len(self.B))
        veto = None if self.veto is None else self.veto.among(rows, every)
        return replace(self, A=self.A[rows], alike=self.alike.among(rows, every), veto=veto)

    def permuted(self, rng: Generator) -> Problem:
        """The problem whose rows of B are alike to what others of them are."""
        return replace(self, alike=Scores(self.alike.left, self.alike.right[rng.permutation(len(self.B))]))

    def bridge(self, links: Links, axes: int | None = None, before: Bridge | None = None) -> Bridge:
        """What the engine learns from linked rows, on the leading axes."""
        return self.engine.bridge(self.A[links.i, :axes], self.B[links.j, :axes], links.weights, before)

    def scores(self, bridge: Bridge, axes: int | None = None) -> Scores:
        """The scores of all pairs."""
        return scored(bridge, self.A[:, :axes], self.B[:, :axes])

    def allowed(self, scores: Scores) -> Scores:
        """The same, with what the labels forbid far below all else."""
        return scores if self.veto is None else scores + self.veto

    def start(self, links: Links) -> Scores:
        """What is known before any refinement: by pairs where there are some, and without them."""
        alike = without_hubs(self.alike).standardised()
        if not len(links):
            return alike
        both = without_hubs(self.scores(self.bridge(links))).standardised() + alike
        return without_hubs(both).standardised()
