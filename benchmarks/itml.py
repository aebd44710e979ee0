"""metric-learn's ITML on the same pairs, run by :mod:`benchmarks.itml_runner` in its own environment.

It is the same problem: ITML compares ``vᵀAv``, a squared distance, with the bounds that it is given (they are
given squared; its own default takes percentiles of unsquared ones), starts from the identity, and with
``gamma = λ2`` prices its slack as we do. It visits the pairs of one class first, then the others, and stops
when Σ|Δλ| / (‖λ‖ + ‖λ_old‖) < tol, which is a length of step and no bound on the error. It has no alignment.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import environment
from benchmarks.record import Options, Row
from benchmarks.task import LARGE, WEIGHT, Array, Task

NAME = "metric-learn 0.7.0 ITML"
RUNNER = Path(__file__).with_name("itml_runner.py")
ONE_SWEEP = frozenset({LARGE.name})
"""Tasks on which a run to its own tolerance would take hours, so that one sweep has to do."""
REPEATS = 3


def measure(task: Task, options: Options) -> Row:
    """The time to its own tolerance (median), or of one sweep on a large task."""
    one = task.name in ONE_SWEEP
    runs = [run(_payload(task, 1 if one else 0)) for _ in range(1 if one else min(REPEATS, options.repeats))]
    figures, M = runs[0]
    rule = f"its tol {figures['tol']:g}" if figures["converged"] else "its max_iter"
    return Row(
        NAME,
        task,
        median(figures["seconds"] for figures, _ in runs),
        "1 sweep" if one else f"{figures['sweeps']} sweeps",
        task.problem().primal(M),
        "after one sweep" if one else rule,
    )


def run(payload: dict[str, Any]) -> tuple[dict[str, Any], Array]:
    """The figures and the matrix of one run; a ``max_iter`` of 0 means metric-learn's default."""
    python = environment.ensure()
    with tempfile.TemporaryDirectory() as folder:
        pairs, matrix = Path(folder, "pairs.npz"), Path(folder, "matrix.npy")
        np.savez(pairs, **payload)
        command = [str(python), "-I", "-W", "ignore", str(RUNNER), str(pairs), str(matrix)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout), np.load(matrix)


def _payload(task: Task, max_iter: int) -> dict[str, Any]:
    """The pairs as row numbers, which metric-learn's preprocessor turns into rows."""
    left, right = np.mgrid[0 : task.n_source, task.n_source : len(task.rows)].reshape(2, -1)
    return {
        "rows": task.rows,
        "pairs": np.column_stack([left, right]),
        "sign": task.sign.ravel().astype(int),
        "bounds": np.array(task.bounds),
        "gamma": WEIGHT,
        "max_iter": max_iter,
    }
