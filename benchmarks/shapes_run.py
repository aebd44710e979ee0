"""One system on one shape, in a process of its own: ``python -m benchmarks.shapes_run SHAPE SYSTEM N``.

It prints one line of JSON: seconds of processor time, the most memory that the process held, and whether memory was
enough. Out of time, it is ended by the system (SIGXCPU).
"""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks import threads

SECONDS, BYTES = 60, 8 * 2**30
"""Of processor time and of memory, which no run may pass."""
AXES, LANDMARKS, TOLERANCE = 100, 1_000, 1e-4

Fit = Callable[[Any], object]


class _OutOfTimeError(Exception):
    """A process of this one has used up its processor time."""


def measure(shape: str, system: str, n: int) -> dict[str, Any]:
    """The figures of a run."""
    from time import process_time

    import sklearn.linear_model
    import sklearn.neighbors  # noqa: F401  (before the clock starts)

    import isthmus
    from benchmarks.shapes_data import SHAPES

    isthmus.MLHD, isthmus.CCA, isthmus.RidgeMap  # noqa: B018  (the same)
    rows, fit = SHAPES[shape](n), SYSTEMS[system]
    before = _peak()
    _limit(int(process_time()) + SECONDS)
    began, children = process_time(), _children()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            note = fit(rows)
        status = "done"
    except _OutOfTimeError:
        note, status = None, "time"
    except MemoryError:
        note, status = None, "memory"
    seconds = process_time() - began + _children() - children
    return {
        "shape": shape, "system": system, "n": n, "status": status, "seconds": round(seconds, 2),
        "peak": _peak(), "before": before, "note": note,
    }  # fmt: skip


def _limit(seconds: int) -> None:
    """The system ends the process after so many seconds of processor time; what it is asked for in memory, fails."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) * unit


def _make_pair_fit(make: Callable[[], Any]) -> Fit:
    """A system that learns from known pairs."""

    def fit(rows: Any) -> None:
        make().fit(rows.source, None, rows.target, None, pairs="rows")

    return fit


def _mlhd(**settings: Any) -> Any:
    from isthmus import MLHD

    return MLHD(tol=TOLERANCE, rule="means", **settings)


def _make_label_fit(make: Callable[[], Any]) -> Fit:
    """A system that learns from labels; the note is which solver ran, and its gap."""

    def fit(rows: Any) -> str:
        model = make().fit(rows.source, rows.y, rows.target, rows.known)
        result = getattr(model, "result_", None)
        return "" if result is None else f"{result.solver}, gap {result.relative_gap:.0e}"

    return fit


def _axes(sparse: bool) -> dict[str, Any]:
    from sklearn.decomposition import PCA, TruncatedSVD

    reduction = TruncatedSVD(AXES, random_state=0) if sparse else PCA(AXES, random_state=0)
    return {"source_transformer": reduction, "target_transformer": reduction}


def _isthmus(name: str, **settings: Any) -> Any:
    import isthmus

    return getattr(isthmus, name)(**settings)


def _ridge(rows: Any) -> None:
    from sklearn.linear_model import Ridge

    Ridge().fit(rows.source, _dense(rows.target))


def _orthogonal(rows: Any) -> None:
    import numpy as np
    from scipy.linalg import orthogonal_procrustes

    width = max(rows.source.shape[1], rows.target.shape[1])
    orthogonal_procrustes(*(np.pad(_dense(X), ((0, 0), (0, width - X.shape[1]))) for X in (rows.source, rows.target)))


def _joint(rows: Any) -> tuple[Any, Any]:
    """Rows [x; 0] and [0; y] of one space, with their classes: objects where they are paired."""
    import numpy as np
    import scipy.linalg as sla

    chosen = np.flatnonzero(rows.known >= 0) if not rows.paired else slice(None)
    X = sla.block_diag(_dense(rows.source), _dense(rows.target)[chosen])
    y = np.tile(np.arange(len(rows.y)), 2) if rows.paired else np.concatenate([rows.y, rows.known[chosen]])
    return X, y


def _nca(rows: Any) -> str:
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    X, y = _joint(rows)
    steps = NeighborhoodComponentsAnalysis(n_components=50, init="random", random_state=0).fit(X, y).n_iter_
    return f"{steps} steps"


def _itml(rows: Any) -> str:
    """As many pairs of one class as there are source rows, and as many of two classes, across the domains."""
    import numpy as np

    from benchmarks.itml import run

    X, y = _joint(rows)
    n, rng = len(rows.y), np.random.default_rng(0)
    left, others = np.tile(np.arange(n), 2), np.arange(n, len(X))
    right = rng.choice(others, 2 * n)
    if rows.paired:
        right[:n] = others
    else:  # the first target row of the class, from a random one on
        order = [rng.permutation(others[y[others] == c]) for c in range(int(y.max()) + 1)]
        right[:n] = [order[c][i % len(order[c])] for i, c in enumerate(y[:n])]
    squared = float(np.mean(np.sum(X[left] ** 2, axis=1) + np.sum(X[right] ** 2, axis=1)))
    sign = np.where(y[left] == y[right], 1, -1)
    payload = {"rows": X, "pairs": np.column_stack([left, right]), "sign": sign, "gamma": 1.0, "max_iter": 0}
    try:
        figures, _ = run(payload | {"bounds": np.array([0.5, 1.5]) * squared})
    except subprocess.CalledProcessError as error:
        raise (_OutOfTimeError if error.returncode == -signal.SIGXCPU else MemoryError) from error
    return f"{figures['sweeps']} sweeps"


def _dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X


SYSTEMS: dict[str, Fit] = {
    "RidgeMap": _make_pair_fit(lambda: _isthmus("RidgeMap")),
    "Procrustes": _make_pair_fit(lambda: _isthmus("Procrustes")),
    "CCA": _make_pair_fit(lambda: _isthmus("CCA")),
    "CCA, labels": _make_label_fit(lambda: _isthmus("CCA")),
    "RidgeMap, 100 axes": _make_pair_fit(lambda: _isthmus("RidgeMap", **_axes(sparse=True))),
    "Procrustes, 100 axes": _make_pair_fit(lambda: _isthmus("Procrustes", **_axes(sparse=True))),
    "CCA, 100 axes": _make_pair_fit(lambda: _isthmus("CCA", **_axes(sparse=True))),
    "MLHD, pairs": _make_pair_fit(_mlhd),
    "MLHD, pairs, 100 axes": _make_pair_fit(lambda: _mlhd(**_axes(sparse=False))),
    "MLHD": _make_label_fit(_mlhd),
    "MLHD, 100 axes": _make_label_fit(lambda: _mlhd(**_axes(sparse=True))),
    "MLHD, 1,000 landmarks": _make_label_fit(
        lambda: _mlhd(source_kernel=_isthmus("Landmarks", kernel="linear", n_landmarks=LANDMARKS))
    ),
    "scikit-learn Ridge": _ridge,
    "SciPy orthogonal_procrustes": _orthogonal,
    "metric-learn ITML": _itml,
    "scikit-learn NCA": _nca,
}


if __name__ == "__main__":
    threads.pin()
    name, what, size = sys.argv[1:]
    print(json.dumps(measure(name, what, int(size))))
