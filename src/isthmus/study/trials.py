"""One trial: the same rows for everyone, and a record for every column and setting."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # scikit-learn brings it

from isthmus.study.design import Design
from isthmus.study.entrants import Entrant
from isthmus.study.fits import DIGITS, Outcome, fitted_outcome
from isthmus.study.records import CERTIFIED, VERSIONS, Record
from isthmus.study.rows import Rows, Trial


def run_trial(design: Design, trial: Trial, wanted: Collection[tuple[str, str]]) -> list[Record]:
    """Records of the wanted (column, setting) pairs; on one thread, so that every run gives the same numbers."""
    with threadpool_limits(1):
        rows = design.rows(trial)
        records = [
            record
            for entrant in design.entrants
            for settings in (("default",), ("oracle", "selected"))
            if any((column, setting) in wanted for column in entrant.columns for setting in settings)
            for record in _records(design, entrant, settings, rows, trial)
        ]
    return [record for record in records if (record.system, record.setting) in wanted]


def _records(
    design: Design, entrant: Entrant, settings: tuple[str, ...], rows: Rows, trial: Trial
) -> Iterator[Record]:
    """One fit, or one for each point of the grid, and what each column and setting makes of them."""
    default = settings == ("default",)
    points = [{}] if default else list(entrant.points())
    given = rows if entrant.rows is None else entrant.rows(rows, trial.seed)
    asked: dict[str, Any] = {"figures": design.figures} if default else {"reverse": True}
    outcomes = [fitted_outcome(entrant, point, given, trial.seed, **asked) for point in points]
    seconds, gaps = sum(each.seconds for each in outcomes), [each.gap for each in outcomes if each.gap is not None]
    for column in entrant.columns:
        accuracy = [outcome.accuracy.get(column) for outcome in outcomes]
        agreement = [outcome.agreement.get(column) for outcome in outcomes]
        for setting in settings:
            by = agreement if setting == "selected" else accuracy
            best = int(np.argmax([-1.0 if value is None else value for value in by]))
            ending = round(seconds, 3), _status(outcomes), max(gaps, default=None), VERSIONS
            grid = None if default else tuple(map(_rounded, by))
            mark = design.fingerprint(trial.variant, column, setting)
            name = design.name, *trial, column, setting
            yield Record(*name, points[best], _rounded(accuracy[best]), *ending, grid, outcomes[best].figures, mark)


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, DIGITS)


def _status(outcomes: list[Outcome]) -> str:
    """The state of a single fit, or of the worst of many."""
    bad = [outcome.status for outcome in outcomes if outcome.status not in CERTIFIED]
    if len(outcomes) == 1 or not bad:
        return outcomes[0].status
    return f"{len(bad)} of {len(outcomes)} fits: {bad[0]}"
