r"""A projected Newton method on the dual.

The dual is concave and smooth, with the gradient :math:`d^2_{ij} - \xi_{ij}` and the Hessian
:math:`-(z_{ij}^T M z_{kl})^2 - \mathrm{diag}(\xi^2/\lambda)`. Each step frees the multipliers that are not held at
zero by their sign, solves for the Newton direction by conjugate gradients (the Hessian is only ever applied, at
the price of a few block products for all pairs at once), and searches along the projected path.

Far from the optimum a large weight λ makes the Hessian nearly singular and the step useless, so the weights are
capped at first and the cap is raised tenfold whenever the capped problem is solved to within half its value.
Multipliers that are feasible under a cap are feasible without it: the gap is always that of the true problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._validation import BoolArray, FloatArray
from isthmus.objective import DualPoint, LogDetProblem
from isthmus.solvers.iteration import IterativeSolver
from isthmus.solvers.result import relative_gap

FIRST_CAP, CAP_GROWTH, CAP_GAP = 1.0, 10.0, 0.5
CG_TOLERANCE, CG_ITERATIONS = 0.3, 200
SUFFICIENT_INCREASE, SHORTEST_STEP = 1e-4, 2.0**-40


@dataclass(frozen=True)
class DualNewton(IterativeSolver):
    """Projected Newton steps on the dual; the default solver.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.objective import LogDetProblem, Pairs
    >>> pair = Pairs(slice(0, 1), slice(1, 2), sign=1, weight=1.0, bound=0.5)
    >>> result = DualNewton().solve(LogDetProblem(np.eye(2), (pair,)))
    >>> result.status.value, bool(result.relative_gap < 1e-6)
    ('optimal', True)
    """

    def iterates(self, problem: LogDetProblem, start: DualPoint) -> Iterator[DualPoint]:
        """Newton steps, under a growing cap on the weights unless the start is a warm one."""
        point: DualPoint | None = start
        cap = np.inf if start.multipliers.any() else FIRST_CAP
        largest = float(problem.graph.weight.max(initial=0.0))
        while point is not None:
            yield point
            weight, gap = _capped(problem, cap), 1.0
            while (gap := _gap(point, weight)) < CAP_GAP and cap < largest:
                cap *= CAP_GROWTH
                weight = _capped(problem, cap)
            point = _step(point, weight, gap)
            if point is None and cap < largest:
                raise AssertionError("unreachable: a capped problem always admits a step")


def _capped(problem: LogDetProblem, cap: float) -> FloatArray:
    return np.minimum(problem.graph.weight, cap)


def _gap(point: DualPoint, weight: FloatArray) -> float:
    return relative_gap(point.primal(weight), point.dual(weight))


def _step(point: DualPoint, weight: FloatArray, gap: float) -> DualPoint | None:
    """The next point, or None where the search direction leads nowhere."""
    graph, w = point.problem.graph, point.multipliers
    xi = point.slack(weight)
    gradient = point.distances - xi
    free = (weight > 0) & ~((w == 0) & (graph.sign * gradient <= 0))
    if not free.any():
        return None
    diagonal = np.divide(xi**2, weight, out=np.ones_like(xi), where=free)
    curvature = point.curvature()
    direction = _conjugate_gradients(
        lambda v: curvature(v) + diagonal * v,
        gradient,
        free,
        preconditioner=1.0 / (diagonal + point.distances**2),
        tolerance=CG_TOLERANCE * min(1.0, max(gap, 1e-3)),
    )
    return _search(point, direction, gradient, weight)


def _conjugate_gradients(
    apply: Any, b: FloatArray, free: BoolArray, preconditioner: FloatArray, tolerance: float
) -> FloatArray:
    """Solve ``apply(x) = b`` over the free entries, the others staying zero."""
    x, r = np.zeros_like(b), np.where(free, b, 0.0)
    z = preconditioner * r
    p, rz = z, float(r @ z)
    enough = tolerance**2 * rz
    for _ in range(CG_ITERATIONS):
        Ap = np.where(free, apply(p), 0.0)
        alpha = rz / float(p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        z = preconditioner * r
        rz, previous = float(r @ z), rz
        if rz <= enough:
            break
        p = z + (rz / previous) * p
    return x


def _search(point: DualPoint, direction: FloatArray, gradient: FloatArray, weight: FloatArray) -> DualPoint | None:
    """Halve the step until the dual rises enough, then for as long as it rises further.

    The second half keeps iterates away from the boundary of the domain, where a step that is merely good
    enough would have to be paid for by several that lead back.
    """
    problem, value, best = point.problem, point.dual(weight), None
    best_value, step = -np.inf, 1.0
    while step >= SHORTEST_STEP:
        w = point.multipliers + step * direction
        w = np.where(problem.graph.sign * w > 0, w, 0.0)
        candidate = _at(problem, w, weight)
        rise = -np.inf if candidate is None else candidate.dual(weight) - value
        if best is not None and rise <= best_value:
            return best
        if rise > 0 and rise >= SUFFICIENT_INCREASE * float(gradient @ (w - point.multipliers)):
            best, best_value = candidate, rise
        step /= 2.0
    return best


def _at(problem: LogDetProblem, w: FloatArray, weight: FloatArray) -> DualPoint | None:
    """The point, unless a slack has no value there: tested first, because it costs nothing."""
    if (w * problem.graph.bound >= weight)[w > 0].any():
        return None
    return problem.at(w)
