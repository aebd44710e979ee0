"""The problem of a label transfer: both domains along principal axes, classes as codes, shares of the classes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from isthmus._core.linalg import PrincipalAxes, normalize_rows
from isthmus._core.validation import BoolArray, FloatArray, IntArray, Matrix, as_dense, is_sparse
from isthmus.data.domains import KnownPairs, SharedFeatures
from isthmus.geometry.discriminants import balance, floor_shares, infer_shares
from isthmus.geometry.similarity import Prepared, column_scaling, fit_axes, normalize_precisely

# Principal axes that are kept, unless five per class are more.
AXES = 200
# Axes on which the classes of the two domains are compared, in multiples of the number of classes.
AXES_PER_CLASS = 3
# Axes per class on which the target's own learners work; their answers are averaged.
MULTIPLES = (2, 3, 5)
# Dense rows whose lengths differ from one by no more than this were normalized by the caller.
UNIT = 1e-3
# Rows in a barycentre of soft pairs, where either collection has four times as many.
PARTNERS = 20
# Of more rows than this, all rounds but the last ones are on a sample of this size, in either domain.
SAMPLED = 4000


@dataclass(frozen=True, eq=False)
class Preparation:
    """The map from rows of one domain to coordinates: columns on one scale, rows of unit length, principal axes.

    Sparse rows, and dense ones that have unit length already, keep the scale of their columns; principal components
    keep their deviations.
    """

    centre: FloatArray | None
    scale: FloatArray | None
    axes: PrincipalAxes

    @classmethod
    def of(cls, X: Matrix, k: int) -> Preparation:
        """Fit to all rows X (n, d) of a domain, with at most k axes."""
        scaling = _fit_scaling(X)
        return cls(*scaling, fit_axes(_normalize(X, *scaling), k))

    def coordinates(self, X: Matrix) -> FloatArray:
        """Return rows along the axes (n, k)."""
        return self.axes.coordinates(_normalize(X, self.centre, self.scale))

    def prepare(self, X: Matrix) -> Prepared:
        """Return rows with all their features, for signatures and soft pairs."""
        return Prepared.of(_normalize(X, self.centre, self.scale), self.axes)


def _fit_scaling(X: Matrix) -> tuple[FloatArray | None, FloatArray | None]:
    if is_sparse(X):
        return None, None
    Z = as_dense(X)
    if np.abs(Z).max(initial=0.0) < 1.0 + UNIT and np.abs(np.sqrt(np.einsum("ij,ij->i", Z, Z)) - 1.0).max() < UNIT:
        return None, None
    return column_scaling(Z)


def _normalize(X: Matrix, centre: FloatArray | None, scale: FloatArray | None) -> Matrix:
    if centre is None or scale is None:
        return normalize_precisely(X)
    return normalize_rows((as_dense(X) - centre) * scale)


@dataclass(frozen=True, eq=False)
class View:
    """Unit rows on a number of axes: source S and labelled target L with their classes, unlabelled target U."""

    S: FloatArray
    ys: IntArray
    L: FloatArray
    yl: IntArray
    U: FloatArray

    @property
    def target(self) -> FloatArray:
        """All target rows, the labelled ones first."""
        return np.vstack([self.L, self.U])


@dataclass(frozen=True, eq=False)
class TransferRows:
    """The rows of both domains: coordinates, codes of classes, and the classes' shares.

    Parameters
    ----------
    source, target : array (n_s, k_s), (n_t, k_t)
        Coordinates along the principal axes of either domain, of most variance first, centred.
    ys, yt : array (n_s,), (n_t,)
        Codes from 0 to C - 1; -1 for rows without a label.
    shares : array (C,)
        Shares of the classes among unlabelled target rows, as far as they are assumed; each above zero.
    prepared : (Prepared, Prepared)
        Both domains with all their features.
    pairs : KnownPairs, optional
        Rows of both that are the same object.
    strictness : float
        How strictly the shares bind (:func:`~isthmus.geometry.discriminants.balance`).
    features : SharedFeatures, optional
        What both domains have.
    probes : dict
        What soft pairs learned without target labels, for copies with other labels.
    """

    source: FloatArray
    ys: IntArray
    target: FloatArray
    yt: IntArray
    shares: FloatArray
    prepared: tuple[Prepared, Prepared]
    pairs: KnownPairs | None = None
    strictness: float = 1.0
    features: SharedFeatures | None = None
    probes: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def n_classes(self) -> int:
        """The number of classes C."""
        return len(self.shares)

    @cached_property
    def unlabelled(self) -> BoolArray:
        """The target rows without a label, as a mask (n_t,)."""
        return np.asarray(self.yt < 0)

    @cached_property
    def known(self) -> IntArray:
        """The classes that a target row is labelled with."""
        return np.unique(self.yt[~self.unlabelled])

    @cached_property
    def unknown(self) -> IntArray:
        """The classes that no target row is labelled with."""
        return np.setdiff1d(np.arange(self.n_classes), self.known)

    @cached_property
    def shared(self) -> IntArray:
        """The classes that a source row is labelled with."""
        return np.unique(self.ys[self.ys >= 0])

    @cached_property
    def one_hot(self) -> FloatArray:
        """The classes of the labelled target rows (n_l, C)."""
        return np.eye(self.n_classes)[self.yt[~self.unlabelled]]

    def balance(self, scores: FloatArray) -> FloatArray:
        """Return guesses (n, C) from scores in logarithms, such that the classes have their shares."""
        return balance(scores, self.shares, self.strictness)

    def estimate_shares(self) -> TransferRows:
        """Return the rows with the shares that labelled rows support, if every class has a label."""
        if len(self.unknown) or not self.unlabelled.any():
            return self
        views = [self.at(multiple) for multiple in MULTIPLES]
        found = infer_shares([(view.L, view.U) for view in views], views[0].yl)
        return replace(self, shares=floor_shares(found.shares), strictness=found.strictness)

    def at(self, multiple: int = AXES_PER_CLASS) -> View:
        """Return labelled source rows and all target rows on the first ``multiple`` × C axes, of unit length."""
        k, taught, known = multiple * self.n_classes, self.ys >= 0, ~self.unlabelled
        S, Z = normalize_rows(self.source[taught, :k]), normalize_rows(self.target[:, :k])
        return View(S, self.ys[taught], Z[known], self.yt[known], Z[self.unlabelled])

    def relabel_source(self, order: IntArray) -> TransferRows:
        """Return the rows with the source's class c called ``order[c]``."""
        return replace(self, ys=np.where(self.ys < 0, -1, order[self.ys]))

    def sample_target(self, most: int, rng: np.random.Generator) -> TransferRows:
        """Return the rows with at most ``most`` unlabelled ones, at random, without pairs and shared features."""
        kept = ~self.unlabelled
        kept[rng.permutation(np.flatnonzero(self.unlabelled))[:most]] = True
        prepared = self.prepared[0], take_rows(self.prepared[1], kept)
        return replace(self, target=self.target[kept], yt=self.yt[kept], prepared=prepared, pairs=None, features=None)

    def drop_target_classes(self) -> TransferRows:
        """Return the rows without classes that only the target has, and with codes among the source's classes.

        Labelled source rows and, of the target, unlabelled rows and those of a class that the source has.
        """
        codes = np.full(self.n_classes + 1, -1, dtype=np.intp)
        codes[self.shared] = np.arange(len(self.shared))
        ys, yt = codes[self.ys], codes[self.yt]
        taught, kept = ys >= 0, self.unlabelled | (yt >= 0)
        prepared = take_rows(self.prepared[0], taught), take_rows(self.prepared[1], kept)
        shares = self.shares[self.shared] / self.shares[self.shared].sum()
        both = self.source[taught], ys[taught], self.target[kept], yt[kept]
        return TransferRows(*both, shares, prepared, strictness=self.strictness, probes=self.probes)


