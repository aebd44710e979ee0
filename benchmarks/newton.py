"""isthmus, dual Newton: from arrays to a matrix with a certificate."""

from __future__ import annotations

import tracemalloc

from benchmarks.record import Bar, Options, Row, verdict
from benchmarks.task import Task
from benchmarks.timing import median_seconds
from isthmus.solvers.newton import DualNewton
from isthmus.solvers.result import Result

NAME = "isthmus DualNewton"
GAP = 1e-6
MEMORY_BAR = 15.0


def measure(task: Task, options: Options) -> Row:
    """The median time to build the problem, solve it to the gap, and form M."""
    result = _solve_task(task)
    return Row(
        NAME,
        task,
        median_seconds(lambda: _solve_task(task).matrix(), options.repeats),
        f"{result.n_iter} iterations",
        task.problem().primal(result.matrix()),
        f"certified, gap {result.relative_gap:.0e}",
    )


def memory_bar(task: Task) -> Bar:
    """Peak memory of the solve, over the data that it starts from, in an untimed run."""
    task.rows, task.sign  # noqa: B018  (the data are not the solver's)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        _solve_task(task)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    ratio = peak / task.gram_bytes
    return Bar(
        f"{task.name}: peak memory of the Newton solve below {MEMORY_BAR:.0f}x the Gram matrix",
        f"{ratio:.1f}x ({peak / 1e6:.0f} MB)",
        verdict(ratio < MEMORY_BAR),
    )


def _solve_task(task: Task) -> Result:
    result = DualNewton(tol=GAP).solve(task.problem())
    result.raise_for_status()
    return result
