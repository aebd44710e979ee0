r"""Newton's method for LogDet problems: on the dual, along the central path, and the choice between dual and blocks.

**The dual** (:class:`DualNewton`). Over one signed multiplier w per pair, with :math:`S = P + \sum w z z^T`,

.. math:: g(w) = \log\det S + \sum \lambda \log(1 - w \xi^0/\lambda), \qquad
   \nabla g = d^2 - \xi, \qquad -\nabla^2 g = \big[(z_k^T S^{-1} z_l)^2\big] + \mathrm{diag}(\xi^2/\lambda)

is maximised by projected Newton steps: multipliers that would leave their sign are held at zero, the others get the
direction of conjugate gradients and a line search. Each point carries its gap, which stops the iteration.

**The central path** (:func:`central_path`) is a primal-dual interior-point method, for problems on which those steps
become short. At the optimum M, the slacks ξ and the margins s of the bounds satisfy, with their duals S, y and w,

.. math:: M S = \theta I, \quad \xi y = \lambda, \quad s\,|w| = \tau, \qquad
   S = \sigma I + \textstyle\sum w z z^T, \quad y = \lambda/\xi^0 - w, \quad d^2 + \delta s = \xi

at θ = σ = 1 and τ = 0. We start at large θ and σ, where the losses hardly count, and follow the solution down.
M is carried along with :math:`S^{-1}`: a step that S cannot take in full still teaches M where S has to go,
and the next step takes its curvature from between the two (the scaling G of Nesterov and Todd, G S G = M).
The multipliers divided by σ are feasible all along, so every iterate has a certified gap.

Linearised, with e for the residual :math:`y - (\lambda/\xi^0 - w)`, the equations of a step to smaller θ and τ and to
σ = 1 are

.. math::

   dS &= \textstyle\sum dw\, z z^T - (\sigma - 1) I \qquad & dM &= \theta S^{-1} - M - G\, dS\, G \\
   dy &= -dw - e & d\xi &= \lambda/y - \xi - (\xi/y)\, dy \\
   ds &= \tau/|w| - s - (s/w)\, dw & z^T (M + dM) z + \delta (s + ds) &= \xi + d\xi.

With :math:`\textit{share} = (\sigma - 1)/\sigma` and :math:`v = dw + \textit{share}\, w` the first of them reads
:math:`dS = \sum v z z^T - \textit{share}\, S`, and all the others put into the last leave one system for v:

.. math:: (H + D)\, v = \theta\, z^T S^{-1} z + \textit{share}\, (z^T M z + D w) + \tau/w - (\lambda + \xi e)/y,
   \qquad H_{kl} = (z_k^T G z_l)^2, \quad D = \xi/y + s/|w|.

**The choice** (:class:`AutoNewton`) compares measured costs: the dual works on all pairs, blocks
(:class:`~isthmus.solvers.blocks.solver.BlockNewton`) on the metric. :func:`along_grid` warm-starts a grid of weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf

from isthmus._core.linalg import conjugate_gradients
from isthmus._core.threads import cap_threads
from isthmus._core.validation import FloatArray, IntArray
from isthmus.exceptions import ConvergenceWarning
from isthmus.solvers.blocks.problem import BlockProblem, as_blocks, pair_multipliers
from isthmus.solvers.blocks.solver import BlockNewton
from isthmus.solvers.logdet import MOST_DOUBLE, DualPoint, LogDetProblem, curvature
from isthmus.solvers.result import Callback, IterativeSolver, Result, Status, relative_gap, warn_if_not_optimal

# The part of a scaled gradient step within which a multiplier counts as being at zero.
HOLD = 0.1
# Mean step lengths below which Newton steps are given up: from zero, from a warm start, and at the very end.
SLOW, SLOW_WARM, SLOW_AT_LAST = 0.25, 0.03, 1e-6
# The relative gap below which even short steps are continued.
IN_SIGHT = 0.4
CG_TOLERANCE, LEAST_CG_TOLERANCE = 0.3, 3e-4
# Shares of the rise that the gradient predicts: a step with the first is taken at once, without the second never.
GOOD_INCREASE, SUFFICIENT_INCREASE = 0.25, 1e-4


@dataclass(frozen=True)
class DualNewton(IterativeSolver[DualPoint]):
    """Projected Newton steps on the dual; the default solver of small problems.

    Examples
    --------
    >>> from isthmus.solvers.logdet import Pairs
    >>> pair = Pairs(slice(0, 1), slice(1, 2), sign=1, weight=1.0, bound=0.5)
    >>> result = DualNewton().solve(LogDetProblem(np.eye(2), (pair,)))
    >>> result.status.value, bool(result.relative_gap < 1e-6)
    ('optimal', True)
    """

    def iterates(self, start: DualPoint) -> Iterator[DualPoint]:
        """Yield Newton steps while they are long, then the central path, then short steps from the best point."""
        yield start
        if not start.multipliers.any() and (nearer := _raise_together(start)) is not start:
            yield (start := nearer)
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


def _raise_together(point: DualPoint) -> DualPoint:
    """Return the best point of a few on the ray on which all pairs that belong together have an equal share of ξ⁰w/λ.

    Far from the optimum Newton steps only double multipliers, as the logarithm in the dual wants it.
    """
    graph, best = point.problem.graph, point
    ray, share = np.where(graph.sign > 0, graph.weight / graph.bound, 0.0), 0.5
    while (found := point.problem.at(share * ray)) is not None and found.dual > best.dual:
        best, share = found, share / 2.0
    return best


def _newton_steps(point: DualPoint, slow: float) -> Iterator[DualPoint]:
    """Yield ever better points, until the steps are too short on average and the gap is not yet small."""
    pace = 1.0
    while pace >= slow or relative_gap(point.gap, point.scale) < IN_SIGHT:
        gradient = point.distances - point.slack
        direction = _direction(point, gradient)
        found = _search(point, direction, gradient, shortest=slow**2)
        if found is None:
            return
        point, step = found
        yield point
        pace = (pace * step) ** 0.5  # a running geometric mean: one short step is no reason to give up


def _direction(point: DualPoint, gradient: FloatArray) -> FloatArray:
    """Return the Newton direction of the free multipliers; the others go to zero, or stay there.

    Held are those that a small step along the gradient alone would take past zero. To hold only exact zeros would
    let multipliers that are nearly zero, as the central path leaves them, block the step of all.
    """
    graph, w = point.problem.graph, point.multipliers
    diagonal = np.divide(point.slack**2, graph.weight, out=np.ones_like(w), where=graph.weight > 0)
    preconditioner = 1.0 / (diagonal + point.distances**2)
    free = (graph.weight > 0) & (graph.sign * (w + HOLD * preconditioner * gradient) > 0)
    # Products of many rows are dear, and the square root is still enough for steps that square the gap.
    hessian, gap = curvature(graph, point.rows), min(1.0, abs(relative_gap(point.gap, point.scale)))
    newton = conjugate_gradients(
        lambda v: np.where(free, hessian(v) + diagonal * v, 0.0),
        np.where(free, gradient, 0.0),
        lambda r: preconditioner * r,  # those that are held stay zero
        tolerance=max(LEAST_CG_TOLERANCE, CG_TOLERANCE * gap ** (0.5 if len(point.rows) > MOST_DOUBLE else 1.0)),
    )
    return np.where(free, newton, -w)


def _search(
    point: DualPoint, direction: FloatArray, gradient: FloatArray, shortest: float
) -> tuple[DualPoint, float] | None:
    """Return the next point and its step length: halved until the dual rises enough, then while it rises further.

    Halving on keeps iterates away from the boundary of the domain, where a step that is merely good enough costs
    several steps back.
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


