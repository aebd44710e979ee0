"""A trial: every fit on the same rows, and a record of what it scored in each of its columns, and of how it ended."""

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
from isthmus.study.records import CERTIFIED, VERSIONS, InFolder, Key, Record, as_json_value
from isthmus.study.trial_rows import Loader, PairRows, Trial

DIGITS = 4
"""Of a score in a record."""


def run_trial(design: Design, trial: Trial, wanted: Collection[tuple[str, str]]) -> list[Record]:
    """Records of the wanted (column, setting) pairs; on one thread, so that every run gives the same numbers."""
    with threadpool_limits(1):
        rows, data = design.draw(trial)
        records = [
            record
            for entrant in design.entrants
            for settings in (("default",), ("oracle", "selected"))
            if any((column, setting) in wanted for column in entrant.columns for setting in settings)
            for record in _records(design, entrant, settings, rows, trial, data)
        ]
    return [record for record in records if (record.system, record.setting) in wanted]


def _records(
    design: Design, entrant: Entrant, settings: tuple[str, ...], rows: Any, trial: Trial, data: str
) -> Iterator[Record]:
    """One fit, or one for each point of the grid, and what each column and setting makes of them."""
    default = settings == ("default",)
    points = [{}] if default else list(entrant.points())
    given = rows if entrant.rows is None else entrant.rows(rows, trial.seed)
    asked: dict[str, Any] = {"task": design.task, **({"figures": design.figures} if default else {"reverse": True})}
    outcomes = [fit_and_score(entrant, point, given, trial.seed, **asked) for point in points]
    seconds, gaps = sum(each.seconds for each in outcomes), [each.gap for each in outcomes if each.gap is not None]
    for column in entrant.columns:
        accuracy = [outcome.accuracy.get(column) for outcome in outcomes]
        agreement = [outcome.agreement.get(column) for outcome in outcomes]
        for setting in settings:
            by = agreement if setting == "selected" else accuracy
            best = int(np.argmax([-1.0 if value is None else value for value in by]))
            ending = round(seconds, 3), _status(outcomes), max(gaps, default=None), VERSIONS
            grid = None if default else tuple(by)
            mark = design.fingerprint(trial.variant, column, setting) + data
            name = design.name, *trial, column, setting
            chosen = {parameter: as_json_value(value) for parameter, value in points[best].items()}
            figures = {**(outcomes[best].figures or {}), **outcomes[best].details.get(column, {})} or None
            yield Record(*name, chosen, accuracy[best], *ending, grid, figures, mark)


@dataclass(frozen=True)
class Outcome:
    """What one fit scored, by column (nothing where it failed), how long it took, and how it ended.

    ``accuracy`` is the score of the task, whatever that is; ``details`` are further numbers of a column, ``figures``
    those of the fit.
    """

    accuracy: Mapping[str, float]
    agreement: Mapping[str, float]
    seconds: float
    status: str
    gap: float | None
    figures: dict[str, float] | None = None
    details: Mapping[str, dict[str, float]] = field(default_factory=dict)


