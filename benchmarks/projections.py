"""The systems of one joint eigenproblem, and HeMap, at three sizes: seconds, growth, and how often CCA's time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.labels import collections
from benchmarks.record import Bar, Options, Record, verdict
from benchmarks.timing import seconds

SIZES = (2_500, 5_000, 10_000)
"""Rows of either domain; a bar is about the last."""
ALL_LABELLED = 6
CERTIFIED = 1e-8


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """A bar for each system."""
    from isthmus import CCA, HeMap, systems

    named = ("cdspp", "cdspp-self", "mtda", "dama", "manifold-alignment", "hemap")
    made: dict[str, tuple[Callable[[], Any], float]] = {
        name: (systems()[name].make, 20.0 if name in ("dama", "manifold-alignment") else 5.0) for name in named
    }
    made["hemap, pairs from labels"] = partial(HeMap, correspondence="labels"), 5.0
    data = [collections(n, n, ALL_LABELLED)[:4] for n in SIZES]
    for name, (make, bar) in made.items():
        announce(f"projections, {SIZES[-1]:,} + {SIZES[-1]:,} rows: {name}")
        record.bars.append(_bar(name, make, bar, data, CCA))


def _bar(name: str, make: Callable[[], Any], bar: float, data: list[Any], base: Callable[[], Any]) -> Bar:
    fits = [_time_fit(make, rows, _pairs(make, rows)) for rows in data]
    model, taken = fits[-1]
    beside = min(_time_fit(base, data[-1], _pairs(make, data[-1]))[1] for _ in range(2))
    growth = np.polyfit(np.log(SIZES), np.log([max(time, 1e-3) for _, time in fits]), 1)[0]
    n = f"{SIZES[-1]:,}"
    return Bar(
        f"{name}, {n} + {n} rows, 100 and 150 columns: under {bar:g} s, residual at most {CERTIFIED:g}",
        f"{taken:.2f} s, {taken / beside:.1f} times CCA on the same; grows as n^{growth:.1f}; residual "
        f"{model.residual_:.0e}",
        verdict(taken < bar and model.residual_ <= CERTIFIED),
    )


def _pairs(make: Callable[[], Any], rows: Any) -> Any:
    """Half of the rows, in their order, for a system that needs pairs."""
    half = np.arange(len(rows[0]) // 2)
    return np.c_[half, half] if make().needs_pairs else None


def _time_fit(make: Callable[[], Any], rows: Any, pairs: Any) -> tuple[Any, float]:
    """The fitted system, and the processor seconds of the fit: the shorter of two where it is short."""
    model = make()
    times = [seconds(lambda: model.fit(*rows, pairs=pairs))]
    if times[0] < 2.0:
        times.append(seconds(lambda: model.fit(*rows, pairs=pairs)))
    return model, min(times)
