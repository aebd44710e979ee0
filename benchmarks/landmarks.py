"""``python -m benchmarks.landmarks``: what landmarks cost in accuracy and objective, and what they save; resumable.

Needs the data sets mfeat and debian (``$ISTHMUS_DATA``). Each fit adds a line to ``benchmarks/landmarks.jsonl``, of
which the tables and the figure of docs/scale.md are made.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import lines, threads

RECORDS = Path(__file__).with_name("landmarks.jsonl")
SETS = "digits", "mfeat fac→kar", "Debian en→fr"
SOURCE_ROWS, LABELS, SEEDS, TOLERANCE = 1_400, 3, (100, 101, 102), 1e-4
NUMBERS = 30, 100, 300, 1_000
SAMPLINGS = "kmeans", "uniform", "leverage", "fourier"
AXES = 100
"""Rows of text are reduced to so many dimensions first, by a truncated SVD."""
POINTS, PERCENT = 1.0, 1.0
"""What a thousand landmarks may cost: points of accuracy (mean), percent of the objective (at worst)."""

Problem = tuple[Any, ...]
Run = tuple[str, int, str, int]


def main() -> int:
    """Measure what is missing, write tables and figure; exit status 1 if a bar is not cleared."""
    threads.pin()
    warnings.simplefilter("ignore")
    found = records()
    for name in SETS:
        for seed in SEEDS:
            missing = [run for run in _plan_runs(name, seed) if run not in found]
            rows = problem(name, seed) if missing else ()
            for run in missing:
                print("…", *run, file=sys.stderr, flush=True)
                lines.add(RECORDS, measure(rows, run))
    found = records()
    parts = {"benchmarks.landmarks: fits": fits(found), "benchmarks.landmarks: kernels": kernels(found)}
    lines.fill(lines.DOCS / "scale.md", parts)
    from benchmarks.curves import draw_landmarks

    draw_landmarks(found)
    print("\n".join(parts.values()))
    return int(not all(is_cheap(name, found) for name in SETS))


def problem(name: str, seed: int) -> Problem:
    """Source rows with classes, target rows of other objects, three labels per class, and all target classes."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.pipeline import make_pipeline

    from isthmus._core.validation import is_sparse
    from studies.labels.data import pair_of

    pair, rng = pair_of(name, None), np.random.default_rng(seed)
    order = rng.permutation(pair.source.X.shape[0])
    source, target = np.sort(order[:SOURCE_ROWS]), order[SOURCE_ROWS:]
    sides = []
    for domain, rows in ((pair.source, source), (pair.target, target)):
        steps = [pair.preparation(domain.X), *([TruncatedSVD(AXES, random_state=0)] if is_sparse(domain.X) else [])]
        sides.append(make_pipeline(*steps).fit_transform(domain.X[rows]))
    y = pair.target.y[target]
    known = np.concatenate([np.flatnonzero(y == c)[:LABELS] for c in np.unique(y)])
    given = np.full(len(y), -1)
    given[known] = y[known]
    return sides[0], pair.source.y[source], sides[1], given, y


def measure(rows: Problem, run: Run) -> dict[str, Any]:
    """One fit: accuracy on target rows without a label, objective, seconds; and the error of the source's kernel."""
    from benchmarks.timing import seconds
    from isthmus import MLHD

    X, *others, y = rows
    name, seed, sampling, m = run
    kernel, transformer, error = _source(X, sampling, m, seed)
    model = MLHD(kernel, "rbf", source_transformer=transformer, tol=TOLERANCE, rule="means")
    taken, hidden = seconds(lambda: model.fit(X, *others)), others[2] < 0
    return {
        "data": name, "seed": seed, "sampling": sampling, "m": m, "seconds": round(taken, 3),
        "accuracy": float((model.predict(others[1])[hidden] == y[hidden]).mean()), "objective": model.result_.primal,
        "gap": model.result_.relative_gap, "solver": model.result_.solver, "kernel_error": error,
    }  # fmt: skip


