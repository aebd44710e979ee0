"""Many problems that differ in their weights only, each started from the solution of its neighbour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from isthmus.objective import LogDetProblem
from isthmus.solvers.result import Result


def grid_results(
    problem: Callable[[float, float], Any],
    alignment_weights: Sequence[float],
    pair_weights: Sequence[float],
    solver: Any,
) -> list[list[Result[Any]]]:
    """The results of a grid of weights, a row per λ1 and a column per λ2, each from its neighbour.

    Along a column λ1 changes, which moves the optimum little; the first of a column starts from the first of the
    column before.

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
    >>> import numpy as np
    >>> from isthmus.objective import Alignment, LogDetProblem, Pairs
    >>> from isthmus.solvers import DualNewton
    >>> def problem(first, second):
    ...     pair = Pairs(slice(0, 1), slice(1, 2), sign=1, weight=second, bound=0.5)
    ...     return LogDetProblem(np.eye(2), (pair,), Alignment([1.0, -1.0], first))
    >>> results = grid_results(problem, [0.1, 1.0], [1.0, 2.0, 4.0], DualNewton())
    >>> len(results), len(results[0]), all(result.relative_gap < 1e-6 for row in results for result in row)
    (2, 3, True)
    """
    columns: list[list[Result[Any]]] = []
    start = None
    for second in pair_weights:
        column: list[Result[Any]] = []
        for first in alignment_weights:
            column.append(solver.solve(problem(first, second), start))
            start = warm(column[-1])
        columns.append(column)
        start = warm(column[0])
    return [list(row) for row in zip(*columns, strict=True)]


def warm(result: Result[Any]) -> Any:
    """What the next problem is started from: multipliers, or the metric's factor where there are too many.

    Multipliers are better: with another λ1 they make another metric, nearer to the new optimum than the old one.
    """
    return result.multipliers if isinstance(result.problem, LogDetProblem) else result.components()
