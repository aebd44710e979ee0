"""All systems on all tasks, and the bars on their times. A new system is one more entry of ``SYSTEMS``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks import bregman, itml, newton
from benchmarks.record import Bar, Options, Record, Row, Verdict, verdict
from benchmarks.task import LARGE, SMALL, TASKS, Task

SYSTEMS: dict[str, Callable[[Task, Options], Row]] = {
    newton.NAME: newton.measure,
    bregman.NAME: bregman.measure,
    itml.NAME: itml.measure,
}
BREGMAN_BAR, ITML_BAR, SWEEP_BAR = 30.0, 100.0, 10.0


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """Every system on every task, then the bars."""
    measured: dict[tuple[str, str], Row] = {}
    for task in TASKS:
        for name, measure in SYSTEMS.items():
            announce(f"{task.name}: {name}")
            record.rows.append(measure(task, options))
            measured[name, task.name] = record.rows[-1]
    record.bars.extend(_bars(measured))
    announce(f"{LARGE.name}: memory of {newton.NAME}")
    record.bars.append(newton.memory_bar(LARGE))


def _bars(measured: dict[tuple[str, str], Row]) -> Iterator[Bar]:
    yield _speed_bar(
        f"{LARGE.name}: certified optimum in less than 1/{SWEEP_BAR:.0f} of one metric-learn sweep",
        measured[itml.NAME, LARGE.name],
        measured[newton.NAME, LARGE.name],
        SWEEP_BAR,
    )
    yield _speed_bar(
        f"{SMALL.name}: at least {ITML_BAR:.0f}x faster than metric-learn to its own tolerance",
        measured[itml.NAME, SMALL.name],
        measured[newton.NAME, SMALL.name],
        ITML_BAR,
    )
    yield _speed_bar(
        f"{LARGE.name}: at least {BREGMAN_BAR:.0f}x faster than compiled Bregman to {bregman.EXCESS:.0e}",
        measured[bregman.NAME, LARGE.name],
        measured[newton.NAME, LARGE.name],
        BREGMAN_BAR,
    )
    ratio = measured[bregman.NAME, SMALL.name].seconds / measured[newton.NAME, SMALL.name].seconds
    yield Bar(f"{SMALL.name}: faster than compiled Bregman to {bregman.EXCESS:.0e}", f"{ratio:.1f}x", Verdict.NOTE)


def _speed_bar(promise: str, slow: Row, fast: Row, bar: float) -> Bar:
    ratio = slow.seconds / fast.seconds
    return Bar(promise, f"{'>' if slow.at_least else ''}{ratio:.1f}x", verdict(ratio >= bar, slow.at_least))
