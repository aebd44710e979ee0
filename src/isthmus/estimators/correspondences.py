"""Projections from rows that correspond across the domains: manifold alignment and HeMap."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from isthmus._core.linalg import principal_axes
from isthmus._core.validation import FloatArray, Matrix, check_choice
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import EVERYTHING, PAIRS, SystemFacts, check_two_classes
from isthmus.estimators.eigenmaps import LabelMoments, Projection, all_coordinates, label_moments, make_heat_graph
from isthmus.estimators.mapped import Both, Learned
from isthmus.exceptions import InputError
from isthmus.geometry.spaces import JointSpace, find_axes
from isthmus.maps.eigen import JointDirections, JointProblem, SharedCoordinates


def mean_point(found: JointDirections, rows: Both) -> FloatArray:
    """Return the mean (k,) of rows of both domains along the directions."""
    return np.asarray(np.vstack([rows[0] @ found.source, rows[1] @ found.target]).mean(axis=0))


def check_rows_differ(rows: Both) -> None:
    """Raise where all rows of a domain are equal."""
    for X, name in zip(rows, ("X_source", "X_target"), strict=True):
        find_axes(X, f"{name}: expected")


def find_correspondence(rows: Both, domains: TwoDomains) -> tuple[Both, FloatArray]:
    """Return the sums over rows and over columns of a table C (n_s, n_t) of weights, and XᵀCY (r_s, r_t).

    C has the weights of known pairs; without any, it is one for rows of the same class, by sums over classes.
    """
    if domains.pairs is not None:
        places, shape = (domains.pairs.source, domains.pairs.target), (len(rows[0]), len(rows[1]))
        C: Matrix = sp.coo_array((domains.pairs.weights, places), shape=shape).tocsr()
        sums = np.asarray(C.sum(axis=1)).ravel(), np.asarray(C.sum(axis=0)).ravel()
        return sums, np.asarray(rows[0].T @ (C @ rows[1]))
    y = domains.source.y, domains.target.y
    moments = LabelMoments.of(rows, y, len(domains.classes))
    (n_s, n_t), (M_s, M_t) = moments.counts, moments.sums
    # A row without a label, -1, finds the zero at the end.
    return (np.append(n_t, 0.0)[y[0]], np.append(n_s, 0.0)[y[1]]), np.asarray(M_s @ M_t.T)


# The usual number of directions where pairs correspond.
WITH_PAIRS = 20
# A direction along which rows vary by no more than this part of their size says nothing.
CONSTANT = 1e-3


@dataclass(kw_only=True, eq=False, repr=False)
class ManifoldAlignment(Projection):
    r"""Project neighbours within a domain, and rows that correspond across the domains, near to each other.

    .. math::

       Z^T W Z\, v = \lambda\, Z^T D Z\, v, \qquad
       W = \begin{pmatrix} W_s & \mu C \\ \mu C^T & W_t \end{pmatrix}, \quad D = \mathrm{diag}(W 1), \quad
       z = [x; 0] \text{ or } [0; y]

    with the graphs :math:`W_s, W_t` of the nearest neighbours of either domain, and C (n_s, n_t) saying how much two
    rows correspond: Wang and Mahadevan, *A general framework for manifold alignment*, AAAI symposium 2009. The
    largest λ are the smallest of the Laplacian D − W. C is known pairs, with their weights, where they are given, and
    else one for all rows of one class. It learns a metric from all rows and from what says that they
    correspond. Read in a public release, which normalises the Laplacian and constrains by :math:`Z^T Z`; here, as in
    the paper, by :math:`Z^T D Z`. Pairs are where it belongs: from labels it is no better than other systems.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain; a kernel spans all rows, at the price of their Gram matrix.
    n_components : int, optional
        How many directions to keep; None keeps 20 with pairs, else as many as there are classes, less one, and at
        most as many as the smaller domain has coordinates. A direction along which no row differs is left out.
    correspondence_weight : float
        μ > 0, in units in which C weighs as much as the two graphs on average.
    graph_neighbors : int
        How many nearest neighbours of a row its graph joins it with, by heat weights whose bandwidth is the mean
        squared distance to them.
    regularization : float
        ε > 0: ε tr(A)/d is added to the diagonal of A, the matrix on the right. 0.1 was as good as less on real data,
        and better where there are more columns than rows.
    points, rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`CDSPP`.

    Attributes
    ----------
    correspondence_ : {"pairs", "labels"}
        What C was made of.
    common_space_, eigenvalues_, residual_, kernels_, references_, classes_
        As in :class:`CDSPP`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import ManifoldAlignment
    >>> A = np.random.default_rng(0).normal(size=(50, 4))
    >>> turned = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> aligned = ManifoldAlignment().fit(A[:20], None, A[:20] @ turned, None, pairs="rows")
    >>> _, found = aligned.search(A[20:] @ turned, A[20:], 1)
    >>> (found[:, 0] == np.arange(30)).mean()
    np.float64(1.0)
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("manifold-alignment", "projections", "Wang & Mahadevan 2009", EVERYTHING),
    )

    takes_pairs = True
    correspondence_weight: float = 1.0
    graph_neighbors: int = 10
    regularization: float = 0.1
    correspondence_: str = field(init=False)

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of(domains, self._kernels(), every_row=True, mean=False)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: None) -> Learned:
        made_of = "labels" if domains.pairs is None else "pairs"
        rows = all_coordinates(domains, joint)
        if made_of == "labels":
            check_two_classes(domains)
        else:
            check_rows_differ(rows)
        A, B = self._matrices(rows, *find_correspondence(rows, domains))
        usual = WITH_PAIRS if made_of == "pairs" else joint.n_classes - 1
        k = self._size(usual, min(X.shape[1] for X in rows))
        problem = JointProblem.with_ridge(A, B, rows[0].shape[1], self.regularization)
        found = _drop_constant_direction(problem.directions(min(k + 1, len(A))), rows, k)
        moments = LabelMoments.of(rows, (domains.source.y, domains.target.y), joint.n_classes)
        heights = moments.heights(found.source, found.target) if len(domains.classes) > 1 else found.source
        found = found.fix_signs(heights)
        mean = mean_point(found, (joint.source.points, joint.target.points))
        space, attributes = self._conclude(joint, found, mean)
        return space, {**attributes, "correspondence_": made_of}

    def _matrices(self, rows: Both, sums: Both, across: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return A = ZᵀDZ and B = ZᵀWZ."""
        graphs = [make_heat_graph(X, self.graph_neighbors) for X in rows]
        # The two graphs and the correspondence in one unit: equal total weight at a weight of one.
        mu = self.correspondence_weight * sum(float(W.sum()) for W in graphs) / (2.0 * float(sums[0].sum()))
        degrees = [np.ravel(W.sum(axis=1)) + mu * own for W, own in zip(graphs, sums, strict=True)]
        A = sla.block_diag(*((d[:, None] * X).T @ X for d, X in zip(degrees, rows, strict=True)))
        within = [X.T @ (W @ X) for W, X in zip(graphs, rows, strict=True)]
        return A, np.block([[within[0], mu * across], [mu * across.T, within[1]]])


def _drop_constant_direction(found: JointDirections, rows: Both, k: int) -> JointDirections:
    """Return the first k of k + 1 directions along which rows differ: the smoothest maps every row to one point."""
    points = np.vstack([rows[0] @ found.source, rows[1] @ found.target])
    sizes = np.sqrt((points**2).mean(axis=0))
    left = found.without(points.std(axis=0) <= CONSTANT * sizes)
    if not len(left.values):
        raise InputError("X_source: expected rows that differ, got rows that are equal along every direction.")
    return left.leading(min(k, len(left.values)))


# The default number of coordinates with known pairs.
USUAL = 20
# The least eigenvalue of these, as a share of the largest: maps of smaller ones amplify noise.
FAINT = 1e-3


@dataclass(kw_only=True, eq=False, repr=False)
class HeMap(Projection):
    r"""Find common coordinates of paired rows from which either domain can be rebuilt.

    .. math::

       \min_{B_T, B_S, P_T, P_S} \|T - B_T P_T\|^2 + \|S - B_S P_S\|^2
       + \frac\beta2 \big( \|T - B_S P_T\|^2 + \|S - B_T P_S\|^2 \big), \qquad [B_T; B_S]^T [B_T; B_S] = I

    over pairs, row i of S (r, d_s) and of T (r, d_t): Shi, Liu, Fan, Yu and Zhu, *Transfer learning on heterogeneous
    feature spaces via spectral transformation*, ICDM 2010. B is made of the leading left singular vectors of

    .. math:: F = \begin{pmatrix} 2T & \beta S \\ \beta T & 2S \end{pmatrix} \qquad (2r, d_t + d_s)

    and the maps of new rows are the pseudo-inverses of :math:`P_T = B_T^+ T` and :math:`P_S = B_S^+ S`. It learns a
    metric. Written from memory of the paper and derived anew; its sampling and its Bayesian step were not seen. The
    one orthonormality stands, as published, for one of each half of B; vectors whose halves point in opposite ways,
    which that lets in, are left out (on real data none was among the first 20).

    **It needs pairs.** Row i of S and row i of T share their coordinates: in an arbitrary order of rows, the result
    is chance, and this class refuses to guess one.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain.
    correspondence : {"pairs", "labels"}
        What the rows of S and T are: known pairs, with their weights; or each labelled target row with every source
        row of its class, by class sums, never one by one.
    n_components : int, optional
        How many coordinates to keep, at most as many as either domain's paired rows span; None keeps 20, or from
        labels as many as there are classes, less one, and of these only such whose eigenvalue is at least a
        thousandth of the largest.
    similarity_weight : float
        β > 0, how much rows that are paired have to agree.
    points, rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`CDSPP`.

    Attributes
    ----------
    eigenvalues_ : array (k,)
        Of :math:`F F^T / 2`, largest first.
    residual_ : float
        The certificate: the largest part by which its leading directions differ from eigenvectors.
    common_space_, kernels_, references_, classes_
        As in :class:`CDSPP`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import HeMap
    >>> A = np.random.default_rng(0).normal(size=(50, 4))
    >>> turned = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> mapped = HeMap().fit(A[:20], None, A[:20] @ turned, None, pairs="rows")
    >>> _, found = mapped.search(A[20:] @ turned, A[20:], 1)
    >>> (found[:, 0] == np.arange(30)).mean()
    np.float64(1.0)
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (SystemFacts("hemap", "projections", "Shi et al. 2010", PAIRS),)

    takes_pairs = True

    correspondence: str = "pairs"
    similarity_weight: float = 1.0

    @property
    def needs_pairs(self) -> bool:  # type: ignore[override]  # here a parameter decides
        """Whether it learns from known pairs and nothing else."""
        return self.correspondence == "pairs"

    def _validate(self) -> None:
        super()._validate()
        check_choice(self.correspondence, "correspondence", ("pairs", "labels"))

    def _check_use_of(self, pairs: Any) -> None:
        super()._check_use_of(pairs)
        if pairs is not None and not self.needs_pairs:
            raise InputError('pairs: expected None for correspondence="labels", got pairs.')

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: None) -> Learned:
        S, T = take_paired_rows(joint) if joint.pairs is not None else pair_rows_by_label(joint)
        most = min(len(principal_axes(X, centre=False).deviations) for X in (S, T))
        if most < 1:
            raise InputError("X_source: expected paired rows that are not zero, got only zeros in one domain.")
        shared = SharedCoordinates.of(S, T, self.similarity_weight)
        if not len(shared.values):
            raise InputError("pairs: expected rows that vary together, got pairs that agree in nothing.")
        usual = USUAL if joint.pairs is not None else max(1, joint.n_classes - 1)
        usual = min(usual, int((shared.values >= FAINT * shared.values[0]).sum()))
        found = shared.maps(self._size(usual, min(most, len(shared.values))))
        found = found.fix_signs(np.vstack([found.source, found.target]))
        rows = joint.source.points, joint.target.points
        return self._conclude(joint, found, mean_point(found, rows))