def fit_and_score(
    entrant: Entrant,
    parameters: Mapping[str, Any],
    rows: Any,
    seed: int,
    *,
    task: Task = CLASSIFICATION,
    figures: Mapping[str, Figure] | None = None,
    reverse: bool = False,
) -> Outcome:
    """Fit an entrant and score it, with figures and reverse agreement if asked for; what goes wrong is its status."""
    model, began = entrant.model(parameters, seed), time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            task.fit(model, rows)
            seconds, fit = time.perf_counter() - began, Fit(model, rows)
            accuracy, agreement, details = {}, {}, {}
            for column in entrant.columns:
                score, further = task.score(entrant, column, fit)
                accuracy[column], details[column] = round(score, DIGITS), _round_numbers(further)
                agreed = task.agreement(entrant, column, fit) if reverse else None
                if agreed is not None:
                    agreement[column] = round(agreed, DIGITS)
            found = {k: float(figure(fit)) for k, figure in (figures or {}).items() if has_distances(model)}
            extra = _round_numbers(found)
        except (IsthmusError, ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            return Outcome({}, {}, time.perf_counter() - began, f"failed: {error}", None)
    for text in {str(w.message) for w in caught if issubclass(w.category, DataWarning)}:
        warnings.warn(text, DataWarning, stacklevel=2)  # for the run, which counts them
    complained = any(issubclass(w.category, ConvergenceWarning | SklearnConvergenceWarning) for w in caught)
    return Outcome(accuracy, agreement, seconds, *_solver_status(model, complained), extra or None, details)


def _round_numbers(numbers: Mapping[str, float]) -> dict[str, float]:
    """Numbers as a record has them; what is not finite is left out."""
    return {name: round(float(value), DIGITS) for name, value in numbers.items() if np.isfinite(value)}


def _solver_status(model: Any, complained: bool) -> tuple[str, float | None]:
    """How the solver inside ended: its own word, and its gap recomputed from the data."""
    inner = getattr(model, "estimator_", model)
    inner = getattr(inner, "learner_", None) or inner
    result = getattr(inner, "result_", None)
    if result is None:
        return ("not converged" if complained else "done"), None
    gap = result.relative_gap
    return result.status.value, float(f"{gap:.2g}") if np.isfinite(gap) else None


def _status(outcomes: list[Outcome]) -> str:
    """The state of a single fit, or of the worst of many."""
    bad = [outcome.status for outcome in outcomes if outcome.status not in CERTIFIED]
    if len(outcomes) == 1 or not bad:
        return outcomes[0].status
    return f"{len(bad)} of {len(outcomes)} fits: {bad[0]}"


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


def run_plan(plan: Plan, results: InFolder | None = None, *, n_jobs: int = 1, progress: Any = False) -> list[Record]:
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


class Study(Design):
    """Systems and controls on the same rows, trial by trial: :meth:`of` asks, :meth:`run` answers.

    Examples
    --------
    >>> from isthmus.data.datasets import load_toy
    >>> board = Study.of(load_toy, ["mlhd", "target 1-NN"]).run(seeds=range(6))
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
        """A study of some systems on a pair of domains, or on several.

        Parameters
        ----------
        data : DomainPair, callable, or mapping of str to either
            A pair in memory; or what gives one for a seed, called as ``data(random_state=seed)``; or several by name.
        systems : iterable of str or Entrant
            Names of :func:`isthmus.systems`, or entrants with estimators of your own.
        protocol : Protocol, optional
            How each trial splits the target rows of known class (test rows of the pair among them); target rows of
            unknown class are unlabelled in every trial. None: pairs are taken as they are, with their own test rows.
            A seed of a pair in memory then only moves the systems, and one such pair can't show a difference.
        source_transformer, target_transformer : scikit-learn transformer, optional
            Prepare the features, fitted in every trial without its test rows.
        figures : mapping of str to callable, optional
            What is recorded beside accuracy, such as :data:`isthmus.study.design.RETRIEVAL`.
        name : str
            The stem of the file of records.
        """
        pairs = data if isinstance(data, Mapping) else {"": data}
        rows = PairRows(pairs, protocol, source_transformer, target_transformer)
        entrants = tuple(Entrant.of(each) for each in _several(systems, "systems", "names or entrants in a list"))
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
        """Run every trial that is not there yet; the board is of the first variant.

        Parameters
        ----------
        seeds : iterable of int
            One trial each, in every group.
        settings : sequence of {"default", "oracle", "selected"}
            How parameters are chosen, of entrants that have a grid.
        variants : sequence of str, optional
            Preparations of the features; None: all.
        n_jobs : int
            Trials side by side, in processes that end with this one; -1: one for each core.
        folder : path, optional
            Where records are kept, trial by trial: a run that was stopped goes on from there. Records that another
            version, other systems or other rows have left there are set aside and run again. None: in memory only.
        progress : bool or function
            Whether to show a bar with the time left; or a function that is called with (trials done, trials in all).
        """
        every = _several(seeds, "seeds", "whole numbers, such as range(20)")
        draws = tuple(int(check_number(seed, "seeds", low=0, whole=True)) for seed in every)
        if not draws or len(set(draws)) < len(draws):
            raise InputError(f"seeds: expected at least one and none twice, got {draws}.")
        if check_number(n_jobs, "n_jobs", low=-1, whole=True) == 0:
            raise InputError("n_jobs: expected at least 1, or -1 for all cores, got 0.")
        words = {"settings": (settings, SETTINGS), "variants": (variants or tuple(self.variants), self.variants)}
        asked, chosen = (
            tuple(check_choice(word, name, known) for word in _several(given, name, "names in a tuple"))
            for name, (given, known) in words.items()
        )
        results = None if folder is None else InFolder(folder, self.name)
        records = run_plan(Plan(self, chosen, asked, draws), results, n_jobs=n_jobs, progress=progress)
        return self.board(records, draws, chosen[0])

    def board(self, records: Iterable[Record], seeds: Sequence[int], variant: str | None = None) -> Board:
        """Records as a board; of the first variant unless another is named."""
        return Board(self, records, next(iter(self.variants)) if variant is None else variant, seeds)


def _several(values: Any, name: str, wanted: str) -> tuple[Any, ...]:
    """What was given one by one: of a text, each letter would be taken for a name."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name}: expected {wanted}, got {values!r:.60}.")
    return tuple(values)
