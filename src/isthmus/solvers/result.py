"""One loop and one result for all solvers.

A solver is a generator of points, each with a primal value, a dual value and a gap. The loop of
:class:`IterativeSolver` consumes it until the gap is closed. The :class:`Result` can defend itself: it measures
again, from the data, the matrix that the caller gets, and is optimal only if the gap of that is closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from isthmus._core.threads import cap_threads
from isthmus._core.validation import FloatArray, check_number
from isthmus.exceptions import ConvergenceWarning, NotConvergedError, warn
from isthmus.solvers.logdet import Compact, DualPoint, LogDetProblem, Point

PointT = TypeVar("PointT", bound=Point)


class Status(Enum):
    """Why a solver stopped."""

    OPTIMAL = "optimal"
    ITERATION_LIMIT = "iteration limit"
    STALLED = "stalled"
    # The iterate closed the gap, but the matrix that the caller gets does not: digits were lost in between.
    INEXACT = "inexact"


def relative_gap(gap: float, scale: float) -> float:
    """Return a gap in its unit: infinite where it is not finite, zero where it is zero."""
    if not np.isfinite(gap) or not np.isfinite(scale):
        return np.inf
    return gap / scale if gap else 0.0


@dataclass(frozen=True)
class TracePoint:
    """One iteration: both values, their gap in units of the objective, and the seconds since the start."""

    iteration: int
    primal: float
    dual: float
    relative_gap: float
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class Result(Compact, Generic[PointT]):
    """The best point that a solver found, and a certificate for the matrix that the caller gets.

    That matrix is measured, not the iterate in the solver's own coordinates, so digits that are lost in between
    count. Where a metric is so nearly singular that W Wᵀ is not definite in doubles, :attr:`primal` is infinite and
    nothing is certified, although W itself may be as good as ever.
    """

    point: PointT
    # Why the solver stopped.
    status: Status
    # The relative gap at which a solver stops.
    tolerance: float
    # Every iteration, the starting point first.
    trace: tuple[TracePoint, ...]
    # The solver's name.
    solver: str

    @property
    def problem(self) -> Any:
        """The problem that was solved."""
        return self.point.problem

    @property
    def n_iter(self) -> int:
        """The number of iterations."""
        return len(self.trace) - 1

    @cached_property
    def _components(self) -> FloatArray:
        return _compute_components(self.problem, copy(self.point))  # a copy: its matrices are not kept

    def components(self) -> FloatArray:
        """Return the solution: a factor W (d, d) of a metric M = W Wᵀ, or the W of a similarity."""
        return self._components

    @cached_property
    def primal(self) -> float:
        """The objective at :meth:`matrix` (the W of a similarity), from the data."""
        return float(self.problem.value(self.components()))

    @property
    def dual(self) -> float:
        """A lower bound of the objective at every matrix, from the data."""
        return self.point.dual

    @property
    def duality_gap(self) -> float:
        """The objective is at most this far from its minimum."""
        lost = self.primal - self.point.primal
        return self.point.gap + lost if np.isfinite(lost) else np.inf

    @property
    def relative_gap(self) -> float:
        """The gap in units of the objective: f of a similarity; at least one nat for a metric."""
        return relative_gap(self.duality_gap, self.point.scale)

    @property
    def multipliers(self: Result[Any]) -> FloatArray:
        """The signed dual variables (n_pairs,), of a metric."""
        return np.asarray(self.point.multipliers)

    @property
    def distances(self: Result[Any]) -> list[FloatArray]:
        """Squared distances of all pairs under :meth:`matrix`, one array per block of pairs."""
        return list(self.point.problem.block_distances(self.components()))

    def matrix(self: Result[Any]) -> FloatArray:
        """Return the metric M (d, d), positive definite."""
        W = self.components()
        return np.asarray(W @ W.T)

    def raise_for_status(self) -> None:
        """Raise :class:`~isthmus.exceptions.NotConvergedError` unless the result is optimal."""
        if self.status is not Status.OPTIMAL:
            raise NotConvergedError(str(self))

    def __str__(self) -> str:
        gap = self.relative_gap
        proof = f"relative gap {gap:.1e}" if np.isfinite(gap) else "no finite gap"
        return (
            f"{self.solver}: {self.status.value} after {self.n_iter} iterations, {self.trace[-1].seconds:.2f} s; "
            f"objective {self.primal:.6g}, {proof} (tolerance {self.tolerance:.0e}), {self.problem.n_pairs} pairs"
        )

    def __repr__(self) -> str:
        return f"Result({self})"


@cap_threads  # as in solve: a result that was pickled gives the same bits again
def _compute_components(problem: Any, point: Point) -> FloatArray:
    return point.components()


Callback: TypeAlias = Callable[[TracePoint], None]


class Solver(Protocol):
    """A solver, as the estimators of a metric need it."""

    def solve(
        self, problem: LogDetProblem, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Result[DualPoint]:
        """Solve a problem, from given multipliers if there are any."""


@dataclass(frozen=True)
class IterativeSolver(Generic[PointT]):
    """A stopping rule on the certified relative gap, around a generator of points.

    Parameters
    ----------
    tol : float
        Stop when the gap in its unit is at most this: (primal − dual) / max(1, |objective|) for a metric.
    max_iter : int
        Stop here otherwise, with a :class:`~isthmus.exceptions.ConvergenceWarning`.
    """

    tol: float = 1e-6
    max_iter: int = 200

    def __post_init__(self) -> None:
        check_number(self.tol, "tol", low=0.0, strict=True)
        check_number(self.max_iter, "max_iter", low=1, whole=True)

    def iterates(self, start: PointT) -> Iterator[PointT]:
        """Yield the start and ever better points of its problem, without end unless no progress is possible."""
        raise NotImplementedError

    @cap_threads
    def solve(
        self, problem: Any, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Result[PointT]:
        """Iterate until the gap is closed or ``max_iter`` is reached.

        Parameters
        ----------
        problem : LogDetProblem or HingeProblem
            What to solve.
        start : array, optional
            What the problem's own ``start`` understands: multipliers (n_pairs,) of a LogDetProblem, the matrix W of
            a HingeProblem.
        callback : callable, optional
            Called with each :class:`TracePoint`.
        """
        began = time.perf_counter()
        trace: list[TracePoint] = []
        best: PointT = problem.start(start)
        status, smallest = Status.STALLED, np.inf
        for iteration, point in enumerate(self.iterates(best)):
            gap, seconds = relative_gap(point.gap, point.scale), time.perf_counter() - began
            trace.append(TracePoint(iteration, point.primal, point.dual, gap, seconds))
            if callback is not None:
                callback(trace[-1])
            gap = abs(gap)  # a gap below zero is rounding, and proves no more than its size
            # Without a finite gap, as far from the optimum of a block problem, the lower value is the better one.
            if iteration == 0 or gap < smallest or (gap == smallest == np.inf and point.primal < best.primal):
                best, smallest = copy(point), gap
            if gap <= self.tol:
                status = Status.OPTIMAL
                break
            if iteration == self.max_iter:
                status = Status.ITERATION_LIMIT
                break
        del point  # its matrices are not needed for the certificate, which has some of its own
        result = Result(best, status, self.tol, tuple(trace), type(self).__name__)
        # Optimal only if the matrix that the caller gets is.
        if status is Status.OPTIMAL and not abs(result.relative_gap) <= self.tol:
            result = replace(result, status=Status.INEXACT)
        warn_if_not_optimal(result, self.max_iter)
        return result


def warn_if_not_optimal(result: Result[Any], max_iter: int) -> None:
    """Warn unless the result is optimal, and say why it is not."""
    why = {
        Status.ITERATION_LIMIT: f"max_iter={max_iter} reached",
        Status.STALLED: "no further progress",
        Status.INEXACT: "the matrix is too nearly singular for doubles (centre the rows, bring columns to one scale)",
    }.get(result.status)
    if why is not None:
        gap = f"the relative gap is certified to {abs(result.relative_gap):.1e}, not to {result.tolerance:.0e}"
        warn(f"{result.solver}: {why}; {gap}.", ConvergenceWarning)
