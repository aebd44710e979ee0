"""One fit: what it scores in each of its columns, and how it ended."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

from isthmus._arrays import FloatArray
from isthmus.discrepancy import mmd
from isthmus.domains import UNLABELLED
from isthmus.evaluation import mean_average_precision, precision_at_k
from isthmus.exceptions import ConvergenceWarning, IsthmusError
from isthmus.experiments.entrants import Entrant
from isthmus.experiments.rows import Rows

DIGITS = 4
"""Of a score in a record."""


@dataclass(frozen=True)
class Outcome:
    """One fit.

    Parameters
    ----------
    accuracy : mapping of str to float
        The share of test rows called right, by column; empty where the fit failed.
    agreement : mapping of str to float
        :func:`reverse_agreement`, by column; empty where there is none.
    seconds : float
        Time of the fit.
    status : str
        "optimal" (certified), "done" (nothing to certify), or what went wrong.
    gap : float or None
        The relative duality gap, where there is one.
    figures : dict, or None
        What was asked for of :data:`FIGURES`; None where there is no common space.
    """

    accuracy: Mapping[str, float]
    agreement: Mapping[str, float]
    seconds: float
    status: str
    gap: float | None
    figures: dict[str, float] | None = None


def fitted_outcome(
    entrant: Entrant,
    parameters: Mapping[str, float],
    rows: Rows,
    seed: int,
    *,
    figures: Collection[str] = (),
    reverse: bool = False,
) -> Outcome:
    """Fit an entrant and score it; what goes wrong becomes its status.

    Further figures, and the reverse agreement, are computed where they are asked for.
    """
    model = entrant.estimator(parameters, seed)
    columns, began = entrant.columns, time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(*rows.fit)
            seconds = time.perf_counter() - began
            accuracy, agreement = {}, {}
            for column in columns:
                by_target = column != entrant.name
                accuracy[column] = float(np.mean(_calls(model, by_target, rows, rows.X_test) == rows.y_test))
                if reverse and entrant.sees_source:
                    called = _calls(model, by_target, rows, rows.X_target)
                    agreement[column] = reverse_agreement(model, rows, called)
            extra = _figures(model, rows, figures) if figures and entrant.sees_source else None
        except (IsthmusError, ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            return Outcome({}, {}, time.perf_counter() - began, f"failed: {error}", None)
    complaints = [w for w in caught if issubclass(w.category, ConvergenceWarning | SklearnConvergenceWarning)]
    return Outcome(accuracy, agreement, seconds, *_ending(model, bool(complaints)), extra)


def _figures(model: Any, rows: Rows, wanted: Collection[str]) -> dict[str, float]:
    """Those of :data:`FIGURES` that are wanted."""
    distances = _across(model, rows.X_test, rows).T
    return {name: round(FIGURES[name](model, rows, distances), DIGITS) for name in wanted}


def _map(model: Any, rows: Rows, distances: FloatArray) -> float:
    return mean_average_precision(distances, rows.y_test, rows.y_source)


def _precision(model: Any, rows: Rows, distances: FloatArray) -> float:
    return precision_at_k(distances, rows.y_test, rows.y_source, min(10, len(rows.y_source)))


def _mmd(model: Any, rows: Rows, distances: FloatArray) -> float:
    return mmd(model.transform(rows.X_source, "source"), model.transform(rows.X_target, "target"))


FIGURES: dict[str, Callable[[Any, Rows, FloatArray], float]] = {
    "map": _map,
    "precision@10": _precision,
    "mmd": _mmd,
}
"""Retrieval of source rows by test rows, and the discrepancy of the domains in the common space."""


def _across(model: Any, X_target: FloatArray, rows: Rows) -> FloatArray:
    """How far target rows are from the source rows of the fit (n_s, n), however the system measures it."""
    if hasattr(model, "pairwise_distances"):
        return np.asarray(model.pairwise_distances(rows.X_source, X_target))
    return np.asarray(-model.pairwise_similarities(rows.X_source, X_target))


def reverse_agreement(model: Any, rows: Rows, called: NDArray[Any]) -> float:
    """The share of source rows that the target rows call right, under the labels that the system gave them.

    The target rows of the fit get the labels ``called`` (their own, where they have one); each source row is then
    called by its nearest target row. A metric that carries labels there and back is worth more than one that
    does not, and no test row is needed to see it (reverse validation; Zhong et al. 2010).
    """
    labels = np.where(rows.y_target == UNLABELLED, called, rows.y_target)
    return float(np.mean(labels[_across(model, rows.X_target, rows).argmin(axis=1)] == rows.y_source))


def _calls(model: Any, by_target: bool, rows: Rows, X: FloatArray) -> NDArray[Any]:
    """The classes of target rows, by the system's own rule or by the nearest labelled target row."""
    if not by_target:
        return np.asarray(model.predict(X))
    labelled = rows.y_target != UNLABELLED
    distances = model.pairwise_distances(X, rows.X_target[labelled], ("target", "target"))
    return np.asarray(rows.y_target[labelled][distances.argmin(axis=1)])


def _ending(model: Any, complained: bool) -> tuple[str, float | None]:
    """How the solver inside ended: its own word, and its gap recomputed from the data."""
    inner = getattr(model, "learner_", None) or model
    result = getattr(inner, "result_", None)
    if result is None:
        return ("not converged" if complained else "done"), None
    gap = result.relative_gap
    return result.status.value, float(f"{gap:.2g}") if np.isfinite(gap) else None
