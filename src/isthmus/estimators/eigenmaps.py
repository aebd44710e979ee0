"""Projections by one generalized eigenproblem A v = λ B v over both domains.

DAMA, MTDA and CDSPP learn from labels, ManifoldAlignment from labels or pairs, HeMap from pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.neighbors import kneighbors_graph

from isthmus._core.linalg import EPS, normalize_rows, principal_axes
from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, Matrix, as_dense, check_choice, check_number
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import EVERYTHING, LABELS, LABELS_AND_ROWS, PAIRS, SystemFacts, check_two_classes
from isthmus.estimators.from_blocks import BlockEstimator, ManyRows
from isthmus.estimators.mapped import Both, KernelParameters, Learned, MetricEstimator
from isthmus.exceptions import InputError, warn
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.kernels import Kernel
from isthmus.geometry.spaces import JointSpace, find_axes
from isthmus.maps.eigen import CoupledProblem, JointDirections, JointProblem, SharedCoordinates

POINTS = ("unit", "plain")
# A residual above this is told.
CERTIFIED = 1e-8


@dataclass(kw_only=True, eq=False, repr=False)
class Projection(MetricEstimator, KernelParameters):
    """The base of systems in closed form that map a row by its own domain's part of each direction v = [w_s; w_t]."""

    n_components: int | None = None
    points: str = "unit"
    rule: Any = "means"
    references: str = "both"
    eigenvalues_: FloatArray = field(init=False)
    residual_: float = field(init=False)

    def _validate(self) -> Any:
        super()._validate()
        check_choice(self.points, "points", POINTS)
        if hasattr(self, "regularization"):
            check_number(self.regularization, "regularization", low=0.0, strict=True)

    def _conclude_from_labels(self, joint: JointSpace, found: JointDirections, moments: LabelMoments) -> Learned:
        """Return the same where labels were learned from; points are seen from the mean of the labelled rows."""
        found = found.fix_signs(moments.heights(found.source, found.target))
        return self._conclude(joint, found, moments.middle(found.source, found.target))

    def _conclude(self, joint: JointSpace, found: JointDirections, mean: FloatArray) -> Learned:
        """Return the common space and the attributes; at unit length, points are seen from a mean (k,) of rows."""
        # A tie at the cut makes the kept direction arbitrary: another BLAS may return another one.
        if found.tied:
            k = len(found.values)
            warn(
                f"n_components: directions {k} and {k + 1} have the same eigenvalue; the choice is arbitrary."
            )
        if found.residual > CERTIFIED:
            warn(f"residual_: the directions have a relative residual of {found.residual:.1e}: mostly rounding.")
        spaces, W = (joint.source.space, joint.target.space), np.vstack([found.source, found.target])
        unit: dict[str, Any] = {"offsets": -np.vstack([mean, mean]), "parts": (W.shape[1],)}
        space = CommonSpace(*spaces, W, projected=True, **({} if self.points == "plain" else unit))
        return space, {"eigenvalues_": found.values, "residual_": found.residual}


def coordinates_of_all_rows(domains: TwoDomains, joint: JointSpace) -> Both:
    """Return the coordinates of all rows, whether they are learned from with a label or without."""
    spaces = joint.source.space, joint.target.space
    return as_dense(spaces[0].coordinates(domains.source.X)), as_dense(spaces[1].coordinates(domains.target.X))


def mean_point(found: JointDirections, rows: Both) -> FloatArray:
    """Return the mean (k,) of rows of both domains along the directions."""
    return np.asarray(np.vstack([rows[0] @ found.source, rows[1] @ found.target]).mean(axis=0))


def check_rows_differ(rows: Both) -> None:
    """Raise where all rows of a domain are the same: no direction tells them apart."""
    for X, name in zip(rows, ("X_source", "X_target"), strict=True):
        find_axes(X, f"{name}: expected")


# A sum that is no larger than this part of the sum of sizes is rounding.
CANCELLED = 8.0 * EPS


