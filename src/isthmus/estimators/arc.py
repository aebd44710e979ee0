"""ARC: an asymmetric regularised transformation across domains (Kulis et al. 2011), which is a similarity."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from isthmus._core.linalg import principal_axes
from isthmus._core.rows import ArrayRows, Rows
from isthmus._core.validation import FloatArray
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import LABELS, RBF_KERNELS, SystemFacts
from isthmus.estimators.from_blocks import MANY_PAIRS, BlockEstimator, ManyRows
from isthmus.estimators.logdet_base import SolverRun, as_weight, check_bounds
from isthmus.estimators.mapped import KernelParameters, Learned, SimilarityEstimator
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.spaces import JointSpace
from isthmus.solvers.hinge import BlockHingeNewton, HingeBlockPoint, HingeBlocks, HingeNewton, HingePoint
from isthmus.solvers.result import Result

# Rows of one class are similar, rows of different classes are not; the unit of a similarity is free.
AUTO_BOUNDS = (0.0, 1.0)


@dataclass(kw_only=True, eq=False, repr=False)
class ARC(BlockEstimator, SimilarityEstimator, KernelParameters):
    r"""Learn a similarity between rows of two domains that have different features.

    .. math::

       \min_W\; \|W\|_F^2 + \lambda \Big( \sum_{\text{same}} \max(0,\; l - x_i^T W y_j)^2
       + \sum_{\text{different}} \max(0,\; x_i^T W y_j - u)^2 \Big)

    over all pairs of a source row and a labelled target row (Kulis, Saenko and Darrell, *What you saw is not what
    you get*, CVPR 2011). Unlabelled target rows are not used, unless by a kernel's bandwidth. With kernels, x and
    y are the rows' images in feature space, and W lives on the span of the rows of ``fit``, which is the paper's
    kernel form.

    It is a similarity, not a metric: it may be negative, and it is not defined within a domain. W has no
    intercept: with linear kernels, centre each domain first.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain.
    pair_weight : float or "auto"
        λ ≥ 0, how much a pair on the wrong side of its bound costs; "auto" is the λ = 1 of rows that have length
        one (as those of an RBF kernel have), whatever their length: one over the product of the mean squared
        lengths of source rows and labelled target rows.
    bounds : (float, float) or "auto"
        u < l, similarities; "auto" is (0, 1). Multiplying both by a factor multiplies W by it and changes nothing
        else.
    tol : float
        Stop when :math:`\|\nabla f(W)\| \le 2 \sqrt{\mathrm{tol}\, f(W)}`, which proves that the objective f is
        within tol · f of its minimum and W within :math:`\sqrt{\mathrm{tol}\, f}` of the optimum.
    max_iter : int
        Newton steps after which to stop with a warning.
    rule, n_neighbors, source_transformer, target_transformer, progress
        As in :class:`MLHD`.
    references : {"source"}
        The rows by which :meth:`predict` decides. Target rows can't be ranked for a target row.

    Attributes
    ----------
    common_space_ : CommonSpace
        What was learned: it knows nothing of how.
    result_ : Result
        The solver's result: status, gap, trace; ``result_.point`` has W.
    objective_, gradient_norm_ : float
        f(W) and the norm of its gradient; the minimum of f is at least ``objective_ - gradient_norm_**2 / 4``.
    n_iter_ : int
        Newton steps.
    pair_weight_ : float
        λ.
    bounds_ : (float, float)
        u and l.
    classes_ : array
        The classes of the source.
    kernels_ : (Kernel, Kernel)
        The kernels with their bandwidths.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import ARC
    >>> X_source, y_source = np.array([[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = np.array([[4.0], [3.5], [-4.0], [-3.5]]), ["a", None, "b", None]
    >>> ARC().fit(X_source, y_source, X_target, y_target).predict([[3.8], [-3.8]])
    array(['a', 'b'], dtype=object)
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("arc", "pair constraints", "Kulis et al. 2011", LABELS),
        SystemFacts("arc-rbf", "pair constraints", "Kulis et al. 2011", LABELS, options=RBF_KERNELS),
    )

    pair_weight: float | str = "auto"
    bounds: tuple[float, float] | str = "auto"
    tol: float = 1e-10
    max_iter: int = 100
    progress: Any = False
    result_: Result[HingePoint] | Result[HingeBlockPoint] = field(init=False)
    objective_: float = field(init=False)
    gradient_norm_: float = field(init=False)
    pair_weight_: float = field(init=False)
    bounds_: tuple[float, float] = field(init=False)

    def _validate(self) -> SolverRun:
        super()._validate()
        _as_bounds(self.bounds)
        as_weight(self.pair_weight, "pair_weight", 1.0)
        return SolverRun.of(HingeNewton(self.tol, self.max_iter), self.progress, "ARC", self.tol)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: SolverRun) -> Learned:
        # Whatever a space does with the outside of the span: the optimal W is zero there.
        target = principal_axes(joint.target.points, centre=False).axes
        B = joint.target.points @ target
        u, l = _as_bounds(self.bounds)  # noqa: E741
        sign = np.where(np.arange(joint.n_classes)[:, None] == joint.target.y, 1.0, -1.0)
        # A table of classes by target rows says all: source rows of one class have the same signs.
        rows, axes, squared = _source_rows(joint)
        scale = squared * float((B**2).sum() / len(B))
        weight = as_weight(self.pair_weight, "pair_weight", 1.0 / scale if scale > 0.0 else 1.0)
        blocks = HingeBlocks(rows, axes, B, sign, np.where(sign > 0, l, u), weight)
        if isinstance(joint, ManyRows) or blocks.n_pairs > MANY_PAIRS:
            result = replace(settings, solver=BlockHingeNewton(self.tol, self.max_iter)).result(blocks)
        else:
            result = settings.result(blocks.write_out())
        spaces = joint.source.space, joint.target.space
        return CommonSpace.of_products(spaces, (axes, target), result.point.W), {
            "result_": result,
            "n_iter_": result.n_iter,
            "objective_": result.point.primal,
            "gradient_norm_": result.point.gradient_norm,
            "pair_weight_": weight,
            "bounds_": (u, l),
        }


def _source_rows(joint: JointSpace) -> tuple[Rows, FloatArray, float]:
    """Return source rows with the codes of their classes, axes that they lie along, their mean squared length."""
    if isinstance(joint, ManyRows):
        return joint.many, joint.axes(), joint.found.squared
    X = joint.source.points
    squared = float(np.einsum("ij,ij->", X, X) / len(X))
    return ArrayRows(X, joint.source.y), principal_axes(X, centre=False).axes, squared


def _as_bounds(bounds: Any) -> tuple[float, float]:
    """Return (u, l) from the parameter ``bounds``."""
    if isinstance(bounds, str) and bounds == "auto":
        return AUTO_BOUNDS
    return check_bounds(bounds, "similarities", -np.inf)
