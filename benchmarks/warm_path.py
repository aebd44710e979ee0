"""``python -m benchmarks.warm_path``: a grid of 36 pairs of weights, each cell from its neighbour or from nothing."""

from __future__ import annotations

import sys
from dataclasses import replace
from time import process_time
from typing import Any

from benchmarks import threads

BAR = 0.45
TOLERANCE = 1e-6


def main() -> int:
    """Print the ratio of the times for either solver; exit status 1 if a bar is not cleared."""
    import numpy as np

    from benchmarks.task import Task
    from isthmus.objective import Alignment, LogDetProblem
    from isthmus.solvers import BlockNewton, DualNewton, grid_results

    first, second = np.logspace(-2, 2, 6).tolist(), np.logspace(-2, 1, 6).tolist()
    failed = False
    for solver, n in ((DualNewton(TOLERANCE), 150), (BlockNewton(TOLERANCE), 1_000)):
        task = Task("grid", n_classes=6, n_source=n, n_target=30, d_source=60, d_target=60)
        plain = task.problem()
        shift = np.random.default_rng(100).normal(size=120) * 0.3

        def problem(one: float, two: float, plain: Any = plain, shift: Any = shift) -> LogDetProblem:
            (pairs,) = plain.pairs
            return LogDetProblem(plain.rows, (replace(pairs, weight=two * pairs.weight),), Alignment(shift, one))

        began = process_time()
        warm = grid_results(problem, first, second, solver)
        between = process_time()
        cold = [[solver.solve(problem(one, two)) for two in second] for one in first]
        ratio = (between - began) / (process_time() - between)
        pairs = [(a, b) for row in zip(warm, cold, strict=True) for a, b in zip(*row, strict=True)]
        apart = max(abs(a.primal - b.primal) / max(1.0, abs(b.primal)) for a, b in pairs)
        steps = sum(a.n_iter for a, _ in pairs) / sum(b.n_iter for _, b in pairs)
        name = type(solver).__name__
        print(f"{name}, {n} rows: warm/cold {ratio:.2f} (iterations {steps:.2f}), optima {apart:.0e} apart")
        failed |= ratio > BAR or apart > 2 * TOLERANCE
    return int(failed)


if __name__ == "__main__":
    threads.pin()
    sys.exit(main())
