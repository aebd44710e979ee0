"""Maps in closed form from known pairs and nothing else: Procrustes, pulled-back metric, relative cosines, ridge."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from isthmus._core.linalg import PrincipalAxes, normalize_rows
from isthmus._core.validation import FloatArray, IntArray, Matrix, as_dense, check_number, is_sparse
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import PAIRS, RBF_KERNELS, SystemFacts
from isthmus.estimators.from_blocks import MomentPairs, PairMomentEstimator
from isthmus.estimators.itml import ITML
from isthmus.estimators.mapped import Both, KernelParameters, Learned, MetricEstimator, centred_space
from isthmus.geometry.row_blocks import CentredRows, Layout, RowPairs, compute_pair_moments
from isthmus.geometry.spaces import JointSpace, find_axes
from isthmus.maps.canonical import gram_axes
from isthmus.maps.regression import (
    PENALTIES,
    SMALLEST,
    AffineMap,
    RidgeFit,
    RowErrors,
    Spectrum,
    fit_procrustes,
    fit_ridge,
    leave_one_out,
)


class PairedMap(MetricEstimator):
    """The base of systems that map both domains, centred on the paired rows, to points of unit length."""

    takes_pairs = True
    needs_pairs = True
    intercept = True


def centre_pairs(joint: JointSpace) -> tuple[Both, tuple[PrincipalAxes, PrincipalAxes]]:
    """Return the paired rows, centred and along their principal axes, and these axes.

    What is outside the span of the paired rows is left out: a map learned from them says nothing there, and as part
    of a row's length it only blurs the cosines (Reuters, 30 pairs: recall@1 .47 with it, .61 without).
    """
    known = joint.known
    A, B = joint.source.points[known.source], joint.target.points[known.target]
    a = find_axes(A, "pairs: expected source", weights=known.weights)
    b = find_axes(B, "pairs: expected target", weights=known.weights)
    return (a.coordinates(A), b.coordinates(B)), (a, b)


def as_penalties(penalty: Any) -> FloatArray:
    """Return the penalties that are tried: the one of the parameter, or those of "auto"."""
    if isinstance(penalty, str) and penalty == "auto":
        return PENALTIES
    return np.array([check_number(penalty, "penalty", low=0.0, strict=True)])


@dataclass(kw_only=True, eq=False, repr=False)
class Procrustes(PairMomentEstimator, PairedMap, KernelParameters):
    r"""Turn either domain onto the other, so that paired rows agree best.

    .. math:: \max_{U, V} \sum_i w_i \langle U^T a_i, V^T b_i \rangle \quad\text{s.t.}\quad U^T U = V^T V = I

    over known pairs :math:`(a_i, b_i)`, centred on their means, by one singular value decomposition. With equally
    many features this is the orthogonal map between them; with different numbers, both are turned into the smaller
    space. Points are compared by their cosine.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain.
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`MLHD`.

    Attributes
    ----------
    common_space_, references_, kernels_, classes_
        As in :class:`MLHD`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import Procrustes
    >>> A = np.random.default_rng(0).normal(size=(50, 4))
    >>> turned = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> turn = Procrustes().fit(A[:20], None, A[:20] @ turned + 1.0, None, pairs="rows")
    >>> _, found = turn.search(A[20:] @ turned + 1.0, A[20:], 1)
    >>> (found[:, 0] == np.arange(30)).mean()
    np.float64(1.0)
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("procrustes", "maps of pairs", "Schönemann 1966", PAIRS),
    )

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        """Return all pairs of dense rows: the products across are less work than the moments of either side."""
        sparse = is_sparse(domains.source.X) or is_sparse(domains.target.X)
        return super()._joint_space(domains) if sparse else MetricEstimator._joint_space(self, domains)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: Any) -> Learned:
        known = joint.known
        X, Y = joint.source.points[known.source], joint.target.points[known.target]
        turned = fit_procrustes(X, Y, weights=known.unequal_weights)
        if not len(turned.values):
            centre_pairs(joint)  # raises where rows are equal
        means = turned.input_mean, turned.output_mean
        return centred_space(joint, (turned.U, turned.V), means, (len(turned.values),)), {}


