"""DAMA: domain adaptation using manifold alignment (Wang & Mahadevan 2011)."""

from __future__ import annotations

from typing import Any

import scipy.linalg as sla

from isthmus._validation import number
from isthmus.common_space import CommonSpace
from isthmus.domains import TwoDomains
from isthmus.estimators.projections.base import Projection, all_rows, require_classes
from isthmus.estimators.projections.graphs import HeatGraph
from isthmus.estimators.projections.moments import LabelMoments
from isthmus.kernels import Kernel
from isthmus.maps import JointProblem
from isthmus.spaces import JointSpace


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
        self.source_kernel = source_kernel
        self.target_kernel = target_kernel
        self.n_components = n_components
        self.topology_weight = topology_weight
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
        number(self.topology_weight, "topology_weight", low=0.0)
        number(self.graph_neighbors, "graph_neighbors", low=1, whole=True)
        number(self.regularization, "regularization", low=0.0, strict=True)

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of(domains, self._kernels(), every_row=True, mean=False)

    def _fit_joint(
        self, domains: TwoDomains, joint: JointSpace, settings: None
    ) -> tuple[CommonSpace, dict[str, Any]]:
        require_classes(domains, "DAMA")
        rows = all_rows(domains, joint)
        moments = LabelMoments.of(rows, (domains.source.y, domains.target.y), joint.n_classes)
        A = moments.together
        if self.topology_weight > 0.0:
            graphs = [HeatGraph.of(X, self.graph_neighbors) for X in rows]
            total = sum(graph.total for graph in graphs) or 1.0
            mu = self.topology_weight * float((moments.totals**2).sum()) / total
            A = A + mu * sla.block_diag(*(graph.roughness(X) for graph, X in zip(graphs, rows, strict=True)))
        usual = joint.n_classes - 1
        k = self._size(usual, len(A) if self.topology_weight > 0.0 else min(usual, len(A)))
        found = JointProblem.ridged(A, moments.apart, rows[0].shape[1], self.regularization).directions(k)
        found = found.signed(moments.heights(found.source, found.target))
        return self._space(joint, found, moments.middle(found.source, found.target)), {
            "eigenvalues_": found.values,
            "residual_": found.residual,
        }
