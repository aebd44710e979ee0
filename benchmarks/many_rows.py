"""Classifiers, landmarks and rankings on many rows; what makes a table of all pairs of rows, on as many as it can."""

from __future__ import annotations

import resource
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.record import Bar, Options, Record, Verdict, verdict
from benchmarks.task import SEED
from benchmarks.timing import seconds

MANY = 10_000
SIZES = {
    "tlrisk": (MANY, 1.0),
    "pulled-back": (MANY, 5.0),
    "hfa": (MANY, 30.0),
    "feature-augmentation": (MANY, 30.0),
    "cdls": (MANY, 60.0),
    "hcdrank": (MANY, 10.0),
    "kpg-rl": (2_000, 30.0),
    "gw": (500, 10.0),
    "fgw": (500, 10.0),
    "coot": (500, 10.0),
}
"""Rows of either domain, and the seconds allowed; the last four make tables of n_s × n_t numbers."""
CLASSES, LABELS, COLUMNS, PAIRS = 10, 10, (100, 120), 1_000


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """A bar for each system: the time to fit, and that to fit a half of the rows."""
    from isthmus import systems

    for name, (n, bar) in SIZES.items():
        announce(f"{name}, {n:,} + {n:,} rows")
        system = systems()[name]
        promise = f"{name}, {n:,} + {n:,} rows: under {bar:g} s"
        if system.transductive and find_spec("ot") is None:
            record.bars.append(Bar(promise, "POT is not installed", Verdict.NOTE))
            continue
        half, whole = (seconds(partial(_fit_system, system, rows)) for rows in (n // 2, n))
        gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        measured = f"{whole:.2f} s, {half:.2f} s for half of the rows; {gigabytes:.1f} GB at most so far"
        record.bars.append(Bar(promise, measured, verdict(whole < bar)))


def _fit_system(system: Any, n: int) -> Any:
    rows = collections(n, system.equal_features)
    if system.non_negative:
        rows = abs(rows[0]), rows[1], abs(rows[2]), rows[3]
    pairs = {"pairs": np.c_[np.arange(PAIRS), np.arange(PAIRS)]} if system.needs_pairs else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return system.make().fit(*rows, **pairs)


def collections(n: int, equal: bool) -> tuple[Any, Any, Any, Any]:
    """Class means and noise, both standard normal, in either domain; ten labelled target rows per class."""
    rng = np.random.default_rng(SEED)
    y = np.arange(n) % CLASSES
    widths = COLUMNS[:1] * 2 if equal else COLUMNS
    X, Y = (rng.normal(size=(CLASSES, d))[y] + rng.normal(size=(n, d)) for d in widths)
    return X, y, Y, np.where(np.arange(n) < CLASSES * LABELS, y, -1)
