r"""Many problems that differ in their weights only, each started from where its neighbours say that its optimum is.

With the metrics of three corners of a cell of the grid of weights known, the fourth is about

.. math:: \log M_{ij} \approx \log M_{i-1,j} + \log M_{i,j-1} - \log M_{i-1,j-1},

which is definite in any case, and wrong only by what λ1 and λ2 do together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray
from isthmus.objective import DualPoint, LogDetProblem
from isthmus.solvers.result import Result


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
    >>> from isthmus.objective import Alignment, LogDetProblem, Pairs
    >>> from isthmus.solvers import DualNewton
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
        return None if neighbour is None else warm(neighbour)
    values, axes = sla.eigh(known[0] + known[1] - known[2], driver="evd")
    return np.asarray(axes * np.exp(0.5 * values))


def _logarithm(result: Result[Any]) -> FloatArray | None:
    """Log M (d, d); None where multipliers are at hand, which are better as they are than extrapolated."""
    if isinstance(result.point, DualPoint):
        return None
    values, axes = sla.eigh(result.matrix(), driver="evd")
    values = np.maximum(values, np.finfo(np.float64).eps * values.max(initial=1.0))
    return np.asarray((axes * np.log(values)) @ axes.T)


def warm(result: Result[Any]) -> FloatArray:
    """What the next problem is started from: multipliers, or the metric's factor where there are too many.

    Multipliers are better: with another λ1 they make another metric, nearer to the new optimum than the old one.
    """
    return result.multipliers if isinstance(result.problem, LogDetProblem) else result.components()
