"""The problem of a matching: two collections in coordinates, what is known of them, and the maps learned from it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator
from sklearn.feature_extraction.text import TfidfVectorizer

from isthmus._core.linalg import normalize_rows
from isthmus._core.validation import BoolArray, FloatArray, IntArray, is_frame
from isthmus.data.domains import KnownPairs, TwoDomains, check_shared_evidence
from isthmus.data.shared_columns import read_columns
from isthmus.exceptions import InputError
from isthmus.geometry.similarity import (
    NO_PARTNER,
    Prepared,
    Scores,
    apply_csls,
    geometric_scores,
    normalize_precisely,
    scale_rows,
)
from isthmus.maps.regression import AffineMap, fit_ridge

# With fewer rows than this on a side, there is nothing to learn from.
FEWEST_ROWS = 20
# Nothing can be learned from one pair: around its own mean it is zero.
FEWEST_PAIRS = 2
NAMES = "A", "B"
# How much the likeness of rows counts in initial scores that have known pairs too.
WEIGHT_OF_LIKENESS = 0.5
# Subtracted from the score of two rows of different classes.
FAR = -2.0 * NO_PARTNER


@dataclass(frozen=True, eq=False)
class Links:
    """Rows of A and of B that are taken to be the same object, and how much each such pair counts."""

    i: IntArray
    j: IntArray
    weights: FloatArray

    @classmethod
    def of(cls, i: IntArray, j: IntArray, weights: FloatArray | None = None) -> Links:
        """Make links with weights of one, unless given."""
        w = np.ones(len(i)) if weights is None else np.asarray(weights, np.float64)
        return cls(np.asarray(i, np.intp), np.asarray(j, np.intp), w)

    def __len__(self) -> int:
        return len(self.i)

    @property
    def rows(self) -> IntArray:
        """The row numbers (p, 2)."""
        return np.stack([self.i, self.j], axis=1)

    def select(self, which: IntArray | BoolArray) -> Links:
        """Return some of them, by place or by mask."""
        return Links(self.i[which], self.j[which], self.weights[which])


# No pairs.
NONE = Links.of(np.zeros(0, np.intp), np.zeros(0, np.intp))


@dataclass(frozen=True, eq=False)
class Anchors:
    """Rows a (p, k) and b (p, k') that are known to be the same objects, with weights (p,)."""

    a: FloatArray
    b: FloatArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.a)


class ZeroBridge:
    """The bridge of no knowledge: all scores are zero.

    A bridge is a learned correspondence: rows of either collection as points, whose inner product (at most 2) is
    the score.
    """

    def embed_a(self, A: FloatArray) -> FloatArray:
        """Return zeros (n, 1)."""
        return np.zeros((len(A), 1), A.dtype)

    embed_b = embed_a


@dataclass(frozen=True, eq=False)
class RidgeBridge:
    """cos(f(a), b) + cos(a, g(b)), around the means of the pairs."""

    f: AffineMap
    g: AffineMap
    places: tuple[int, int]

    def embed_a(self, A: FloatArray) -> FloatArray:
        """Return [f(a); a], each half of unit length."""
        return np.hstack([normalize_rows(self.f(A) - self.f.output_mean), normalize_rows(A - self.f.input_mean)])

    def embed_b(self, B: FloatArray) -> FloatArray:
        """Return [b; g(b)], each half of unit length."""
        return np.hstack([normalize_rows(B - self.g.input_mean), normalize_rows(self.g(B) - self.g.output_mean)])


Bridge: TypeAlias = ZeroBridge | RidgeBridge


def fit_bridge(a: FloatArray, b: FloatArray, weights: FloatArray, before: Bridge | None = None) -> Bridge:
    """Fit ridge maps both ways to pairs, with the leave-one-out penalty; return no knowledge if these are too few.

    The search for the penalties starts where that of the bridge ``before`` ended.
    """
    # Rows that are all equal have no direction around their mean: maps of them would be rounding.
    if len(a) < FEWEST_PAIRS or (a == a[0]).all() or (b == b[0]).all():
        return ZeroBridge()
    # From round to round few pairs change: the best penalty is near the last one.
    near = before.places if isinstance(before, RidgeBridge) else (None, None)
    f, g = fit_ridge(a, b, weights=weights, near=near[0]), fit_ridge(b, a, weights=weights, near=near[1])
    return RidgeBridge(f.map, g.map, (f.place, g.place))


