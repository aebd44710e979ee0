"""One measurement of scale, in a process of its own: ``python -m benchmarks.scale_run KIND N WEIGHT SEED``.

It prints one line of JSON. Seconds are processor time, memory is the most that the process ever held.
"""

from __future__ import annotations

import json
import resource
import sys

from benchmarks import threads

TOLERANCE = 1e-4
PRODUCT_ROWS = 50_000
"""So many rows of a bare product are timed, and scaled."""


def main(kind: str, n: int, weight: str, seed: int) -> dict[str, object]:
    """The figures of a run."""
    from time import process_time

    from benchmarks.scale_data import blown_up, synthetic
    from isthmus.solvers import AutoNewton, BlockNewton, DualNewton

    rows = (blown_up if kind == "mfeat" else synthetic)(n, seed)
    value = weight if weight == "auto" else float(weight)
    solvers = {"dual": DualNewton, "auto": AutoNewton}
    written = kind in solvers
    problem = rows.written_out(value) if written else rows.problem(value)
    memory_before = _peak()
    began = process_time()
    result = solvers.get(kind, BlockNewton)(tol=TOLERANCE).solve(problem)
    seconds, peak = process_time() - began, _peak()
    part = rows.X[:PRODUCT_ROWS].astype("float64")
    part.T @ part
    began = process_time()
    part.T @ part
    product = (process_time() - began) * n / len(part)
    return {
        "kind": kind, "n": n, "weight": weight, "seed": seed, "seconds": round(seconds, 3),
        "product": round(product, 5), "products": round(seconds / product, 1), "iterations": result.n_iter,
        "objective": result.primal, "gap": result.relative_gap, "status": result.status.value,
        "solver": result.solver, "peak_over_data": round(peak / rows.X.nbytes, 3),
        "before_over_data": round(memory_before / rows.X.nbytes, 3),
    }  # fmt: skip


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    threads.pin()
    kind, n, weight, seed = sys.argv[1:]
    print(json.dumps(main(kind, int(n), weight, int(seed))))
