"""What is still to be done, and doing it: trials side by side, nothing lost when the run is stopped."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from itertools import chain

import joblib

from isthmus.study.design import Design
from isthmus.study.progress import Progress
from isthmus.study.records import InFolder, Key, Record
from isthmus.study.rows import Trial
from isthmus.study.trials import run_trial

SECONDS_BETWEEN_LOOKS = 0.5
"""How often a worker looks whether the process that started it is still there."""


@dataclass(frozen=True)
class Plan:
    """Trials of a study, and the columns (None: all) and settings that each should have."""

    design: Design
    variants: tuple[str, ...]
    settings: tuple[str, ...]
    seeds: tuple[int, ...]
    systems: tuple[str, ...] | None = None

    def cells(self) -> list[tuple[str, str]]:
        """The columns and settings of every trial."""
        return [cell for cell in self.design.cells(self.settings) if self.systems is None or cell[0] in self.systems]

    def keys(self) -> Iterator[tuple[Key, str]]:
        """The records that the finished plan has, each with its fingerprint."""
        cells = self.cells()
        for trial in self.design.trials(self.variants, self.seeds):
            for cell in cells:
                yield (self.design.name, *trial, *cell), self.design.fingerprint(trial.variant, *cell)

    def stale(self, records: Mapping[Key, Record]) -> set[Key]:
        """Records of this plan that something else has produced: another system, other rows, another version."""
        return {key for key, mark in self.keys() if key in records and records[key].fingerprint != mark}

    def missing(self, records: Mapping[Key, Record]) -> list[tuple[Trial, list[tuple[str, str]]]]:
        """Trials that are not finished, with what each lacks."""
        done, cells = records.keys() - self.stale(records), self.cells()
        lacking = [
            (trial, [cell for cell in cells if (self.design.name, *trial, *cell) not in done])
            for trial in self.design.trials(self.variants, self.seeds)
        ]
        return [(trial, lacks) for trial, lacks in lacking if lacks]

    def chosen(self, records: Mapping[Key, Record]) -> list[Record]:
        """Of all records, those of this plan."""
        return [records[key] for key, _ in self.keys() if key in records]


def carry_out(
    plan: Plan, results: InFolder | None = None, *, n_jobs: int = 1, progress: Progress | None = None
) -> list[Record]:
    """Run what is missing of a plan and return its records; what is there, and is of this study, is not run again.

    Every trial is written when it is finished. When the run is interrupted, what is finished stays. Without a place
    for results, they are in memory only.
    """
    if results is None:
        plan.design.check()
        return [record for trial in _trials(plan, {}, n_jobs, progress) for record in trial]
    if plan.missing(results.read()):
        plan.design.check()  # before anything is written, or a worker started
    with results.held():
        if stale := plan.stale(results.read()):
            results.set_aside(stale)
            said = f"{len(stale)} records of another version, or of other systems or rows, moved to {results.aside}."
            progress.say(said) if progress else warnings.warn(said, stacklevel=3)
        try:
            with closing(_trials(plan, results.read(), n_jobs, progress)) as trials:
                for records in trials:
                    results.add(records)
        finally:
            results.merge()
    return plan.chosen(results.read())


def _trials(
    plan: Plan, done: Mapping[Key, Record], n_jobs: int, progress: Progress | None
) -> Generator[list[Record]]:
    """The records of the trials that are left, as they finish."""
    left = plan.missing(done)
    runs = (joblib.delayed(_run_trial)(os.getpid(), plan.design, trial, cells) for trial, cells in left)
    for n, records in enumerate(chain([[]], joblib.Parallel(n_jobs, return_as="generator_unordered")(runs))):
        if n:
            yield records  # kept by the caller before it is counted
        if progress:
            progress(n, len(left))


def _run_trial(starter: int, design: Design, trial: Trial, cells: list[tuple[str, str]]) -> list[Record]:
    if os.getpid() != starter:
        _follow(starter)
    return run_trial(design, trial, cells)


@cache
def _follow(starter: int) -> None:
    """Leave Ctrl-C to the process that started this one, and end when that is gone, however it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def look() -> None:
        while os.getppid() == starter:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()
