"""Fitted systems along a grid of weights λ1 and λ2, each from its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from isthmus._arrays import FloatArray
from isthmus.estimators.complaints import warn_about_data
from isthmus.estimators.logdet.mlhd import MLHD
from isthmus.estimators.solving import Solving
from isthmus.estimators.training_data import TrainingData
from isthmus.exceptions import InputError
from isthmus.solvers.paths import along_grid
from isthmus.solvers.result import Result

WEIGHTS = "alignment_weight", "pair_weight"


def weight_path(
    estimator: MLHD,
    X_source: Any,
    y_source: Any,
    X_target: Any,
    y_target: Any,
    *,
    alignment_weights: Sequence[float | str] | None = None,
    pair_weights: Sequence[float | str] | None = None,
    pairs: Any = None,
) -> Iterator[MLHD]:
    """Fitted systems along a grid of weights, one after the other, each started from its neighbours.

    Each has the metric that ``clone(estimator).set_params(alignment_weight=λ1, pair_weight=λ2).fit(…)`` would have,
    to the tolerance, in about a third of the time (docs/scale.md); the axes of the common space may be turned. Rows
    are prepared once, for all. They come with λ1 changing fastest; who does not keep them holds one at a time.

    Parameters
    ----------
    estimator : MLHD
        The system; it is cloned and never changed.
    X_source, y_source, X_target, y_target, pairs
        As for ``fit``.
    alignment_weights, pair_weights : sequence, optional
        λ1 and λ2, in an order in which neighbours are alike; None for what the estimator has.

    Examples
    --------
    >>> from isthmus import MLHD, weight_path
    >>> from isthmus.datasets import load_digits
    >>> d = load_digits(labelled_per_class=3)
    >>> rows = d.X_source, d.y_source, d.X_target, d.y_target
    >>> path = weight_path(MLHD(tol=1e-4), *rows, alignment_weights=[0.1, 1.0], pair_weights=[0.01, 0.1])
    >>> [(model.alignment_weight, model.pair_weight, model.result_.status.value) for model in path]
    [(0.1, 0.01, 'optimal'), (1.0, 0.01, 'optimal'), (0.1, 0.1, 'optimal'), (1.0, 0.1, 'optimal')]
    """
    if not isinstance(estimator, MLHD):
        raise InputError(f"estimator: expected an MLHD, got {type(estimator).__name__}.")
    first, second = grid(estimator, alignment_weights, pair_weights)
    models = [clone(estimator).set_params(alignment_weight=a, pair_weight=b) for b in second for a in first]
    for model in models:  # before anything is computed
        model._validate()
    return _fitted(models, TrainingData(X_source, y_source, X_target, y_target, pairs), len(first))


def grid(estimator: Any, first: Any, second: Any) -> tuple[list[Any], list[Any]]:
    """λ1 and λ2 of the rows and of the columns of a grid."""
    found = []
    for values, name in ((first, WEIGHTS[0]), (second, WEIGHTS[1])):
        values = [getattr(estimator, name)] if values is None else values
        flat = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str)
        if not flat or not len(values) or any(np.ndim(value) for value in values):
            raise InputError(f"{name}s: expected a list of weights, got {values!r:.60}.")
        found.append(list(values))
    return found[0], found[1]


def _fitted(models: list[MLHD], data: TrainingData, n_rows: int) -> Iterator[MLHD]:
    fit, waiting, ready, n_columns = _fit_of(models[0], data), models[::-1], list[MLHD](), len(models) // n_rows
    models.clear()  # who gets a model is the only one to hold it

    def solve(i: int, j: int, start: FloatArray | None) -> Result[Any]:
        ready.append(fit(waiting.pop(), start))
        return ready[0].result_

    for _ in along_grid(solve, n_rows, n_columns):
        yield ready.pop()


def _fit_of(first: MLHD, data: TrainingData) -> Callable[[MLHD, FloatArray | None], MLHD]:
    """How one model after the other is fitted: in one joint space, but for source rows that come in blocks."""

    def settings(model: MLHD, start: FloatArray | None) -> Solving:
        return replace(model._validate(), start=lambda problem, *spaces: start)

    def keep(model: MLHD, attributes: dict[str, Any]) -> MLHD:
        model.__dict__.update({**attributes, "_training_data": data})
        return model

    prepared, warned = first._prepare(data), False
    if prepared.domains.in_blocks:
        return lambda model, start: keep(model, model._fit_prepared(prepared, settings(model, start)))
    with prepared.surroundings():
        first._check_references(prepared.domains)
        joint = first._joint_space(prepared.domains)

    def fit(model: MLHD, start: FloatArray | None) -> MLHD:
        nonlocal warned
        with prepared.surroundings():
            learned = model._fit_space(joint, prepared.domains, settings(model, start))
        if not warned:
            warn_about_data(prepared.domains, learned["kernels_"], intercept=model.intercept)
            warned = True
        return keep(model, {**learned, **prepared.attributes})

    return fit
