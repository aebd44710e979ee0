"""Run a study: one fit, one trial, or a plan of trials in parallel processes.

:func:`fit_and_score` fits one entrant; :func:`run_trial` fits all entrants to the rows of one trial and returns one
record per column and setting; :func:`run_plan` runs every trial whose records are missing or out of date.
:class:`Study` is a design with a method :meth:`~Study.run`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from threadpoolctl import threadpool_limits  # scikit-learn brings it

from isthmus._core.progress import Progress
from isthmus._core.validation import check_choice, check_number
from isthmus.data.datasets import DomainPair
from isthmus.data.splits import Protocol
from isthmus.exceptions import ConvergenceWarning, DataWarning, InputError, IsthmusError, warn
from isthmus.study.board import Board
from isthmus.study.design import CLASSIFICATION, SETTINGS, Design, Entrant, Figure, Fit, Task, has_distances
from isthmus.study.records import CERTIFIED, VERSIONS, Key, Record, RecordStore, as_json_value
from isthmus.study.trial_rows import Loader, PairRows, Trial

# Digits of a score in a record.
DIGITS = 4
# Interval at which a worker checks that the process that started it is still running.
SECONDS_BETWEEN_LOOKS = 0.5
# Maximum number of different warnings that a run repeats at its end.
MOST_WARNINGS = 5


@dataclass(frozen=True)
class FitOutcome:
    """The scores of one fit by column (empty if it failed), its time, and the status and gap of its solver.

    ``accuracy`` is the task's score, even if that is another measure. ``figures`` are further numbers of each column.
    """

    accuracy: Mapping[str, float]
    agreement: Mapping[str, float]
    seconds: float
    status: str
    gap: float | None
    figures: Mapping[str, dict[str, float]] = field(default_factory=dict)


def fit_and_score(
    entrant: Entrant,
    parameters: Mapping[str, Any],
    rows: Any,
    seed: int,
    *,
    task: Task = CLASSIFICATION,
    figures: Mapping[str, Figure] | None = None,
    reverse: bool = False,
) -> FitOutcome:
    """Fit and score an entrant, with figures and reverse agreement on request; an error becomes the status."""
    model, began = entrant.configure_model(parameters, seed), time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            task.fit(model, rows)
            seconds, fit = time.perf_counter() - began, Fit(model, rows)
            accuracy, agreement, found = {}, {}, {}
            own = {name: figure(fit) for name, figure in (figures or {}).items() if has_distances(model)}
            for column in entrant.columns:
                score, further = task.score(entrant, column, fit)
                numbers = {name: round(float(number), DIGITS) for name, number in (own | dict(further)).items()}
                found[column] = {name: number for name, number in numbers.items() if np.isfinite(number)}
                accuracy[column] = round(score, DIGITS)
                if reverse and (agreed := task.agreement(entrant, column, fit)) is not None:
                    agreement[column] = round(agreed, DIGITS)
        except (IsthmusError, ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            return FitOutcome({}, {}, time.perf_counter() - began, f"failed: {error}", None)
    for text in {str(w.message) for w in caught if issubclass(w.category, DataWarning)}:
        warnings.warn(text, DataWarning, stacklevel=2)  # again, for run_plan, which counts them
    warned = any(issubclass(w.category, ConvergenceWarning | SklearnConvergenceWarning) for w in caught)
    return FitOutcome(accuracy, agreement, seconds, *_solver_status(model, warned), found)


def _solver_status(model: Any, warned: bool) -> tuple[str, float | None]:
    """Return the status of the solver inside a model, and its gap recomputed from the data."""
    inner = getattr(model, "estimator_", model)
    inner = getattr(inner, "learner_", None) or inner
    result = getattr(inner, "result_", None)
    if result is None:
        return ("not converged" if warned else "done"), None
    gap = result.relative_gap
    return result.status.value, float(f"{gap:.2g}") if np.isfinite(gap) else None


def run_trial(design: Design, trial: Trial, wanted: Collection[tuple[str, str]]) -> list[Record]:
    """Return the records of the wanted (column, setting) pairs of a trial."""
    with threadpool_limits(1):  # the number of threads changes the order of sums, and with it the last digits
        rows, data = design.draw(trial)
        records = [
            record
            for entrant in design.entrants
            # The default is one fit; the other two settings choose from the same fits over the grid.
            for settings in (("default",), ("oracle", "selected"))
            if any((column, setting) in wanted for column in entrant.columns for setting in settings)
            for record in _make_records(design, entrant, settings, rows, trial, data)
        ]
    return [record for record in records if (record.system, record.setting) in wanted]


def _make_records(
    design: Design, entrant: Entrant, settings: tuple[str, ...], rows: Any, trial: Trial, data: str
) -> Iterator[Record]:
    """Yield a record for each column and setting, from a single fit or one fit for each point of the grid."""
    default = settings == ("default",)
    points = [{}] if default else list(entrant.grid_points())
    given = rows if entrant.rows is None else entrant.rows(rows, trial.seed)
    options: dict[str, Any] = {"figures": design.figures} if default else {"reverse": True}
    outcomes = [fit_and_score(entrant, point, given, trial.seed, task=design.task, **options) for point in points]
    gaps = [each.gap for each in outcomes if each.gap is not None]
    for column in entrant.columns:
        accuracy = [outcome.accuracy.get(column) for outcome in outcomes]
        agreement = [outcome.agreement.get(column) for outcome in outcomes]
        for setting in settings:
            by = agreement if setting == "selected" else accuracy
            best = int(np.argmax([-1.0 if value is None else value for value in by]))  # a failed fit is never chosen
            yield Record(
                design.name,
                *trial,
                system=column,
                setting=setting,
                parameters={name: as_json_value(value) for name, value in points[best].items()},
                score=accuracy[best],
                seconds=round(sum(each.seconds for each in outcomes), 3),
                status=_summarise_status(outcomes),
                gap=max(gaps, default=None),
                versions=VERSIONS,
                grid=None if default else tuple(by),
                figures=outcomes[best].figures.get(column) or None,
                fingerprint=design.fingerprint(trial.variant, column, setting) + data,
            )


def _summarise_status(outcomes: list[FitOutcome]) -> str:
    """Return the status of a single fit; of several, how many failed to converge, with the first such status."""
    bad = [outcome.status for outcome in outcomes if outcome.status not in CERTIFIED]
    if len(outcomes) == 1 or not bad:
        return outcomes[0].status
    return f"{len(bad)} of {len(outcomes)} fits: {bad[0]}"


@dataclass(frozen=True)
class RunPlan:
    """The records that a study should have, given its variants, settings and seeds."""

    design: Design
    variants: tuple[str, ...]
    settings: tuple[str, ...]
    seeds: tuple[int, ...]
    _data: dict[tuple[str, int], str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def fingerprints(self) -> dict[Key, str]:
        """The first part of each record's fingerprint, ordered by seed, so that an interrupted run has all groups."""
        design = self.design
        return {
            (design.name, group, variant, seed, *cell): design.fingerprint(variant, *cell)
            for seed in self.seeds
            for group in design.groups
            for variant in self.variants
            for cell in design.cells(self.settings, group, variant)
        }

    def find_stale(self, records: Mapping[Key, Record]) -> set[Key]:
        """Return the records of this plan that were produced by other systems, other rows or another version."""

        def is_stale(key: Key, mark: str) -> bool:
            # Loading takes time: data are compared only if the first part agrees, once for all records of a trial.
            found = records[key].fingerprint or ""
            return not found.startswith(mark) or found != mark + self._data_fingerprint(Trial(*key[1:4]))

        return {key for key, mark in self.fingerprints.items() if key in records and is_stale(key, mark)}

    def _data_fingerprint(self, trial: Trial) -> str:
        """Return the fingerprint of the current data of a trial, cached by group and seed: variants share data."""
        key = trial.group, trial.seed
        if key not in self._data:
            self._data[key] = self.design.load(trial)[1]
        return self._data[key]

    def find_missing(self, records: Mapping[Key, Record]) -> list[tuple[Trial, list[tuple[str, str]]]]:
        """Return the unfinished trials, each with its missing (column, setting) pairs."""
        stale, missing = self.find_stale(records), dict[Trial, list[tuple[str, str]]]()
        for key in self.fingerprints:
            if key not in records or key in stale:
                missing.setdefault(Trial(*key[1:4]), []).append(key[4:])
        return list(missing.items())


