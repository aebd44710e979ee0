"""``python -m benchmarks.target_rows``: from 60 labelled target rows to thousands; resumable.

Each run has a process of its own and adds a line to ``benchmarks/target_rows.jsonl``; what is there is not run again.
A table of docs/scale.md is made of these. A bare product is X Yᵀ in double precision, of all source rows with all
labelled target rows: the least that a look at every pair costs.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from time import process_time

from benchmarks import lines, threads

RECORDS = Path(__file__).with_name("target_rows.jsonl")
RUNS = [(20_000, 60), (20_000, 300), (20_000, 1_000), (20_000, 3_000), (20_000, 10_000), (100_000, 5_000)]
SEED, TOLERANCE, MEGABYTE = 100, 1e-4, 1e6


def main(n: int, n_target: int) -> dict[str, object]:
    """The figures of a run: d = 256 + 256, 6 classes, weights shared by all pairs."""
    from benchmarks.scale_data import synthetic
    from isthmus.solvers.blocks.solver import BlockNewton

    rows = synthetic(n, SEED, n_target)
    problem, before = rows.problem("auto"), _peak()
    began = process_time()
    result = BlockNewton(tol=TOLERANCE).solve(problem)
    seconds, more = process_time() - began, _peak() - before
    X, Y = rows.X.astype("float64"), rows.target.astype("float64")
    X @ Y[:60].T
    began = process_time()
    for start in range(0, n, 2_000):
        X[start : start + 2_000] @ Y.T
    product = process_time() - began
    return {
        "n": n, "n_target": n_target, "seconds": round(seconds, 2), "products": round(seconds / product, 1),
        "iterations": result.n_iter, "objective": result.primal, "gap": result.relative_gap,
        "status": result.status.value, "memory": round(more / MEGABYTE), "pairs": round(8e-6 * n * n_target),
    }  # fmt: skip


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def table() -> str:
    """All records."""
    head = ("source rows", "labelled target rows", "pairs", "seconds", "products X Yᵀ", "steps on all rows", "gap")
    rows = []
    for r in sorted(lines.read(RECORDS), key=lambda r: (r["n"], r["n_target"])):
        costs = f"{r['seconds']:.3g}", f"{r['products']:.3g}", r["iterations"], f"{r['gap']:.0e}"
        memory = f"{r['memory']:,}", f"{r['pairs']:,}"
        rows.append((f"{r['n']:,}", f"{r['n_target']:,}", f"{r['n'] * r['n_target']:.0e}", *costs, *memory))
    return lines.table((*head, "memory beside the rows, MB", "one number per pair, MB"), rows)


if __name__ == "__main__":
    threads.pin()
    if len(sys.argv) == 3:
        print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
        sys.exit()
    there = {(record["n"], record["n_target"]) for record in lines.read(RECORDS)}
    for run in RUNS:
        if run not in there:
            print("…", *run, file=sys.stderr, flush=True)
            lines.add(RECORDS, lines.run_module("benchmarks.target_rows", *run))
    lines.fill(lines.DOCS / "scale.md", {"benchmarks.target_rows": table()})
    print(table())
