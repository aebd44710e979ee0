"""Manifold alignment: neighbours and corresponding rows stay together (Wang & Mahadevan 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from isthmus._core.validation import FloatArray, Matrix, check_choice
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import EVERYTHING, SystemFacts, check_two_classes
from isthmus.estimators.cca import LabelMoments
from isthmus.estimators.eigenmaps import HeatGraph, Projection, check_rows_differ, coordinates_of_all_rows, mean_point
from isthmus.estimators.mapped import Both, Learned
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import top_k
from isthmus.geometry.kernels import Kernel
from isthmus.geometry.spaces import JointSpace
from isthmus.maps.eigen import JointDirections, JointProblem

# No more comparisons than this are held at once.
BLOCK_ENTRIES = 2**22


def local_distances(R: FloatArray, S: FloatArray) -> FloatArray:
    r"""Return how differently rows lie among their neighbours (n, m), whatever the order of these and the scale.

    .. math:: \min_h \min\Big(\min_a \|S_j^h - a R_i\|_F,\; \min_b \|R_i - b S_j^h\|_F\Big)
              = \sqrt{\frac{\|R_i\|^2 \|S_j\|^2 - m_{ij}^2}{\max(\|R_i\|^2, \|S_j\|^2)}}, \qquad
              m_{ij} = \max_h \langle R_i, S_j^h \rangle

    over the k! orders h of the neighbours. All entries are distances, so that the largest product is the nearest fit.

    Parameters
    ----------
    R, S : array (n, k + 1, k + 1) and (m, k + 1, k + 1)
        The distances among a row, which comes first, and its k neighbours.

    Examples
    --------
    >>> R = np.array([[[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]])
    >>> turned = 3.0 * R[:, [0, 2, 1]][:, :, [0, 2, 1]]
    >>> local_distances(R, turned).round(6)
    array([[0.]])
    """
    size = R.shape[1]
    above = np.triu_indices(size, k=1)
    # Each distance is in R twice.
    r, s = (np.sqrt(2.0) * T[:, *above] for T in (R, S))
    products = np.zeros((len(R), len(S)))
    # Which neighbour of one row is which of the other is not known: the best order counts.
    for order in permutations(range(1, size)):
        h = [0, *order]
        np.maximum(products, r @ (np.sqrt(2.0) * S[:, h][:, :, h][:, *above]).T, out=products)
    squares = np.einsum("ij,ij->i", r, r)[:, None], np.einsum("ij,ij->i", s, s)[None, :]
    larger = np.maximum(*squares)
    left = np.maximum(squares[0] * squares[1] - products**2, 0.0)
    return np.asarray(np.sqrt(left / np.where(larger > 0.0, larger, 1.0)))


def find_local_correspondence(X: FloatArray, Y: FloatArray, n_neighbors: int, kept: int) -> Matrix:
    """Return weights (n, m), sparse: exp(−distance/δ²) for the ``kept`` rows of Y that lie most like each row of X.

    δ² is the mean of the distances that are kept. It takes n m k! products of k(k + 1)/2 numbers.
    """
    k = min(n_neighbors, len(X) - 1, len(Y) - 1)
    R, S = _patterns(X, k), _patterns(Y, k)
    kept, size = min(kept, len(Y)), max(1, BLOCK_ENTRIES // len(Y))
    found = [top_k(-local_distances(R[i : i + size], S), kept) for i in range(0, len(X), size)]
    distances, places = -np.concatenate([d for d, _ in found]), np.concatenate([p for _, p in found])
    weights = np.exp(-distances / (float(distances.mean()) or 1.0))
    rows = np.repeat(np.arange(len(X)), kept)
    return sp.csr_array((weights.ravel(), (rows, places.ravel())), shape=(len(X), len(Y)))


def _patterns(X: FloatArray, k: int) -> FloatArray:
    """Return distances (n, k + 1, k + 1) among each row and its k nearest ones."""
    others = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(return_distance=False)
    places = np.hstack([np.arange(len(X))[:, None], others])
    D = np.empty((len(X), k + 1, k + 1))
    for a in range(k + 1):
        for b in range(k + 1):
            D[:, a, b] = np.linalg.norm(X[places[:, a]] - X[places[:, b]], axis=1)
    return D


# Neighbours whose distances are compared, and target rows that are kept of each source row: as published.
PATTERN, KEPT = 4, 10


@dataclass(frozen=True, eq=False)
class Correspondence:
    """A table C (n_s, n_t) of weights, by what enters of it.

    Parameters
    ----------
    degrees : (array (n_s,), array (n_t,))
        Its sums over rows and over columns.
    products : array (r_s, r_t)
        XᵀCY.
    """

    degrees: tuple[FloatArray, FloatArray]
    products: FloatArray

    @property
    def total(self) -> float:
        """The sum of the table."""
        return float(self.degrees[0].sum())

    @classmethod
    def of(cls, made_of: str, rows: Both, domains: TwoDomains) -> Correspondence:
        """Return the correspondence by "pairs", "labels" or "geometry"."""
        if made_of == "labels":
            return cls.of_labels(rows, domains)
        if made_of == "geometry":
            return cls.of_table(rows, find_local_correspondence(*rows, PATTERN, KEPT))
        if domains.pairs is None:
            raise InputError("pairs: expected known pairs of rows, got None.")
        places, shape = (domains.pairs.source, domains.pairs.target), (len(rows[0]), len(rows[1]))
        return cls.of_table(rows, sp.coo_array((domains.pairs.weights, places), shape=shape).tocsr())

    @classmethod
    def of_table(cls, rows: Both, C: Matrix) -> Correspondence:
        """Return the correspondence of a sparse table."""
        degrees = np.asarray(C.sum(axis=1)).ravel(), np.asarray(C.sum(axis=0)).ravel()
        return cls(degrees, np.asarray(rows[0].T @ (C @ rows[1])))

    @classmethod
    def of_labels(cls, rows: Both, domains: TwoDomains) -> Correspondence:
        """Return the correspondence that is one for rows of the same class, from sums over classes."""
        y = domains.source.y, domains.target.y
        moments = LabelMoments.of(rows, y, len(domains.classes))
        (n_s, n_t), (M_s, M_t) = moments.counts, moments.sums
        # A row without a label, -1, finds the zero at the end.
        degrees = np.append(n_t, 0.0)[y[0]], np.append(n_s, 0.0)[y[1]]
        return cls(degrees, np.asarray(M_s @ M_t.T))


CORRESPONDENCES = ("auto", "pairs", "labels", "geometry")
# The usual number of directions where pairs correspond.
WITH_PAIRS = 20
# A direction along which rows vary by no more than this part of their size says nothing.
CONSTANT = 1e-3


class ManifoldAlignment(Projection):
    r"""Project neighbours within a domain, and rows that correspond across the domains, near to each other.

    .. math::

       Z^T W Z\, v = \lambda\, Z^T D Z\, v, \qquad
       W = \begin{pmatrix} W_s & \mu C \\ \mu C^T & W_t \end{pmatrix}, \quad D = \mathrm{diag}(W 1), \quad
       z = [x; 0] \text{ or } [0; y]

    with the graphs :math:`W_s, W_t` of the nearest neighbours of either domain, and C (n_s, n_t) saying how much two
    rows correspond: Wang and Mahadevan, *A general framework for manifold alignment*, AAAI symposium 2009, and
    *Manifold alignment without correspondence*, IJCAI 2009. The largest λ are the smallest of the Laplacian D − W. It
    learns a metric from all rows and from what says that they correspond. Read in a public release, which normalises
    the Laplacian and constrains by :math:`Z^T Z`; here, as in the paper, by :math:`Z^T D Z`. Pairs are where it
    belongs: from labels it is no better than other systems, and from geometry alone it is chance.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain; a kernel spans all rows, at the price of their Gram matrix.
    correspondence : {"auto", "pairs", "labels", "geometry"}
        What C is. Known pairs, with their weights; or one for all rows of one class; or, from the rows alone, how
        alike a row and its four nearest neighbours lie in either domain: the distances among them are compared under
        all orders and scales, and the ten best of each source row kept, which takes 24 n_s n_t products; no target
        row needs a label. "auto" takes
        pairs where they are given, and labels where not.
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
    correspondence_ : str
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
    correspondence_: str
    correspondence: str
    correspondence_weight: float

    def __init__(
        self,
        source_kernel: Kernel | str = "linear",
        target_kernel: Kernel | str = "linear",
        *,
        correspondence: str = "auto",
        n_components: int | None = None,
        correspondence_weight: float = 1.0,
        graph_neighbors: int = 10,
        regularization: float = 0.1,
        points: str = "unit",
        rule: Any = "means",
        references: str = "both",
        n_neighbors: int = 1,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self._set_parameters(locals())

    def _validate(self) -> None:
        super()._validate()
        check_choice(self.correspondence, "correspondence", CORRESPONDENCES)

    @property
    def needs_target_labels(self) -> bool:  # type: ignore[override]
        """Whether labels say what corresponds."""
        return self.correspondence != "geometry"

    def _check_use_of(self, pairs: Any) -> None:
        super()._check_use_of(pairs)
        if pairs is None and self.correspondence == "pairs":
            raise InputError('pairs: expected known pairs of rows for correspondence="pairs", got None.')
        if pairs is not None and self.correspondence in ("labels", "geometry"):
            raise InputError(f'pairs: expected None for correspondence="{self.correspondence}", got pairs.')

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of(domains, self._kernels(), every_row=True, mean=False)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: None) -> Learned:
        made_of = self.correspondence
        if made_of == "auto":
            made_of = "labels" if domains.pairs is None else "pairs"
        rows = coordinates_of_all_rows(domains, joint)
        if made_of != "pairs":
            check_two_classes(domains)
        if made_of != "labels":
            check_rows_differ(rows)
        A, B = self._matrices(rows, Correspondence.of(made_of, rows, domains))
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

    def _matrices(self, rows: Both, across: Correspondence) -> tuple[FloatArray, FloatArray]:
        """Return A = ZᵀDZ and B = ZᵀWZ."""
        graphs = [HeatGraph.of(X, self.graph_neighbors) for X in rows]
        # The two graphs and the correspondence in one unit: equal total weight at a weight of one.
        mu = self.correspondence_weight * sum(graph.total for graph in graphs) / (2.0 * across.total)
        degrees = [graph.degrees + mu * own for graph, own in zip(graphs, across.degrees, strict=True)]
        A = sla.block_diag(*((d[:, None] * X).T @ X for d, X in zip(degrees, rows, strict=True)))
        within = [graph.products(X) for graph, X in zip(graphs, rows, strict=True)]
        return A, np.block([[within[0], mu * across.products], [mu * across.products.T, within[1]]])


def _drop_constant_direction(found: JointDirections, rows: Both, k: int) -> JointDirections:
    """Return the first k of k + 1 directions along which rows differ: the smoothest maps every row to one point."""
    points = np.vstack([rows[0] @ found.source, rows[1] @ found.target])
    sizes = np.sqrt((points**2).mean(axis=0))
    left = found.without(points.std(axis=0) <= CONSTANT * sizes)
    if not len(left.values):
        raise InputError(
            "X_source: expected rows that differ from each other, got none that any direction tells apart."
        )
    return left.leading(min(k, len(left.values)))
