"""What is still to be done, and doing it: trials side by side, nothing lost when the run is stopped."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import joblib

from isthmus.experiments.experiment import Experiment
from isthmus.experiments.records import Key, Record, Results
from isthmus.experiments.rows import Trial
from isthmus.experiments.trials import run_trial, settings_of


@dataclass(frozen=True)
class Plan:
    """Trials of an experiment, and the columns and settings that each should have.

    Parameters
    ----------
    experiment : Experiment
        The table.
    variants, settings : tuple of str
        Preparations of the features; "default", "oracle", "selected".
    seeds : tuple of int
        The draws.
    systems : tuple of str, optional
        Columns; None means all.
    """

    experiment: Experiment
    variants: tuple[str, ...]
    settings: tuple[str, ...]
    seeds: tuple[int, ...]
    systems: tuple[str, ...] | None = None

    def cells(self) -> list[tuple[str, str]]:
        """The columns and settings of every trial."""
        return [
            (column, setting)
            for entrant in self.experiment.entrants
            for column, setting in settings_of(entrant, self.settings)
            if self.systems is None or column in self.systems
        ]

    def keys(self) -> Iterator[Key]:
        """The records that the finished plan has."""
        for trial in self.experiment.trials(self.variants, self.seeds):
            for column, setting in self.cells():
                yield _key(self.experiment, trial, column, setting)

    def missing(self, done: Collection[Key]) -> list[tuple[Trial, list[tuple[str, str]]]]:
        """Trials that are not finished, with what each lacks."""
        trials = self.experiment.trials(self.variants, self.seeds)
        lacking = [
            (trial, [cell for cell in self.cells() if _key(self.experiment, trial, *cell) not in done])
            for trial in trials
        ]
        return [(trial, cells) for trial, cells in lacking if cells]

    def chosen(self, records: dict[Key, Record]) -> list[Record]:
        """Of all records, those of this plan."""
        return [records[key] for key in self.keys() if key in records]


def carried_out(
    plan: Plan,
    results: Results,
    folder: Path | None,
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Record]:
    """The records of a plan; trials that the results hold already are not run again.

    Every trial is written when it is finished. When the run is interrupted, what is finished stays.
    """
    if plan.missing(results.read().keys()):
        plan.experiment.check(folder)  # before anything is written, or a worker started
    with results.held():
        return _carried_out(plan, results, folder, jobs, progress)


def _carried_out(
    plan: Plan, results: Results, folder: Path | None, jobs: int, progress: Callable[[int, int], None] | None
) -> list[Record]:
    left = plan.missing(results.read().keys())
    runs = (joblib.delayed(_trial)(plan.experiment, folder, trial, cells) for trial, cells in left)
    if progress:
        progress(0, len(left))
    try:
        for n, records in enumerate(joblib.Parallel(jobs, return_as="generator_unordered")(runs), start=1):
            results.add(records)
            if progress:
                progress(n, len(left))
    finally:
        results.merge()
    return plan.chosen(results.read())


def _trial(experiment: Experiment, folder: Path | None, trial: Trial, cells: list[tuple[str, str]]) -> list[Record]:
    if multiprocessing.current_process().name != "MainProcess":
        # Ctrl-C is for the process that started this one: it ends its workers, and says so once.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return run_trial(experiment, folder, trial, cells)


def _key(experiment: Experiment, trial: Trial, column: str, setting: str) -> Key:
    return (experiment.name, trial.group, trial.variant, trial.seed, column, setting)
