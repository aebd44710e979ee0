"""Projections by one generalized eigenproblem A v = λ B v over both domains: DAMA, MTDA and CDSPP."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.neighbors import kneighbors_graph

from isthmus._core.linalg import principal_axes
from isthmus._core.validation import FloatArray, IntArray, Matrix, as_dense, check_choice, check_number
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import LABELS, LABELS_AND_ROWS, SystemFacts, check_two_classes
from isthmus.estimators.cca import LabelMoments, label_moments
from isthmus.estimators.from_blocks import BlockEstimator
from isthmus.estimators.mapped import Both, Learned, MetricEstimator
from isthmus.exceptions import DataWarning, InputError, warn
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.kernels import Kernel
from isthmus.geometry.spaces import JointSpace
from isthmus.maps.eigen import CoupledProblem, JointDirections, JointProblem
from isthmus.retrieval.rules import References

POINTS = ("unit", "plain")
# A residual above this is told.
CERTIFIED = 1e-8


class Projection(MetricEstimator):
    """The base of systems in closed form that map a row by its own domain's part of each direction v = [w_s; w_t]."""

    points: str
    graph_neighbors: int
    regularization: float
    eigenvalues_: FloatArray
    residual_: float

    def _validate(self) -> Any:
        super()._validate()
        check_choice(self.points, "points", POINTS)
        if hasattr(self, "regularization"):
            check_number(self.regularization, "regularization", low=0.0, strict=True)

    def _conclude(self, joint: JointSpace, found: JointDirections, mean: FloatArray) -> Learned:
        """Return the common space and the attributes; at unit length, points are seen from a mean (k,) of rows."""
        # A tie at the cut makes the kept direction arbitrary: another BLAS may return another one.
        if found.tied:
            warn(
                f"n_components: direction {len(found.values)} has the eigenvalue of the next one; which of them is "
                "kept is arbitrary.",
                DataWarning,
            )
        if found.residual > CERTIFIED:
            warn(
                f"residual_: the directions solve their problem up to a part of {found.residual:.1e} only; these "
                "rows say too little, and the directions are hardly more than rounding.",
                DataWarning,
            )
        spaces, W = (joint.source.space, joint.target.space), np.vstack([found.source, found.target])
        unit: dict[str, Any] = {"offsets": -np.vstack([mean, mean]), "parts": (W.shape[1],)}
        space = CommonSpace(*spaces, W, projected=True, **({} if self.points == "plain" else unit))
        return space, {"eigenvalues_": found.values, "residual_": found.residual}


def coordinates_of_all_rows(domains: TwoDomains, joint: JointSpace) -> Both:
    """Return the coordinates of all rows, whether they are learned from with a label or without."""
    source, target = (
        as_dense(side.space.coordinates(domain.X))
        for side, domain in ((joint.source, domains.source), (joint.target, domains.target))
    )
    return source, target


def mean_point(found: JointDirections, rows: Both) -> FloatArray:
    """Return the mean (k,) of rows of both domains along the directions."""
    return np.asarray(np.vstack([rows[0] @ found.source, rows[1] @ found.target]).mean(axis=0))


def check_rows_differ(rows: Both) -> None:
    """Raise where all rows of a domain are the same: no direction tells them apart."""
    for X, name in zip(rows, ("X_source", "X_target"), strict=True):
        if not len(principal_axes(X).deviations):
            raise InputError(f"{name}: expected rows that differ from each other, got equal ones.")


@dataclass(frozen=True, eq=False)
class HeatGraph:
    r""":math:`W_{ij} = \exp(-\|x_i - x_j\|^2 / \bar d^2)` for rows and their nearest neighbours, else zero.

    :math:`\bar d^2` is the mean squared distance of rows and neighbours. A pair of rows of which only one is a
    neighbour of the other has half the weight.

    Parameters
    ----------
    weights : Matrix
        W (n, n), symmetric and sparse.

    Examples
    --------
    >>> HeatGraph.of(np.array([[0.0], [1.0], [3.0]]), 1).weights.toarray().round(3)
    array([[0.   , 0.607, 0.   ],
           [0.607, 0.   , 0.068],
           [0.   , 0.068, 0.   ]])
    """

    weights: Matrix

    @classmethod
    def of(cls, X: FloatArray, n_neighbors: int) -> HeatGraph:
        """Return the graph of rows X (n, r); with no more rows than neighbours, all are neighbours of each other."""
        n = len(X)
        k = min(n_neighbors, n - 1)
        if k < 1:
            return cls(sp.csr_array((n, n)))
        graph = sp.csr_array(kneighbors_graph(X, k, mode="distance"))
        squares = graph.data**2
        graph.data = np.exp(-squares / (float(squares.mean()) or 1.0))
        # Neighbours are not mutual; halves make the graph symmetric without favouring either row.
        return cls(sp.csr_array(0.5 * (graph + graph.T)))

    @property
    def degrees(self) -> FloatArray:
        """Row sums (n,) of W."""
        return np.asarray(self.weights.sum(axis=1)).ravel()

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self.weights.sum())

    def products(self, X: FloatArray) -> FloatArray:
        """Return XᵀWX (r, r)."""
        return np.asarray(X.T @ (self.weights @ X))

    def roughness(self, X: FloatArray) -> FloatArray:
        """Return Xᵀ(D − W)X: half the weighted sum of squared differences of neighbours."""
        return np.asarray((self.degrees[:, None] * X).T @ X - self.products(X))


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

    topology_weight: float

    def __init__(
        self,
        source_kernel: Kernel | str = "linear",
        target_kernel: Kernel | str = "linear",
        *,
        n_components: int | None = None,
        topology_weight: float = 1.0,
        graph_neighbors: int = 10,
        regularization: float = 1e-3,
        points: str = "unit",
        rule: Any = "means",
        references: str = "both",
        n_neighbors: int = 1,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self._set_parameters(locals())

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of(domains, self._kernels(), every_row=True, mean=False)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: None) -> Learned:
        check_two_classes(domains)
        rows = coordinates_of_all_rows(domains, joint)
        moments = LabelMoments.of(rows, (domains.source.y, domains.target.y), joint.n_classes)
        A = moments.together
        if self.topology_weight > 0.0:
            graphs = [HeatGraph.of(X, self.graph_neighbors) for X in rows]
            total = sum(graph.total for graph in graphs) or 1.0
            # Both Laplacians in one unit: all weights of the one sum to those of the other.
            mu = self.topology_weight * float((moments.totals**2).sum()) / total
            A = A + mu * sla.block_diag(*(graph.roughness(X) for graph, X in zip(graphs, rows, strict=True)))
        usual = joint.n_classes - 1
        # Without topology there are no more informative directions than classes less one: all others tie.
        k = self._size(usual, len(A) if self.topology_weight > 0.0 else min(usual, len(A)))
        found = JointProblem.with_ridge(A, moments.apart, rows[0].shape[1], self.regularization).directions(k)
        found = found.fix_signs(moments.heights(found.source, found.target))
        return self._conclude(joint, found, moments.middle(found.source, found.target))


