"""What LogDet systems over two domains share: bounds on pairs made from labels, a solver, a certificate."""

from __future__ import annotations

from typing import Any

from isthmus._validation import number
from isthmus.estimators.logdet.constraints import as_bounds
from isthmus.estimators.mapped import MetricEstimator
from isthmus.estimators.solving import Solving, as_solver


class LogDetEstimator(MetricEstimator):
    """The base of systems that are a LogDet problem over pairs of a source and a target row."""

    pair_weight: float
    bounds: Any
    solver: Any
    tol: float
    max_iter: int
    progress: Any

    def _checked(self) -> Solving:
        super()._checked()
        number(self.pair_weight, "pair_weight", low=0.0)
        as_bounds(self.bounds, 1.0)
        solver = as_solver(self.solver, self.tol, self.max_iter)
        return Solving.of(solver, self.progress, type(self).__name__, self.tol)
