"""``transform`` against the bare matrix product that it cannot do without."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.record import Bar, Options, Record, verdict
from benchmarks.task import SEED, Task
from benchmarks.timing import interleaved_medians, seconds

N_ROWS = 100_000
TASK = Task("transform", n_classes=6, n_source=120, n_target=6, d_source=100, d_target=250)
SHARE_BAR = 0.7


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """The share of the product's throughput that ``transform`` reaches, in single precision."""
    from isthmus import MLHD

    announce(f"transform of {N_ROWS} x {TASK.d_target} rows")
    rows = TASK.rows.astype(np.float32)
    X_source = rows[: TASK.n_source, : TASK.d_source]
    X_target = rows[TASK.n_source :, TASK.d_source :]
    model = MLHD().fit(X_source, TASK.source_labels, X_target, TASK.target_labels)
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((N_ROWS, TASK.d_target), dtype=np.float32)
    Z = model.transform(X, domain="target")
    W = rng.standard_normal((TASK.d_target, Z.shape[1]), dtype=np.float32)
    product, transform = interleaved_medians(
        (
            lambda: seconds(lambda: X @ W),
            lambda: seconds(lambda: model.transform(X, domain="target")),
        ),
        max(options.repeats, 5),
    )
    share = product / transform
    shape = f"{N_ROWS:,} x {TASK.d_target}"
    times = f"{transform * 1e3:.0f} ms, product {product * 1e3:.0f} ms"
    record.bars.append(
        Bar(
            f"transform of {shape} float32: at least {SHARE_BAR:.0%} of the throughput of X @ W",
            f"{share:.0%} ({times}; {Z.shape[1]} columns, {Z.dtype})",
            verdict(share >= SHARE_BAR),
        )
    )
