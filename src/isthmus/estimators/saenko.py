"""Saenko: ITML across two domains that share their features (Saenko et al. 2010)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import LABELS, SystemFacts, check_equal_features
from isthmus.estimators.logdet_base import LogDetEstimator, SolverRun, as_bounds, make_label_pairs, make_label_problem
from isthmus.estimators.mapped import Learned
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.spaces import JointSpace


@dataclass(kw_only=True, eq=False, repr=False)
class Saenko(LogDetEstimator):
    r"""Learn one metric from pairs across two domains with the same features.

    .. math::

       \min_{M \succ 0}\; \mathrm{LogDet}(M, I) + \lambda_2 \sum_{ij} \mathrm{LogDet}(\xi_{ij}, \xi^0_{ij})
       \quad\text{s.t.}\quad (x_i - y_j)^T M (x_i - y_j) \lessgtr \xi_{ij}

    A source row x and a target row y of the same class should have a squared distance below u, of different classes
    above l; ξ are these bounds with slack. This is ITML on cross-domain pairs: same-class pairs teach the metric to
    ignore what differs between the domains, such as a shift of their means. M is a d × d matrix over the shared
    features; ``get_mahalanobis_matrix()`` returns it for stacked features of both domains, [[M, M], [M, M]].

    Parameters
    ----------
    pair_weight : float or "auto"
        λ2 ≥ 0, the cost of a pair on the wrong side of its bound; "auto" divides 10,000 by the number of pairs.
    bounds : (float, float) or "auto"
        u < l, squared distances; "auto" takes 0.5 and 1.5 times the spread of the domains, as :class:`MLHD` does. The
        spread does not include the shift between their means: the metric should ignore the shift, and bounds that
        grew with it would demand pairs as far apart as the shift is long.
    solver, tol, max_iter, rule, references, n_neighbors, source_transformer, target_transformer, progress
        As in :class:`MLHD`.

    Attributes
    ----------
    common_space_ : CommonSpace
        The learned common space, into which both domains are mapped by the same matrix.
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

    systems = (SystemFacts("saenko", "pair constraints", "Saenko et al. 2010, equal features only", LABELS),)

    equal_features = True
    intercept = True  # only differences of rows count

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        check_equal_features(domains, "MLHD")
        return JointSpace.of_features(domains)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: SolverRun) -> Learned:
        bounds = as_bounds(self.bounds, joint.spread)
        # Labelled rows of both domains stacked, in their shared coordinates.
        rows = np.vstack([joint.source.points, joint.target.points])
        rows -= rows.mean(axis=0)  # only differences count; a large offset would lose digits
        pairs = make_label_pairs(rows, joint.y, [joint.runs], bounds)
        problem, weight = make_label_problem(rows, pairs, self._pair_weight)
        result = settings.result(problem)
        W = result.components()
        space = CommonSpace(joint.source.space, joint.target.space, np.vstack([W, W]))
        return space, {"result_": result, "pair_weight_": weight, "bounds_": bounds, "n_iter_": result.n_iter}