@dataclass(frozen=True, eq=False)
class LabelMoments:
    r"""Labelled rows of two domains side by side, z = [x; 0] or [0; y], summed over classes.

    Parameters
    ----------
    rows : (array (n, r_s), array (m, r_t))
        The labelled rows.
    y : (array (n,), array (m,))
        Their label codes.
    counts : (array (C,), array (C,))
        How many rows each class has.
    sums : (array (r_s, C), array (r_t, C))
        :math:`M_s` and :math:`M_t`, the sums of the rows of each class.
    many : ManyRows, optional
        Source rows in blocks: ``rows`` are none of them, and each of their scatters is a pass.
    """

    rows: tuple[FloatArray, FloatArray]
    y: tuple[IntArray, IntArray]
    counts: tuple[FloatArray, FloatArray]
    sums: tuple[FloatArray, FloatArray]
    many: ManyRows | None = None

    @classmethod
    def of(cls, rows: tuple[FloatArray, FloatArray], y: tuple[IntArray, IntArray], n_classes: int) -> LabelMoments:
        """Return the moments of rows with label codes; those with -1 are left out."""
        # Only labelled rows enter; -1 would otherwise index the last class.
        known = [codes != UNLABELLED for codes in y]
        X, Y = (part[k] for part, k in zip(rows, known, strict=True))
        ys, yt = (part[k] for part, k in zip(y, known, strict=True))
        one_hot = [np.eye(n_classes)[codes] for codes in (ys, yt)]
        counts = one_hot[0].sum(axis=0), one_hot[1].sum(axis=0)
        return cls((X, Y), (ys, yt), counts, (_sums(X, one_hot[0]), _sums(Y, one_hot[1])))

    @property
    def totals(self) -> FloatArray:
        """n_c: rows of each class in both domains."""
        return np.asarray(self.counts[0] + self.counts[1])

    @property
    def stacked(self) -> FloatArray:
        """M = [M_s; M_t] (r_s + r_t, C)."""
        return np.vstack(self.sums)

    def scatters(self, weights: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return Σ w_c(i) x_i x_iᵀ of either domain, for a weight of each class."""
        sides = zip(self.rows, self.y, weights, strict=True)
        source, target = ((w[codes][:, None] * X).T @ X for X, codes, w in sides)
        if self.many is None:
            return source, target
        means = self.many.found.means  # around the means of the classes, and of these
        return self.many.within(weights[0]) + (means.T * (weights[0] * self.counts[0])) @ means, target

    @property
    def together(self) -> FloatArray:
        """Z_lᵀ L_w Z_l, with L_w the Laplacian of the graph that joins all rows of one class."""
        M, n = self.stacked, self.totals
        return np.asarray(sla.block_diag(*self.scatters((n, n))) - M @ M.T)

    @property
    def apart(self) -> FloatArray:
        """Z_lᵀ L_b Z_l, with L_b the Laplacian of the graph that joins all rows of different classes."""
        s, N = self.stacked.sum(axis=1), float(self.totals.sum())
        every = np.full(len(self.totals), N)
        return np.asarray(sla.block_diag(*self.scatters((every, every))) - np.outer(s, s) - self.together)

    @property
    def within_classes(self) -> FloatArray:
        """Z_lᵀZ_l − M diag(1/n) Mᵀ: the scatter around the class means of both domains together."""
        ones = np.ones(len(self.totals))
        return np.asarray(sla.block_diag(*self.scatters((ones, ones))) - self._of_means)

    @property
    def between_classes(self) -> FloatArray:
        """M diag(1/n) Mᵀ − ssᵀ/N: the scatter of these means."""
        s = self.stacked.sum(axis=1)
        return np.asarray(self._of_means - np.outer(s, s) / float(self.totals.sum()))

    @property
    def _of_means(self) -> FloatArray:
        M, n = self.stacked, self.totals
        return np.asarray((M / np.where(n > 0.0, n, 1.0)) @ M.T)

    def middle(self, source: FloatArray, target: FloatArray) -> FloatArray:
        """Return the mean (k,) of all labelled rows along directions (r_s, k), (r_t, k)."""
        s = self.sums[0].sum(axis=1) @ source + self.sums[1].sum(axis=1) @ target
        return np.asarray(s / float(self.totals.sum()))

    def heights(self, source: FloatArray, target: FloatArray) -> FloatArray:
        """Return the sums (C, k) of the classes along directions (r_s, k), (r_t, k), around the mean of all."""
        totals = self.sums[0].T @ source + self.sums[1].T @ target
        n = self.totals[:, None]
        return np.asarray(totals - n * totals.sum(axis=0) / n.sum())


def label_moments(joint: JointSpace) -> LabelMoments:
    """Return the moments of the rows that are learned from; of source rows in blocks by passes."""
    sides = joint.source, joint.target
    found = LabelMoments.of((sides[0].points, sides[1].points), (sides[0].y, sides[1].y), joint.n_classes)
    if not isinstance(joint, ManyRows):
        return found
    counts, means = joint.found.counts.astype(np.float64), joint.found.means
    sums = counts * means.T, found.sums[1]
    return replace(found, many=joint, counts=(counts, found.counts[1]), sums=sums)


def _sums(X: FloatArray, one_hot: FloatArray) -> FloatArray:
    """Return the sums of rows over classes (r, C); what is left where they cancel is rounding, and zero."""
    sums, sizes = X.T @ one_hot, np.abs(X).T @ one_hot
    return np.where(np.abs(sums) > CANCELLED * sizes, sums, 0.0)


def make_heat_graph(X: FloatArray, n_neighbors: int) -> Matrix:
    r"""Return :math:`W_{ij} = \exp(-\|x_i - x_j\|^2 / \bar d^2)` for neighbours among rows (n, r), else zero (n, n).

    :math:`\bar d^2` is the mean squared distance of rows and neighbours. A pair of rows of which only one is a
    neighbour of the other has half the weight; with no more rows than neighbours, all are neighbours of each other.

    Examples
    --------
    >>> make_heat_graph(np.array([[0.0], [1.0], [3.0]]), 1).toarray().round(3)
    array([[0.   , 0.607, 0.   ],
           [0.607, 0.   , 0.068],
           [0.   , 0.068, 0.   ]])
    """
    n = len(X)
    k = min(n_neighbors, n - 1)
    if k < 1:
        return sp.csr_array((n, n))
    graph = sp.csr_array(kneighbors_graph(X, k, mode="distance"))
    squares = graph.data**2
    graph.data = np.exp(-squares / (float(squares.mean()) or 1.0))
    # Neighbours are not mutual; halves make the graph symmetric without favouring either row.
    return sp.csr_array(0.5 * (graph + graph.T))


def measure_roughness(W: Matrix, X: FloatArray) -> FloatArray:
    """Return Xᵀ(D − W)X, with D the row sums of W: half the weighted sum of squared differences of neighbours."""
    return np.asarray((np.ravel(W.sum(axis=1))[:, None] * X).T @ X - X.T @ (W @ X))


@dataclass(kw_only=True, eq=False, repr=False)
class DAMA(Projection):
    r"""Draw rows of one class together and rows of different classes apart, and keep neighbours near to each other.

    .. math::

       Z^T L_b Z\, v = \lambda\, Z^T (L_w + \mu L) Z\, v, \qquad z = [x; 0] \text{ or } [0; y]

    with :math:`L_w` and :math:`L_b` the Laplacians of the graphs that join all labelled rows of one class, and of
    different classes, across and within the domains, and L that of the nearest neighbours within either domain: Wang
    and Mahadevan, *Heterogeneous domain adaptation using manifold alignment*, IJCAI 2011. The label Laplacians enter
    as sums over classes. It learns a metric, from the labels of both domains and from all their rows. With kernels it
    is kernel manifold alignment (KEMA). Read in the releases of KEMA and CDSPP: the paper's own μ, bandwidth and
    dimension were not seen, and the defaults here are ours.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain; a kernel spans all rows, at the price of their Gram matrix.
    n_components : int, optional
        How many directions to keep; None keeps as many as there are classes, less one. Without the topology there are
        no more that carry information: with classes of one size, :math:`\lambda = C (1 + \lambda_{LDA}) - 1`, and all
        others tie.
    topology_weight : float
        μ ≥ 0, in units in which all weights of L sum to those of :math:`L_w`.
    graph_neighbors : int
        How many nearest neighbours of a row L joins it with, by heat weights whose bandwidth is the mean squared
        distance to them.
    regularization : float
        ε > 0: ε tr(A)/d is added to the diagonal of A, the matrix on the right, which may be singular.
    points, rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`CDSPP`.

    Attributes
    ----------
    common_space_, eigenvalues_, residual_, kernels_, references_, classes_
        As in :class:`CDSPP`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import DAMA
    >>> X_source, y_source = np.array([[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = np.array([[4.0], [3.5], [-4.0], [-3.5]]), ["a", None, "b", None]
    >>> DAMA().fit(X_source, y_source, X_target, y_target).predict([[3.8], [-3.8]])
    array(['a', 'b'], dtype=object)
    """

    systems = (SystemFacts("dama", "projections", "Wang & Mahadevan 2011", "labels of both, unlabelled rows"),)

    topology_weight: float = 1.0
    graph_neighbors: int = 10
    regularization: float = 1e-3

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of(domains, self._kernels(), every_row=True, mean=False)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: None) -> Learned:
        check_two_classes(domains)
        rows = coordinates_of_all_rows(domains, joint)
        moments = LabelMoments.of(rows, (domains.source.y, domains.target.y), joint.n_classes)
        A = moments.together
        if self.topology_weight > 0.0:
            graphs = [make_heat_graph(X, self.graph_neighbors) for X in rows]
            total = sum(float(W.sum()) for W in graphs) or 1.0
            # Both Laplacians in one unit: all weights of the one sum to those of the other.
            mu = self.topology_weight * float((moments.totals**2).sum()) / total
            A = A + mu * sla.block_diag(*map(measure_roughness, graphs, rows))
        usual = joint.n_classes - 1
        # Without topology there are no more informative directions than classes less one: all others tie.
        k = self._size(usual, len(A) if self.topology_weight > 0.0 else min(usual, len(A)))
        found = JointProblem.with_ridge(A, moments.apart, rows[0].shape[1], self.regularization).directions(k)
        return self._conclude_from_labels(joint, found, moments)


@dataclass(kw_only=True, eq=False, repr=False)
class MTDA(Projection, BlockEstimator):
    r"""Linear discriminant analysis of the direct sum of two domains, whose classes are the same.

    .. math::

       \Big( M \mathrm{diag}(1/n) M^T - \frac{s s^T}{N} \Big) v = \lambda
       \Big( Z_l^T Z_l - M \mathrm{diag}(1/n) M^T \Big) v, \qquad z = [x; 0] \text{ or } [0; y]

    with Z_l the N labelled rows of both domains, M (d, C) the sums of their classes, n the sizes, s the sum of all.
    It learns a metric from the labels of both domains. **This is our reading** of Zhang and Yeung, *Multi-task
    learning in heterogeneous feature spaces*, AAAI 2011, of which only the abstract could be had: a common space and
    the criterion of linear discriminants. Their method alternates between maps of the tasks and a common one, and
    lets the classes of the tasks differ.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain.
    n_components : int, optional
        How many discriminants to keep; None keeps as many as there are classes, less one, and more there are not.
    regularization : float
        ε > 0: ε tr(A)/d is added to the diagonal of A, the matrix on the right.
    points, rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`CDSPP`.

    Attributes
    ----------
    common_space_, eigenvalues_, residual_, kernels_, references_, classes_
        As in :class:`CDSPP`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import MTDA
    >>> X_source, y_source = np.array([[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = np.array([[4.0], [3.5], [-4.0], [-3.5]]), ["a", None, "b", None]
    >>> MTDA().fit(X_source, y_source, X_target, y_target).predict([[3.8], [-3.8]])
    array(['a', 'b'], dtype=object)
    """

    systems = (SystemFacts("mtda", "projections", "after Zhang & Yeung 2011: LDA of the direct sum", LABELS),)

    regularization: float = 1e-3

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: None) -> Learned:
        check_two_classes(domains)
        moments = label_moments(joint)
        A, B = moments.within_classes, moments.between_classes
        problem = JointProblem.with_ridge(A, B, joint.source.space.dimension, self.regularization)
        found = problem.directions(min(joint.n_classes - 1, len(A))).above_zero()
        found = found.leading(self._size(len(found.values), len(found.values)))
        return self._conclude_from_labels(joint, found, moments)


def guess_classes(points: FloatArray, y: IntArray, new: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the class of the nearest mean direction, and how sure that is, for each new point (n, k): both (n,).

    Points are seen from the mean of those with a class y and scaled to unit length, and so are the class means; the
    probabilities of the classes are in proportion to exp(−distance).

    Examples
    --------
    >>> guesses, sureness = guess_classes(np.array([[1.0], [-1.0]]), np.array([0, 1]), np.array([[3.0], [-0.1]]))
    >>> guesses, sureness.round(3)
    (array([0, 1]), array([0.881, 0.881]))
    """
    centre, present = points.mean(axis=0), np.unique(y)
    known = normalize_rows(points - centre)
    means = normalize_rows(np.stack([known[y == c].mean(axis=0) for c in present]))
    distances = np.sqrt(np.maximum(2.0 - 2.0 * normalize_rows(new - centre) @ means.T, 0.0))
    probabilities = softmax(-distances, axis=1)
    return present[probabilities.argmax(axis=1)], probabilities.max(axis=1)


def select_surest(guesses: IntArray, sureness: FloatArray, share: float) -> IntArray:
    """Return the numbers of the surest guesses: this share of those of each class, rounded up."""
    parts = []
    for c in np.unique(guesses):
        rows = np.flatnonzero(guesses == c)
        surest = rows[np.argsort(-sureness[rows], kind="stable")]
        parts.append(surest[: int(np.ceil(share * len(rows)))])
    return np.sort(np.concatenate(parts))


# What a row of the other domain counts in the weight of a class, as in the release.
ACROSS = 0.5


@dataclass(kw_only=True, eq=False, repr=False)
class CDSPP(Projection, BlockEstimator):
    r"""Project rows of one class together across two domains, while either domain keeps its classes' structure.

    .. math::

       \begin{pmatrix} 0 & M_s M_t^T \\ M_t M_s^T & 0 \end{pmatrix} v = \lambda
       \begin{pmatrix} X^T D_s X - M_s M_s^T + \alpha I & 0 \\ 0 & Y^T D_t Y - M_t M_t^T + \alpha I \end{pmatrix} v,
       \qquad v = \begin{pmatrix} w_s \\ w_t \end{pmatrix}

    with M the sums of the rows of each class, and :math:`D_s` the number of source rows of a row's class plus half
    the number of target rows (:math:`D_t` likewise): Wang and Breckon, *Cross-domain structure preserving projection
    for heterogeneous domain adaptation*, Pattern Recognition 2022, with the constants of their release. It learns a
    metric from the labels of both domains, by the singular value decomposition of
    :math:`A_s^{-1/2} M_s M_t^T A_t^{-1/2}`: at most as many directions as classes. With ``n_rounds`` it learns from
    the unlabelled target rows too: each round guesses their classes, and the next one learns from the surest guesses.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain. "cosine", the default, is the features themselves in rows of unit
        length, as published.
    n_components : int, optional
        How many directions to keep; None keeps all whose eigenvalue is not zero, and more there are not.
    regularization : float
        α > 0; published: 10, for rows of unit length.
    n_rounds : int
        T: round t learns from labels and from the surest (t − 1)/T of the guesses of each class. 1, the default,
        learns from labels only; published for self-training: 5 (``cdspp-self`` in ``isthmus.systems``).
    points : {"unit", "plain"}
        What a row is in the common space: seen from the mean of the labelled rows of both domains there and scaled to
        unit length, as published, so that rows are compared by cosine; or :math:`W^T x` itself.
    rule : "means", "nearest", "linear" or classifier
        As in :class:`MLHD`. "means" is the published rule, but for the class means, which the release scales to unit
        length as well.
    references, n_neighbors, source_transformer, target_transformer
        As in :class:`MLHD`. Where it is self-trained, target rows that the last round learned from are references,
        under their guessed classes.

    Attributes
    ----------
    common_space_ : CommonSpace
        What was learned.
    eigenvalues_ : array (k,)
        λ, largest first.
    residual_ : float
        The certificate: the directions solve a problem that differs from this one by no more than this part.
    n_guessed_ : int
        How many unlabelled rows the last round learned from.
    kernels_, references_, classes_
        As in :class:`MLHD`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import CDSPP
    >>> X_source, y_source = np.array([[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = np.array([[4.0], [3.5], [-4.0], [-3.5]]), ["a", None, "b", None]
    >>> CDSPP().fit(X_source, y_source, X_target, y_target).predict([[3.8], [-3.8]])
    array(['a', 'b'], dtype=object)
    """

    systems = (
        SystemFacts("cdspp", "projections", "Wang & Breckon 2022", LABELS),
        SystemFacts(
            "cdspp-self", "projections", "Wang & Breckon 2022, self-trained", LABELS_AND_ROWS, options={"n_rounds": 5}
        ),
    )

    source_kernel: Kernel | str = field(default="cosine", kw_only=False)
    target_kernel: Kernel | str = field(default="cosine", kw_only=False)
    regularization: float = 10.0
    n_rounds: int = 1
    n_guessed_: int = field(init=False)

    def _check_blocks(self, blocks: tuple[str, ...], pairs: Any) -> None:
        super()._check_blocks(blocks, pairs)
        if self.n_rounds > 1:
            raise InputError(f"n_rounds: expected 1 with source rows in blocks, got {self.n_rounds}.")

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of(domains, self._kernels(), every_row=self.n_rounds > 1, mean=False)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: None) -> Learned:
        X, Y = coordinates_of_all_rows(domains, joint)
        y_source, y_target = domains.source.y, domains.target.y
        for t in range(1, self.n_rounds + 1):
            moments = LabelMoments.of((X, Y), (y_source, y_target), joint.n_classes)
            moments = label_moments(joint) if isinstance(joint, ManyRows) else moments
            found = self._directions(moments)
            # Each round trusts a larger share of its guesses; the last one only learns.
            if t < self.n_rounds:
                y_target = _guess_labels((X, Y), domains, y_target, found, t / self.n_rounds)
        space, attributes = self._conclude_from_labels(joint, found, moments)
        attributes["n_guessed_"] = int((y_target != domains.target.y).sum())
        # Rows that the last round learned from are references, under their guessed classes.
        return space, attributes | {"reference_codes": y_target}

    def _directions(self, moments: LabelMoments) -> JointDirections:
        (n_s, n_t), (M_s, M_t) = moments.counts, moments.sums
        scatter = moments.scatters((n_s + ACROSS * n_t, n_t + ACROSS * n_s))
        sides = zip(scatter, (M_s, M_t), strict=True)
        A_s, A_t = (S - M @ M.T + self.regularization * np.eye(len(M)) for S, M in sides)
        found = CoupledProblem((A_s, A_t), (M_s, M_t)).directions()
        if not len(found.values):
            raise InputError("X_source: expected class sums that are not zero in either domain, got zeros in one.")
        return found.leading(self._size(len(found.values), len(found.values)))


def _guess_labels(rows: Both, domains: TwoDomains, y: IntArray, found: JointDirections, share: float) -> IntArray:
    """Return label codes of the target rows for the next round: those that are known, and the surest guesses."""
    P, Q = rows[0] @ found.source, rows[1] @ found.target
    unlabelled = np.flatnonzero(domains.target.y < 0)
    if not len(unlabelled):
        return domains.target.y
    known = y >= 0
    points: FloatArray = np.vstack([P, Q[known]])
    codes = np.concatenate([domains.source.y, y[known]])
    guesses, sureness = guess_classes(points, codes, Q[unlabelled])
    kept = select_surest(guesses, sureness, share)
    labels = domains.target.y.copy()
    labels[unlabelled[kept]] = guesses[kept]
    return labels


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

    systems = (SystemFacts("manifold-alignment", "projections", "Wang & Mahadevan 2009", EVERYTHING),)

    takes_pairs = True
    correspondence_weight: float = 1.0
    graph_neighbors: int = 10
    regularization: float = 0.1
    correspondence_: str = field(init=False)

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of(domains, self._kernels(), every_row=True, mean=False)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: None) -> Learned:
        made_of = "labels" if domains.pairs is None else "pairs"
        rows = coordinates_of_all_rows(domains, joint)
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


# Coordinates of known pairs, unless another number is asked for.
USUAL = 20
# Of these, only such whose eigenvalue is at least this part of the largest: maps of others blow up noise.
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

    systems = (SystemFacts("hemap", "projections", "Shi et al. 2010", PAIRS),)

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