def take_paired_rows(joint: JointSpace) -> Both:
    """Return the rows of known pairs, pair by pair: one of weight w counts as w pairs."""
    known = joint.known
    # Squared in every sum over pairs.
    root = np.sqrt(known.weights)[:, None]
    S, T = joint.source.points[known.source], joint.target.points[known.target]
    check_rows_differ((S, T))
    return root * S, root * T


def pair_rows_by_label(joint: JointSpace) -> Both:
    """Return as many rows as have labels, and one per class, in place of all pairs of a class: FᵀF is the same.

    Over the n m pairs of a class, a turn of the pairs among themselves leaves one of the two means, counted n m
    times, and the deviations from them, each with nothing on the other side.
    """
    moments = label_moments(joint)
    both = (moments.counts[0] > 0.0) & (moments.counts[1] > 0.0)
    parts: list[Both] = []
    for c in np.flatnonzero(both):
        X, Y = (part[codes == c] for part, codes in zip(moments.rows, moments.y, strict=True))
        n, m = len(X), len(Y)
        x, y_ = X.mean(axis=0), Y.mean(axis=0)
        parts.append((np.sqrt(n * m) * x[None], np.sqrt(n * m) * y_[None]))
        parts.append((np.sqrt(m) * (X - x), np.zeros((n, len(y_)))))
        parts.append((np.zeros((m, len(x))), np.sqrt(n) * (Y - y_)))
    return np.vstack([S for S, _ in parts]), np.vstack([T for _, T in parts])