@dataclass(kw_only=True, eq=False, repr=False)
class PulledBackMetric(PairedMap):
    r"""Learn a metric where labels are, and carry it to where pairs lead.

    .. math:: M_t = R\, M_s R^T, \qquad
              R = \arg\min_R \sum_i w_i \lVert a_i - R^T b_i \rVert^2 + \lambda \lVert R \rVert^2

    over known pairs :math:`(a_i, b_i)`, centred on their means. :math:`M_s` is a metric of the source alone, that of
    :class:`ITML` where rows of two classes are labelled, and the Euclidean one elsewhere; R translates target rows
    into the source's features, and distances are measured there: within the target (``references="target"``), and
    across (the default). Columns are taken as they are: reduce wide tables first.

    **Our reading.** G.-J. Qi, C. C. Aggarwal and T. S. Huang, *Transfer learning of distance metrics by cross-domain
    metric sampling across heterogeneous spaces*, SDM 2012, learns a metric of the target from a metric of the source
    and correspondences. Only the abstract could be had; their sampling is not what is done here, and their defaults
    are not known.

    Parameters
    ----------
    penalty : float or "auto"
        λ > 0 in units of the mean eigenvalue of the paired target rows' Gram matrix; "auto" has the least error of
        leaving out each pair in turn.
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`~isthmus.MLHD`.

    Attributes
    ----------
    common_space_ : CommonSpace
        The source's features, measured by :math:`M_s`.
    learner_ : object or None
        The fitted metric of the source; None where it is Euclidean.
    penalty_ : float
        λ, as it enters the formula.
    references_, kernels_, classes_
        As in :class:`~isthmus.MLHD`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import PulledBackMetric
    >>> A = np.random.default_rng(0).normal(size=(50, 4))
    >>> B = A @ np.random.default_rng(1).normal(size=(4, 7)) + 3.0
    >>> metric = PulledBackMetric().fit(A[:20], None, B[:20], None, pairs="rows")
    >>> _, found = metric.search(B[20:], A[20:], 1)
    >>> round(float((found[:, 0] == np.arange(30)).mean()), 2)
    0.93
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("pulled-back", "related work", "after Qi et al. 2012, our reading", "pairs, source labels"),
    )

    penalty: float | str = "auto"
    learner_: Any = field(init=False)
    penalty_: float = field(init=False)

    def _validate(self) -> FloatArray:
        super()._validate()
        return as_penalties(self.penalty)

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of_features(domains)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: FloatArray) -> Learned:
        (A, B), axes = centre_pairs(joint)
        translator = fit_ridge(B, A, weights=joint.known.weights, penalties=settings)
        learner = self._fit_learner(domains)
        L = np.eye(domains.source.X.shape[1]) if learner is None else np.asarray(learner.components_).T
        # Target rows are translated into the source's features, then measured by the source's metric.
        W_t = axes[1].axes @ translator.map.W @ axes[0].axes.T @ L
        space = centred_space(joint, (L, W_t), (axes[0].mean, axes[1].mean))
        return space, {"learner_": learner, "penalty_": translator.penalty}

    def _fit_learner(self, domains: TwoDomains) -> Any:
        """Return the metric of the source, or None for the Euclidean one."""
        known = domains.source.labelled
        X, y = domains.source.X[known], domains.source.y[known]
        # Without classes, rows are measured plainly.
        return ITML(random_state=0).fit(as_dense(X), y) if len(np.unique(y)) > 1 else None


@dataclass(kw_only=True, eq=False, repr=False)
class RelativeRepresentations(PairedMap, KernelParameters):
    r"""Describe the rows of either domain by their cosines to the paired rows of that domain.

    .. math:: a \mapsto (\cos(a, a_1), \dots, \cos(a, a_P)), \qquad b \mapsto (\cos(b, b_1), \dots, \cos(b, b_P))

    with rows centred on the paired ones. Nothing is fitted: the known pairs :math:`(a_i, b_i)` are the coordinates.
    Points are compared by their cosine (Moschella et al. 2023).

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain.
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`MLHD`.

    Attributes
    ----------
    common_space_, references_, kernels_, classes_
        As in :class:`MLHD`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import RelativeRepresentations
    >>> A = np.random.default_rng(0).normal(size=(50, 4))
    >>> turned = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> relative = RelativeRepresentations().fit(A[:20], None, 3.0 * A[:20] @ turned, None, pairs="rows")
    >>> _, found = relative.search(3.0 * A[20:] @ turned, A[20:], 1)
    >>> (found[:, 0] == np.arange(30)).mean()
    np.float64(1.0)
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("relative", "maps of pairs", "Moschella et al. 2023", PAIRS),
    )

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: Any) -> Learned:
        (both, axes), weights = centre_pairs(joint), joint.known.weights
        # The length of a row itself scales all of its cosines alike, and its point is scaled anyway.
        M_s, M_t = (normalize_rows(X).T * np.sqrt(weights) for X in both)
        W_s, W_t = axes[0].axes @ M_s, axes[1].axes @ M_t
        return centred_space(joint, (W_s, W_t), (axes[0].mean, axes[1].mean), (len(weights),)), {}


