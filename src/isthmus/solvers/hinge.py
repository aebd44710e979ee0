"""A semismooth Newton method for squared hinges, which stops by a bound on the distance to the minimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.linalg import conjugate_gradients
from isthmus.objective.hinge import HingePoint
from isthmus.solvers.iteration import IterativeSolver
from isthmus.solvers.result import relative_gap

LOOSEST_STEP = 0.1
"""Newton's equation is solved at least this well, and better as the gradient falls."""
DECREASE = 1e-4
SHORTEST_STEP = 1e-10
ROUNDING = 1e-13
STAGE_FACTOR, STAGE_GAP = 30.0, 1e-4
"""On the way to a large weight, by how much it grows at once, and how well each problem is solved."""


@dataclass(frozen=True)
class HingeNewton(IterativeSolver[HingePoint]):
    """Newton steps by preconditioned conjugate gradients, with a line search, from W = 0.

    Parameters
    ----------
    tol, max_iter
        As in :class:`~isthmus.solvers.IterativeSolver`: ‖∇f‖² ≤ 4 · tol · f proves that f is within tol · f of its
        minimum.
    """

    tol: float = 1e-10
    max_iter: int = 100

    def iterates(self, start: HingePoint) -> Iterator[HingePoint]:
        """Ever better points, the last of them without end unless no progress is possible.

        A large weight is approached through smaller ones: Newton's method from afar loses its way among the kinks.
        """
        yield start
        problem, W = start.problem, start.W
        squares = np.outer((problem.source**2).sum(axis=0), (problem.target**2).sum(axis=0))
        for weight in _weights(problem.weight, float(squares.sum()) / problem.n_pairs):
            point = replace(problem, weight=weight).at(W)
            # The Hessian's diagonal if all pairs were active; all of it then, where XᵀX and YᵀY are diagonal.
            preconditioner = 1.0 / (2.0 + 2.0 * weight * squares).ravel()
            first = point.gradient_norm
            while weight == problem.weight or relative_gap(point.gap, point.scale) > STAGE_GAP:
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
    shape, b = point.W.shape, -point.gradient.ravel()
    step = conjugate_gradients(lambda v: point.curvature(v.reshape(shape)).ravel(), b, preconditioner, accuracy)
    return step.reshape(shape)


def _line_search(point: HingePoint, V: FloatArray) -> HingePoint | None:
    change, slope, step = point.problem.similarities(V), float(np.vdot(point.gradient, V)), 1.0
    while step > SHORTEST_STEP:
        following = HingePoint(point.problem, point.W + step * V, point.similarities + step * change)
        lower = following.primal < point.primal + DECREASE * step * slope
        # Where values can't be told apart any more, slopes still can (Hager and Zhang's approximate rule).
        level = following.primal <= point.primal * (1.0 + ROUNDING)
        if lower or (level and np.vdot(following.gradient, V) <= -0.9 * slope):
            return point.problem.at(following.W)  # similarities anew: what the updates add up to would drift
        step *= 0.5
    return None
