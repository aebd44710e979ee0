"""Saenko: ITML across two domains that share their features (Saenko et al. 2010)."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import LABELS, SystemFacts, check_equal_features
from isthmus.estimators.logdet_base import (
    LogDetEstimator,
    SolverRun,
    as_bounds,
    count_pairs,
    make_label_pairs,
    scale_weights,
)
from isthmus.estimators.mapped import Learned
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.spaces import JointSpace
from isthmus.solvers.logdet import LogDetProblem
from isthmus.solvers.result import Solver


class Saenko(LogDetEstimator):
    r"""Learn one metric from pairs across two domains with the same features.

    .. math::

       \min_{M \succ 0}\; \mathrm{LogDet}(M, I) + \lambda_2 \sum_{ij} \mathrm{LogDet}(\xi_{ij}, \xi^0_{ij})
       \quad\text{s.t.}\quad (x_i - y_j)^T M (x_i - y_j) \lessgtr \xi_{ij}

    Rows of one class are drawn together across the domains (below u), rows of different classes kept apart (above
    l). It is ITML on those pairs: what the domains differ in, such as a shift of their means, is what same-class
    pairs make the metric overlook. M is a d × d matrix over the shared features; ``get_mahalanobis_matrix()`` is
    the same over the features of both domains, [[M, M], [M, M]].

    Parameters
    ----------
    pair_weight : float or "auto"
        λ2 ≥ 0, how much a pair on the wrong side of its bound costs; "auto" shares 10,000 among all pairs, so that
        their number does not matter.
    bounds : (float, float) or "auto"
        u < l, squared distances; "auto" takes half and one and a half times the spread of the domains, as
        :class:`MLHD` does. The shift between their means is no part of it: it is to be overlooked, and bounds
        that grew with it would ask for pairs as far apart as the shift is long.
    solver, tol, max_iter, rule, references, n_neighbors, source_transformer, target_transformer, progress
        As in :class:`MLHD`.

    Attributes
    ----------
    common_space_ : CommonSpace
        What was learned: both domains are mapped into the common space in the same way.
    result_ : Result
        The solver's result; ``result_.matrix()`` is M.
    classes_ : array
        The classes of the source.
    pair_weight_ : float
        λ2.
    bounds_ : (float, float)
        u and l.
    n_iter_ : int
        Iterations of the solver.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import Saenko
    >>> X_source, y_source = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = X_source + [0.0, 5.0], ["a", None, "b", None]
    >>> saenko = Saenko().fit(X_source, y_source, X_target, y_target)
    >>> saenko.pair_distance(X_source, X_target).round(1)
    array([1.6, 1.6, 1.6, 1.6])
    """

    systems = (
        SystemFacts("saenko", "pair constraints", "Saenko et al. 2010, equal features only", LABELS, "metric"),
    )

    equal_features = True
    intercept = True  # only differences of rows count

    def __init__(
        self,
        *,
        pair_weight: float | str = "auto",
        bounds: tuple[float, float] | str = "auto",
        solver: str | Solver = "newton",
        tol: float = 1e-6,
        max_iter: int = 200,
        rule: Any = "nearest",
        references: str = "source",
        n_neighbors: int = 1,
        source_transformer: Any = None,
        target_transformer: Any = None,
        progress: Any = False,
    ) -> None:
        self._set_parameters(locals())

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        check_equal_features(domains, "MLHD")
        return JointSpace.of_features(domains)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: SolverRun) -> Learned:
        bounds = as_bounds(self.bounds, joint.spread)
        # Labelled rows of both domains one above the other, in the coordinates they share.
        rows = np.vstack([joint.source.points, joint.target.points])
        rows -= rows.mean(axis=0)  # only differences count: an offset would cost digits
        pairs = make_label_pairs(rows, joint.y, [joint.runs], bounds)
        weight = self._pair_weight(count_pairs(pairs))
        result = settings.result(LogDetProblem(rows, scale_weights(pairs, weight)))
        W = result.components()
        space = CommonSpace(joint.source.space, joint.target.space, np.vstack([W, W]))
        return space, {"result_": result, "pair_weight_": weight, "bounds_": bounds, "n_iter_": result.n_iter}