# At the start of the central path: σ over the largest weight, s over d², Σ s|w| over tr M S.
START, MARGIN, PRODUCT = 10.0, 0.8, 1e-2
# Σ s|w| is never aimed at more than this part of tr M S: multipliers that outgrow S would run away.
BALANCE = 0.03
CENTRING_POWER, LEAST_CENTRING = 3, 0.02
LONG_STEP, SHORTEST_STEP, BACKTRACK, BOUNDARY = 0.1, 1e-8, 0.8, 0.95
CENTRAL_CG_TOLERANCE = 0.1


@dataclass(frozen=True, eq=False)
class _State:
    """An iterate of the central path; vectors run over the pairs with a positive weight and distance."""

    point: DualPoint
    used: IntArray
    w: FloatArray
    xi: FloatArray
    s: FloatArray
    y: FloatArray
    excess: float
    centring: float
    theta: float
    primal: FloatArray | None = None  # A factor of M; None where M is θ times the inverse of S.

    @property
    def sigma(self) -> float:
        return 1.0 + self.excess

    @property
    def share(self) -> float:
        return self.excess / self.sigma

    @property
    def weight(self) -> FloatArray:
        return self.point.problem.graph.weight[self.used]

    @property
    def residual(self) -> FloatArray:
        return self.y - (self.weight / self.point.problem.graph.bound[self.used] - self.w)

    def spread(self, v: FloatArray) -> FloatArray:
        """Return a vector over all pairs, zero for those without weight."""
        full = np.zeros(self.point.problem.n_pairs)
        full[self.used] = v
        return full


