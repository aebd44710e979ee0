"""What is still to be done, and doing it: trials side by side, nothing lost when the run is stopped."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import joblib

from isthmus.study.design import Design
from isthmus.study.progress import Progress
from isthmus.study.records import InFolder, InMemory, Key, Record
from isthmus.study.rows import Trial
from isthmus.study.trials import run_trial

SECONDS_BETWEEN_LOOKS = 0.5
"""How often a worker looks whether the process that started it is still there."""


@dataclass(frozen=True)
class Plan:
    """Trials of a study, and the columns and settings that each should have.

    Parameters
    ----------
    design : Design
        The study.
    variants, settings : tuple of str
        Preparations of the features; "default", "oracle", "selected".
    seeds : tuple of int
        The draws.
    systems : tuple of str, optional
        Columns; None means all.
    """

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
                yield _key(self.design, trial, *cell), self.design.fingerprint(trial.variant, *cell)

    def stale(self, records: Mapping[Key, Record]) -> set[Key]:
        """Records of this plan that something else has produced: another system, other rows, another version."""
        return {key for key, mark in self.keys() if key in records and records[key].fingerprint != mark}

    def missing(self, records: Mapping[Key, Record]) -> list[tuple[Trial, list[tuple[str, str]]]]:
        """Trials that are not finished, with what each lacks."""
        done, cells = records.keys() - self.stale(records), self.cells()
        lacking = [
            (trial, [cell for cell in cells if _key(self.design, trial, *cell) not in done])
            for trial in self.design.trials(self.variants, self.seeds)
        ]
        return [(trial, lacks) for trial, lacks in lacking if lacks]

    def chosen(self, records: Mapping[Key, Record]) -> list[Record]:
        """Of all records, those of this plan."""
        return [records[key] for key, _ in self.keys() if key in records]


def carry_out(
    plan: Plan, results: InFolder | InMemory, *, n_jobs: int = 1, progress: Progress | None = None
) -> list[Record]:
    """Run what is missing of a plan and return its records; what is there, and is of this study, is not run again.

    Every trial is written when it is finished. When the run is interrupted, what is finished stays.
    """
    if plan.missing(results.read()):
        plan.design.check()  # before anything is written, or a worker started
    with results.held():
        if stale := plan.stale(results.read()):
            results.set_aside(stale)
            where = f" and kept in {results.aside}" if isinstance(results, InFolder) else ""
            said = f"{len(stale)} records of another version, or of other systems or rows, set aside{where}."
            progress.say(said) if progress else warnings.warn(said, stacklevel=3)
        left = plan.missing(results.read())
        runs = (joblib.delayed(_run_trial)(os.getpid(), plan.design, trial, cells) for trial, cells in left)
        if progress:
            progress(0, len(left))
        try:
            for n, records in enumerate(joblib.Parallel(n_jobs, return_as="generator_unordered")(runs), start=1):
                results.add(records)
                if progress:
                    progress(n, len(left))
        finally:
            results.merge()
    return plan.chosen(results.read())


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


def _key(design: Design, trial: Trial, column: str, setting: str) -> Key:
    return (design.name, trial.group, trial.variant, trial.seed, column, setting)
