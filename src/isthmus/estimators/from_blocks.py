"""Fits to rows that are nowhere as one array: joint spaces and references from sums over blocks.

With labels, the source rows stay in blocks, and all that is known of them are moments and further sums
(:class:`ManyRows`). With known pairs, both domains may be in blocks, and closed forms are computed from few pairs
that have the moments of all of them (:class:`MomentPairs`). Everything else is the code for arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._core.linalg import RANK_TOLERANCE
from isthmus._core.rows import Rows
from isthmus._core.threads import is_small
from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, Matrix, check_magnitude, is_sparse
from isthmus.data.domains import Domain, KnownPairs, TwoDomains
from isthmus.estimators.base import warn_about_classes, warn_about_columns, warn_about_features
from isthmus.estimators.mapped import MappedEstimator, MetricEstimator
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import DOMAINS, CommonSpace
from isthmus.geometry.kernels import Cosine, Kernel, Landmarks, Linear
from isthmus.geometry.row_blocks import (
    CoordinateRows,
    Moments,
    PairMoments,
    RowPairs,
    compute_moments,
    compute_pair_moments,
)
from isthmus.geometry.spaces import DomainSpan, FeatureSpace, JointSpace, Space, span_of_kernel
from isthmus.retrieval.rules import References

# With more pairs than this nothing of their number is held, and blocks are the method in any case.
MANY_PAIRS = 500_000
# The number of source rows, stratified by class, that are kept to compare others with.
REFERENCE_ROWS = 10_000
# Coordinates of both domains together, at most: their second moments are one matrix.
WIDEST = 8192
# Pairs for each coordinate from which representative pairs, two for each coordinate, are at most half as many.
MANY = 4


@dataclass(frozen=True, eq=False)
class ManyRows(JointSpace):
    """A joint space whose source has no points: its rows stay where they are.

    Parameters
    ----------
    many : Rows
        The source rows, with the codes of their classes.
    found : Moments
        What is known of all of them.
    """

    many: Rows = field(kw_only=True)
    found: Moments = field(kw_only=True)

    def within(self, weights: FloatArray) -> FloatArray:
        """Return Σ w_c(i) (x_i - m_c(i)) (x_i - m_c(i))ᵀ (d, d) around the class means, each with a weight (C,)."""
        (S,) = self.many.total(partial(_scatter_within, self.found.means, weights))
        return S

    def axes(self) -> FloatArray:
        """Return orthonormal axes (d, r) that the rows lie along, of most length first."""
        M, ones = self.found.means, np.ones(len(self.found.counts))
        # The scatter around zero: within the classes, and of their means.
        values, vectors = np.linalg.eigh(self.within(ones) + (M.T * self.found.counts) @ M)
        kept = values > RANK_TOLERANCE * max(float(values[-1]), np.finfo(np.float64).tiny)
        return np.asarray(vectors[:, kept][:, ::-1])


def _scatter_within(means: FloatArray, weights: FloatArray, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
    """Return the scatter of a block around the means of its classes."""
    w = weights[codes]
    if not is_sparse(X):
        # Centred first: for dense rows far from the origin the difference of two sums would be rounding.
        D = X - means[codes]
        D *= np.sqrt(w)[:, None]
        return (np.asarray(D.T @ D),)
    X, C = X.astype(np.float64), len(weights)
    member = sp.csr_array((w, (codes, np.arange(len(codes)))), shape=(C, len(codes)))
    # Sparse rows stay sparse: the means are taken away from the sums, not from the rows.
    cross = np.asarray((member @ X).T @ means)
    total = np.bincount(codes, weights=w, minlength=C)
    S = (X.T @ sp.diags_array(w) @ X).toarray() - cross - cross.T
    return (np.asarray(S + (means.T * total) @ means),)


@dataclass(frozen=True, eq=False)
class MomentPairs(JointSpace):
    """A joint space whose points are few pairs with the means and second moments of all pairs.

    Parameters
    ----------
    many : RowPairs
        All pairs, for what is no function of their moments.
    moments : PairMoments
        Their moments.
    """

    many: RowPairs = field(kw_only=True)
    moments: PairMoments = field(kw_only=True)

    @classmethod
    def of_pairs(cls, pairs: RowPairs, spaces: tuple[Space, Space], n_classes: int) -> MomentPairs:
        """Return few pairs for all pairs of rows in the coordinates of two spaces."""
        if pairs.layout.d > WIDEST:
            got = f"{pairs.layout.d}; reduce them first"
            raise InputError(f"X_source: expected at most {WIDEST} coordinates of both domains in blocks, got {got}.")
        moments = compute_pair_moments(pairs)
        points = moments.representative_pairs()
        each, none = zip(spaces, points, pairs.layout.sides, strict=True), np.full(len(points[0]), UNLABELLED)
        sides = [DomainSpan(space, X, none, moments.mean[columns], np.nan, np.nan) for space, X, columns in each]
        known = KnownPairs.in_order(len(points[0]))
        return cls(sides[0], sides[1], n_classes, known, many=pairs, moments=moments)

    @classmethod
    def of_arrays(cls, domains: TwoDomains, kernels: tuple[Kernel, Kernel]) -> MomentPairs | None:
        """Return few pairs for known pairs of rows in arrays, if these are many and features are the coordinates."""
        known, X, Y = domains.pairs, domains.source.X, domains.target.X
        if known is None or not all(isinstance(kernel, Linear | Cosine) for kernel in kernels):
            return None
        n, d = len(known), X.shape[1] + Y.shape[1]
        # Few pairs, or few for their width, are quicker as they are; sparse beside dense rows have no common block.
        if is_small((n, X.shape[1]), (0, Y.shape[1])) or n < MANY * d or d > WIDEST or is_sparse(X) != is_sparse(Y):
            return None
        spaces = FeatureSpace(X.shape[1], kernels[0]), FeatureSpace(Y.shape[1], kernels[1])
        pairs = RowPairs.of(X, Y, known.unequal_weights, spaces, (known.source, known.target))
        return cls.of_pairs(pairs, spaces, len(domains.classes))


class BlockEstimator(MappedEstimator):
    """The base of systems that learn from source rows in blocks by labels; with known pairs, from both domains."""

    def _block_domains(self, pairs: Any) -> tuple[str, ...]:
        return ("source",) if pairs is None else DOMAINS

    def _check_blocks(self, blocks: tuple[str, ...], pairs: Any) -> None:
        kernels = dict(zip(DOMAINS, self._kernels(), strict=True))
        for name in ("source",) if pairs is None else DOMAINS:
            if not isinstance(kernels[name], Linear | Cosine | Landmarks):
                expected = f"linear, cosine or Landmarks with {name} rows in blocks"
                raise InputError(f"{name}_kernel: expected {expected}, got {kernels[name]!r:.60}.")
            transformer = getattr(self, f"{name}_transformer")
            if transformer is not None:
                raise InputError(f"{name}_transformer: expected None with rows in blocks, got {transformer!r:.60}.")

    def _fit_blocks(self, domains: TwoDomains, settings: Any) -> dict[str, Any]:
        if domains.pairs is None:
            return self._fit_labelled_blocks(domains, settings)
        return self._fit_paired_blocks(domains, domains.pairs, settings)

    def _fit_labelled_blocks(self, domains: TwoDomains, settings: Any) -> dict[str, Any]:
        """Learn from labels; of the source there are no rows but a sample to compare others with."""
        rows, target = domains.source.X, domains.target
        self._check_votes(min(rows.n, REFERENCE_ROWS), len(target.labelled))
        joint = self._joint_blocks(rows, target, len(domains.classes))
        without_rows = TwoDomains(Domain(joint.source.points, joint.source.y), target, domains.classes)
        space, attributes = self._fit_joint(without_rows, joint, settings)
        references = self._block_references(rows, joint, target, space)
        if isinstance(space.source.kernel, Linear) and not joint.found.sparse:
            deviations = np.sqrt(joint.found.variances)
            warn_about_features(joint.found.mean, deviations, "source", intercept=self.intercept)
        warn_about_columns(target, space.target.kernel, "target", intercept=self.intercept)
        warn_about_classes(np.flatnonzero(joint.found.counts), target.y, domains.classes)
        return {**attributes, **self._space_attributes(space, references, len(domains.classes))}

    def _joint_blocks(self, rows: Rows, target: Domain, n_classes: int, *, mean: bool = False) -> ManyRows:
        """Return the joint space of source rows in blocks; of all target rows, the mean only where it is needed."""
        kernel = self._kernels()[0]
        space: Space = FeatureSpace(rows.d, kernel)
        if isinstance(kernel, Landmarks):
            space = block_space(Domain(*_sample(rows)), kernel, "X_source")
        many = rows if isinstance(kernel, Linear) else CoordinateRows(rows, space)
        found, no_codes = compute_moments(many, n_classes), np.empty(0, dtype=np.intp)
        variance = float(found.variances.sum())
        source = DomainSpan(space, np.empty((0, many.d)), no_codes, found.mean, variance, found.squared)
        other = span_of_kernel(target, target.labelled, self._kernels()[1], mean=mean, name="X_target")
        return ManyRows(source, other, n_classes, many=many, found=found)

    def _block_references(self, rows: Rows, joint: ManyRows, target: Domain, space: CommonSpace) -> References:
        """Return class means of the source for a rule that needs no more, else a sample of its rows."""
        # Points of unit length and coordinates of a kernel have other means; beside rows, a mean counts for one row.
        linear = isinstance(space.source.kernel, Linear) and not space.parts and self.references != "both"
        if isinstance(self.rule, str) and self.rule == "means" and linear:
            y = np.flatnonzero(joint.found.counts)
            X: Any = joint.found.means[y]
        else:
            X, y = _sample(rows)
        source = space.embed(X, "source").astype(np.float64)
        points = space.embed(target.X[target.labelled], "target").astype(np.float64)
        y = np.concatenate([y.astype(np.intp), target.y[target.labelled]])
        return References(space, np.vstack([source, points]), y, len(source))

    def _fit_paired_blocks(self, domains: TwoDomains, known: KnownPairs, settings: Any) -> dict[str, Any]:
        """Learn from known pairs; a sample of them is kept to compare others with."""
        tables, C, weights = (domains.source.X, domains.target.X), len(domains.classes), known.unequal_weights
        # One code per pair of labels, so that a sample has its share of each; 0 for none.
        codes = (domains.source.y + 1) * (C + 1) + domains.target.y + 1 if C else None
        sampled = _sample_pairs(RowPairs.of(*tables, weights, codes=codes), domains)
        named = zip((sampled.source, sampled.target), self._kernels(), ("X_source", "X_target"), strict=True)
        source, target = (block_space(*each) for each in named)
        joint = MomentPairs.of_pairs(RowPairs.of(*tables, weights, (source, target)), (source, target), C)
        learned = self._fit_space(joint, sampled, settings)
        deviations = np.sqrt(np.diagonal(joint.moments.scatter) / joint.moments.weight)
        sides = zip(DOMAINS, (joint.source, joint.target), joint.moments.layout.sides, strict=True)
        for name, side, columns in sides:
            if isinstance(side.space, FeatureSpace) and isinstance(side.space.kernel, Linear):
                warn_about_features(side.mean, deviations[columns], name, intercept=self.intercept)
        return learned


class PairMomentEstimator(BlockEstimator, MetricEstimator):
    """The base of systems whose closed form is a function of the means and second moments of known pairs."""

    def _block_domains(self, pairs: Any) -> tuple[str, ...]:
        return DOMAINS

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        """Return few pairs with the moments of many pairs in arrays, too."""
        return MomentPairs.of_arrays(domains, self._kernels()) or super()._joint_space(domains)


def block_space(domain: Domain, kernel: Kernel, name: str) -> Space:
    """Return the coordinates of a domain of which a sample is known; landmarks are chosen there."""
    check_magnitude(domain.X, name)  # coordinates of some kernels are bounded whatever the features are
    if isinstance(kernel, Linear | Cosine):
        return FeatureSpace(domain.X.shape[1], kernel)
    return span_of_kernel(domain, np.arange(1), kernel, mean=False, name=name).space


def _sample(rows: Rows) -> tuple[Matrix, IntArray]:
    """Return rows, of each code its share, and their codes."""
    sample = rows.sample(min(rows.n, REFERENCE_ROWS), np.random.default_rng(0))
    return next(iter(sample.blocks(max(1, sample.n))))


def _sample_pairs(pairs: RowPairs, domains: TwoDomains) -> TwoDomains:
    """Return some pairs as two domains: what others are compared with."""
    Z, _, codes = pairs.sample(REFERENCE_ROWS, np.random.default_rng(0))
    source, target = pairs.layout.sides
    y = np.divmod(codes.astype(np.intp), len(domains.classes) + 1)  # without classes all codes are 0, for none
    both = Domain(Z[:, source], y[0] - 1), Domain(Z[:, target], y[1] - 1)
    return TwoDomains(*both, domains.classes, KnownPairs.in_order(Z.shape[0]))