def run_plan(
    plan: RunPlan, store: RecordStore | None = None, *, n_jobs: int = 1, progress: Any = False
) -> list[Record]:
    """Run the trials of a plan that have no valid records yet, and return all its records.

    Records are stored after every trial, so that an interrupted run can be resumed. Without a store, they are in
    memory only. ``progress`` is True, False or a function of (trials done, trials in all).
    """
    reports = Progress(progress, plan.design.name)
    if plan.find_missing({} if store is None else store.read()):
        getattr(plan.design.rows, "check", lambda: None)()  # before anything is written or a worker is started
    if store is None:
        with reports:
            return [record for trial in _run_missing(plan, {}, n_jobs, reports) for record in trial]
    with store.lock(), reports:
        if stale := plan.find_stale(store.read()):
            store.set_aside(stale)
            text = f"{len(stale)} records of another version, or of other systems or rows, moved to {store.aside}."
            reports.write(text) if reports.shown else warn(text, UserWarning)
        try:
            with closing(_run_missing(plan, store.read(), n_jobs, reports)) as trials:
                for records in trials:
                    store.add(records)
        finally:
            store.merge()
    done = store.read()
    return [done[key] for key in plan.fingerprints]


def _run_missing(plan: RunPlan, done: Mapping[Key, Record], n_jobs: int, bar: Progress) -> Generator[list[Record]]:
    """Yield the records of missing trials as they finish; at the end, repeat the warnings of the fits."""
    missing, warned = plan.find_missing(done), Counter[tuple[str, type[Warning]]]()
    runs = (joblib.delayed(_run_in_worker)(plan.design, *each) for each in missing)
    # An initializer, not the first trial: a worker may still wait for a trial when its parent dies.
    begin: dict[str, Any] = {"initializer": _exit_with_parent, "initargs": (os.getpid(),)}
    workers = joblib.Parallel(n_jobs, return_as="generator_unordered", **begin)
    _report_progress(bar, 0, len(missing))
    for n, (records, seen) in enumerate(workers(runs), start=1):
        yield records  # the caller stores them before progress counts the trial
        warned.update(seen)
        _report_progress(bar, n, len(missing))
    with warnings.catch_warnings(record=bar.shown) as caught:
        # Filters of the user apply to written warnings too.
        for (text, category), n in warned.most_common(MOST_WARNINGS):
            warn(f"{text} ({n} times)", category)
    for each in caught or ():
        bar.write(str(each.message))


