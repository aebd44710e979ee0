"""MLHD along a grid of weights λ1 and λ2, each fit from its neighbours', and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV

from isthmus._core.validation import FloatArray, IntArray, as_labels, check_length
from isthmus.data.splits import SemiSupervisedSplit
from isthmus.estimators.base import TrainingData, warn_about_data
from isthmus.estimators.given_source import GivenSource
from isthmus.estimators.logdet_base import SolverRun
from isthmus.estimators.mlhd import MLHD
from isthmus.exceptions import InputError, warn
from isthmus.solvers.newton import along_grid
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
    """Yield fitted systems along a grid of weights, each started from its neighbours.

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
    >>> from isthmus.data.datasets import load_digits
    >>> d = load_digits(labelled_per_class=3)
    >>> rows = d.X_source, d.y_source, d.X_target, d.y_target
    >>> path = weight_path(MLHD(tol=1e-4), *rows, alignment_weights=[0.1, 1.0], pair_weights=[0.01, 0.1])
    >>> [(model.alignment_weight, model.pair_weight, model.result_.status.value) for model in path]
    [(0.1, 0.01, 'optimal'), (1.0, 0.01, 'optimal'), (0.1, 0.1, 'optimal'), (1.0, 0.1, 'optimal')]
    """
    if not isinstance(estimator, MLHD):
        raise InputError(f"estimator: expected an MLHD, got {type(estimator).__name__}.")
    first, second = make_grid(estimator, alignment_weights, pair_weights)
    models = [clone(estimator).set_params(alignment_weight=a, pair_weight=b) for b in second for a in first]
    for model in models:  # before anything is computed
        model._validate()
    return _fit_models(models, TrainingData(X_source, y_source, X_target, y_target, pairs), len(first))


def make_grid(estimator: Any, first: Any, second: Any) -> tuple[list[Any], list[Any]]:
    """Return λ1 and λ2 of the rows and of the columns of a grid."""
    found = []
    for values, name in ((first, WEIGHTS[0]), (second, WEIGHTS[1])):
        values = [getattr(estimator, name)] if values is None else values
        flat = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str)
        if not flat or not len(values) or any(np.ndim(value) for value in values):
            raise InputError(f"{name}s: expected a list of weights, got {values!r:.60}.")
        found.append(list(values))
    return found[0], found[1]


def _fit_models(models: list[MLHD], data: TrainingData, n_rows: int) -> Iterator[MLHD]:
    fit, waiting, ready, n_columns = _fit_of(models[0], data), models[::-1], list[MLHD](), len(models) // n_rows
    models.clear()  # who gets a model is the only one to hold it

    def solve(i: int, j: int, start: FloatArray | None) -> Result[Any]:
        ready.append(fit(waiting.pop(), start))
        return ready[0].result_

    for _ in along_grid(solve, n_rows, n_columns):
        yield ready.pop()


def _fit_of(first: MLHD, data: TrainingData) -> Callable[[MLHD, FloatArray | None], MLHD]:
    """Return the function that fits one model after the other: in one joint space, but for source rows in blocks."""

    def settings(model: MLHD, start: FloatArray | None) -> SolverRun:
        return replace(model._validate(), start=lambda problem, *spaces: start)

    def keep(model: MLHD, attributes: dict[str, Any]) -> MLHD:
        model.__dict__.update({**attributes, "_training_data": data})
        return model

    prepared, warned = first._prepare(data), False
    if prepared.domains.in_blocks:
        return lambda model, start: keep(model, model._run_fit(prepared, settings(model, start)))
    with prepared.surroundings():
        first._check_references(prepared.domains)
        # Coordinates depend on rows and kernels only: one joint space serves all weights.
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


@dataclass(eq=False, repr=False)
class WeightSearch(GridSearchCV):  # type: ignore[misc]
    """The weights of :class:`MLHD` by cross-validation over target rows, used like ``GridSearchCV``.

    What ``GridSearchCV`` over ``estimator__alignment_weight`` and ``estimator__pair_weight`` finds, to the solver's
    tolerance, with every rule that goes by distances; but each fold prepares its rows once and goes along
    :func:`isthmus.weight_path`.

    Parameters
    ----------
    estimator : GivenSource
        ``MLHD(…).given_source(X_source, y_source)``; it is cloned and never changed.
    alignment_weights, pair_weights : sequence of float, optional
        λ1 and λ2, in an order in which neighbours are alike; None for what the estimator has.
    scoring : str or callable, optional
        As for ``GridSearchCV``; None is the estimator's own ``score``.
    cv : int or splitter
        A number of folds of the labelled rows (:class:`~isthmus.data.splits.SemiSupervisedSplit`: unlabelled ones are
        in every training part), any splitter, or a list of (train, test).
    n_jobs : int, optional
        Folds at once, in processes of joblib.

    Attributes
    ----------
    cv_results_ : dict
        ``params``, ``param_…``, ``split0_test_score`` and so on, ``mean_test_score``, ``std_test_score`` and
        ``rank_test_score``, in the order of ``GridSearchCV``: λ2 changes fastest.
    best_estimator_ : GivenSource
        Fitted to all rows with the best weights.
    best_params_, best_score_, best_index_
        The weights, their mean score, and where they are in ``cv_results_``.
    n_splits_ : int
        The number of folds.

    Examples
    --------
    >>> from isthmus import MLHD, WeightSearch
    >>> from isthmus.data.datasets import load_digits
    >>> d = load_digits(labelled_per_class=3)
    >>> over_target = MLHD(tol=1e-4).given_source(d.X_source, d.y_source)
    >>> search = WeightSearch(over_target, [0.1, 10.0], [0.001, 0.1], cv=3).fit(d.X_target, d.y_target)
    >>> search.cv_results_["mean_test_score"].shape, sorted(search.best_params_)
    ((4,), ['estimator__alignment_weight', 'estimator__pair_weight'])
    >>> bool(search.score(d.X_test, d.y_test) > 0.5)
    True
    """

    estimator: GivenSource
    alignment_weights: Sequence[float] | None = None
    pair_weights: Sequence[float] | None = None
    scoring: Any = field(default=None, kw_only=True)
    cv: Any = field(default=5, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)
    cv_results_: dict[str, Any] = field(init=False)
    best_estimator_: GivenSource = field(init=False)
    # What the methods of GridSearchCV, which are inherited, read of its parameters.
    refit, multimetric_ = True, False

    def fit(self, X: Any, y: Any) -> Self:
        """Search with target rows X (n, d_t) and classes y (n,): -1, None or NaN where unknown."""
        if not isinstance(self.estimator, GivenSource) or not isinstance(self.estimator.estimator, MLHD):
            raise InputError(f"estimator: expected MLHD(…).given_source(…), got {self.estimator!r:.60}.")
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise InputError(f"scoring: expected one score, by name or as a function, got {self.scoring!r:.60}.")
        weights = make_grid(self.estimator.estimator, self.alignment_weights, self.pair_weights)
        scorer, labels = check_scoring(self.estimator, scoring=self.scoring), as_labels(y, "y")
        check_length(labels, X.shape[0] if hasattr(X, "shape") else len(X), "y", "X")
        splits = self._splits(X, labels)
        work = (delayed(_scores)(self.estimator, weights, X, labels, *split, scorer) for split in splits)
        results = _results(weights, np.array(Parallel(n_jobs=self.n_jobs)(work)))
        best = int(results["rank_test_score"].argmin())
        estimator = clone(self.estimator).set_params(**results["params"][best]).fit(X, y)
        self.cv_results_, self.n_splits_, self.best_index_ = results, len(splits), best
        self.best_params_, self.best_score_ = results["params"][best], float(results["mean_test_score"][best])
        self.best_estimator_, self.scorer_ = estimator, scorer
        return self

    def _splits(self, X: Any, labels: NDArray[Any]) -> list[tuple[IntArray, IntArray]]:
        """Return folds by a number, by a splitter, or as they are given."""
        if hasattr(self.cv, "split"):
            return list(self.cv.split(X, labels))
        return list(SemiSupervisedSplit(self.cv).split(X, labels) if isinstance(self.cv, Integral) else self.cv)


def _scores(
    given: GivenSource,
    weights: tuple[list[Any], list[Any]],
    X: Any,
    y: NDArray[Any],
    train: IntArray,
    test: IntArray,
    scorer: Any,
) -> FloatArray:
    """Return the score (n_λ1 · n_λ2,) of each cell on the test rows of a fold; λ2 changes fastest."""
    first, second = weights
    source, (X_train, X_test) = given.source, (_take_rows(X, rows) for rows in (train, test))
    options = {"alignment_weights": first, "pair_weights": second}
    path = weight_path(given.estimator, source.X, source.y, X_train, y[train], **options)
    models = (GivenSource(model, source).around(model, X_train) for model in path)
    scores = [float(scorer(model, X_test, y[test])) for model in models]
    # The path changes λ1 fastest, cv_results_ changes λ2 fastest.
    return np.reshape(scores, (len(second), len(first))).T.ravel()


def _take_rows(X: Any, rows: IntArray) -> Any:
    """Return some rows of an array, a sparse matrix, a frame or a list."""
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _results(weights: tuple[list[Any], list[Any]], scores: FloatArray) -> dict[str, Any]:
    """Return ``cv_results_`` as ``GridSearchCV`` has them, from the scores (n_splits, n_cells)."""
    names = "estimator__alignment_weight", "estimator__pair_weight"
    cells = [(first, second) for first in weights[0] for second in weights[1]]
    mean = scores.mean(axis=0)
    missing = np.isnan(mean)
    if missing.all():
        raise InputError("scoring: expected a score for some weights, got NaN for all of them.")
    if missing.any():
        warn(
            f"{missing.sum()} of {len(cells)} pairs of weights have no score in some fold, and rank last.",
            UserWarning,
        )
    # NaN ranks last, as in GridSearchCV, instead of first.
    ranked = np.where(missing, np.nanmin(mean) - 1.0, mean)
    return {
        "params": [dict(zip(names, cell, strict=True)) for cell in cells],
        **{f"param_{name}": np.array([cell[k] for cell in cells], dtype=object) for k, name in enumerate(names)},
        **{f"split{k}_test_score": fold for k, fold in enumerate(scores)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": rankdata(-ranked, method="min").astype(np.int32),
    }