@dataclass(frozen=True, eq=False)
class _HeldOutErrors:
    """The errors of held-out pairs, block by block.

    Parameters
    ----------
    layout : Layout
    mean, weight : array (d,) and float
        Of the pairs.
    inputs, outputs : slice
        Whose columns predict whose.
    found : Spectrum
        Of the inputs; its V are axes of the input's columns.
    axes : array (d_out, r)
        Of the outputs.
    """

    layout: Layout
    mean: FloatArray
    weight: float
    inputs: slice
    outputs: slice
    found: Spectrum
    axes: FloatArray

    def of_rows(self, Z: Matrix, w: FloatArray) -> RowErrors:
        """Return the errors of rows (m, d) with weights (m,), as a function of the penalty."""
        block = CentredRows.of(Z, self.mean, w)
        U, B = block.part(self.inputs).times(self.found.V / self.found.s), block.part(self.outputs).times(self.axes)
        return leave_one_out(U, self.found, B, w / self.weight)

    def total(self, penalty: float, Z: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
        """Return the sums (2, 1) of a block."""
        return (self.of_rows(*self.layout.parts(Z))(penalty).sum(axis=1, keepdims=True),)


@dataclass(frozen=True, eq=False)
class PairedSpan:
    """Known pairs along the principal axes of either side, by their moments; made by :meth:`of`."""

    pairs: RowPairs
    weight: float
    axes: tuple[PrincipalAxes, PrincipalAxes]
    # Σ w a bᵀ (r_s, r_t) along the axes, around the means.
    across: FloatArray

    @classmethod
    def of(cls, joint: JointSpace) -> PairedSpan:
        """Take the pairs of a joint space; from one Gram matrix, unless that would lose digits that rows have."""
        known = joint.known
        if isinstance(joint, MomentPairs):
            pairs, weight = joint.many, joint.moments.weight
        else:
            points, weight = (joint.source.points, joint.target.points), float(known.weights.sum())
            pairs = RowPairs.of(*points, known.unequal_weights, numbers=(known.source, known.target))
        source, target = pairs.layout.sides
        if pairs.n > max(pairs.layout.d_source, pairs.layout.d_target):
            moments = joint.moments if isinstance(joint, MomentPairs) else compute_pair_moments(pairs)
            S, mean = moments.scatter, moments.mean
            a, b = (gram_axes(S[side, side], mean[side], weight) for side in (source, target))
            if a is not None and b is not None:
                return cls(pairs, weight, (a, b), a.axes.T @ S[source, target] @ b.axes)
        (A, B), axes = centre_pairs(joint)
        return cls(pairs, weight, axes, (A.T * (known.weights * (weight / known.weights.sum()))) @ B)

    def fit_ridge(self, penalties: FloatArray, *, back: bool = False) -> RidgeFit:
        """Fit :func:`isthmus.maps.regression.fit_ridge` to all pairs: from columns (or ``back``) to axes.

        Parameters
        ----------
        penalties : array (p,)
            Candidates, as there.
        back : bool
            Whether targets predict sources.
        """
        first, second = (1, 0) if back else (0, 1)
        a, b, layout = self.axes[first], self.axes[second], self.pairs.layout
        s = np.sqrt(self.weight) * a.deviations
        kept = s**2 > SMALLEST * s[0] ** 2
        s, across = s[kept], (self.across.T if back else self.across)[kept]
        found = Spectrum(s, a.axes[:, kept], across / s[:, None])
        mean = np.concatenate([each.mean for each in self.axes])
        share = _HeldOutErrors(layout, mean, self.weight, layout.sides[first], layout.sides[second], found, b.axes)

        def errors(m: int) -> RowErrors:
            if m < self.pairs.n:
                return share.of_rows(*self.pairs.sample(m, np.random.default_rng(0))[:2])
            return lambda penalty: self.pairs.rows.total(partial(share.total, penalty))[0]

        squared = self.weight * float(b.deviations @ b.deviations)
        penalty, place, error = found.best(penalties, None, self.pairs.n, squared, errors)
        map_ = AffineMap(found.coefficients(penalty), a.mean, np.zeros(b.axes.shape[1]))
        return RidgeFit(map_, penalty, place, error)


@dataclass(kw_only=True, eq=False, repr=False)
class RidgeMap(PairMomentEstimator, PairedMap, KernelParameters):
    r"""Predict the rows of either domain from those of the other, and compare with what is there.

    .. math::

       f = \arg\min_W \sum_i w_i \lVert b_i - W^T a_i \rVert^2 + \lambda \lVert W \rVert^2, \quad
       g \text{ likewise from } b \text{ to } a, \qquad
       s(a, b) = \cos(f(a), b) + \cos(a, g(b))

    over known pairs :math:`(a_i, b_i)`, centred on their means and within their span, in closed form. Each penalty λ
    is the one with the least error of leaving out each pair in turn, which is exact and needs no further fit.

    It is a metric: a source row becomes the point [f(a); a], a target row [b; g(b)], each half at unit length, and
    the squared distance of two points is 4 - 2 s.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain. With kernels, it is their features that are predicted, within the span
        of the paired rows.
    penalty : float or "auto"
        λ > 0 for both ways, in units of the mean eigenvalue of the paired rows' Gram matrix.
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`MLHD`.

    Attributes
    ----------
    common_space_ : CommonSpace
        What was learned.
    penalties_ : (float, float)
        λ of f and of g, as they enter the formula.
    references_, kernels_, classes_
        As in :class:`MLHD`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import RidgeMap
    >>> A = np.random.default_rng(0).normal(size=(50, 4))
    >>> B = A @ np.random.default_rng(1).normal(size=(4, 7)) + 3.0
    >>> maps = RidgeMap().fit(A[:20], None, B[:20], None, pairs="rows")
    >>> _, found = maps.search(B[20:], A[20:], 1)
    >>> (found[:, 0] == np.arange(30)).mean()
    np.float64(1.0)
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts(
            "ridge",
            "maps of pairs",
            "Hoerl & Kennard 1970, both ways",
            PAIRS,
            best_for="finding the same object, from known pairs",
        ),
        SystemFacts("ridge-rbf", "maps of pairs", "kernel ridge, both ways", PAIRS, options=RBF_KERNELS),
    )

    penalty: float | str = "auto"
    penalties_: tuple[float, float] = field(init=False)

    def _validate(self) -> FloatArray:
        super()._validate()
        return as_penalties(self.penalty)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: Any) -> Learned:
        pairs = PairedSpan.of(joint)
        f, g = pairs.fit_ridge(settings), pairs.fit_ridge(settings, back=True)
        a, b = pairs.axes
        # Two halves, each a map of both domains into one of them: the prediction, and the row itself along its axes.
        halves = (f.map.W, b.axes), (a.axes, g.map.W)
        W_s, W_t = (np.hstack([half[k] for half in halves]) for k in (0, 1))
        space = centred_space(joint, (W_s, W_t), (a.mean, b.mean), tuple(half[0].shape[1] for half in halves))
        return space, {"penalties_": (f.penalty, g.penalty)}
