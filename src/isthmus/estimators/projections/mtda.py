"""MTDA: linear discriminants of two domains side by side, our reading of Zhang & Yeung 2011."""

from __future__ import annotations

from typing import Any

from isthmus._validation import number
from isthmus.common_space import CommonSpace
from isthmus.domains import TwoDomains
from isthmus.estimators.from_blocks import BlockEstimator
from isthmus.estimators.projections.base import Projection, require_classes
from isthmus.estimators.projections.moments import label_moments
from isthmus.kernels import Kernel
from isthmus.maps import JointProblem
from isthmus.spaces import JointSpace


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
        self.source_kernel = source_kernel
        self.target_kernel = target_kernel
        self.n_components = n_components
        self.regularization = regularization
        self.points = points
        self.rule = rule
        self.references = references
        self.n_neighbors = n_neighbors
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _validate(self) -> None:
        super()._validate()
        number(self.regularization, "regularization", low=0.0, strict=True)

    def _fit_joint(
        self, domains: TwoDomains, joint: JointSpace, settings: None
    ) -> tuple[CommonSpace, dict[str, Any]]:
        require_classes(domains, "MTDA")
        moments = label_moments(joint)
        A, B = moments.within_classes, moments.between_classes
        problem = JointProblem.ridged(A, B, joint.source.space.dimension, self.regularization)
        found = problem.directions(min(joint.n_classes - 1, len(A))).above_zero()
        found = found.leading(self._size(len(found.values), len(found.values)))
        found = found.signed(moments.heights(found.source, found.target))
        return self._space(joint, found, moments.middle(found.source, found.target)), {
            "eigenvalues_": found.values,
            "residual_": found.residual,
        }
