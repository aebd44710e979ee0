"""``python -m benchmarks.warm_path``: grids of 36 pairs of weights, each cell from its neighbours or from nothing."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from time import process_time
from typing import TYPE_CHECKING, Any

from benchmarks import threads

if TYPE_CHECKING:
    from isthmus.solvers.logdet import LogDetProblem

BAR = 0.45
TOLERANCE = 1e-6
CASES = (
    ("DualNewton", 150, 60, 1),
    ("DualNewton", 150, 60, 3),
    ("BlockNewton", 1_000, 60, 1),
    ("BlockNewton", 1_000, 60, 3),
    ("BlockNewton", 3_000, 100, 1),
)
"""The solver, source rows, columns of either domain, and λ2 from 0.01 to ten to this."""


def make_problems(n: int, d: int) -> Callable[[float, float], LogDetProblem]:
    """The problem at (λ1, λ2)."""
    import numpy as np

    from benchmarks.task import Task
    from isthmus.solvers.logdet import LogDetProblem, MeanAlignment

    plain = Task("grid", n_classes=6, n_source=n, n_target=30, d_source=d, d_target=d).problem()
    (pairs,), shift = plain.pairs, np.random.default_rng(100).normal(size=2 * d) * 0.3

    def problem(one: float, two: float) -> LogDetProblem:
        return LogDetProblem(plain.rows, (replace(pairs, weight=two * pairs.weight),), MeanAlignment(shift, one))

    return problem


def compare_paths(name: str, n: int, d: int, most: int) -> bool:
    """Print the ratio of the times of one grid; whether the bar is cleared."""
    import numpy as np

    from isthmus import solvers
    from isthmus.solvers.newton import along_grid

    first, second = np.logspace(-2, 2, 6).tolist(), np.logspace(-2, most, 6).tolist()
    solver: Any = getattr(solvers, name)(TOLERANCE)
    problem = make_problems(n, d)
    began = process_time()
    found = list(along_grid(lambda i, j, start: solver.solve(problem(first[i], second[j]), start), 6, 6))
    warm = [found[i::6] for i in range(6)]
    between = process_time()
    cold = [[solver.solve(problem(one, two)) for two in second] for one in first]
    ratio = (between - began) / (process_time() - between)
    pairs = [(a, b) for row in zip(warm, cold, strict=True) for a, b in zip(*row, strict=True)]
    apart = max(abs(a.primal - b.primal) / max(1.0, abs(b.primal)) for a, b in pairs)
    steps = sum(a.n_iter for a, _ in pairs) / sum(b.n_iter for _, b in pairs)
    print(
        f"{name}, {n} rows, {d} + {d} columns, λ2 up to {10**most}: warm {between - began:.1f} s, "
        f"warm/cold {ratio:.2f} (iterations {steps:.2f}), optima {apart:.0e} apart",
        flush=True,
    )
    return ratio <= BAR and apart <= 2 * TOLERANCE


def main() -> int:
    """Print the ratio of the times for each case; exit status 1 if a bar is not cleared."""
    warnings.simplefilter("error")  # a cell that is not certified compares nothing
    return int(not all([compare_paths(*case) for case in CASES]))


if __name__ == "__main__":
    threads.pin()
    sys.exit(main())
