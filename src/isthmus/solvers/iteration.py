"""Iterating is a generator, stopping is its consumer: one loop for every solver."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from isthmus._arrays import FloatArray
from isthmus._validation import number
from isthmus.exceptions import ConvergenceWarning, InputError
from isthmus.objective import DualPoint, LogDetProblem
from isthmus.solvers.result import Result, Status, TracePoint

Callback: TypeAlias = Callable[[TracePoint], None]


class Solver(Protocol):
    """What the estimators need of a solver."""

    def solve(
        self, problem: LogDetProblem, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Result:
        """The result of solving a problem, from given multipliers if there are any."""
        ...


@dataclass(frozen=True)
class IterativeSolver:
    """A stopping rule on the certified relative gap, around a generator of dual points.

    Parameters
    ----------
    tol : float
        Stop when (primal − dual) / max(1, |objective|) is at most this.
    max_iter : int
        Stop here otherwise, with a :class:`~isthmus.exceptions.ConvergenceWarning`.
    """

    tol: float = 1e-6
    max_iter: int = 200

    def __post_init__(self) -> None:
        number(self.tol, "tol", low=0.0, strict=True)
        number(self.max_iter, "max_iter", low=1, whole=True)

    def iterates(self, problem: LogDetProblem, start: DualPoint) -> Iterator[DualPoint]:
        """Ever better feasible points of the dual, without end unless no progress is possible."""
        raise NotImplementedError

    def solve(
        self, problem: LogDetProblem, start: FloatArray | None = None, callback: Callback | None = None
    ) -> Result:
        """Iterate until the gap is closed or ``max_iter`` is reached.

        Parameters
        ----------
        problem : LogDetProblem
            What to solve.
        start : array (n_pairs,), optional
            Multipliers to start from, such as those of a similar problem; shrunk until they are feasible.
        callback : callable, optional
            Called with each :class:`TracePoint`.
        """
        began = time.perf_counter()
        trace: list[TracePoint] = []
        best: FloatArray = np.zeros(problem.n_pairs)
        status, smallest = Status.STALLED, np.inf
        for iteration, point in enumerate(self.iterates(problem, _feasible_start(problem, start))):
            trace.append(TracePoint(iteration, point.primal, point.dual, time.perf_counter() - began))
            if callback is not None:
                callback(trace[-1])
            gap = abs(trace[-1].relative_gap)  # below zero it measures rounding, and proves no more than that
            if gap < smallest:
                best, smallest = point.multipliers, gap
            if gap <= self.tol:
                status = Status.OPTIMAL
                break
            if iteration == self.max_iter:
                status = Status.ITERATION_LIMIT
                break
        result = Result(problem, best, status, self.tol, tuple(trace), type(self).__name__)
        if status is not Status.OPTIMAL:
            why = f"max_iter={self.max_iter} reached" if status is Status.ITERATION_LIMIT else "no further progress"
            warnings.warn(
                f"{result.solver}: {why}; the relative gap is certified to {smallest:.1e}, not to {self.tol:.0e}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return result


def _feasible_start(problem: LogDetProblem, start: FloatArray | None) -> DualPoint:
    graph = problem.graph
    if start is None:
        w = np.zeros(problem.n_pairs)
    else:
        w = np.array(start, dtype=np.float64)
        if w.shape != (problem.n_pairs,):
            raise InputError(f"start: expected shape ({problem.n_pairs},), got {w.shape}.")
        w = np.where((graph.sign * w > 0) & (graph.weight > 0), w, 0.0)
        w = np.where(w * graph.bound < graph.weight, w, 0.9 * graph.weight / graph.bound)
    while (point := problem.at(w)) is None:
        w = 0.5 * w
    return point
