"""``python -m benchmarks.landmarks``: what landmarks cost in accuracy and objective, and what they save.

Needs the data sets mfeat and debian (``$ISTHMUS_DATA``); prints two tables in Markdown.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import threads

SETS = "digits", "mfeat fac→kar", "Debian en→fr"
SOURCE_ROWS, LABELS, SEEDS, TOLERANCE = 1_400, 3, (100, 101, 102), 1e-4
LANDMARKS = 100, 300, 1_000
AXES = 100
"""Rows of text are reduced to so many dimensions first, by a truncated SVD."""


def main() -> None:
    """Print both tables."""
    threads.pin()
    warnings.simplefilter("ignore")
    print("| data | landmarks | accuracy, exact | accuracy | objective less exact, % | fit, times as fast |")
    print("|---|---|---|---|---|---|")
    for row in comparisons():
        print(row, flush=True)
    print("\n| landmarks | k-means | uniform | leverage | random Fourier features |\n|---|---|---|---|---|")
    for row in kernel_errors():
        print(row, flush=True)


def problem(name: str, seed: int) -> tuple[Any, ...]:
    """Source rows with classes, target rows of other objects, three labels per class, and all target classes."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.pipeline import make_pipeline

    from isthmus._arrays import is_sparse
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


def comparisons() -> Iterator[str]:
    """A row for each data set and number of landmarks, means over seeds."""
    from benchmarks.timing import seconds
    from isthmus import MLHD, Landmarks

    for name in SETS:
        found: dict[int, list[tuple[float, float, float]]] = {}
        for seed in SEEDS:
            *rows, y = problem(name, seed)
            for m in (0, *LANDMARKS):
                model = MLHD(Landmarks("rbf", m) if m else "rbf", "rbf", tol=TOLERANCE, rule="means")
                taken = seconds(lambda model=model, rows=rows: model.fit(*rows))
                right = model.predict(rows[2])[rows[3] < 0] == y[rows[3] < 0]
                found.setdefault(m, []).append((right.mean(), model.result_.primal, taken))
        exact = np.array(found[0])
        for m in LANDMARKS:
            seen = np.array(found[m])
            change = 100 * np.abs(seen[:, 1] / exact[:, 1] - 1).max()
            yield (
                f"| {name} | {m} | {100 * exact[:, 0].mean():.1f} | {100 * seen[:, 0].mean():.1f} | {change:.2f} | "
                f"{np.median(exact[:, 2] / seen[:, 2]):.1f} |"
            )


def kernel_errors() -> Iterator[str]:
    """The relative error (Frobenius) of the source's Gram matrix, mean over data sets and seeds."""
    from sklearn.kernel_approximation import RBFSampler

    from isthmus import RBF, Landmarks

    for m in (30, *LANDMARKS):
        errors: dict[str, list[float]] = {}
        for name in SETS:
            for seed in SEEDS:
                X = problem(name, seed)[0]
                kernel = RBF().resolved(X)
                K = kernel.gram(X, X)
                for sampling in ("kmeans", "uniform", "leverage"):
                    made = Landmarks(kernel, m, sampling, random_state=seed).resolved(X).gram(X, X)
                    errors.setdefault(sampling, []).append(np.linalg.norm(made - K) / np.linalg.norm(K))
                Z = RBFSampler(
                    gamma=0.5 / float(kernel.bandwidth) ** 2, n_components=m, random_state=seed
                ).fit_transform(X)
                errors.setdefault("fourier", []).append(np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K))
        yield f"| {m} | " + " | ".join(f"{np.mean(values):.4f}" for values in errors.values()) + " |"


if __name__ == "__main__":
    main()