@dataclass(frozen=True, eq=False)
class MatchingProblem:
    """Two collections and what is known of them.

    Parameters
    ----------
    A, B : array (n, k), (m, k')
        Rows that need a partner, and rows that can be partners: coordinates along principal axes, of unit length, in
        single precision.
    alike : Scores
        How alike these rows are by what is known without pairs.
    veto : Scores or None
        Large and negative where labels differ, else zero.
    rows, columns : array (n,), (m,)
        The numbers of these rows in the collections, rising.
    anchors : Anchors
        The known pairs.
    """

    A: FloatArray
    B: FloatArray
    alike: Scores
    veto: Scores | None
    rows: IntArray
    columns: IntArray
    anchors: Anchors = field(repr=False)

    @classmethod
    def of(cls, A: Prepared, B: Prepared, ys: IntArray, yt: IntArray) -> MatchingProblem:
        """Make the problem of all rows, with label codes (-1: none) and no known pairs."""
        alike = geometric_scores(A, B)
        # One class tells no row from another; profiles need at least two that both sides know.
        if len(np.intersect1d(ys[ys >= 0], yt[yt >= 0])) > 1:
            alike = alike.standardize() + score_by_class_profile(A.points, ys, B.points, yt)
        veto = label_veto(ys, yt) if (ys >= 0).any() and (yt >= 0).any() else None
        nothing = Anchors(A.points[:0], B.points[:0], np.zeros(0, A.points.dtype))
        every = np.arange(len(A.points)), np.arange(len(B.points))
        return cls(A.points, B.points, alike, veto, *every, nothing)

    @property
    def axes(self) -> int:
        """The number of axes, on the side that has more."""
        return int(max(self.A.shape[1], self.B.shape[1]))

    @property
    def cells(self) -> int:
        """The number of pairs of rows."""
        return len(self.A) * len(self.B)

    def exclude_pairs(self, known: Links, one_to_one: bool) -> MatchingProblem:
        """Return the problem of the rows outside known pairs; of B, all stay if several rows can share one."""
        rows = np.setdiff1d(np.arange(len(self.A)), known.i)
        columns = np.setdiff1d(np.arange(len(self.B)), known.j) if one_to_one else None
        anchors = Anchors(self.A[known.i], self.B[known.j], known.weights)
        return replace(self.select(rows, columns), anchors=anchors)

    def select(self, rows: IntArray | None = None, columns: IntArray | None = None) -> MatchingProblem:
        """Return the problem of some rows of A and of B, by their places; None: all."""
        i = np.arange(len(self.A)) if rows is None else rows
        j = np.arange(len(self.B)) if columns is None else columns
        return replace(
            self,
            A=self.A[i],
            B=self.B[j],
            alike=self.alike.among(i, j),
            veto=None if self.veto is None else self.veto.among(i, j),
            rows=self.rows[i],
            columns=self.columns[j],
        )

    def shuffle_points(self, rng: Generator) -> MatchingProblem:
        """Return a control: the columns of B are permuted one by one."""
        # All deviations stay, what coordinates have to do with each other goes.
        return replace(self, B=rng.permuted(self.B, axis=0))

    def shuffle_columns(self, rng: Generator) -> MatchingProblem:
        """Return a control: each row of B has the likeness and the label of another."""
        # The coordinates stay: what the control finds is due to the geometry of the collections alone.
        order = rng.permutation(len(self.B))
        alike = Scores(self.alike.left, self.alike.right[order])
        veto = None if self.veto is None else Scores(self.veto.left, self.veto.right[order])
        return replace(self, alike=alike, veto=veto)

    def fit_bridge(self, links: Links, axes: int | None = None, before: Bridge | None = None) -> Bridge:
        """Fit maps to the anchors and to linked rows, on the leading axes."""
        a = np.concatenate([self.anchors.a[:, :axes], self.A[links.i, :axes]])
        b = np.concatenate([self.anchors.b[:, :axes], self.B[links.j, :axes]])
        return fit_bridge(a, b, np.concatenate([self.anchors.weights, links.weights]), before)

    def score_pairs(self, bridge: Bridge, axes: int | None = None) -> Scores:
        """Return the scores of all pairs of rows."""
        return Scores(bridge.embed_a(self.A[:, :axes]), bridge.embed_b(self.B[:, :axes]))

    def apply_veto(self, scores: Scores) -> Scores:
        """Return the scores, with pairs of different labels far below all else."""
        return scores if self.veto is None else scores + self.veto

    def initial_scores(self) -> Scores:
        """Return the scores before any refinement: by anchors where there are some, and by likeness."""
        # Deviations of one make scores of different kinds comparable before they are added.
        alike = apply_csls(self.alike).standardize()
        if not len(self.anchors):
            return alike
        anchored = apply_csls(self.score_pairs(self.fit_bridge(NONE))).standardize()
        return apply_csls(anchored + WEIGHT_OF_LIKENESS * alike).standardize()


