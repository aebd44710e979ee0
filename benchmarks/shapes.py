"""``python -m benchmarks.shapes``: shapes that users have, beside other packages, each as far as it goes; resumable.

Each run has a process of its own with a limit, and adds a line to ``benchmarks/shapes.jsonl``; what is there is not
run again. A system's sizes grow until a run passes the limit.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import environment, lines, threads
from benchmarks.shapes_run import BYTES, SECONDS

RECORDS, PAGE = Path(__file__).with_name("shapes.jsonl"), Path(__file__).with_name("SHAPES.md")
OTHERS = "metric-learn ITML", "scikit-learn NCA"
MAPS = "scikit-learn Ridge", "SciPy orthogonal_procrustes"
PLAN: dict[str, tuple[str, tuple[int, ...], tuple[str, ...]]] = {
    "pairs": (
        "Known pairs, 768 → 1,536 columns",
        (100, 300, 1_000, 5_000, 20_000),
        ("RidgeMap", "Procrustes", "CCA", "MLHD, pairs", "MLHD, pairs, 100 axes", *MAPS, *OTHERS),
    ),
    "narrow": (
        "Labelled source rows, 50 → 50 columns, 60 labelled target rows",
        (1_000, 10_000, 100_000, 1_000_000),
        ("MLHD", "CCA, labels", *OTHERS),
    ),
    "text": (
        "Sparse tf-idf, 20,000 → 20,000 words",
        (300, 1_000, 5_000),
        (
            *("RidgeMap", "RidgeMap, 100 axes", "Procrustes", "Procrustes, 100 axes", "CCA", "CCA, 100 axes"),
            *("MLHD", "MLHD, 100 axes", "MLHD, 1,000 landmarks", *MAPS, *OTHERS),
        ),
    ),
}

Run = tuple[str, str, int]


def main() -> int:
    """Measure what is missing, write the page and the tables of docs/scale.md."""
    threads.pin()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shapes", description=__doc__)
    parser.add_argument("--only", nargs="+", default=list(PLAN), choices=list(PLAN), help="shapes to run (all)")
    parser.add_argument("--systems", nargs="+", default=None, help="systems to run (all)")
    parser.add_argument("--largest", type=int, default=10**9, help="rows of the largest run (as far as it goes)")
    args = parser.parse_args()
    for shape in args.only:
        _, sizes, systems = PLAN[shape]
        for system in systems:
            if args.systems is None or system in args.systems:
                _grow(shape, system, tuple(n for n in sizes if n <= args.largest))
    made = tables(records())
    PAGE.write_text(f"# Users' shapes\n\n{made}", encoding="utf-8")
    lines.fill(lines.DOCS / "scale.md", {"benchmarks.shapes: tables": made})
    print(made)
    return 0


PREFACE = (
    "Made by `python -m benchmarks.shapes`. Seconds of processor time for `fit` (one thread), and the most memory\n"
    f"that its process held. No run may take more than {SECONDS} s or {BYTES // 2**30} GB; where one did, larger\n"
    "sizes were not tried (–)."
)


def tables(found: dict[Run, dict[str, Any]]) -> str:
    """A table for each shape, after what they have in common."""
    each = (f"{title} (rows):\n\n{table(shape, found)}" for shape, (title, *_) in PLAN.items())
    return "\n".join([f"{PREFACE}\n", *each])


def table(shape: str, found: dict[Run, dict[str, Any]]) -> str:
    """A row for each system, a column for each size, and the largest that was done."""
    _, sizes, systems = PLAN[shape]
    rows = []
    for system in systems:
        done = [n for n in sizes if found.get((shape, system, n), {}).get("status") == "done"]
        tried = [found.get((shape, system, n)) for n in sizes]
        passed = any(record and record["status"] != "done" for record in tried)
        cells = [_cell(record) if record else "–" if passed else "not run" for record in tried]
        least = "" if passed or len(done) == len(sizes) else "≥ "  # who has not passed the limit may go on
        rows.append((system, *cells, f"{least}{done[-1]:,}" if done else "none" if passed else "not run"))
    return lines.table(("system", *(f"{n:,}" for n in sizes), "largest"), rows)


def _cell(record: dict[str, Any]) -> str:
    if record["status"] == "done":
        return f"{record['seconds']:.2g} s, {record['peak'] / 1e9:.2g} GB"
    return f"> {SECONDS} s" if record["status"] == "time" else f"> {BYTES // 2**30} GB"


def _grow(shape: str, system: str, sizes: tuple[int, ...]) -> None:
    """Run a system at ever larger sizes, as far as it goes."""
    if system == "metric-learn ITML":
        environment.ensure()
    for n in sizes:
        if (shape, system, n) not in records():
            print("…", shape, system, n, file=sys.stderr, flush=True)
            lines.add(RECORDS, _measure_shape(shape, system, n))
        if records()[shape, system, n]["status"] != "done":
            return


def _measure_shape(shape: str, system: str, n: int) -> dict[str, Any]:
    try:
        return lines.run_module("benchmarks.shapes_run", shape, system, n)
    except subprocess.CalledProcessError as error:
        if error.returncode != -signal.SIGXCPU:
            raise
        return {"shape": shape, "system": system, "n": n, "status": "time"}


def records() -> dict[Run, dict[str, Any]]:
    """What was measured so far."""
    return {(r["shape"], r["system"], r["n"]): r for r in lines.read(RECORDS)}


if __name__ == "__main__":
    sys.exit(main())
