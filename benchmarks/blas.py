"""Small fits with one BLAS thread and with two: the second must not make them slower."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.record import Bar, Options, Record, verdict

FITS = {
    "120 rows, d 100+150": (120, 100, 150),
    "620 rows, d 100+150": (620, 100, 150),
    "1,500 rows, d 50+60": (1500, 50, 60),
}
"""Source rows, and the columns of both domains; as many target rows as a tenth, at least 30."""
SLOWER = 1.1
"""No median ratio above this: what the machine's other programs do to it is of that size."""
ROUNDS = 3
"""Small fits are quick: so many times the usual number of runs."""


def run(record: Record, options: Options, say: Callable[[str], None]) -> None:
    """Add the rows of this section to the record."""
    for name, shape in FITS.items():
        say(f"{name}, one and two BLAS threads")
        rows = domains(*shape)
        fit_model(rows)
        rounds = np.array([both(partial(fit_model, rows), k) for k in range(ROUNDS * options.repeats)])
        (wall, used), (wall_two, used_two) = np.median(rounds, axis=0)
        ratio = float(np.median(rounds[:, 1, 0] / rounds[:, 0, 0]))
        record.bars.append(
            Bar(
                f"MLHD, {name}: two BLAS threads take at most {SLOWER:g} times as long as one",
                f"{ratio:.2f} times ({1e3 * wall_two:.0f} ms against {1e3 * wall:.0f} ms; processor "
                f"{1e3 * used_two:.0f} ms against {1e3 * used:.0f} ms; medians of {len(rounds)} pairs)",
                verdict(ratio <= SLOWER),
            )
        )


def domains(n: int, d_source: int, d_target: int) -> tuple[Any, Any, Any, Any]:
    """Class means and noise, both standard normal, in either domain; every third target row is labelled."""
    random = np.random.default_rng(100)
    y, y_target = np.arange(n) % 5, np.arange(max(30, n // 10)) % 5
    X, T = (
        random.normal(size=(5, d))[z] + random.normal(size=(len(z), d))
        for z, d in ((y, d_source), (y_target, d_target))
    )
    return X - X.mean(axis=0), y, T - T.mean(axis=0), np.where(np.arange(len(T)) % 3 == 0, y_target, -1)


def fit_model(rows: tuple[Any, Any, Any, Any]) -> Any:
    """The fit that is timed, with the defaults."""
    from isthmus import MLHD

    return MLHD().fit(*rows)


def both(fit: Callable[[], Any], k: int) -> list[tuple[float, float]]:
    """The seconds with one thread and with two, one after the other; every other time the second comes first."""
    found = {threads: seconds(fit, threads) for threads in ((1, 2) if k % 2 else (2, 1))}
    return [found[1], found[2]]


def seconds(fit: Callable[[], Any], threads: int) -> tuple[float, float]:
    """Wall and processor seconds of a fit."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads, user_api="blas"):
        began, wall = time.process_time(), time.perf_counter()
        fit()
        return time.perf_counter() - wall, time.process_time() - began