def make_domains(
    A: Any, B: Any, y_source: Any, y_target: Any, pairs: Any, shared: Any, *, scale: bool, one_to_one: bool
) -> TwoDomains:
    """Check both collections; rows of unit length come out, of dense rows after scaling their columns."""
    columns = check_shared_evidence(shared, A, B, *(X.shape[0] if hasattr(X, "shape") else len(X) for X in (A, B)))
    A, B = (_weigh_words(X) if is_frame(X) and _has_text(X) else X for X in (A, B))
    # An empty array or list is what a user has whose search for pairs found none.
    empty = np.shape(pairs)[:1] == (0,) if isinstance(pairs, np.ndarray) else isinstance(pairs, list) and not pairs
    domains = TwoDomains.of(
        A,
        y_source,
        B,
        y_target,
        None if empty else pairs,
        columns,
        names=NAMES,
        min_rows=FEWEST_ROWS,
        optional_labels=True,
        one_to_one=one_to_one,
    )
    prepare = scale_rows if scale else normalize_precisely
    source, target = (replace(each, X=prepare(each.X)) for each in (domains.source, domains.target))
    return replace(domains, source=source, target=target)


def _has_text(frame: Any) -> bool:
    try:
        np.asarray(frame, dtype=np.float64)
    except (TypeError, ValueError):
        return True
    return False


def _weigh_words(frame: Any) -> Any:
    """Return the words of all cells of each row of a data frame as features of its own."""
    texts = [" ".join(cells) for cells in zip(*read_columns(frame).values(), strict=True)]
    words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"[^\W_]+")
    try:
        X = words.fit_transform(texts)
    except ValueError:  # an empty vocabulary
        raise InputError("expected a data frame with words or numbers in its cells, got none.") from None
    # A word of one row tells nothing about other rows, unless most rows have no others.
    counts = np.bincount(X.indices, minlength=X.shape[1])
    repeated = X[:, np.flatnonzero((counts > 1) & (counts < X.shape[0]))]
    return repeated if np.mean(np.diff(repeated.indptr) > 0) > 0.5 else X


def as_links(known: KnownPairs | None) -> Links:
    """Return the known pairs, of which there may be none; each row of A in one of them at most."""
    if known is None:
        return NONE
    rows, counts = np.unique(known.source, return_counts=True)
    if counts.max() > 1:
        got = f"row {rows[counts.argmax()]} in {counts.max()}"
        raise InputError(f"pairs: expected each row of A in one pair at most, got {got}.")
    return Links.of(known.source, known.target, known.weights)


def labels_differ(ys: IntArray, yt: IntArray) -> BoolArray:
    """Return whether both codes of each place are known, and not the same."""
    return np.asarray((ys != yt) & (ys >= 0) & (yt >= 0))


def check_labels(ys: IntArray, yt: IntArray, known: Links) -> None:
    """Raise where labels forbid a known pair, or all pairs."""
    wrong = np.flatnonzero(labels_differ(ys[known.i], yt[known.j]))
    if len(wrong):
        got = f"row {known.i[wrong[0]]} of A and row {known.j[wrong[0]]} of B, of different ones"
        raise InputError(f"pairs: expected rows of the same class, got {got}.")
    if min(ys.min(), yt.min()) >= 0 and not len(np.intersect1d(ys, yt)):
        raise InputError("y_target: expected some labels that y_source has too, got none: no row could be matched.")


def label_veto(ys: IntArray, yt: IntArray) -> Scores:
    """Return scores far below zero for two rows of different classes, zero for all others."""
    classes = np.arange(max(ys.max(initial=0), yt.max(initial=0)) + 1)
    member = (ys[:, None] == classes).astype(np.float32)
    other = ((yt[:, None] != classes) & (yt[:, None] >= 0)).astype(np.float32)
    # One row of A is a member of one class at most, so the product is either 0 or -FAR.
    return Scores(-FAR * member, other)


def score_by_class_profile(A: FloatArray, ys: IntArray, B: FloatArray, yt: IntArray) -> Scores:
    """Score rows by how they stand to the classes: cosines to the mean of each class that both sides know."""
    shared = np.intersect1d(ys[ys >= 0], yt[yt >= 0])
    PA, PB = (_class_profiles(X, y, shared) for X, y in ((A, ys), (B, yt)))
    return Scores(PA, PB).standardize()


def _class_profiles(X: FloatArray, y: IntArray, classes: IntArray) -> FloatArray:
    means = normalize_rows(np.stack([X[y == c].mean(axis=0) for c in classes]))
    cosines = X @ means.T
    cosines = cosines - cosines.mean(axis=0)
    return normalize_rows(cosines - cosines.mean(axis=1, keepdims=True))
