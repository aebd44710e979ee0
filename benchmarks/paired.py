"""MLHD with known pairs: the seconds that a certified fit takes, by the number of pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.record import Bar, Options, Record, verdict
from benchmarks.task import SEED, Array
from benchmarks.timing import median_seconds

SIZES = (30, 100, 300)
SECONDS_BAR, GAP_BAR = 3.0, 1e-6
"""For the most pairs."""
N_ROWS, N_HIDDEN, NOISE = 1000, 60, 0.5
WIDTHS = {"narrow": (64, 20), "wide": (800, 600)}
"""Columns of either domain: fewer than pairs, and more."""


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """One bar per width: the median seconds of the fit, and the largest gap that was certified."""
    from isthmus import MLHD

    for name, widths in WIDTHS.items():
        announce(f"MLHD with known pairs, {name}")
        source, target = _views(*widths)
        times, gaps = [], []
        for n in SIZES:
            fit = partial(MLHD().fit, source, None, target, None, pairs=np.c_[np.arange(n), np.arange(n)])
            times.append(median_seconds(fit, min(options.repeats, 5)))
            gaps.append(abs(fit().result_.relative_gap))
        record.bars.append(
            Bar(
                f"MLHD, {SIZES[-1]} known pairs, {widths[0]}+{widths[1]} columns: under {SECONDS_BAR:g} s, certified "
                f"to {GAP_BAR:.0e}",
                f"{', '.join(f'{t:.2g}' for t in times)} s with {', '.join(map(str, SIZES))} pairs; "
                f"gap at most {max(gaps):.0e}",
                verdict(times[-1] < SECONDS_BAR and max(gaps) <= GAP_BAR),
            )
        )


def _views(*widths: int) -> tuple[Array, ...]:
    """The same objects seen in two ways, with noise; each domain centred."""
    rng = np.random.default_rng(SEED)
    hidden = rng.standard_normal((N_ROWS, N_HIDDEN))
    views = (hidden @ rng.standard_normal((N_HIDDEN, d)) / np.sqrt(N_HIDDEN) for d in widths)
    noisy = [X + NOISE * rng.standard_normal(X.shape) for X in views]
    return tuple(X - X.mean(axis=0) for X in noisy)
