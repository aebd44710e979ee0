"""Twenty typical calls with the default number of BLAS threads and with one, idle and beside two busy loops.

``python -m benchmarks.thread_calls`` writes THREADS.md. Times are wall times, since threads that spin cost those;
both ways of a call take turns, and the ratio is the median over the rounds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

PAGE = Path(__file__).with_name("THREADS.md")
BAR, ROUNDS, N_LOOPS = 1.2, 3, 2
SHORTEST = 0.05
"""A round repeats a call for at least so many seconds."""


def make_calls() -> dict[str, Callable[[], Any]]:
    """Digits (64 and 36 columns) and made embeddings; models are fitted once, outside of the times."""
    import numpy as np
    from sklearn.datasets import load_digits

    import isthmus

    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    A, B = X / 16.0, X.reshape(-1, 8, 8)[:, 1:7, 1:7].reshape(-1, 36) / 16.0 @ rng.normal(size=(36, 36))
    few, half = slice(0, 300), np.where(np.arange(300) % 3 == 0, y[:300], -1)
    H = rng.normal(size=(6000, 60))
    P, Q = (H @ rng.normal(size=(60, d)) + 0.3 * rng.normal(size=(6000, d)) for d in (256, 384))
    labels = A[few], y[few], B[few], half
    pairs = A[few], None, B[few], None
    mlhd, ridge = isthmus.MLHD().fit(*labels), isthmus.RidgeMap().fit(*pairs, pairs="rows")
    adapter = isthmus.migrate(A[few], B[few], kind="ridge")
    index = isthmus.Index(ridge).add(A, "source")
    return {
        "MLHD.fit, 300 rows": lambda: isthmus.MLHD().fit(*labels),
        "MLHD.fit, 100 pairs": lambda: isthmus.MLHD().fit(A[:100], None, B[:100], None, pairs="rows"),
        "RidgeMap.fit, 300 pairs": lambda: isthmus.RidgeMap().fit(*pairs, pairs="rows"),
        "RidgeMap.fit, 6,000 pairs": lambda: isthmus.RidgeMap().fit(P, None, Q, None, pairs="rows"),
        "Procrustes.fit, 300 pairs": lambda: isthmus.Procrustes().fit(*pairs, pairs="rows"),
        "Procrustes.fit, 6,000 pairs": lambda: isthmus.Procrustes().fit(P, None, Q, None, pairs="rows"),
        "CCA.fit, 300 pairs": lambda: isthmus.CCA().fit(*pairs, pairs="rows"),
        "CCA.fit, 6,000 pairs": lambda: isthmus.CCA().fit(P, None, Q, None, pairs="rows"),
        "KCCA.fit, 300 rows": lambda: isthmus.KCCA().fit(*labels),
        "ITML.fit, 300 rows": lambda: isthmus.ITML(random_state=0).fit(A[few], y[few]),
        "migrate, 300 pairs": lambda: isthmus.migrate(A[few], B[few]),
        "match, 300 rows, 30 pairs": lambda: isthmus.match(A[few], B[few], pairs=np.c_[:30, :30]),
        "MLHD.predict": lambda: mlhd.predict(B),
        "MLHD.transform": lambda: mlhd.transform(B),
        "MLHD.pairwise_distances": lambda: mlhd.pairwise_distances(A, B),
        "MLHD.kneighbors": lambda: mlhd.kneighbors(B, 5),
        "RidgeMap.search": lambda: ridge.search(B, A, 10),
        "Index.search": lambda: index.search(B, 10),
        "Adapter.to_old": lambda: adapter.to_old(B),
        "Adapter.similarity": lambda: adapter.similarity(B, A),
    }


@contextmanager
def busy_loops(n: int) -> Iterator[None]:
    """Keep n processes busy."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def measure(call: Callable[[], Any]) -> float:
    """The median ratio of the default to one thread."""
    from threadpoolctl import threadpool_limits

    began = time.perf_counter()
    call()
    repeats = max(1, int(SHORTEST / (time.perf_counter() - began)))

    def seconds(limit: int | None) -> float:
        with threadpool_limits(limit):
            began = time.perf_counter()
            for _ in range(repeats):
                call()
            return time.perf_counter() - began

    rounds = []
    for k in range(ROUNDS):
        found = {limit: seconds(limit) for limit in ((1, None) if k % 2 else (None, 1))}
        rounds.append(found[None] / found[1])
    return median(rounds)


def main() -> int:
    """Measure all calls, write the page; exit status 1 where a call is above the bar."""
    warnings.simplefilter("ignore")
    calls, ratios = make_calls(), {}
    for n in (0, N_LOOPS):
        with busy_loops(n):
            for name, call in calls.items():
                ratios[name, n] = measure(call)
                print(f"{name}, {n} busy loops: {ratios[name, n]:.2f}", flush=True)
    lines = [
        "# Default threads against one thread",
        "",
        f"Written by `python -m benchmarks.thread_calls`. Wall time with the default number of BLAS threads over "
        f"that with one, medians of {ROUNDS} interleaved rounds on {os.cpu_count()} cores; a load of "
        f"{os.getloadavg()[1]:.1f} by then, {N_LOOPS} of it from the busy loops. The bar is {BAR:g}.",
        "",
        "| call | no busy loops of ours | beside two busy loops |",
        "|---|---|---|",
        *(f"| {name} | {ratios[name, 0]:.2f} | {ratios[name, N_LOOPS]:.2f} |" for name in calls),
        "",
        f"Above the bar: {sum(ratio > BAR for ratio in ratios.values())} of {len(ratios)}.",
    ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return int(max(ratios.values()) > BAR)


if __name__ == "__main__":
    sys.exit(main())
