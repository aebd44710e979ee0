"""An adapter's ridge regression against scikit-learn's, and a million rows through an adapter."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap

from benchmarks.record import Bar, Options, Record, Verdict, verdict
from benchmarks.task import SEED
from benchmarks.timing import interleaved_medians, seconds

N_PAIRS, D_IN, D_OUT = 5000, 768, 1536
RATIO_BAR = 3.0
N_ROWS, WIDTH, BLOCK = 1_000_000, 64, 50_000
MEGABYTES_BAR = 100.0


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """One map with its leave-one-out penalty, the adapter with all of its figures, and a stream."""
    X, Y = _two_models()
    announce(f"ridge of {N_PAIRS} x ({D_IN} to {D_OUT})")
    record.bars.append(_ridge(X, Y, max(3, options.repeats // 3)))
    announce(f"an adapter from {N_PAIRS} pairs, with its figures")
    record.bars.append(_adapter(X, Y))
    announce(f"{N_ROWS} rows through an adapter")
    record.bars.append(_stream())


def _two_models() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(SEED)
    meaning = rng.normal(size=(N_PAIRS, 200)) * np.geomspace(1.0, 0.05, 200)
    X, Y = (meaning @ rng.normal(size=(200, d)) + 0.1 * rng.normal(size=(N_PAIRS, d)) for d in (D_IN, D_OUT))
    return X, Y


def _ridge(X: np.ndarray, Y: np.ndarray, repeats: int) -> Bar:
    from sklearn.linear_model import Ridge

    from isthmus.maps.regression import fit_ridge

    penalty = fit_ridge(X, Y).penalty
    calls = (lambda: seconds(lambda: fit_ridge(X, Y)), lambda: seconds(lambda: Ridge(alpha=penalty).fit(X, Y)))
    ours, theirs = interleaved_medians(calls, repeats)
    return Bar(
        f"ridge of {N_PAIRS:,} x ({D_IN} to {D_OUT:,}) and its leave-one-out penalty: at most {RATIO_BAR:g}x one "
        "Ridge of scikit-learn with the penalty given",
        f"{ours / theirs:.1f}x ({ours:.2f} s, scikit-learn {theirs:.2f} s)",
        verdict(ours <= RATIO_BAR * theirs),
    )


def _adapter(X: np.ndarray, Y: np.ndarray) -> Bar:
    import isthmus

    took = seconds(lambda: isthmus.migrate(X, Y))
    said = "migrate: both maps, the curve over the number of pairs, controls"
    return Bar(f"{said}, {N_PAIRS:,} x ({D_IN}, {D_OUT:,})", f"{took:.1f} s", Verdict.NOTE)


def _stream() -> Bar:
    import isthmus

    rng = np.random.default_rng(SEED)
    few = rng.normal(size=(200, WIDTH))
    adapter = isthmus.migrate(few, few @ rng.normal(size=(WIDTH, WIDTH)))
    with tempfile.TemporaryDirectory() as folder:
        shape = (N_ROWS, WIDTH)
        X = open_memmap(Path(folder) / "rows.npy", "w+", np.float32, shape)
        X[:] = 1.0
        out = open_memmap(Path(folder) / "mapped.npy", "w+", np.float32, shape)
        adapter.to_old(X[:1])  # what is made once, for single precision, is not counted

        def map_all() -> None:
            for start in range(0, N_ROWS, BLOCK):
                out[start : start + BLOCK] = adapter.to_old(X[start : start + BLOCK])

        tracemalloc.start()
        took = seconds(map_all)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    megabytes = peak / 1e6
    return Bar(
        f"{N_ROWS:,} rows of {WIDTH} columns from file to file: at most {MEGABYTES_BAR:g} MB beside the files",
        f"{megabytes:.0f} MB ({took:.1f} s)",
        verdict(megabytes <= MEGABYTES_BAR),
    )
