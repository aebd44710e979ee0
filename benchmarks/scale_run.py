"""One measurement of scale, in a process of its own: ``python -m benchmarks.scale_run KIND N WEIGHT SEED [LIMIT]``.

After LIMIT seconds of processor time the solver is stopped, at the end of its step, wherever it is. It prints
one line of JSON. Seconds are processor time, memory is the most that the process ever held.
"""

from __future__ import annotations

import json
import resource
import sys
from time import process_time
from typing import Any

from benchmarks import threads

TOLERANCE = 1e-4
PRODUCT_ROWS = 50_000
"""So many rows of a bare product are timed, and scaled."""


class _Stopped(Exception):  # noqa: N818  (no error: what it was asked for)
    """The limit is reached; with the figures so far."""


def main(kind: str, n: int, weight: str, seed: int, limit: float = float("inf")) -> dict[str, object]:
    """The figures of a run."""
    from benchmarks.scale_data import blown_up, synthetic
    from isthmus.solvers.blocks.solver import BlockNewton
    from isthmus.solvers.newton import AutoNewton, DualNewton

    rows = (blown_up if kind == "mfeat" else synthetic)(n, seed)
    value = weight if weight == "auto" else float(weight)
    solvers = {"dual": DualNewton, "auto": AutoNewton}
    written = kind in solvers
    problem = rows.written_out(value) if written else rows.problem(value)
    memory_before = _peak()
    began = process_time()
    figures = _run_solver(solvers.get(kind, BlockNewton)(tol=TOLERANCE), problem, limit)
    seconds, peak = process_time() - began, _peak()
    part = rows.X[:PRODUCT_ROWS].astype("float64")
    part.T @ part
    began = process_time()
    part.T @ part
    product = (process_time() - began) * n / len(part)
    return {
        "kind": kind, "n": n, "weight": weight, "seed": seed, "seconds": round(seconds, 3),
        "product": round(product, 5), "products": round(seconds / product, 1), **figures,
        "peak_over_data": round(peak / rows.X.nbytes, 3), "before_over_data": round(memory_before / rows.X.nbytes, 3),
    }  # fmt: skip


def _run_solver(solver: Any, problem: Any, limit: float) -> dict[str, object]:
    end = process_time() + limit

    def watch(point: Any) -> None:
        if process_time() > end and point.relative_gap > TOLERANCE:
            raise _Stopped(point)

    try:
        result = solver.solve(problem, callback=watch)
    except _Stopped as stopped:
        point = stopped.args[0]
        iterations, objective, gap = point.iteration, point.primal, point.relative_gap
        status, name = "stopped", type(solver).__name__
    else:
        iterations, objective, gap = result.n_iter, result.primal, result.relative_gap
        status, name = result.status.value, result.solver
    return {"iterations": iterations, "objective": objective, "gap": gap, "status": status, "solver": name}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    threads.pin()
    kind, n, weight, seed, *limit = sys.argv[1:]
    print(json.dumps(main(kind, int(n), weight, int(seed), *map(float, limit))))
