"""One trial: the same rows for everyone, and a record for every column and setting."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_limits  # scikit-learn brings it

from isthmus._version import __version__
from isthmus.experiments.entrants import Entrant
from isthmus.experiments.experiment import Experiment
from isthmus.experiments.fits import DIGITS, Outcome, fitted_outcome
from isthmus.experiments.records import CERTIFIED, Record
from isthmus.experiments.rows import Rows, Trial

SETTINGS = {
    "default": "no tuning",
    "oracle": "the best of the grid by test accuracy: an upper bound, never a result",
    "selected": "the best of the grid by reverse agreement, which no test label enters",
}
VERSIONS = (
    f"isthmus {__version__}, numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
)


def run_trial(
    experiment: Experiment, folder: Path | None, trial: Trial, wanted: Collection[tuple[str, str]]
) -> list[Record]:
    """Records of the wanted (column, setting) pairs; on one thread, so that every run gives the same numbers."""
    with threadpool_limits(1):
        rows = experiment.rows(folder, trial)
        records = [
            record
            for entrant in experiment.entrants
            for settings in (("default",), ("oracle", "selected"))
            if any((column, setting) in wanted for column in entrant.columns for setting in settings)
            for record in _records(experiment, entrant, settings, rows.spoilt(entrant.spoilt, trial.seed), trial)
        ]
    return [record for record in records if (record.system, record.setting) in wanted]


def settings_of(entrant: Entrant, settings: Collection[str]) -> Iterator[tuple[str, str]]:
    """The columns and settings that an entrant can fill: without a grid, the default only."""
    for column in entrant.columns:
        for setting in settings:
            if setting == "default" or (entrant.grid and (setting == "oracle" or entrant.sees_source)):
                yield column, setting


def _records(
    experiment: Experiment, entrant: Entrant, settings: tuple[str, ...], rows: Rows, trial: Trial
) -> Iterator[Record]:
    """One fit, or one a point of the grid, and what each column and setting makes of them."""
    default = settings == ("default",)
    points = [{}] if default else list(entrant.settings())
    figures = experiment.figures if default else ()
    outcomes = [
        fitted_outcome(entrant, point, rows, trial.seed, figures=figures, reverse=not default) for point in points
    ]
    for column in entrant.columns:
        accuracy = [outcome.accuracy.get(column) for outcome in outcomes]
        agreement = [outcome.agreement.get(column) for outcome in outcomes]
        for setting in settings:
            by = agreement if setting == "selected" else accuracy
            best = int(np.argmax([-1.0 if value is None else value for value in by]))
            score = accuracy[best]
            yield Record(
                experiment.name,
                trial.group,
                trial.variant,
                trial.seed,
                column,
                setting,
                points[best],
                None if score is None else _rounded(score),
                round(sum(outcome.seconds for outcome in outcomes), 3),
                _status(outcomes),
                max((outcome.gap for outcome in outcomes if outcome.gap is not None), default=None),
                VERSIONS,
                None if default else tuple(None if v is None else _rounded(v) for v in by),
                outcomes[best].figures,
            )


def _rounded(share: float) -> float:
    return round(share, DIGITS)


def _status(outcomes: list[Outcome]) -> str:
    """The state of a single fit, or of the worst of many."""
    bad = [outcome.status for outcome in outcomes if outcome.status not in CERTIFIED]
    if len(outcomes) == 1 or not bad:
        return outcomes[0].status
    return f"{len(bad)} of {len(outcomes)} fits: {bad[0]}"
