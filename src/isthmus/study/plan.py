"""What is still to be done, and doing it: trials side by side, nothing lost when the run is stopped."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import joblib

from isthmus._progress import Progress
from isthmus.exceptions import DataWarning, warn
from isthmus.study.design import Design
from isthmus.study.fits import run_trial
from isthmus.study.records import InFolder, Key, Record
from isthmus.study.rows import Trial

SECONDS_BETWEEN_LOOKS = 0.5
"""How often a worker looks whether the process that started it is still there."""
MOST_WARNINGS = 5
"""Of different texts, so many are told."""


@dataclass(frozen=True)
class Plan:
    """The records that a study should have: in these variants and settings, for these seeds."""

    design: Design
    variants: tuple[str, ...]
    settings: tuple[str, ...]
    seeds: tuple[int, ...]

    @cached_property
    def marks(self) -> dict[Key, str]:
        """What the fingerprint of each record begins with; seed by seed, so that an early stop has all groups."""
        design = self.design
        return {
            (design.name, group, variant, seed, *cell): design.fingerprint(variant, *cell)
            for seed in self.seeds
            for group in design.groups
            for variant in self.variants
            for cell in design.cells(self.settings, group, variant)
        }

    def stale(self, records: Mapping[Key, Record]) -> set[Key]:
        """Records of this plan that something else has produced: another system, other rows, another version."""
        there = {key: mark for key, mark in self.marks.items() if key in records}
        stale = {key for key, mark in there.items() if not (records[key].fingerprint or "").startswith(mark)}
        # Loading takes time, and only tells something about records that are not stale anyway.
        return stale | {
            k for k, mark in there.items() if k not in stale and records[k].fingerprint != mark + self._data(k)
        }

    def _data(self, key: Key) -> str:
        """The fingerprint of what a loader gives for a record now, loaded once for all records of a trial."""
        if (key[1], key[3]) not in self._loaded:
            self._loaded[key[1], key[3]] = self.design.data_fingerprint(Trial(*key[1:4]))
        return self._loaded[key[1], key[3]]

    @cached_property
    def _loaded(self) -> dict[tuple[str, int], str]:
        return {}

    def missing(self, records: Mapping[Key, Record]) -> list[tuple[Trial, list[tuple[str, str]]]]:
        """Trials that are not finished, with the columns and settings that each lacks."""
        stale, left = self.stale(records), dict[Trial, list[tuple[str, str]]]()
        for key in self.marks:
            if key not in records or key in stale:
                left.setdefault(Trial(*key[1:4]), []).append(key[4:])
        return list(left.items())


def carry_out(plan: Plan, results: InFolder | None = None, *, n_jobs: int = 1, progress: Any = False) -> list[Record]:
    """Run what is missing of a plan and return its records; what is there, and is of this study, is not run again.

    Every trial is written when it is finished. When the run is interrupted, what is finished stays. Without a place
    for results, they are in memory only. ``progress`` is True, False or a function of (trials done, trials in all).
    """
    reports = Progress(progress, plan.design.name)
    if plan.missing({} if results is None else results.read()):
        getattr(plan.design.rows, "check", lambda: None)()  # before anything is written, or a worker started
    if results is None:
        with reports:
            return [record for trial in _trials(plan, {}, n_jobs, reports) for record in trial]
    with results.held(), reports:
        if stale := plan.stale(results.read()):
            results.set_aside(stale)
            said = f"{len(stale)} records of another version, or of other systems or rows, moved to {results.aside}."
            reports.write(said) if reports.shown else warn(said, UserWarning)
        try:
            with closing(_trials(plan, results.read(), n_jobs, reports)) as trials:
                for records in trials:
                    results.add(records)
        finally:
            results.merge()
    done = results.read()
    return [done[key] for key in plan.marks]


def _trials(plan: Plan, done: Mapping[Key, Record], n_jobs: int, progress: Progress) -> Generator[list[Record]]:
    """Yield the records of the trials that are left, as they finish; at the end, warn as the fits did."""
    left, warned = plan.missing(done), Counter[tuple[str, type[Warning]]]()
    runs = (joblib.delayed(_run_trial)(plan.design, *each) for each in left)
    workers = joblib.Parallel(
        n_jobs, return_as="generator_unordered", initializer=_follow, initargs=(os.getpid(),)
    )  # a worker follows before its first trial, or it would wait for one when nobody is left to send it
    _report(progress, 0, len(left))
    for n, (records, seen) in enumerate(workers(runs), start=1):
        yield records  # kept by the caller before it is counted
        warned.update(seen)
        _report(progress, n, len(left))
    with warnings.catch_warnings(record=progress.shown) as caught:  # what is silenced is not written either
        for (text, category), n in warned.most_common(MOST_WARNINGS):
            warn(f"{text} ({n} times)", category)
    for each in caught or ():
        progress.write(str(each.message))


def _report(progress: Progress, done: int, total: int) -> None:
    text = f"{done} of {total} trials" if total else "all trials were there already"
    progress.report(text, done / total if total else 1.0, done, total)


def _run_trial(
    design: Design, trial: Trial, cells: list[tuple[str, str]]
) -> tuple[list[Record], list[tuple[str, type[Warning]]]]:
    """The records of a trial, and what came up as a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        records = run_trial(design, trial, cells)
    return records, [(str(each.message), each.category) for each in caught]


def _follow(starter: int) -> None:
    """Leave Ctrl-C to the process that started this one, and end when that is gone, however it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def look() -> None:
        if parent is not None and parent.sentinel is not None:  # on POSIX, joblib's own workers have none
            parent.join()
        else:
            while os.getppid() == starter:
                time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()
