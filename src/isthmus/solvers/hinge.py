"""A semismooth Newton method for squared hinges, which stops by a bound on the distance to the minimum."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from isthmus._arrays import FloatArray
from isthmus._validation import number
from isthmus.exceptions import ConvergenceWarning
from isthmus.objective.hinge import HingePoint, HingeProblem
from isthmus.solvers.conjugate import conjugate_gradients
from isthmus.solvers.result import Status, TracePoint

LOOSEST_STEP = 0.1
"""Newton's equation is solved at least this well, and better as the gradient falls."""
DECREASE = 1e-4
SHORTEST_STEP = 1e-10
ROUNDING = 1e-13
STAGE_FACTOR, STAGE_GAP = 30.0, 1e-4
"""On the way to a large weight, by how much it grows at once, and how well each problem is solved."""


@dataclass(frozen=True, eq=False)
class HingeResult:
    """Where Newton's method stopped, and why."""

    point: HingePoint
    status: Status
    trace: tuple[TracePoint, ...]

    @property
    def n_iter(self) -> int:
        """The number of iterations."""
        return len(self.trace) - 1

    @property
    def relative_gap(self) -> float:
        """The objective is above its minimum by at most this share of itself: ‖∇f‖² / 4f."""
        return _relative_gap(self.point)


@dataclass(frozen=True)
class HingeNewton:
    """Newton steps by preconditioned conjugate gradients, with a line search, from W = 0.

    Parameters
    ----------
    tol : float
        Stop when ‖∇f‖² ≤ 4 · tol · f, which proves that f is within tol · f of its minimum.
    max_iter : int
        Stop here otherwise, with a :class:`~isthmus.exceptions.ConvergenceWarning`.
    """

    tol: float = 1e-10
    max_iter: int = 100

    def __post_init__(self) -> None:
        number(self.tol, "tol", low=0.0, strict=True)
        number(self.max_iter, "max_iter", low=1, whole=True)

    def solve(self, problem: HingeProblem, callback: Callable[[TracePoint], None] | None = None) -> HingeResult:
        """Iterate until the gradient is small enough or ``max_iter`` is reached."""
        began = time.perf_counter()
        trace: list[TracePoint] = []
        status = Status.STALLED
        for iteration, point in enumerate(_iterates(problem)):
            seconds = time.perf_counter() - began
            trace.append(TracePoint(iteration, point.value, point.value - point.gap, seconds))
            if callback is not None:
                callback(trace[-1])
            if _relative_gap(point) <= self.tol:
                status = Status.OPTIMAL
                break
            if iteration == self.max_iter:
                status = Status.ITERATION_LIMIT
                break
        if status is not Status.OPTIMAL:
            why = f"max_iter={self.max_iter} reached" if status is Status.ITERATION_LIMIT else "no further progress"
            warnings.warn(
                f"{type(self).__name__}: {why}; the gradient norm is {point.gradient_norm:.1e}, which certifies a "
                f"relative gap of {_relative_gap(point):.1e}, not of {self.tol:.0e}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return HingeResult(point, status, tuple(trace))


def _relative_gap(point: HingePoint) -> float:
    # Relative to f alone: f > 0 wherever the gradient is not zero, and any unit of W or of the rows cancels.
    return point.gap / point.value if point.gap > 0.0 else 0.0


def _iterates(problem: HingeProblem) -> Iterator[HingePoint]:
    """Ever better points, the last of them without end unless no progress is possible.

    A large weight is approached through smaller ones: Newton's method from afar loses its way among the kinks.
    """
    X, Y = problem.source, problem.target
    squares = np.outer((X**2).sum(axis=0), (Y**2).sum(axis=0))
    W: FloatArray = np.zeros(squares.shape)
    yield problem.at(W)
    for weight in _weights(problem.weight, float(squares.sum()) / problem.sign.size):
        point = replace(problem, weight=weight).at(W)
        # The Hessian's diagonal if all pairs were active; the Hessian itself then, where XᵀX and YᵀY are diagonal.
        preconditioner = 1.0 / (2.0 + 2.0 * weight * squares).ravel()
        first = point.gradient_norm
        while weight == problem.weight or _relative_gap(point) > STAGE_GAP:
            V = _newton_step(point, preconditioner, min(LOOSEST_STEP, point.gradient_norm / first))
            following = _line_search(point, V)
            if following is None:
                break
            point, W = following, following.W
            yield point if weight == problem.weight else problem.at(W)


def _weights(goal: float, scale: float) -> list[float]:
    """From a weight that is one for rows of unit length, by equal factors, to the goal."""
    ratio = goal * scale
    n_stages = int(np.ceil(np.log(ratio) / np.log(STAGE_FACTOR))) if ratio > STAGE_FACTOR else 0
    return [goal * ratio ** (-k / n_stages) for k in range(n_stages, 0, -1)] + [goal]


def _newton_step(point: HingePoint, preconditioner: FloatArray, accuracy: float) -> FloatArray:
    shape = point.W.shape

    def apply(v: FloatArray) -> FloatArray:
        return point.curvature(v.reshape(shape)).ravel()

    return conjugate_gradients(apply, -point.gradient.ravel(), preconditioner, accuracy).reshape(shape)


def _line_search(point: HingePoint, V: FloatArray) -> HingePoint | None:
    change, slope, step = point.problem.similarities(V), float(np.vdot(point.gradient, V)), 1.0
    while step > SHORTEST_STEP:
        following = point.moved(V, change, step)
        # Similarities anew from W: what the updates add up to would drift.
        if following.value < point.value + DECREASE * step * slope:
            return point.problem.at(following.W)
        # Where values can't be told apart any more, slopes still can (Hager and Zhang's approximate rule).
        if following.value <= point.value * (1.0 + ROUNDING) and np.vdot(following.gradient, V) <= -0.9 * slope:
            return point.problem.at(following.W)
        step *= 0.5
    return None
