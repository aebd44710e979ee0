"""Projections from labels, by one generalized eigenproblem A v = λ B v over both domains: DAMA, MTDA, CDSPP."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.neighbors import kneighbors_graph

from isthmus._core.linalg import EPS, normalize_rows
from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, Matrix, as_dense, check_choice, check_number
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import LABELS, LABELS_AND_ROWS, SystemFacts, check_two_classes
from isthmus.estimators.from_blocks import BlockEstimator, ManyRows
from isthmus.estimators.mapped import Both, KernelParameters, Learned, MetricEstimator
from isthmus.exceptions import InputError, warn
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.kernels import Kernel
from isthmus.geometry.spaces import JointSpace
from isthmus.maps.eigen import CoupledProblem, JointDirections, JointProblem

POINTS = ("unit", "plain")
# The largest relative residual without a warning.
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
            warn(f"n_components: directions {k} and {k + 1} have the same eigenvalue; the choice is arbitrary.")
        if found.residual > CERTIFIED:
            warn(f"residual_: the directions have a relative residual of {found.residual:.1e}: mostly rounding.")
        spaces, W = (joint.source.space, joint.target.space), np.vstack([found.source, found.target])
        unit: dict[str, Any] = {"offsets": -np.vstack([mean, mean]), "parts": (W.shape[1],)}
        space = CommonSpace(*spaces, W, projected=True, **({} if self.points == "plain" else unit))
        return space, {"eigenvalues_": found.values, "residual_": found.residual}


def all_coordinates(domains: TwoDomains, joint: JointSpace) -> Both:
    """Return the coordinates of all rows, whether they are learned from with a label or without."""
    spaces = joint.source.space, joint.target.space
    return as_dense(spaces[0].coordinates(domains.source.X)), as_dense(spaces[1].coordinates(domains.target.X))


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

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("dama", "projections", "Wang & Mahadevan 2011", "labels of both, unlabelled rows"),
    )

    topology_weight: float = 1.0
    graph_neighbors: int = 10
    regularization: float = 1e-3

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of(domains, self._kernels(), every_row=True, mean=False)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: None) -> Learned:
        check_two_classes(domains)
        rows = all_coordinates(domains, joint)
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

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("mtda", "projections", "after Zhang & Yeung 2011: LDA of the direct sum", LABELS),
    )

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

    systems: ClassVar[tuple[SystemFacts, ...]] = (
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
        X, Y = all_coordinates(domains, joint)
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
