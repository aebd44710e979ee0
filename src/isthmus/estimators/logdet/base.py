"""What LogDet systems over two domains share: bounds on pairs made from labels, a solver, a certificate."""

from __future__ import annotations

from typing import Any, NamedTuple

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import number
from isthmus.estimators.logdet.constraints import as_bounds, label_pairs, warn_of_hopeless
from isthmus.estimators.logdet.solver import as_solver
from isthmus.estimators.mapped import MetricEstimator
from isthmus.estimators.progress import as_callback, ended
from isthmus.objective import LogDetProblem, Pairs
from isthmus.solvers import Callback, Result, Solver


class Solving(NamedTuple):
    """A solver, and who is told how far it is."""

    solver: Solver
    callback: Callback | None

    def result(self, problem: LogDetProblem) -> Result:
        """The solved problem."""
        with ended(self.callback):
            return self.solver.solve(problem, callback=self.callback)


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
        goal = getattr(solver, "tol", self.tol)
        return Solving(solver, as_callback(self.progress, type(self).__name__, goal))

    def _pairs(
        self, rows: FloatArray, y: IntArray, runs: list[tuple[slice, slice]], bounds: tuple[float, float]
    ) -> tuple[Pairs, ...]:
        """All pairs between the named runs of rows, bounded by whether their labels agree."""
        blocks = [label_pairs(rows, y, left, right, self.pair_weight, bounds) for left, right in runs]
        warn_of_hopeless(sum(count for _, count in blocks))
        return tuple(pairs for pairs, _ in blocks)
