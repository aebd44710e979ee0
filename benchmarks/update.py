"""``python -m benchmarks.update``: new labels for target rows, by ``update`` and by a fit to all rows."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks import threads

SIZES = ((60, 5, 9), (150, 60, 9), (500, 60, 5), (5_000, 60, 3), (100_000, 60, 1))
"""Source rows, columns of either domain, and how often it is measured."""
LABELLED, UNLABELLED, CLASSES = 30, 170, 6
TOLERANCE = 1e-6


def rows(n: int, d: int, seed: int = 100) -> tuple[Any, Any, Any, Any]:
    """Class means plus noise in either domain, the target's labels all known."""
    import numpy as np

    rng, y = np.random.default_rng(seed), np.arange(n) % CLASSES
    y_target = np.arange(LABELLED + UNLABELLED) % CLASSES
    source, target = (rng.normal(size=(CLASSES, d))[c] + rng.normal(size=(len(c), d)) for c in (y, y_target))
    return source - source.mean(axis=0), y, target - target.mean(axis=0), y_target


def compare_update(n: int, d: int, repeats: int, more: int, kernel: str = "linear") -> float:
    """Print what an update with so many more labels costs; its objective's distance from that of a fresh fit."""
    import numpy as np

    from benchmarks.timing import interleaved_medians, seconds
    from isthmus import MLHD

    X, y, X_target, y_target = rows(n, d)
    few, many = (np.where(np.arange(len(y_target)) < k, y_target, -1) for k in (LABELLED, LABELLED + more))
    made: dict[str, Any] = {}

    def fresh() -> float:
        made["fresh"] = MLHD(kernel, kernel, tol=TOLERANCE)
        return seconds(lambda: made["fresh"].fit(X, y, X_target, many))

    def updated() -> float:
        made["updated"] = MLHD(kernel, kernel, tol=TOLERANCE).fit(X, y, X_target, few)
        return seconds(lambda: made["updated"].update(y_target=many))

    times = interleaved_medians((updated, fresh), repeats)
    a, b = made["updated"], made["fresh"]
    apart = abs(a.result_.primal - b.result_.primal) / max(1.0, abs(b.result_.primal))
    print(
        f"{n} rows, {kernel}, {b.result_.solver}, {more} more label(s): update {times[0]:.3g} s, "
        f"fresh {times[1]:.3g} s, ratio {times[0] / times[1]:.2f}; steps {a.n_iter_} and {b.n_iter_}, "
        f"objectives {apart:.0e} apart",
        flush=True,
    )
    return float(apart)


def main() -> int:
    """Print all comparisons; exit status 1 if an optimum is another one."""
    apart = [compare_update(n, d, repeats, more) for n, d, repeats in SIZES for more in (1, 10)]
    apart += [compare_update(500, 60, 3, more, "rbf") for more in (1, 10)]
    return int(max(apart) > 2 * TOLERANCE)


if __name__ == "__main__":
    threads.pin()
    sys.exit(main())
