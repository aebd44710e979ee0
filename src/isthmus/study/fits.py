"""One fit: what it scores in each of its columns, and how it ended."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

from isthmus._arrays import FloatArray, Matrix
from isthmus.domains import UNLABELLED
from isthmus.evaluation import mean_average_precision, precision_at_k
from isthmus.exceptions import ConvergenceWarning, IsthmusError
from isthmus.study.entrants import Entrant, measures
from isthmus.study.rows import Rows

DIGITS = 4
"""Of a score in a record."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model and the rows of its trial: what a figure is computed from."""

    model: Any
    rows: Rows

    @cached_property
    def distances(self) -> FloatArray:
        """How far test rows are from the source rows of the fit (n_test, n_s), however the system measures it."""
        return self.across(self.rows.X_test).T

    def across(self, X: Matrix) -> FloatArray:
        """How far the source rows of the fit are from target rows (n_s, n)."""
        if hasattr(self.model, "pairwise_distances"):
            return np.asarray(self.model.pairwise_distances(self.rows.X_source, X))
        return np.asarray(-self.model.pairwise_similarities(self.rows.X_source, X))


Figure: TypeAlias = Callable[[Fit], float]
"""A number that is recorded beside accuracy, of systems that measure across the domains."""


def average_precision(fit: Fit) -> float:
    """Mean average precision of the source rows, ranked for every test row."""
    return mean_average_precision(fit.distances, fit.rows.y_test, fit.rows.y_source)


def precision_at_10(fit: Fit) -> float:
    """The share of the ten nearest source rows that have the class of the test row."""
    n = min(10, len(fit.rows.y_source))
    return precision_at_k(fit.distances, fit.rows.y_test, fit.rows.y_source, n)


RETRIEVAL: dict[str, Figure] = {"map": average_precision, "precision@10": precision_at_10}
"""Search across the divide: source rows ranked for every test row."""


@dataclass(frozen=True)
class Outcome:
    """What one fit scored, by column (nothing where it failed), how long it took, and how it ended."""

    accuracy: Mapping[str, float]
    agreement: Mapping[str, float]
    seconds: float
    status: str
    gap: float | None
    figures: dict[str, float] | None = None


def fitted_outcome(
    entrant: Entrant,
    parameters: Mapping[str, Any],
    rows: Rows,
    seed: int,
    *,
    figures: Mapping[str, Figure] | None = None,
    reverse: bool = False,
) -> Outcome:
    """Fit an entrant and score it, with figures and reverse agreement if asked for; what goes wrong is its status."""
    model, began = entrant.model(parameters, seed), time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(*rows.fit)
            seconds, fit = time.perf_counter() - began, Fit(model, rows)
            accuracy, agreement = {}, {}
            for column in entrant.columns:
                called = _calls(entrant, column, fit, rows.X_test)
                accuracy[column] = float(np.mean(called == rows.y_test))
                if reverse and measures(model):
                    agreement[column] = reverse_agreement(fit, _calls(entrant, column, fit, rows.X_target))
            extra = {k: round(figure(fit), DIGITS) for k, figure in (figures or {}).items() if measures(model)}
        except (IsthmusError, ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            return Outcome({}, {}, time.perf_counter() - began, f"failed: {error}", None)
    complaints = [w for w in caught if issubclass(w.category, ConvergenceWarning | SklearnConvergenceWarning)]
    return Outcome(accuracy, agreement, seconds, *_ending(model, bool(complaints)), extra or None)


def reverse_agreement(fit: Fit, called: NDArray[Any]) -> float:
    """The share of source rows that the target rows call right, under the labels that the system gave them.

    The target rows of the fit get the labels ``called`` (their own, where they have one); each source row is then
    called by its nearest target row. A metric that carries labels there and back is worth more than one that
    does not, and no test row is needed to see it (reverse validation; Zhong et al. 2010).
    """
    rows = fit.rows
    labels = np.where(rows.y_target == UNLABELLED, called, rows.y_target)
    return float(np.mean(labels[fit.across(rows.X_target).argmin(axis=1)] == rows.y_source))


def _calls(entrant: Entrant, column: str, fit: Fit, X: Matrix) -> NDArray[Any]:
    """The classes of target rows, by the system's own rule or by a further reading of the fit."""
    reading = entrant.readings.get(column)
    return np.asarray(fit.model.predict(X) if reading is None else reading(fit.model, fit.rows, X))


def _ending(model: Any, complained: bool) -> tuple[str, float | None]:
    """How the solver inside ended: its own word, and its gap recomputed from the data."""
    inner = getattr(model, "estimator_", model)
    inner = getattr(inner, "learner_", None) or inner
    result = getattr(inner, "result_", None)
    if result is None:
        return ("not converged" if complained else "done"), None
    gap = result.relative_gap
    return result.status.value, float(f"{gap:.2g}") if np.isfinite(gap) else None
