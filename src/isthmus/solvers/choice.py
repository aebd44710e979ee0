"""Which Newton method for which problem: by what either is going to cost."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla

from isthmus._core.arrays import FloatArray
from isthmus._core.threads import cap_threads
from isthmus.exceptions import ConvergenceWarning
from isthmus.solvers.blocks.problem import BlockProblem, as_blocks
from isthmus.solvers.blocks.solver import BlockNewton
from isthmus.solvers.logdet import DualPoint, LogDetProblem
from isthmus.solvers.newton import DualNewton
from isthmus.solvers.result import Callback, IterativeSolver, Result, Status, warn_if_not_optimal

FEWEST_ROWS = 300
"""With fewer rows the dual method is quick in any case."""
MOST_PAIRS = 500_000
"""With more pairs than this the dual method is no help where blocks fail."""
DUAL = 1.8e-7
BLOCKS_FIXED, BLOCKS_CUBE, BLOCKS_ROW = 0.015, 4e-8, 1.2e-8
"""Measured processor seconds for a relative gap of 1e-6, one thread (docs/scale.md); only their ratios matter."""


def dual_seconds(n: int, n_target: int, r: int) -> float:
    """What the dual method costs, about, for n and n_target rows of rank r: its products go over Gram matrix or rows.

    Examples
    --------
    >>> round(dual_seconds(1000, 60, 316), 1)
    10.8
    """
    return DUAL * n * n_target * min(n, 3.7 * r)


def block_seconds(n: int, n_target: int, p: int, d: int) -> float:
    """What blocks cost, about: steps with cubes of all d coordinates, and products with rows in p of them.

    Examples
    --------
    >>> round(block_seconds(1000, 60, 256, 316), 1)
    2.3
    """
    return BLOCKS_FIXED + BLOCKS_CUBE * d**3 + BLOCKS_ROW * n * (p * p + p * n_target + 30 * n_target)


def prefers_blocks(problem: BlockProblem, fewest: int = FEWEST_ROWS) -> bool:
    """Whether the block method is the cheaper one, for no fewer rows than this."""
    n, n_target = problem.rows.n, len(problem.target)
    shifts = 0 if problem.alignment is None else len(problem.alignment.rows)
    p, q = min(problem.rows.d, n + shifts), min(problem.target.shape[1], n_target + shifts)
    if n < fewest or n_target < 2:  # with one target row, as ITML has it, nothing was measured
        return False
    return block_seconds(n, n_target, p, p + q) < dual_seconds(n, n_target, p + q)


@dataclass(frozen=True)
class AutoNewton(IterativeSolver[Any]):
    """:class:`DualNewton` or :class:`BlockNewton`, whichever is going to be quicker: the result says which it was.

    Where blocks get stuck without their proof, and the dual method can have the problem, that goes on from there.

    Examples
    --------
    >>> from isthmus.solvers.logdet import Pairs
    >>> pair = Pairs(slice(0, 1), slice(1, 2), sign=1, weight=1.0, bound=0.5)
    >>> AutoNewton().solve(LogDetProblem(np.eye(2), (pair,))).solver
    'DualNewton'
    """

    @cap_threads
    def solve(self, problem: Any, start: FloatArray | None = None, callback: Callback | None = None) -> Result[Any]:
        """The result of the chosen solver; ``start`` is multipliers (n_pairs,) or a factor of a metric (d, d)."""
        dual, blocks = DualNewton(self.tol, self.max_iter), BlockNewton(self.tol, self.max_iter)
        if isinstance(problem, BlockProblem):
            return blocks.solve(problem, start, callback)
        # A metric is a start for blocks, and a poor one for the dual.
        fewest = 0 if start is not None and np.ndim(start) == 2 else FEWEST_ROWS
        found = as_blocks(problem) if len(problem.rows) >= fewest else None
        if found is None or not prefers_blocks(found[0], fewest):
            return dual.solve(problem, as_multipliers(problem, start), callback)
        if problem.n_pairs > MOST_PAIRS:
            return blocks.solve(problem, start, callback)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the other method has the last word
            result = blocks.solve(problem, start, callback)
        if result.status in (Status.STALLED, Status.INEXACT):
            return dual.solve(problem, result.multipliers, callback)
        warn_if_not_optimal(result, self.max_iter)
        return result


def as_multipliers(problem: LogDetProblem, start: FloatArray | None) -> FloatArray | None:
    """Multipliers to start from: as they are given, or those of a factor W (d, d) of a metric."""
    if start is None or np.ndim(start) != 2:
        return start
    graph, distances = problem.graph, problem.distances(np.asarray(start, dtype=np.float64))
    with np.errstate(divide="ignore"):
        w = graph.weight * (1.0 / graph.bound - 1.0 / distances)
    return np.where(graph.sign * w > 0.0, w, 0.0)


def grid_results(
    problem: Callable[[float, float], Any],
    alignment_weights: Sequence[float],
    pair_weights: Sequence[float],
    solver: Any,
) -> list[list[Result[Any]]]:
    """The results of a grid of weights, a row per λ1 and a column per λ2, each from its neighbours.

    Parameters
    ----------
    problem : callable
        The problem at (λ1, λ2), over the same rows and pairs everywhere.
    alignment_weights, pair_weights : sequence of float
        λ1 and λ2, in an order in which neighbours are alike.
    solver : Solver
        Whatever solves one of them.

    Examples
    --------
    >>> from isthmus.solvers.logdet import Alignment, LogDetProblem, Pairs
    >>> from isthmus.solvers.newton import DualNewton
    >>> def problem(first, second):
    ...     pair = Pairs(slice(0, 1), slice(1, 2), sign=1, weight=second, bound=0.5)
    ...     return LogDetProblem(np.eye(2), (pair,), Alignment([1.0, -1.0], first))
    >>> results = grid_results(problem, [0.1, 1.0], [1.0, 2.0, 4.0], DualNewton())
    >>> len(results), len(results[0]), all(result.relative_gap < 1e-6 for row in results for result in row)
    (2, 3, True)
    """

    def solve(i: int, j: int, start: FloatArray | None) -> Result[Any]:
        solved: Result[Any] = solver.solve(problem(alignment_weights[i], pair_weights[j]), start)
        return solved

    found = list(along_grid(solve, len(alignment_weights), len(pair_weights)))
    return [found[i :: len(alignment_weights)] for i in range(len(alignment_weights))]


def along_grid(
    solve: Callable[[int, int, FloatArray | None], Result[Any]], n_rows: int, n_columns: int
) -> Iterator[Result[Any]]:
    """The results of all cells, column by column: ``solve(i, j, start)`` gives that of cell (i, j)."""
    before: list[Result[Any]] = []
    logarithms: list[FloatArray | None] = []
    for j in range(n_columns):
        column: list[Result[Any]] = []
        known, logarithms = logarithms, []
        for i in range(n_rows):
            corners = (logarithms[i - 1], known[i], known[i - 1]) if i and j else ()
            neighbour = column[i - 1] if i else before[0] if j else None
            result = solve(i, j, _start(corners, neighbour))
            yield result
            column.append(result)
            logarithms.append(_logarithm(result))
        before = column


def _start(corners: tuple[FloatArray | None, ...], neighbour: Result[Any] | None) -> FloatArray | None:
    """A factor of the metric that three corners promise, or else what the neighbour has."""
    known = [corner for corner in corners if corner is not None]
    if len(known) < 3:
        return None if neighbour is None else warm_start(neighbour)
    values, axes = sla.eigh(known[0] + known[1] - known[2], driver="evd")
    return np.asarray(axes * np.exp(0.5 * values))


def _logarithm(result: Result[Any]) -> FloatArray | None:
    """Log M (d, d); None where multipliers are at hand, which are better as they are than extrapolated."""
    if isinstance(result.point, DualPoint):
        return None
    values, axes = sla.eigh(result.matrix(), driver="evd")
    values = np.maximum(values, np.finfo(np.float64).eps * values.max(initial=1.0))
    return np.asarray((axes * np.log(values)) @ axes.T)


def warm_start(result: Result[Any]) -> FloatArray:
    """What the next problem is started from: multipliers, or the metric's factor where there are too many.

    Multipliers are better: with another λ1 they make another metric, nearer to the new optimum than the old one.
    """
    return result.multipliers if isinstance(result.problem, LogDetProblem) else result.components()
