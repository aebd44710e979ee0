"""What a matching is asked: two collections in coordinates, what is known of them, and who learns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from isthmus._core.validation import BoolArray, FloatArray, IntArray
from isthmus.data.domains import Domain, KnownPairs, TwoDomains
from isthmus.exceptions import InputError
from isthmus.geometry.similarity import (
    NO_PARTNER,
    Prepared,
    Scores,
    apply_csls,
    geometric_scores,
    normalize_precisely,
    normalize_rows,
    scale_rows,
)
from isthmus.geometry.spaces import apply_transformer, check_transformer, fit_transformer
from isthmus.tasks.matching.engine import Bridge, Engine, fit_bridge, score_pairs

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
        return fit_bridge(self.engine, a, b, np.concatenate([self.anchors.weights, links.weights]), before)

    def scores(self, bridge: Bridge, axes: int | None = None) -> Scores:
        """The scores of all pairs."""
        return score_pairs(bridge, self.A[:, :axes], self.B[:, :axes])

    def allowed(self, scores: Scores) -> Scores:
        """The same, with what the labels forbid far below all else."""
        return scores if self.veto is None else scores + self.veto

    def start(self) -> Scores:
        """What is known before any refinement: by anchors where there are some, and without them."""
        alike = apply_csls(self.alike).standardize()
        if not len(self.anchors):
            return alike
        anchored = apply_csls(self.scores(self.bridge(NONE))).standardize()
        return apply_csls(anchored + BESIDE_PAIRS * alike).standardize()


NONE = Links.of(np.zeros(0, np.intp), np.zeros(0, np.intp))
"""No pairs."""


AUTO = "auto"
FEWEST_ROWS = 20
"""With fewer rows than this on a side, there is nothing to learn from."""
NAMES = "A", "B"


def two_collections(
    A: Any, B: Any, y_source: Any, y_target: Any, pairs: Any, transformers: tuple[Any, Any], *, one_to_one: bool
) -> TwoDomains:
    """Return both collections with rows of unit length; a row of A is in one of the known pairs at most.

    Rows are transformed first, or as is usual for dense and for sparse rows ("auto").
    """
    empty = np.shape(pairs)[:1] == (0,) if isinstance(pairs, np.ndarray) else isinstance(pairs, list) and not pairs
    rows = [_transform(X, *each) for X, each in zip((A, B), _name_tables(transformers), strict=True)]
    domains = TwoDomains.of(
        rows[0],
        y_source,
        rows[1],
        y_target,
        None if empty else pairs,
        names=NAMES,
        min_rows=FEWEST_ROWS,
        optional_labels=True,
        one_to_one=one_to_one,
    )
    sides = zip((domains.source, domains.target), transformers, strict=True)
    source, target = (_of_unit_length(domain, transformer) for domain, transformer in sides)
    return replace(domains, source=source, target=target)


def as_links(known: KnownPairs | None) -> Links:
    """Return the known pairs, of which there may be none; each row of A in one of them at most."""
    if known is None:
        return NONE
    rows, counts = np.unique(known.source, return_counts=True)
    if counts.max() > 1:
        raise InputError(
            f"pairs: expected each row of A in one pair at most, got row {rows[counts.argmax()]} in {counts.max()}."
        )
    return Links.of(known.source, known.target, known.weights)


def _name_tables(transformers: tuple[Any, Any]) -> list[tuple[Any, str, str]]:
    return list(zip(transformers, NAMES, ("source_transformer", "target_transformer"), strict=True))


def _is_auto(transformer: Any) -> bool:
    return isinstance(transformer, str) and transformer == AUTO


def _transform(X: Any, transformer: Any, name: str, parameter: str) -> Any:
    if _is_auto(transformer):
        return X
    check_transformer(transformer, parameter)
    made = apply_transformer(fit_transformer(transformer, X, name), X, name)
    given, found = (rows.shape[0] if hasattr(rows, "shape") else len(rows) for rows in (X, made))
    if found != given:
        raise InputError(f"{parameter}: expected one row for each of the {given} rows of {name}, got {found}.")
    return made


def _of_unit_length(domain: Domain, transformer: Any) -> Domain:
    return replace(domain, X=(scale_rows if _is_auto(transformer) else normalize_precisely)(domain.X))


FAR = -2.0 * NO_PARTNER
"""Taken off the score of two rows of different classes."""


def labels_differ(ys: IntArray, yt: IntArray) -> BoolArray:
    """Whether both codes of each place are known, and not the same."""
    return np.asarray((ys != yt) & (ys >= 0) & (yt >= 0))


def check_labels(ys: IntArray, yt: IntArray, known: Links) -> None:
    """Raise where labels forbid a known pair, or all pairs."""
    wrong = np.flatnonzero(labels_differ(ys[known.i], yt[known.j]))
    if len(wrong):
        i, j = known.i[wrong[0]], known.j[wrong[0]]
        raise InputError(
            f"pairs: expected rows of the same class, got row {i} of A and row {j} of B, of different ones."
        )
    if min(ys.min(), yt.min()) >= 0 and not len(np.intersect1d(ys, yt)):
        raise InputError("y_target: expected some labels that y_source has too, got none: no row could be matched.")


def label_veto(ys: IntArray, yt: IntArray) -> Scores:
    """Far below zero for two rows of different classes, zero for all others."""
    classes = np.arange(max(ys.max(initial=0), yt.max(initial=0)) + 1)
    member = (ys[:, None] == classes).astype(np.float32)
    other = ((yt[:, None] != classes) & (yt[:, None] >= 0)).astype(np.float32)
    return Scores(-FAR * member, other)


def score_by_class_profile(A: FloatArray, ys: IntArray, B: FloatArray, yt: IntArray) -> Scores:
    """Scores of rows that stand alike to the classes: cosines to the mean of each class that both sides know."""
    shared = np.intersect1d(ys[ys >= 0], yt[yt >= 0])
    PA, PB = (_profiles(X, y, shared) for X, y in ((A, ys), (B, yt)))
    return Scores(PA, PB).standardize()


def _profiles(X: FloatArray, y: IntArray, classes: IntArray) -> FloatArray:
    means = normalize_rows(np.stack([X[y == c].mean(axis=0) for c in classes]))
    cosines = X @ means.T
    cosines = cosines - cosines.mean(axis=0)
    return normalize_rows(cosines - cosines.mean(axis=1, keepdims=True) if len(classes) > 1 else cosines)


def make_problem(A: Prepared, B: Prepared, ys: IntArray, yt: IntArray, engine: Engine) -> Problem:
    """What is asked, with all that is known but pairs."""
    alike = geometric_scores(A, B)
    labelled = (ys >= 0).any() and (yt >= 0).any()
    if len(np.intersect1d(ys[ys >= 0], yt[yt >= 0])) > 1:
        alike = alike.standardize() + score_by_class_profile(A.points, ys, B.points, yt)
    return Problem.of(A.points, B.points, alike, label_veto(ys, yt) if labelled else None, engine)
