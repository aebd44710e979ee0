"""An index of a million rows beside bare FAISS, and exact search beside scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.record import Bar, Options, Record, verdict
from benchmarks.task import SEED
from benchmarks.timing import interleaved_medians, seconds

N_ROWS, WIDTH, RANK, K = 1_000_000, 64, 16, 10
N_QUERIES = {"Flat": 200, "HNSW32": 2000, "IVF1000,Flat": 2000}
N_EXACT, N_EXACT_QUERIES = 100_000, 500
OVERHEAD_BAR = 0.15


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """Exact search, then every engine of FAISS over the same million rows."""
    X, Q = _rows()
    repeats = max(3, options.repeats // 3)
    announce(f"exact search among {N_EXACT:,} rows")
    record.bars.append(_exact(X[:N_EXACT], Q[:N_EXACT_QUERIES], repeats))
    truth = np.empty((0, K), np.intp)
    for engine in N_QUERIES:
        announce(f"{engine} over {N_ROWS:,} rows")
        bar, found = _engine(engine, X, Q[: N_QUERIES[engine]], truth, repeats)
        truth = truth if len(truth) else found
        record.bars.append(bar)


def _rows() -> tuple[np.ndarray, np.ndarray]:
    """Rows of 64 columns that lie near 16 dimensions, in groups, as embeddings do."""
    rng = np.random.default_rng(SEED)
    n = N_ROWS + max(N_QUERIES.values())
    axes = rng.normal(size=(RANK, WIDTH)).astype(np.float32)
    groups = 2.0 * rng.normal(size=(1000, RANK)).astype(np.float32)
    meaning = groups[rng.integers(len(groups), size=n)] + rng.normal(size=(n, RANK)).astype(np.float32)
    rows = meaning @ axes
    rows += 0.1 * rng.standard_normal(rows.shape, dtype=np.float32)
    return rows[:N_ROWS], rows[N_ROWS:]


def _model() -> Any:
    """A rotation for either domain: as much work as any linear map."""
    from isthmus import CommonSpace
    from isthmus.geometry.spaces import FeatureSpace

    rng = np.random.default_rng(SEED)
    rotation = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0]
    return CommonSpace(FeatureSpace(WIDTH), FeatureSpace(WIDTH), np.vstack([rotation, rotation]))


def _exact(X: np.ndarray, Q: np.ndarray, repeats: int) -> Bar:
    from sklearn.neighbors import NearestNeighbors

    import isthmus

    index = isthmus.Index(_model(), dtype="float32").add(X, "source")
    index.search(Q[:1], K)
    bare = NearestNeighbors(n_neighbors=K, algorithm="brute").fit(X)
    calls = (lambda: seconds(lambda: index.search(Q, K)), lambda: seconds(lambda: bare.kneighbors(Q)))
    ours, theirs = interleaved_medians(calls, repeats)
    same = float(np.mean(index.search(Q, K).ids == bare.kneighbors(Q)[1]))
    return Bar(
        f"exact index of {len(X):,} x {WIDTH}, {len(Q)} queries: at most {OVERHEAD_BAR:.0%} slower than brute force "
        "of scikit-learn",
        f"{ours / theirs - 1.0:+.1%} ({len(Q) / ours:,.0f} queries per second, scikit-learn {len(Q) / theirs:,.0f}; "
        f"{same:.1%} of the rows the same)",
        verdict(ours <= (1.0 + OVERHEAD_BAR) * theirs),
    )


def _engine(engine: str, X: np.ndarray, Q: np.ndarray, truth: np.ndarray, repeats: int) -> tuple[Bar, np.ndarray]:
    """The engine over all rows, from rows to ids and distances, beside FAISS over points that are there already."""
    import isthmus

    model = _model()
    index = isthmus.Index(model, engine).add(X, "source")
    built = seconds(lambda: index.search(Q[:1], K))
    points = model.embed(Q, "target")
    bare = index._structure.index  # the very structure: two graphs would be slow for two reasons
    calls = (lambda: seconds(lambda: index.search(Q, K)), lambda: seconds(lambda: bare.search(points, K)))
    ours, theirs = interleaved_medians(calls, repeats)
    found = index.search(Q, K).ids
    known = truth if len(truth) else found
    recalls = [_recall(rows[: len(known)], known) for rows in (found, bare.search(points, K)[1])]
    promise = f"{engine} index of {len(X):,} x {WIDTH}, {K} neighbours: overhead below {OVERHEAD_BAR:.0%} of FAISS"
    speed = f"{len(Q) / ours:,.0f} queries per second, bare {len(Q) / theirs:,.0f}"
    recall = f"recall {recalls[0]:.3f}, bare {recalls[1]:.3f}"
    measured = f"{ours / theirs - 1.0:+.1%} ({speed}; {recall}; built in {built:.0f} s)"
    return Bar(promise, measured, verdict(ours < (1.0 + OVERHEAD_BAR) * theirs)), found


def _recall(found: np.ndarray, known: np.ndarray) -> float:
    return float(np.mean([len(np.intersect1d(*both)) / K for both in zip(found, known, strict=True)]))