def _report_progress(progress: Progress, done: int, total: int) -> None:
    text = f"{done} of {total} trials" if total else "nothing to run: all records are there"
    progress.report(text, done / total if total else 1.0, done, total)


def _run_in_worker(
    design: Design, trial: Trial, cells: list[tuple[str, str]]
) -> tuple[list[Record], list[tuple[str, type[Warning]]]]:
    """Return the records of a trial and its warnings about the data."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        records = run_trial(design, trial, cells)
    return records, [(str(each.message), each.category) for each in caught]


def _exit_with_parent(starter: int) -> None:
    """Ignore Ctrl-C, which the starting process handles, and exit when that process is gone, however it ended."""
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


class Study(Design):
    """A study: a :class:`Design` of systems and controls on the same rows that can be run.

    Examples
    --------
    >>> from isthmus.data.datasets import load_digits
    >>> board = Study.of(load_digits, ["mlhd", "target 1-NN"]).run(seeds=range(6))
    >>> print(board.claim("mlhd", "target 1-NN"))
    mlhd > target 1-NN: holds, +... [..., ...], p = .031
    """

    @classmethod
    def of(
        cls,
        data: DomainPair | Loader | Mapping[str, DomainPair | Loader],
        systems: Iterable[str | Entrant],
        *,
        protocol: Protocol | None = None,
        source_transformer: Any = None,
        target_transformer: Any = None,
        figures: Mapping[str, Figure] | None = None,
        name: str = "study",
    ) -> Self:
        """Return a study of some systems on one or several pairs of domains.

        Parameters
        ----------
        data : DomainPair, callable, or mapping of str to either
            A pair in memory; or a function that loads one for a seed, called as ``data(random_state=seed)``; or
            several of them by name.
        systems : iterable of str or Entrant
            Names of :func:`isthmus.systems`, or entrants with estimators of your own.
        protocol : Protocol, optional
            How each trial splits the target rows of known class (including test rows of the pair); target rows of
            unknown class are unlabelled in every trial. None: pairs are used as they are, with their own test rows.
            Seeds then change only the randomness of the systems, unless a function loads other rows for each; a
            single pair in memory can't show a significant difference.
        source_transformer, target_transformer : scikit-learn transformer, optional
            Preprocess the features; fitted in every trial, without its test rows.
        figures : mapping of str to callable, optional
            Numbers that are recorded in addition to accuracy, such as :data:`isthmus.study.design.RETRIEVAL`.
        name : str
            Stem of the file name of the records.
        """
        pairs = data if isinstance(data, Mapping) else {"": data}
        rows = PairRows(pairs, protocol, source_transformer, target_transformer)
        entrants = tuple(map(Entrant.of, _check_several(systems, "systems", "names or entrants in a list")))
        words = data.name if isinstance(data, DomainPair) else "", "" if protocol is None else str(protocol)
        return cls(name, rows, entrants, *words, tuple(pairs), figures=figures or {}, redrawn=rows.redrawn)

    def run(
        self,
        seeds: Iterable[int] = range(20),
        *,
        settings: Sequence[str] = ("default",),
        variants: Sequence[str] | None = None,
        n_jobs: int = 1,
        folder: str | os.PathLike[str] | None = None,
        progress: Any = False,
    ) -> Board:
        """Run every trial that has no records yet, and return the board of the first variant.

        Parameters
        ----------
        seeds : iterable of int
            One trial each, in every group.
        settings : sequence of {"default", "oracle", "selected"}
            How the parameters of entrants with a grid are chosen; :data:`isthmus.study.design.SETTINGS` explains it.
        variants : sequence of str, optional
            Variants of the design, such as ways to preprocess the features; None: all.
        n_jobs : int
            Number of trials in parallel processes, which end with this one; -1: one for each core.
        folder : path, optional
            Folder of the records, stored after every trial, so that an interrupted run can be resumed. Records of
            another version, other systems or other rows are moved aside and computed again. None: in memory only.
        progress : bool or function
            Whether to show a bar with the time left; or a function that is called with (trials done, trials in all).
        """
        every = _check_several(seeds, "seeds", "whole numbers, such as range(20)")
        draws = tuple(int(check_number(seed, "seeds", low=0, whole=True)) for seed in every)
        if not draws or len(set(draws)) < len(draws):
            raise InputError(f"seeds: expected at least one and none twice, got {draws}.")
        if check_number(n_jobs, "n_jobs", low=-1, whole=True) == 0:
            raise InputError("n_jobs: expected at least 1, or -1 for all cores, got 0.")
        chosen = _check_names(variants or tuple(self.variants), "variants", self.variants)
        plan = RunPlan(self, chosen, _check_names(settings, "settings", SETTINGS), draws)
        store = None if folder is None else RecordStore(folder, self.name)
        records = run_plan(plan, store, n_jobs=n_jobs, progress=progress)
        return self.board(records, draws, chosen[0])

    def board(self, records: Iterable[Record], seeds: Sequence[int], variant: str | None = None) -> Board:
        """Return the board of some records, for one variant (by default the first)."""
        return Board(self, records, next(iter(self.variants)) if variant is None else variant, seeds)


def _check_several(values: Any, name: str, wanted: str) -> tuple[Any, ...]:
    """Return values as a tuple; raise for a string, whose letters would be taken for names."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name}: expected {wanted}, got {values!r:.60}.")
    return tuple(values)


def _check_names(values: Any, name: str, known: Collection[str]) -> tuple[str, ...]:
    return tuple(check_choice(word, name, known) for word in _check_several(values, name, "names in a tuple"))