def take_rows(X: Prepared, rows: BoolArray) -> Prepared:
    """Return some rows of a collection, seen from the same mean."""
    return X if rows.all() else Prepared(X.features[rows], X.mean, X.centred[rows], X.squares[rows])


def sample_rows(codes: IntArray, most: int = SAMPLED) -> IntArray:
    """Return the places of ``most`` rows drawn at random, and of some more so that no class has too few.

    Examples
    --------
    >>> codes = np.repeat([0, 1], [5000, 3])
    >>> len(sample_rows(codes)) >= 4000, set(range(5000, 5003)) <= set(sample_rows(codes).tolist())
    (True, True)
    """
    order = np.random.default_rng(0).permutation(len(codes))
    some = [order[codes[order] == c][:PARTNERS] for c in np.unique(codes)]
    return np.unique(np.concatenate([order[:most], *some]))


def restrict_classes(P: FloatArray, rows: TransferRows) -> FloatArray:
    """Return guesses (n_u, C) as guesses among the classes of the source (n_u, C')."""
    Q = P[:, rows.shared] + 1e-12
    return np.asarray(Q / Q.sum(axis=1, keepdims=True))


def extend_classes(P: FloatArray, classes: IntArray, own: FloatArray) -> FloatArray:
    """Return guesses P (n, C') among some classes as guesses over all (n, C).

    The other classes, which only the target has, keep what its ``own`` guesses (n, C) give them; P shares the rest.
    """
    full = own.copy()
    full[:, classes] = 0.0
    full[:, classes] = P * (1.0 - full.sum(axis=1, keepdims=True))
    return full


def tie_classes(P: FloatArray, classes: IntArray) -> FloatArray:
    """Return guesses (n, C) in which some classes can't be told apart, and share their probability evenly."""
    tied = P.copy()
    tied[:, classes] = P[:, classes].mean(axis=1, keepdims=True)
    return tied
