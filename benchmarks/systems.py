"""Every registered system on every task: the time to fit, how it grows with the source, and the time to predict."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

from benchmarks.record import Options, Record, SystemRow
from benchmarks.task import TASKS, Array, Task
from benchmarks.timing import seconds
from isthmus import systems
from isthmus.exceptions import ConvergenceWarning
from isthmus.study.registry import System

N_UNLABELLED = 10
"""Unlabelled target rows of every class that a system may learn from."""
N_NEW = 1000
"""Target rows to predict."""
SHARES = (4, 2, 1)
"""The source sizes to fit: n_s divided by these."""
PATIENCE = 1.5
"""Seconds of repeats after which one more is not worth it."""


@dataclass(frozen=True)
class Data:
    """What a system is given, and new target rows."""

    fit: tuple[Array, NDArray[np.intp], Array, NDArray[np.intp]]
    new: Array

    @property
    def pairs(self) -> NDArray[np.intp]:
        """Each labelled target row with a source row of its class, which no other has (m, 2)."""
        _, y_source, _, y_target = self.fit
        found = []
        for label in np.unique(y_target[y_target >= 0]):
            rows = zip(np.flatnonzero(y_source == label), np.flatnonzero(y_target == label), strict=False)
            found += list(rows)
        return np.array(found)

    @property
    def positive(self) -> Data:
        """The same rows without signs."""
        X_source, y_source, X_target, y_target = self.fit
        return Data((abs(X_source), y_source, abs(X_target), y_target), abs(self.new))

    @property
    def known(self) -> Data:
        """The same with rows of the fit in place of new ones."""
        return Data(self.fit, np.resize(self.fit[2], self.new.shape))

    def cut(self, width: int) -> Data:
        """The same rows with their first columns only."""
        X_source, y_source, X_target, y_target = self.fit
        return Data((X_source[:, :width], y_source, X_target[:, :width], y_target), self.new[:, :width])


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """One row for every system on every task."""
    for task in TASKS:
        data = [_data(replace(task, n_source=task.n_source // share)) for share in SHARES]
        for system in systems():
            announce(f"{task.name}: {system.name}")
            record.systems.append(_row(system, task, data, options.repeats))


def _row(system: System, task: Task, data: list[Data], repeats: int) -> SystemRow:
    n_source, remark = tuple(len(part.fit[0]) for part in data), ""
    if system.transductive and find_spec("ot") is None:
        return SystemRow(system.name, task, n_source, (), None, "POT is not installed")
    if system.equal_features:
        width = min(task.d_source, task.d_target)
        data, remark = [part.cut(width) for part in data], f"on the first {width} columns of either domain"
    if system.non_negative:
        data, remark = [part.positive for part in data], "on absolute values"
    if system.transductive:
        data, remark = [part.known for part in data], "predicts rows of the fit"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fits = tuple(_median(lambda part=part: _fit_system(system, part), repeats) for part in data)
        model = _fit_system(system, data[-1])
        predict = _median(lambda: model.predict(data[-1].new), repeats)
    if any(issubclass(w.category, ConvergenceWarning | SklearnConvergenceWarning) for w in caught):
        remark = f"NOT CONVERGED {remark}".rstrip()
    return SystemRow(system.name, task, n_source, fits, predict, remark)


def _fit_system(system: System, data: Data) -> Any:
    """Systems that learn from pairs alone are given some."""
    if system.needs_pairs:
        return system.make().fit(*data.fit, pairs=data.pairs)
    return system.make().fit(*data.fit)


def _median(call: Callable[[], object], repeats: int) -> float:
    """The median of as many runs as there is patience for: one, where that is slow."""
    times = [seconds(call)]
    while len(times) < repeats and sum(times) < PATIENCE:
        times.append(seconds(call))
    return median(times)


def _data(task: Task) -> Data:
    """The task's rows, and further target rows of the same classes: some to learn from, some to predict."""
    n_labelled = task.n_target // task.n_classes
    n_known = n_labelled + N_UNLABELLED
    n_each = n_known - (-N_NEW // task.n_classes)
    more = replace(task, n_target=n_each * task.n_classes)
    target, place = more.rows[more.n_source :, more.d_source :], np.arange(more.n_target) % n_each
    known = place < n_known  # rows are sorted by class, n_each to a class
    labels = np.where(place < n_labelled, more.target_labels, -1)
    source = more.rows[: more.n_source, : more.d_source]
    return Data((source, more.source_labels, target[known], labels[known]), target[~known][:N_NEW])
