"""What a matching is asked: two collections in coordinates, what is known of them, and who learns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from isthmus._arrays import BoolArray, FloatArray, IntArray
from isthmus.matching.engines import Bridge, Engine, learned, scored
from isthmus.matching.neighbours import without_hubs
from isthmus.matching.scores import Scores

BESIDE_PAIRS = 0.5
"""How much the likeness of rows counts in a start that has known pairs too."""


@dataclass(frozen=True, eq=False)
class Links:
    """Rows of A and of B that are taken to be the same object, and how much each such pair counts."""

    i: IntArray
    j: IntArray
    weights: FloatArray

    @classmethod
    def of(cls, i: IntArray, j: IntArray, weights: FloatArray | None = None) -> Links:
        """With weights of one, unless given."""
        w = np.ones(len(i)) if weights is None else np.asarray(weights, np.float64)
        return cls(np.asarray(i, np.intp), np.asarray(j, np.intp), w)

    def __len__(self) -> int:
        return len(self.i)

    def some(self, which: IntArray | BoolArray) -> Links:
        """Some of them, by place or by mask."""
        return Links(self.i[which], self.j[which], self.weights[which])


@dataclass(frozen=True, eq=False)
class Anchors:
    """Rows a (p, k) and b (p, k') that are known to be the same objects, with weights (p,)."""

    a: FloatArray
    b: FloatArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.a)


@dataclass(frozen=True, eq=False)
class Problem:
    """Two collections and what is known of them.

    Parameters
    ----------
    A, B : array (n, k), (m, k')
        Rows whose partner is asked for, and rows that can be partners: coordinates along principal axes, of unit
        length, in single precision.
    alike : Scores
        How alike these rows are by what is known without pairs.
    veto : Scores or None
        Large and negative where labels differ, else zero.
    engine : Engine
        Who learns from pairs.
    rows, columns : array (n,), (m,)
        The numbers of these rows in the collections, rising.
    anchors : Anchors
        What is known.
    """

    A: FloatArray
    B: FloatArray
    alike: Scores
    veto: Scores | None
    engine: Engine
    rows: IntArray
    columns: IntArray
    anchors: Anchors = field(repr=False)

    @classmethod
    def of(cls, A: FloatArray, B: FloatArray, alike: Scores, veto: Scores | None, engine: Engine) -> Problem:
        """Of all rows, with nothing known."""
        nothing = Anchors(A[:0], B[:0], np.zeros(0, A.dtype))
        return cls(A, B, alike, veto, engine, np.arange(len(A)), np.arange(len(B)), nothing)

    @property
    def axes(self) -> int:
        """How many axes there are, on the side that has more."""
        return int(max(self.A.shape[1], self.B.shape[1]))

    @property
    def cells(self) -> int:
        """How many pairs of rows there are."""
        return len(self.A) * len(self.B)

    def knowing(self, known: Links, one_to_one: bool) -> Problem:
        """The problem of the rows that are not in known pairs; of B, all are left if several rows can share one."""
        rows = np.setdiff1d(np.arange(len(self.A)), known.i)
        columns = np.setdiff1d(np.arange(len(self.B)), known.j) if one_to_one else np.arange(len(self.B))
        anchors = Anchors(self.A[known.i], self.B[known.j], known.weights)
        return replace(self._part(rows, columns), anchors=anchors)

    def among(self, places: IntArray) -> Problem:
        """The problem of some rows of A, by their places, and all of B."""
        return self._part(places, np.arange(len(self.B)))

    def of_columns(self, places: IntArray) -> Problem:
        """The problem of all rows of A and some of B, by their places."""
        return self._part(np.arange(len(self.A)), places)

    def _part(self, i: IntArray, j: IntArray) -> Problem:
        veto = None if self.veto is None else self.veto.among(i, j)
        A, B, rows, columns = self.A[i], self.B[j], self.rows[i], self.columns[j]
        return replace(self, A=A, B=B, alike=self.alike.among(i, j), veto=veto, rows=rows, columns=columns)

    def permuted(self, rng: Generator) -> Problem:
        """The problem whose rows of B are alike to what others of them are, and have the labels of these."""
        order = rng.permutation(len(self.B))
        alike = Scores(self.alike.left, self.alike.right[order])
        veto = None if self.veto is None else Scores(self.veto.left, self.veto.right[order])
        return replace(self, alike=alike, veto=veto)

    def bridge(self, links: Links, axes: int | None = None, before: Bridge | None = None) -> Bridge:
        """What the engine learns from the anchors and from linked rows, on the leading axes."""
        a = np.concatenate([self.anchors.a[:, :axes], self.A[links.i, :axes]])
        b = np.concatenate([self.anchors.b[:, :axes], self.B[links.j, :axes]])
        return learned(self.engine, a, b, np.concatenate([self.anchors.weights, links.weights]), before)

    def scores(self, bridge: Bridge, axes: int | None = None) -> Scores:
        """The scores of all pairs."""
        return scored(bridge, self.A[:, :axes], self.B[:, :axes])

    def allowed(self, scores: Scores) -> Scores:
        """The same, with what the labels forbid far below all else."""
        return scores if self.veto is None else scores + self.veto

    def start(self) -> Scores:
        """What is known before any refinement: by anchors where there are some, and without them."""
        alike = without_hubs(self.alike).standardised()
        if not len(self.anchors):
            return alike
        anchored = without_hubs(self.scores(self.bridge(NONE))).standardised()
        return without_hubs(anchored + BESIDE_PAIRS * alike).standardised()


NONE = Links.of(np.zeros(0, np.intp), np.zeros(0, np.intp))
"""No pairs."""