def _source(X: Any, sampling: str, m: int, seed: int) -> tuple[Any, Any, float]:
    """A kernel for the source, what its rows go through before, and the relative error of its Gram matrix."""
    from sklearn.kernel_approximation import RBFSampler

    from isthmus import RBF, Landmarks

    if sampling == "exact":
        return "rbf", None, 0.0
    exact = RBF().resolve(X)
    K = exact.gram(X, X)
    if sampling == "fourier":
        features = RBFSampler(gamma=0.5 / float(exact.bandwidth) ** 2, n_components=m, random_state=seed)
        Z = features.fit_transform(X)
        return "linear", features, float(np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K))
    kernel = Landmarks("rbf", m, random_state=seed)
    return kernel, None, float(np.linalg.norm(kernel.resolve(X).gram(X, X) - K) / np.linalg.norm(K))


def column(found: dict[Run, dict[str, Any]], name: str, sampling: str, m: int, key: str) -> Any:
    """One figure of all seeds that a way to choose landmarks has."""
    return np.array([found[name, seed, sampling, m][key] for seed in _seeds(sampling)])


def changes(found: dict[Run, dict[str, Any]], name: str, sampling: str, m: int) -> Any:
    """By how many percent the objective differs from the exact kernel's, for each seed."""
    exact = column(found, name, "exact", 0, "objective")[: len(_seeds(sampling))]
    return 100 * np.abs(column(found, name, sampling, m, "objective") / exact - 1)


def is_cheap(name: str, found: dict[Run, dict[str, Any]]) -> bool:
    """Whether a thousand landmarks by k-means cost no more than they may."""
    exact, seen = (column(found, name, *which, "accuracy") for which in (("exact", 0), ("kmeans", NUMBERS[-1])))
    near = 100 * abs(float(seen.mean() - exact.mean())) <= POINTS
    return bool(near and changes(found, name, "kmeans", NUMBERS[-1]).max() <= PERCENT)


def fits(found: dict[Run, dict[str, Any]]) -> str:
    """A row for each data set and number of landmarks: means over seeds, the objective's change at its worst."""
    head = ("data", "landmarks", "accuracy, exact", "accuracy", "objective less exact, %", "fit, times as fast")
    rows = []
    for name in SETS:
        right, taken = (column(found, name, "exact", 0, key) for key in ("accuracy", "seconds"))
        for m in NUMBERS[1:]:
            seen, quick = (column(found, name, "kmeans", m, key) for key in ("accuracy", "seconds"))
            cells = f"{100 * right.mean():.1f}", f"{100 * seen.mean():.1f}"
            change = f"{changes(found, name, 'kmeans', m).max():.2f}"
            rows.append((name, m, *cells, change, f"{np.median(taken / quick):.1f}"))
    return lines.table(head, rows)


def kernels(found: dict[Run, dict[str, Any]]) -> str:
    """The relative error (Frobenius) of the source's Gram matrix, mean over data sets (k-means: and seeds)."""
    head = ("landmarks", "k-means", "uniform", "leverage", "random Fourier features")
    rows = []
    for m in NUMBERS:
        errors = [np.mean([column(found, name, s, m, "kernel_error") for name in SETS]) for s in SAMPLINGS]
        rows.append((m, *(f"{error:.4f}" for error in errors)))
    return lines.table(head, rows)


def _plan_runs(name: str, seed: int) -> list[Run]:
    # Rows at random and by leverage were measured when the library had them: their records are shown, not made.
    chosen = [sampling for sampling in ("kmeans", "fourier") if seed in _seeds(sampling)]
    return [(name, seed, "exact", 0), *((name, seed, sampling, m) for m in NUMBERS for sampling in chosen)]


def _seeds(sampling: str) -> tuple[int, ...]:
    """All for what a promise is about; the first for what it is compared with."""
    return SEEDS if sampling in ("exact", "kmeans") else SEEDS[:1]


def records() -> dict[Run, dict[str, Any]]:
    """What was measured so far."""
    return {(r["data"], r["seed"], r["sampling"], r["m"]): r for r in lines.read(RECORDS)}


if __name__ == "__main__":
    sys.exit(main())
