"""Manifold alignment (Wang & Mahadevan 2009): neighbours stay near, rows that correspond come together."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray
from isthmus._validation import choice, number
from isthmus.common_space import CommonSpace
from isthmus.domains import TwoDomains
from isthmus.estimators.projections.base import (
    Both,
    Projection,
    all_rows,
    mean_point,
    require_classes,
    require_difference,
)
from isthmus.estimators.projections.correspondence import Correspondence
from isthmus.estimators.projections.graphs import HeatGraph
from isthmus.estimators.projections.moments import LabelMoments
from isthmus.exceptions import InputError
from isthmus.kernels import Kernel
from isthmus.maps import JointDirections, JointProblem
from isthmus.spaces import JointSpace

CORRESPONDENCES = ("auto", "pairs", "labels", "geometry")
WITH_PAIRS = 20
"""The usual number of directions where pairs correspond."""
CONSTANT = 1e-3
"""A direction along which rows vary by no more than this part of their size says nothing."""


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

    takes_pairs = True
    correspondence_: str

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
        self.source_kernel = source_kernel
        self.target_kernel = target_kernel
        self.correspondence = correspondence
        self.n_components = n_components
        self.correspondence_weight = correspondence_weight
        self.graph_neighbors = graph_neighbors
        self.regularization = regularization
        self.points = points
        self.rule = rule
        self.references = references
        self.n_neighbors = n_neighbors
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _validate(self) -> None:
        super()._validate()
        choice(self.correspondence, "correspondence", CORRESPONDENCES)
        number(self.correspondence_weight, "correspondence_weight", low=0.0, strict=True)
        number(self.graph_neighbors, "graph_neighbors", low=1, whole=True)
        number(self.regularization, "regularization", low=0.0, strict=True)

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

    def _fit_joint(
        self, domains: TwoDomains, joint: JointSpace, settings: None
    ) -> tuple[CommonSpace, dict[str, Any]]:
        made_of = self.correspondence
        if made_of == "auto":
            made_of = "labels" if domains.pairs is None else "pairs"
        rows = all_rows(domains, joint)
        if made_of != "pairs":
            require_classes(domains, "ManifoldAlignment")
        if made_of != "labels":
            require_difference(rows)
        A, B = self._matrices(rows, Correspondence.of(made_of, rows, domains))
        usual = WITH_PAIRS if made_of == "pairs" else joint.n_classes - 1
        k = self._size(usual, min(X.shape[1] for X in rows))
        problem = JointProblem.ridged(A, B, rows[0].shape[1], self.regularization)
        found = _varying(problem.directions(min(k + 1, len(A))), rows, k)
        moments = LabelMoments.of(rows, (domains.source.y, domains.target.y), joint.n_classes)
        heights = moments.heights(found.source, found.target) if len(domains.classes) > 1 else found.source
        found = found.signed(heights)
        learned_from = joint.source.points, joint.target.points
        return self._space(joint, found, mean_point(found, learned_from)), {
            "correspondence_": made_of,
            "eigenvalues_": found.values,
            "residual_": found.residual,
        }

    def _matrices(self, rows: Both, across: Correspondence) -> tuple[FloatArray, FloatArray]:
        """A = ZᵀDZ and B = ZᵀWZ."""
        graphs = [HeatGraph.of(X, self.graph_neighbors) for X in rows]
        mu = self.correspondence_weight * sum(graph.total for graph in graphs) / (2.0 * across.total)
        degrees = [graph.degrees + mu * own for graph, own in zip(graphs, across.degrees, strict=True)]
        A = sla.block_diag(*((d[:, None] * X).T @ X for d, X in zip(degrees, rows, strict=True)))
        within = [graph.products(X) for graph, X in zip(graphs, rows, strict=True)]
        return A, np.block([[within[0], mu * across.products], [mu * across.products.T, within[1]]])


def _varying(found: JointDirections, rows: Both, k: int) -> JointDirections:
    """The first k of k + 1 directions along which rows differ: the smoothest of all maps every row to one point."""
    points = np.vstack([rows[0] @ found.source, rows[1] @ found.target])
    sizes = np.sqrt((points**2).mean(axis=0))
    left = found.without(points.std(axis=0) <= CONSTANT * sizes)
    if not len(left.values):
        raise InputError(
            "X_source: expected rows that differ from each other, got none that any direction tells apart."
        )
    return left.leading(min(k, len(left.values)))
