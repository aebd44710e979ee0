"""Iterating is a generator, stopping is its consumer: one loop for every solver."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from isthmus._arrays import FloatArray
from isthmus._threads import cap_threads
from isthmus._validation import number
from isthmus.exceptions import ConvergenceWarning, warn
from isthmus.objective import DualPoint, LogDetProblem
from isthmus.solvers.result import Point, PointT, Result, Status, TracePoint, relative_gap

Callback: TypeAlias = Callable[[TracePoint], None]
PointT_co = TypeVar("PointT_co", bound=Point, covariant=True)


class Problem(Protocol[PointT_co]):
    """What the loop needs of a problem: where to begin, in whatever terms the problem has for that."""

    def start(self, given: FloatArray | None = None, /) -> PointT_co:
        """A feasible point, from a given one of a similar problem if there is one."""


class Solver(Protocol):
    """What the estimators of a metric need of a solver."""

    def solve(
        self, problem: LogDetProblem, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Result[DualPoint]:
        """The result of solving a problem, from given multipliers if there are any."""


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
        number(self.tol, "tol", low=0.0, strict=True)
        number(self.max_iter, "max_iter", low=1, whole=True)

    def iterates(self, start: PointT) -> Iterator[PointT]:
        """The start and ever better points of its problem, without end unless no progress is possible."""
        raise NotImplementedError

    @cap_threads
    def solve(
        self, problem: Problem[PointT], start: FloatArray | None = None, callback: Callback | None = None
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
        best = problem.start(start)
        status, smallest = Status.STALLED, np.inf
        for iteration, point in enumerate(self.iterates(best)):
            gap, seconds = relative_gap(point.gap, point.scale), time.perf_counter() - began
            trace.append(TracePoint(iteration, point.primal, point.dual, gap, seconds))
            if callback is not None:
                callback(trace[-1])
            gap = abs(gap)  # below zero it measures rounding, and proves no more than that
            # Without any proof, as far from the optimum of a block problem, the lower value is the better one.
            if iteration == 0 or gap < smallest or (gap == smallest == np.inf and point.primal < best.primal):
                best, smallest = copy(point), gap
            if gap <= self.tol:
                status = Status.OPTIMAL
                break
            if iteration == self.max_iter:
                status = Status.ITERATION_LIMIT
                break
        del point  # its matrices are not needed for the certificate, which has some of its own
        result = _earned(Result(best, status, self.tol, tuple(trace), type(self).__name__))
        complain(result, self.max_iter)
        return result


def _earned(result: Result[Any]) -> Result[Any]:
    """The result, optimal only if that is true of what it hands over."""
    if result.status is Status.OPTIMAL and not abs(result.relative_gap) <= result.tolerance:
        return replace(result, status=Status.INEXACT)
    return result


def complain(result: Result[Any], max_iter: int) -> None:
    """Warn, unless the result is optimal, and say why it is not."""
    why = {
        Status.ITERATION_LIMIT: f"max_iter={max_iter} reached",
        Status.STALLED: "no further progress",
        Status.INEXACT: "the matrix is too nearly singular for doubles (are the rows centred, and of one scale?)",
    }.get(result.status)
    if why is not None:
        gap = f"the relative gap is certified to {abs(result.relative_gap):.1e}, not to {result.tolerance:.0e}"
        warn(f"{result.solver}: {why}; {gap}.", ConvergenceWarning)
