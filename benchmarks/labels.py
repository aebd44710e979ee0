"""LabelTransfer at three sizes, classes all labelled or half of them, beside the target's own self-trained LDA."""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.record import Bar, Options, Record, verdict
from benchmarks.task import SEED
from benchmarks.timing import seconds

SIZES = {(120, 126): 1.0, (2_000, 2_000): 20.0, (20_000, 20_000): 600.0}
"""Rows of source and target, and the seconds allowed."""
CLASSES, LABELS = 6, 3
SETTINGS = {"every class labelled": CLASSES, "half of the classes labelled": CLASSES // 2}


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """A bar for each size and setting."""
    for (n_source, n_target), bar in SIZES.items():
        for setting, labelled in SETTINGS.items():
            announce(f"label transfer, {n_source:,} + {n_target:,} rows, {setting}")
            repeats = 3 if bar < 10.0 else 1
            record.bars.append(_bar(n_source, n_target, setting, labelled, bar, repeats))


def _bar(n_source: int, n_target: int, setting: str, labelled: int, bar: float, repeats: int) -> Bar:
    from isthmus import LabelTransfer
    from isthmus.estimators.controls import SelfTrainedLDA

    *rows, y = collections(n_source, n_target, labelled)
    made: list[Any] = []
    taken = min(seconds(lambda: made.append(LabelTransfer().fit(*rows))) for _ in range(repeats))
    own: list[Any] = []
    alone = min(seconds(lambda: own.append(SelfTrainedLDA().fit(*rows))) for _ in range(repeats))
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    right = [model[-1].score(rows[2], y) for model in (made, own)]
    return Bar(
        f"LabelTransfer, {n_source:,} + {n_target:,} rows, {setting}: under {bar:g} s",
        f"{taken:.2f} s, {taken / alone:.0f} times the target's own LDA; {gigabytes:.1f} GB at most so far; accuracy "
        f"{right[0]:.2f}, LDA {right[1]:.2f}, source used: {made[-1].source_used_}",
        verdict(taken < bar),
    )


def collections(n_source: int, n_target: int, labelled: int) -> tuple[Any, Any, Any, Any, Any]:
    """Noisy linear views, 100 and 150 wide, of other objects; the labels given, and all of them."""
    rng = np.random.default_rng(SEED)
    means = rng.normal(size=(CLASSES, 20))

    def view(n: int, width: int) -> tuple[Any, Any]:
        y = np.arange(n) % CLASSES
        return (means[y] + 1.2 * rng.normal(size=(n, 20))) @ rng.normal(size=(20, width)), y

    (Xs, ys), (Xt, y) = view(n_source, 100), view(n_target, 150)
    given = np.where((np.arange(n_target) < CLASSES * LABELS) & (y < labelled), y, -1)
    return Xs, ys, Xt, given, y
