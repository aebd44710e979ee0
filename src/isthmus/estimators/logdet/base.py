"""What LogDet systems over two domains share: bounds on pairs made from labels, a solver, a certificate."""

from __future__ import annotations

from typing import Any

from isthmus.estimators.logdet.constraints import as_bounds, as_pair_weight
from isthmus.estimators.mapped import MetricEstimator
from isthmus.estimators.solving import Solving, as_solver


class LogDetEstimator(MetricEstimator):
    """The base of systems that are a LogDet problem over pairs of a source and a target row."""

    pair_weight: float | str
    pair_weight_: float
    bounds: Any
    solver: Any
    tol: float
    max_iter: int
    progress: Any

    def _checked(self) -> Solving:
        super()._checked()
        as_pair_weight(self.pair_weight, 1)
        as_bounds(self.bounds, 1.0)
        solver = as_solver(self.solver, self.tol, self.max_iter)
        return Solving.of(solver, self.progress, type(self).__name__, self.tol)

    def _pair_weight(self, n_pairs: int) -> float:
        """λ2 of each of so many pairs that labels make."""
        return as_pair_weight(self.pair_weight, n_pairs)
