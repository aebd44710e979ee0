"""A trial: every fit on the same rows, and a record of what it scored in each of its columns, and of how it ended."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from threadpoolctl import threadpool_limits  # scikit-learn brings it

from isthmus.exceptions import ConvergenceWarning, DataWarning, IsthmusError
from isthmus.study.design import Design
from isthmus.study.entrants import Entrant, Figure, Fit, measures
from isthmus.study.records import CERTIFIED, VERSIONS, Record, written
from isthmus.study.rows import Trial
from isthmus.study.tasks import CLASSIFICATION, Task

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
    outcomes = [fitted_outcome(entrant, point, given, trial.seed, **asked) for point in points]
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
            chosen = {parameter: written(value) for parameter, value in points[best].items()}
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


def fitted_outcome(
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
                accuracy[column], details[column] = round(score, DIGITS), _rounded(further)
                agreed = task.agreement(entrant, column, fit) if reverse else None
                if agreed is not None:
                    agreement[column] = round(agreed, DIGITS)
            found = {k: float(figure(fit)) for k, figure in (figures or {}).items() if measures(model)}
            extra = _rounded(found)
        except (IsthmusError, ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            return Outcome({}, {}, time.perf_counter() - began, f"failed: {error}", None)
    for text in {str(w.message) for w in caught if issubclass(w.category, DataWarning)}:
        warnings.warn(text, DataWarning, stacklevel=2)  # for the run, which counts them
    complained = any(issubclass(w.category, ConvergenceWarning | SklearnConvergenceWarning) for w in caught)
    return Outcome(accuracy, agreement, seconds, *_ending(model, complained), extra or None, details)


def _rounded(numbers: Mapping[str, float]) -> dict[str, float]:
    """Numbers as a record has them; what is not finite is left out."""
    return {name: round(float(value), DIGITS) for name, value in numbers.items() if np.isfinite(value)}


def _ending(model: Any, complained: bool) -> tuple[str, float | None]:
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