def central_path(problem: LogDetProblem) -> Iterator[DualPoint]:
    """Yield points of the dual along the path, without end unless there is no pair or no further step."""
    state = _start(problem)
    while state is not None:
        yield state.point
        state = _advance(state)


def _start(problem: LogDetProblem) -> _State | None:
    """Start at M = I, with bounds kept by a margin and multipliers so small that M S is nearly σ I."""
    graph, F = problem.graph, problem.factor
    distances = graph.distances(F)
    used = np.flatnonzero((graph.weight > 0) & (distances > 0))
    if not len(used):
        return None
    sign, weight, bound, d2 = graph.sign[used], graph.weight[used], graph.bound[used], distances[used]
    xi = np.where(sign > 0, np.maximum((1.0 + MARGIN) * d2, bound), (1.0 - MARGIN) * d2)
    s = sign * (xi - d2)
    size = PRODUCT * F.shape[1] / len(used) / s
    w = np.zeros(problem.n_pairs)
    w[used] = sign * np.where(sign > 0, np.minimum(size, 0.5 * weight / bound), size)
    point, sigma = problem.start(w), START * max(1.0, float(weight.max()))
    return _State(point, used, sigma * point.multipliers[used], xi, s, weight / xi, sigma - 1.0, 0.1, sigma)


def _advance(state: _State) -> _State | None:
    """Take one Newton step towards products that are smaller by the centring factor."""
    scaling, (w, xi, s, y) = _scaling(state), (state.w, state.xi, state.s, state.y)
    mean = float(scaling.spectrum.mean())
    theta = max(1.0, state.centring * mean)
    tau = state.centring * min(float(np.abs(w) @ s), BALANCE * float(scaling.spectrum.sum())) / len(w)
    v = _central_direction(state, scaling, theta, tau)
    if not np.isfinite(v).all():
        return None
    dw, dy, dxi, ds = _changes(state, v, tau)
    t_slack = min(_ratio(xi, dxi), _ratio(s, ds))
    t, point, primal = _longest_step(state, scaling, theta, v, dw, min(_ratio(y, dy), _ratio(w, dw)))
    if point is None or t < SHORTEST_STEP:
        return None
    return replace(
        state,
        point=point,
        w=w + t * dw,
        xi=xi + t_slack * dxi,
        s=s + t_slack * ds,
        y=y + t * dy,
        excess=state.excess * (1.0 - t),
        centring=max(LEAST_CENTRING, (1.0 - min(t, t_slack)) ** CENTRING_POWER),
        theta=max(1.0, mean * (1.0 - t) + theta * t),
        primal=primal,
    )


