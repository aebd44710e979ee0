"""Many unlabelled rows under a kernel: the span of labelled rows and the mean, against the span of all rows."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.record import Bar, Options, Record, verdict
from benchmarks.task import SEED
from benchmarks.timing import interleaved_medians, seconds

N_SOURCE, N_LABELLED, D_SOURCE, D_TARGET, N_CLASSES = 200, 15, 30, 20, 5
COMPARED, LARGE = 5_000, 20_000
"""Target rows where the earlier way runs too, and where it would need gigabytes."""
RATIO_BAR, MEGABYTES_BAR, PICKLE_BAR = 10.0, 300.0, 10.0


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """How much faster and smaller a fit is, and what the large one takes."""
    announce(f"RBF kernel, {COMPARED} and {LARGE} target rows")
    data = _rows(COMPARED)
    few, every = interleaved_medians(
        (lambda: seconds(lambda: _fit(data)), lambda: seconds(lambda: _fit(data, outside="zero"))),
        1,
    )
    peaks = [_peak(lambda k=kind: _fit(data, outside=k))[0] for kind in ("identity", "zero")]
    record.bars.append(
        Bar(
            f"RBF, {COMPARED:,} target rows: at least {RATIO_BAR:.0f}x faster than through the span of all rows",
            f"{every / few:.0f}x ({few:.2f} s, {every:.1f} s); memory {peaks[0]:.0f} MB, {peaks[1]:.0f} MB",
            verdict(every / few >= RATIO_BAR),
        )
    )
    data = _rows(LARGE)
    peak, model = _peak(lambda: _fit(data))
    size = len(pickle.dumps(model)) / 1e6
    record.bars.append(
        Bar(
            f"RBF, {LARGE:,} target rows: under {MEGABYTES_BAR:.0f} MB beside the data, pickle {PICKLE_BAR:.0f}",
            f"{peak:.0f} MB, pickle {size:.1f} MB, {seconds(lambda: _fit(data)):.1f} s",
            verdict(peak < MEGABYTES_BAR and size < PICKLE_BAR),
        )
    )


def _rows(n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(SEED)
    y_source, classes = np.arange(N_SOURCE) % N_CLASSES, np.arange(n) % N_CLASSES
    X_source = rng.normal(size=(N_SOURCE, D_SOURCE)) + 3.0 * rng.normal(size=(N_CLASSES, D_SOURCE))[y_source]
    X_target = rng.normal(size=(n, D_TARGET)) + 3.0 * rng.normal(size=(N_CLASSES, D_TARGET))[classes]
    return X_source, y_source, X_target, np.where(np.arange(n) < N_LABELLED, classes, -1)


def _fit(data: tuple[Any, ...], **options: Any) -> Any:
    from isthmus import MLHD

    return MLHD("rbf", "rbf", **options).fit(*data)


def _peak(call: Callable[[], Any]) -> tuple[float, Any]:
    """Megabytes that were held at once, and what came out."""
    tracemalloc.start()
    try:
        made = call()
        return tracemalloc.get_traced_memory()[1] / 1e6, made
    finally:
        tracemalloc.stop()
