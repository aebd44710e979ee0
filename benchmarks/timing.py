"""Repeated timing, in seconds of processor time.

With one thread that is the time on an idle machine; unlike wall time it hardly counts what other programs do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.process_time()
    call()
    return time.process_time() - began


def median_seconds(call: Callable[[], object], repeats: int) -> float:
    """The median over ``repeats`` calls."""
    return median(seconds(call) for _ in range(repeats))


def interleaved_medians(calls: tuple[Callable[[], float], ...], repeats: int) -> list[float]:
    """The median of what each call returns; they take turns, so that a slow minute hits all of them."""
    rounds = [[call() for call in calls] for _ in range(repeats)]
    return [median(values) for values in zip(*rounds, strict=True)]