class MTDA(BlockEstimator, Projection):
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

    def __init__(
        self,
        source_kernel: Kernel | str = "linear",
        target_kernel: Kernel | str = "linear",
        *,
        n_components: int | None = None,
        regularization: float = 1e-3,
        points: str = "unit",
        rule: Any = "means",
        references: str = "both",
        n_neighbors: int = 1,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self._set_parameters(locals())

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: None) -> Learned:
        check_two_classes(domains)
        moments = label_moments(joint)
        A, B = moments.within_classes, moments.between_classes
        problem = JointProblem.with_ridge(A, B, joint.source.space.dimension, self.regularization)
        found = problem.directions(min(joint.n_classes - 1, len(A))).above_zero()
        found = found.leading(self._size(len(found.values), len(found.values)))
        found = found.fix_signs(moments.heights(found.source, found.target))
        return self._conclude(joint, found, moments.middle(found.source, found.target))


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
    known = _unit(points - centre)
    means = _unit(np.stack([known[y == c].mean(axis=0) for c in present]))
    distances = np.sqrt(np.maximum(2.0 - 2.0 * _unit(new - centre) @ means.T, 0.0))
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


def _unit(X: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(lengths > 0.0, lengths, 1.0))


# What a row of the other domain counts in the weight of a class, as in the release.
ACROSS = 0.5


class CDSPP(BlockEstimator, Projection):
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

    n_guessed_: int

    def __init__(
        self,
        source_kernel: Kernel | str = "cosine",
        target_kernel: Kernel | str = "cosine",
        *,
        n_components: int | None = None,
        regularization: float = 10.0,
        n_rounds: int = 1,
        points: str = "unit",
        rule: Any = "means",
        references: str = "both",
        n_neighbors: int = 1,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self._set_parameters(locals())

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
            moments = label_moments(joint, ((X, Y), (y_source, y_target)))
            found = self._directions(moments)
            # Each round trusts a larger share of its guesses; the last one only learns.
            if t < self.n_rounds:
                y_target = _guess_labels((X, Y), domains, y_target, found, t / self.n_rounds)
        space, attributes = self._conclude(joint, found, moments.middle(found.source, found.target))
        n_guessed = int((y_target != domains.target.y).sum())
        return space, {**attributes, "n_guessed_": n_guessed, "codes": y_target}

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        """Fit, then make references of the rows that the last round learned from, under their guessed classes."""
        learned = super()._fit_domains(domains, settings)
        codes = learned.pop("codes")
        if not learned["n_guessed_"]:
            return learned
        learned_from = replace(domains, target=replace(domains.target, y=codes))
        references = References.of(learned_from, learned["common_space_"])
        rule = self._decision_rule(references, len(domains.classes))
        return {**learned, "references_": references, "_rule": rule}

    def _directions(self, moments: LabelMoments) -> JointDirections:
        (n_s, n_t), (M_s, M_t) = moments.counts, moments.sums
        scatter = moments.scatters((n_s + ACROSS * n_t, n_t + ACROSS * n_s))
        A_s, A_t = (
            S - M @ M.T + self.regularization * np.eye(len(M)) for S, M in zip(scatter, (M_s, M_t), strict=True)
        )
        found = CoupledProblem((A_s, A_t), (M_s, M_t)).directions()
        if not len(found.values):
            raise InputError(
                "X_source: expected sums of classes that are not zero in both domains, got only zeros in one."
            )
        found = found.leading(self._size(len(found.values), len(found.values)))
        return found.fix_signs(moments.heights(found.source, found.target))


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
