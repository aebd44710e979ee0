"""What a solver returns: a value that can defend itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.exceptions import NotConvergedError
from isthmus.objective import DualPoint, LogDetProblem


class Status(Enum):
    """Why a solver stopped."""

    OPTIMAL = "optimal"
    ITERATION_LIMIT = "iteration limit"
    STALLED = "stalled"


def relative_gap(primal: float, dual: float) -> float:
    """The duality gap in units of the objective, or of one nat where the objective is smaller than that."""
    if not np.isfinite(primal) or not np.isfinite(dual):
        return np.inf
    return (primal - dual) / max(1.0, abs(primal), abs(dual))


@dataclass(frozen=True)
class TracePoint:
    """One iteration: both values and the seconds since the start."""

    iteration: int
    primal: float
    dual: float
    seconds: float

    @property
    def relative_gap(self) -> float:
        """The gap divided by the larger of one and the objective."""
        return relative_gap(self.primal, self.dual)


@dataclass(frozen=True, eq=False)
class Result:
    """The multipliers that a solver found; all else is computed from them and the problem's data.

    Parameters
    ----------
    problem : LogDetProblem
        What was solved.
    multipliers : array (n_pairs,)
        The signed dual variables.
    status : Status
        Why the solver stopped.
    tolerance : float
        The relative gap that was asked for.
    trace : tuple of TracePoint
        Every iteration, the starting point first.
    solver : str
        The solver's name.
    """

    problem: LogDetProblem
    multipliers: FloatArray
    status: Status
    tolerance: float
    trace: tuple[TracePoint, ...]
    solver: str

    @cached_property
    def _point(self) -> DualPoint:
        point = self.problem.at(self.multipliers)
        if point is None:
            raise NotConvergedError(f"{self.solver}: the multipliers are not feasible.")
        return point

    @property
    def n_iter(self) -> int:
        """The number of iterations."""
        return len(self.trace) - 1

    @cached_property
    def primal(self) -> float:
        """The objective at :meth:`matrix`, from the data."""
        return self._point.primal

    @cached_property
    def dual(self) -> float:
        """The lower bound that the multipliers prove, from the data."""
        return self.problem.dual(self.multipliers)

    @property
    def duality_gap(self) -> float:
        """The objective is at most this far from its minimum."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap divided by the larger of one and the objective."""
        return relative_gap(self.primal, self.dual)

    @cached_property
    def distances(self) -> list[FloatArray]:
        """Squared distances of all pairs, one array a block of pairs."""
        return self.problem.graph.split(self._point.distances)

    def matrix(self) -> FloatArray:
        """The metric M (d, d), positive definite."""
        return self._point.matrix()

    def components(self) -> FloatArray:
        """A factor W (d, d) of the metric, M = W Wᵀ."""
        return self._point.components()

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_point"}

    def raise_for_status(self) -> None:
        """Raise :class:`~isthmus.exceptions.NotConvergedError` unless the result is optimal."""
        if self.status is not Status.OPTIMAL:
            raise NotConvergedError(str(self))

    def __str__(self) -> str:
        gap = self.relative_gap
        proof = f"relative gap {gap:.1e}" if np.isfinite(gap) else "no finite gap"
        return (
            f"{self.solver}: {self.status.value} after {self.n_iter} iterations, {self.trace[-1].seconds:.2f} s; "
            f"objective {self.primal:.6g}, {proof} (asked: {self.tolerance:.0e}), {self.problem.n_pairs} pairs"
        )
