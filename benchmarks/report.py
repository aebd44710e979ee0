"""The table and the bars, for a terminal and for a Markdown file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks import itml_single, systems, task
from benchmarks.record import Bar, Record, Row, SystemRow, Verdict

PATH = Path(__file__).with_name("RESULTS.md")
HEADER = ("task", "system", "CPU seconds", "work", "objective", "above minimum", "stopped by")
SYSTEM_HEADER = (
    "task",
    "system",
    *(f"fit, n_s/{share}" if share > 1 else "fit, n_s" for share in systems.SHARES),
    "grows as",
    f"predict {systems.N_NEW:,}",
    "remark",
)
TASKS = (*task.TASKS, *itml_single.TASKS)
BAR_HEADER = ("", "bar", "measured")
EXPLANATION = f"""\
Learning one metric over two domains (LogDet, slack weight {task.WEIGHT:g}, no alignment) from all source-target
pairs of synthetic classes. Every system gets the same rows, pairs and bounds, and one thread. Timed are:
DualNewton from arrays to the matrix, with a proof of its gap; Bregman projections until the objective is
within 1e-3 of the minimum, compilation excluded; metric-learn from its prior to its matrix, validation and
calibration excluded. Seconds are processor time, medians where runs are short. 'above minimum' is relative
and computed by isthmus from each system's own result. On the digits the metric is over one domain, the pairs
are drawn, half of them of one class, and isthmus is timed from arrays to the matrix."""
SYSTEM_EXPLANATION = f"""\
Every registered system with its defaults on the same synthetic classes, of which it also gets
{systems.N_UNLABELLED} unlabelled target rows each. Processor seconds to fit a quarter, a half and all of the source
rows, the power of n_s that suits those times best, and processor seconds to predict {systems.N_NEW:,} new target
rows; medians where runs are short. A system that warned that it stopped early is marked NOT CONVERGED."""


def text(record: Record, machine: Mapping[str, str]) -> str:
    """For a terminal."""
    parts = [EXPLANATION, "\n".join(f"{key + ':':24s}{value}" for key, value in machine.items())]
    parts.append("\n".join(f"{each}, {each.n_pairs} pairs" for each in TASKS))
    if record.rows:
        parts.append(_align([HEADER, *(_cells(row) for row in record.rows)]))
    if record.systems:
        parts += [SYSTEM_EXPLANATION, _align([SYSTEM_HEADER, *(_system_cells(row) for row in record.systems)])]
    if record.bars:
        parts.append(_align([_bar_cells(bar) for bar in record.bars]))
    return "\n\n".join(parts)


SUMMARY = """\
## Summary

**Question.** How fast are the solvers beside other libraries, and does each part of isthmus keep its promises?

**Answer.** {kept} of {promised} promises of the last table are kept{broken}. Processor seconds to learn a metric:
{times}.

**Limits.** Synthetic classes and digits, one machine, one thread: compare the ratios. The solvers stop by different
rules, which the first table names; its column 'above minimum' says how far each is from the optimum.

**What to do.** Leave the solver at its default. For your sizes see the second table, whose column 'grows as' says
what more rows cost, and [SCALE.md](SCALE.md) for larger data."""


def summarize(record: Record) -> str:
    """Return the summary for practitioners."""
    promises = [bar for bar in record.bars if bar.verdict is not Verdict.NOTE]
    broken = [bar.promise for bar in promises if bar.verdict is not Verdict.PASS]
    tasks = dict.fromkeys(row.task.name for row in record.rows)
    times = [
        f"{name}: " + ", ".join(f"{_seconds(row)} ({row.system})" for row in record.rows if row.task.name == name)
        for name in tasks
    ]
    return SUMMARY.format(
        kept=len(promises) - len(broken),
        promised=len(promises),
        broken=f" (not: {'; '.join(broken)})" if broken else "",
        times=";\n".join(times) or "not measured",
    )


def _seconds(row: Row) -> str:
    return f"{'> ' if row.at_least else ''}{row.seconds:.3g}"


def format_for_file(record: Record, machine: Mapping[str, str]) -> str:
    """For a file."""
    tasks = "\n".join(f"- {each}, {each.n_pairs} pairs" for each in TASKS)
    dated = {"date": date.today().isoformat(), **machine}
    facts = "\n".join(f"- {key}: {value}" for key, value in dated.items())
    tables = [
        _markdown_table([HEADER, *(_cells(row) for row in record.rows)]),
        SYSTEM_EXPLANATION,
        _markdown_table([SYSTEM_HEADER, *(_system_cells(row) for row in record.systems)]),
        _markdown_table([BAR_HEADER, *(_bar_cells(bar) for bar in record.bars)]),
    ]
    made = "Written by `python -m benchmarks --write`; do not edit."
    return "\n\n".join(["# Benchmark results", summarize(record), made, EXPLANATION, facts, tasks, *tables]) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.task.name,
        row.system,
        _seconds(row),
        row.work,
        f"{row.objective:.5f}",
        f"{max(row.task.excess(row.objective), 0.0):.0e}",
        row.stopped,
    )


def _system_cells(row: SystemRow) -> tuple[str, ...]:
    if row.predict is None:
        return row.task.name, row.system, *("–" for _ in range(len(SYSTEM_HEADER) - 3)), row.remark
    power = np.polyfit(np.log(row.n_source), np.log(row.fit), 1)[0].round(1) + 0.0  # no -0.0
    fits = (f"{seconds:.2g}" for seconds in row.fit)
    return row.task.name, row.system, *fits, f"n_s^{power:.1f}", f"{row.predict:.2g}", row.remark


def _bar_cells(bar: Bar) -> tuple[str, ...]:
    return bar.verdict.value, bar.promise, bar.measured


def _align(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _markdown_table(rows: list[tuple[str, ...]]) -> str:
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])