def _changes(state: _State, v: FloatArray, tau: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the changes dw, dy, dξ and ds of a full step, from v = dw + share w."""
    w, xi, s, y = state.w, state.xi, state.s, state.y
    dw = v - state.share * w
    dy = -dw - state.residual
    dxi = state.weight / y - xi - xi / y * dy
    ds = tau / np.abs(w) - s - s / w * dw
    return dw, dy, dxi, ds


def _longest_step(
    state: _State, scaling: _Scaling, theta: float, v: FloatArray, dw: FloatArray, t: float
) -> tuple[float, DualPoint | None, FloatArray | None]:
    """Return the part of the step, at most t, that S can take, the point there, and a factor of M if not θ S⁻¹."""
    point, primal = _step_to(state, t, dw) if t >= LONG_STEP else None, None
    if point is not None:  # after a long step M is as good as the inverse of S, and that costs nothing
        return t, point, primal
    # In the scaled coordinates S = I and M = diag(spectrum): relative to them S moves by dS and M by dM.
    dS = state.point.problem.graph.laplacian_form(state.spread(v), scaling.rows)
    _add_diagonal(dS, -state.share)
    t = min(t, _longest(dS))
    if t < LONG_STEP:
        dM = _add_diagonal(np.negative(dS, out=dS), theta / scaling.spectrum - 1.0)
        factor = _factor(_longest(dM) * dM)
        if factor is not None:
            primal = dtrmm(1.0, factor, scaling.turn * np.sqrt(scaling.spectrum / state.sigma), side=1, lower=1)
            primal = dtrmm(1.0, state.point.inverse, primal, lower=1, trans_a=1)
    return t, _step_to(state, t, dw), primal


def _step_to(state: _State, t: float, dw: FloatArray) -> DualPoint | None:
    """Return the point after a part of the step, or None where S is not positive definite."""
    sigma = 1.0 + state.excess * (1.0 - t)
    return state.point.problem.at(state.spread(state.w + t * dw) / sigma)


class _Scaling(NamedTuple):
    """Coordinates in which S is the identity and M diagonal."""

    spectrum: FloatArray  # That diagonal.
    turn: FloatArray  # The rotation to them from where S alone is the identity.
    rows: FloatArray  # The rows in them.


def _scaling(state: _State) -> _Scaling:
    root, point = np.sqrt(state.sigma), state.point
    if state.primal is None:
        r = len(point.cholesky)
        return _Scaling(np.full(r, state.theta), np.eye(r), point.rows / root)
    J = dtrmm(root, point.cholesky, state.primal, lower=1, trans_a=1)
    J = J @ J.T
    spectrum, turn = sla.eigh(J, overwrite_a=True, check_finite=False, driver="evd")
    return _Scaling(np.maximum(spectrum, np.finfo(float).tiny), turn, point.rows @ (turn / root))


def _central_direction(state: _State, scaling: _Scaling, theta: float, tau: float) -> FloatArray:
    """Solve the system for v by conjugate gradients, preconditioned by its diagonal."""
    w, xi, s, y, used = state.w, state.xi, state.s, state.y, state.used
    graph, (spectrum, _, rows) = state.point.problem.graph, scaling
    D = xi / y + s / np.abs(w)
    halfway = rows * spectrum**0.25  # z where G is the identity
    H = curvature(graph, halfway)
    under_dual = state.point.distances[used] / state.sigma  # zᵀ S⁻¹ z
    if state.primal is None:
        between, under_primal = np.sqrt(state.theta) * under_dual, state.theta * under_dual  # zᵀ G z, zᵀ M z
    else:
        between, under_primal = (graph.distances(B)[used] for B in (halfway, rows * np.sqrt(spectrum)))
    del halfway
    b = theta * under_dual + state.share * (under_primal + D * w)
    b += tau / w - (state.weight + xi * state.residual) / y
    preconditioner = 1.0 / (D + between**2)
    return conjugate_gradients(
        lambda v: H(state.spread(v))[used] + D * v, b, lambda r: preconditioner * r, tolerance=CENTRAL_CG_TOLERANCE
    )


def _longest(change: FloatArray) -> float:
    """Return a step, at most one, that keeps ``I + step * change`` well inside the positive definite matrices."""
    step = 1.0
    while step > SHORTEST_STEP and _factor(step * change) is None:
        step *= BACKTRACK
    return step if step == 1.0 else BOUNDARY * step


def _factor(change: FloatArray) -> FloatArray | None:
    """Return the Cholesky factor of ``I + change``, written into its memory, or None where there is none."""
    factor, failed = dpotrf(_add_diagonal(change, 1.0).T, lower=1, overwrite_a=1)
    return None if failed else np.asarray(factor)


def _ratio(x: FloatArray, change: FloatArray) -> float:
    """Return the step, at most one, that leaves every entry of ``x`` its sign and a little of its size."""
    return 1.0 / max(1.0, float(np.max(-change / x)) / BOUNDARY)


def _add_diagonal(A: FloatArray, value: FloatArray | float) -> FloatArray:
    A[np.diag_indices_from(A)] += value
    return A


# With fewer rows the dual method is fast in any case.
FEWEST_ROWS = 300
# With more pairs than this the dual method is no fallback where blocks fail.
MOST_PAIRS = 500_000
DUAL = 1.8e-7
# Measured processor seconds for a relative gap of 1e-6, one thread (docs/scale.md); only their ratios matter.
BLOCKS_FIXED, BLOCKS_CUBE, BLOCKS_ROW = 0.015, 4e-8, 1.2e-8
# With known pairs (1,000 of them, 84 to 1,767 columns): about 4 s of few columns, 8 s of many.
PAIRED, PAIRED_RANK = 4e-9, 1700.0


def dual_seconds(n: int, n_target: int, r: int) -> float:
    """Estimate the cost of the dual method for n and n_target rows of rank r, by Gram matrix or by rows.

    Examples
    --------
    >>> round(dual_seconds(1000, 60, 316), 1)
    10.8
    """
    return DUAL * n * n_target * min(n, 3.7 * r)


def block_seconds(n: int, n_target: int, p: int, d: int) -> float:
    """Estimate the cost of blocks: steps with cubes of all d coordinates, and products with rows in p of them.

    Examples
    --------
    >>> round(block_seconds(1000, 60, 256, 316), 1)
    2.3
    """
    return BLOCKS_FIXED + BLOCKS_CUBE * d**3 + BLOCKS_ROW * n * (p * p + p * n_target + 30 * n_target)


def prefers_blocks(problem: BlockProblem, fewest: int = FEWEST_ROWS) -> bool:
    """Return whether the block method is the cheaper one, given at least this many rows."""
    n, n_target = problem.rows.n, len(problem.target)
    shifts = 0 if problem.alignment is None else len(problem.alignment.rows)
    p, q = min(problem.rows.d, n + shifts), min(problem.target.shape[1], n_target + shifts)
    if n < fewest or n_target < 2:  # with one target row, as ITML has it, nothing was measured
        return False
    dual, blocks = dual_seconds(n, n_target, p + q), block_seconds(n, n_target, p, p + q)
    if len(problem.sign) == n:  # each row has bounds of its own, as with known pairs: fewer iterations of either
        dual, blocks = PAIRED * n * n * n_target * (1.0 + (p + q) / PAIRED_RANK), blocks / 3.0
    return blocks < dual


@dataclass(frozen=True)
class AutoNewton(IterativeSolver[Any]):
    """:class:`DualNewton` or :class:`BlockNewton`, whichever is estimated to be faster; the result says which it was.

    Where blocks stall before their gap is closed, the dual method continues from there if the problem is small.

    Examples
    --------
    >>> from isthmus.solvers.logdet import Pairs
    >>> pair = Pairs(slice(0, 1), slice(1, 2), sign=1, weight=1.0, bound=0.5)
    >>> AutoNewton().solve(LogDetProblem(np.eye(2), (pair,))).solver
    'DualNewton'
    """

    @cap_threads
    def solve(self, problem: Any, start: FloatArray | None = None, callback: Callback | None = None) -> Result[Any]:
        """Solve by the chosen method; ``start`` is multipliers (n_pairs,) or a factor of a metric (d, d)."""
        dual = DualNewton(self.tol, self.max_iter)
        in_blocks = isinstance(problem, BlockProblem)
        if not in_blocks:
            # A metric is a good start for blocks, and a poor one for the dual.
            fewest = 0 if start is not None and np.ndim(start) == 2 else FEWEST_ROWS
            found = as_blocks(problem) if len(problem.rows) >= fewest else None
            if found is None or not prefers_blocks(found[0], fewest):
                return dual.solve(problem, as_multipliers(problem, start), callback)
        blocks = BlockNewton(self.tol, self.max_iter)
        if in_blocks or problem.n_pairs > MOST_PAIRS:
            return blocks.solve(problem, start, callback)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the fallback may still close the gap
            result = blocks.solve(problem, start, callback)
        if result.status in (Status.STALLED, Status.INEXACT):
            return dual.solve(problem, result.multipliers, callback)
        warn_if_not_optimal(result, self.max_iter)
        return result


def as_multipliers(problem: LogDetProblem, start: FloatArray | None) -> FloatArray | None:
    """Return multipliers to start from: as they are given, or those of a factor W (d, d) of a metric."""
    if start is None or np.ndim(start) != 2:
        return start
    return pair_multipliers(problem, np.asarray(start, dtype=np.float64))


def along_grid(
    solve: Callable[[int, int, FloatArray | None], Result[Any]], n_rows: int, n_columns: int
) -> Iterator[Result[Any]]:
    """Yield the results of a grid of weights, column by column, each warm-started from its neighbours.

    ``solve(i, j, start)`` gives the result of cell (i, j). Neighbours in the grid are problems over the
    same rows and pairs with similar weights.
    """
    before: list[Result[Any]] = []
    logarithms: list[FloatArray | None] = []
    for j in range(n_columns):
        column: list[Result[Any]] = []
        known, logarithms = logarithms, []
        for i in range(n_rows):
            corners = (logarithms[i - 1], known[i], known[i - 1]) if i and j else ()
            neighbour = column[i - 1] if i else before[0] if j else None
            result = solve(i, j, _extrapolate_start(corners, neighbour))
            yield result
            column.append(result)
            logarithms.append(_logarithm(result))
        before = column


def _extrapolate_start(corners: tuple[FloatArray | None, ...], neighbour: Result[Any] | None) -> FloatArray | None:
    """Extrapolate a factor of the metric from three corners of a cell, or take the start of the neighbour."""
    known = [corner for corner in corners if corner is not None]
    if len(known) < 3:
        if neighbour is None:
            return None
        # Multipliers are better than a factor, where they are not too many: with another λ1 they make another metric,
        # nearer to the new optimum than the old one.
        return neighbour.multipliers if isinstance(neighbour.problem, LogDetProblem) else neighbour.components()
    # Logarithms of metrics are a vector space: a parallelogram in them is again a metric.
    values, axes = sla.eigh(known[0] + known[1] - known[2], driver="evd")
    return np.asarray(axes * np.exp(0.5 * values))


def _logarithm(result: Result[Any]) -> FloatArray | None:
    """Return log M (d, d), or None where there are multipliers, which are better as they are than extrapolated."""
    if isinstance(result.point, DualPoint):
        return None
    values, axes = sla.eigh(result.matrix(), driver="evd")
    values = np.maximum(values, np.finfo(np.float64).eps * values.max(initial=1.0))
    return np.asarray((axes * np.log(values)) @ axes.T)
