r"""A projected Newton method on the dual, with a path to lead it where it is good.

The dual is concave and smooth, with the gradient :math:`d^2_{ij} - \xi_{ij}` and the Hessian
:math:`-(z_{ij}^T M z_{kl})^2 - \mathrm{diag}(\xi^2/\lambda)`. Each step frees the multipliers that are not held at
zero by their sign, solves for the Newton direction by conjugate gradients (the Hessian is only ever applied, at
the price of a few block products for all pairs at once), and searches along the projected path.

Near the optimum, and for small weights λ from anywhere, a handful of steps suffices. Elsewhere the edge of the
domain :math:`P + \sum w z z^T \succ 0` cuts the steps short; then we start again along the
:mod:`central path <isthmus.solvers.central>`, which copes with that and ends at the optimum too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.linalg import conjugate_gradients
from isthmus.objective import DualPoint
from isthmus.objective.graph import curvature
from isthmus.solvers.central import central_path
from isthmus.solvers.iteration import IterativeSolver
from isthmus.solvers.result import relative_gap

HOLD = 0.1
"""The part of a scaled gradient step within which a multiplier counts as being at zero."""
SLOW, SLOW_WARM, SLOW_AT_LAST = 0.25, 0.03, 1e-6
"""Mean step lengths at which to give up Newton steps; later from a warm start, and at the very end."""
IN_SIGHT = 0.4
"""A relative gap at which short steps are worth their while."""
CG_TOLERANCE, LEAST_CG_TOLERANCE = 0.3, 3e-4
GOOD_INCREASE, SUFFICIENT_INCREASE = 0.25, 1e-4
"""Shares of the rise that the gradient promises: with the first a step is taken at once, without the second never."""


@dataclass(frozen=True)
class DualNewton(IterativeSolver[DualPoint]):
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

    def iterates(self, start: DualPoint) -> Iterator[DualPoint]:
        """Newton steps while they are long, then the central path; if that ends, short steps from the best point."""
        yield start
        problem, best, value = start.problem, start.multipliers, start.dual
        steps = _newton_steps(start, SLOW_WARM if best.any() else SLOW)
        del start  # a point holds matrices; its multipliers are enough to find it again
        for point in chain(steps, central_path(problem)):
            yield point
            if point.dual > value:
                best, value = point.multipliers, point.dual
        again = problem.at(best)
        if again is not None:
            yield from _newton_steps(again, SLOW_AT_LAST)


def _newton_steps(point: DualPoint, slow: float) -> Iterator[DualPoint]:
    """Ever better points, until the steps are too short on average and the end is not in sight."""
    pace = 1.0
    while pace >= slow or relative_gap(point.gap, point.scale) < IN_SIGHT:
        gradient = point.distances - point.slack
        direction = _direction(point, gradient)
        found = _search(point, direction, gradient, shortest=slow**2)
        if found is None:
            return
        point, step = found
        yield point
        pace = (pace * step) ** 0.5


def _direction(point: DualPoint, gradient: FloatArray) -> FloatArray:
    """The Newton direction of the free multipliers; the others go to zero, or stay there.

    Held are those that a small step along the gradient alone would take past zero. Asking only for zeros would
    let multipliers that are nearly zero, as the central path leaves them, block the step of all.
    """
    graph, w = point.problem.graph, point.multipliers
    diagonal = np.divide(point.slack**2, graph.weight, out=np.ones_like(w), where=graph.weight > 0)
    preconditioner = 1.0 / (diagonal + point.distances**2)
    free = (graph.weight > 0) & (graph.sign * (w + HOLD * preconditioner * gradient) > 0)
    hessian = curvature(graph, point.rows)
    newton = conjugate_gradients(
        lambda v: np.where(free, hessian(v) + diagonal * v, 0.0),
        np.where(free, gradient, 0.0),
        preconditioner=preconditioner,
        tolerance=max(LEAST_CG_TOLERANCE, CG_TOLERANCE * min(1.0, relative_gap(point.gap, point.scale))),
    )
    return np.where(free, newton, -w)


def _search(
    point: DualPoint, direction: FloatArray, gradient: FloatArray, shortest: float
) -> tuple[DualPoint, float] | None:
    """The next point and its step length: halved until the dual rises enough, then while it rises further.

    The second half keeps iterates away from the boundary of the domain, where a step that is merely good
    enough would have to be paid for by several that lead back.
    """
    problem, value, step = point.problem, point.dual, 1.0
    best, most = None, 0.0
    while step >= shortest:
        w = point.multipliers + step * direction
        w = np.where(problem.graph.sign * w > 0, w, 0.0)
        no_slack = (w * problem.graph.bound >= problem.graph.weight)[w > 0].any()  # tested first: it costs nothing
        candidate = None if no_slack else problem.at(w)
        rise = -np.inf if candidate is None else candidate.dual - value
        promised = float(gradient @ (w - point.multipliers))
        if best is not None and rise <= most:
            break
        if candidate is not None and rise > 0 and rise >= SUFFICIENT_INCREASE * promised:
            best, most = (candidate, step), rise
        if rise >= GOOD_INCREASE * promised > 0:
            break
        step /= 2.0
    return best
