"""A cross-validated search among weights λ1 and λ2, each fold along a path of warm starts."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics import check_scoring
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import length
from isthmus.domains import as_labels
from isthmus.estimators.given_source import GivenSource, has_method
from isthmus.estimators.logdet.mlhd import MLHD
from isthmus.estimators.logdet.weight_path import grid, weight_path
from isthmus.evaluation import SemiSupervisedSplit
from isthmus.exceptions import InputError, warn


class WeightSearch(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """The weights of :class:`MLHD` by cross-validation over target rows, with the manners of ``GridSearchCV``.

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
        A number of folds of the labelled rows (:class:`~isthmus.evaluation.SemiSupervisedSplit`: unlabelled ones are
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
    >>> from isthmus.datasets import load_digits
    >>> d = load_digits(labelled_per_class=3)
    >>> over_target = MLHD(tol=1e-4).given_source(d.X_source, d.y_source)
    >>> search = WeightSearch(over_target, [0.1, 10.0], [0.001, 0.1], cv=3).fit(d.X_target, d.y_target)
    >>> search.cv_results_["mean_test_score"].shape, sorted(search.best_params_)
    ((4,), ['estimator__alignment_weight', 'estimator__pair_weight'])
    >>> bool(search.score(d.X_test, d.y_test) > 0.5)
    True
    """

    cv_results_: dict[str, Any]
    best_estimator_: GivenSource

    def __init__(
        self,
        estimator: GivenSource,
        alignment_weights: Sequence[float] | None = None,
        pair_weights: Sequence[float] | None = None,
        *,
        scoring: Any = None,
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.alignment_weights = alignment_weights
        self.pair_weights = pair_weights
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Search with target rows X (n, d_t) and classes y (n,): -1, None or NaN where unknown."""
        if not isinstance(self.estimator, GivenSource) or not isinstance(self.estimator.estimator, MLHD):
            raise InputError(f"estimator: expected MLHD(…).given_source(…), got {self.estimator!r:.60}.")
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise InputError(f"scoring: expected one score, by name or as a function, got {self.scoring!r:.60}.")
        weights = grid(self.estimator.estimator, self.alignment_weights, self.pair_weights)
        scorer, labels = check_scoring(self.estimator, scoring=self.scoring), as_labels(y, "y")
        length(labels, X.shape[0] if hasattr(X, "shape") else len(X), "y", "X")
        splits = self._splits(X, labels)
        work = (delayed(_scores)(self.estimator, weights, X, labels, *split, scorer) for split in splits)
        results = _results(weights, np.array(Parallel(n_jobs=self.n_jobs)(work)))
        best = int(results["rank_test_score"].argmin())
        estimator = clone(self.estimator).set_params(**results["params"][best]).fit(X, y)
        self.cv_results_, self.n_splits_, self.best_index_ = results, len(splits), best
        self.best_params_, self.best_score_ = results["params"][best], float(results["mean_test_score"][best])
        self.best_estimator_, self.classes_ = estimator, estimator.classes_
        return self

    def _splits(self, X: Any, labels: NDArray[Any]) -> list[tuple[IntArray, IntArray]]:
        """Folds by a number, by a splitter, or as they are given."""
        if hasattr(self.cv, "split"):
            return list(self.cv.split(X, labels))
        return list(SemiSupervisedSplit(self.cv).split(X, labels) if isinstance(self.cv, Integral) else self.cv)

    def _best(self) -> GivenSource:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each target row (n,), by the best weights."""
        return self._best().predict(X)

    def transform(self, X: Any) -> FloatArray:
        """Target rows as points of the common space (n, k), by the best weights."""
        return self._best().transform(X)

    @available_if(has_method("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes (n, C), by the best weights, where the rule gives any."""
        return np.asarray(self._best().predict_proba(X))

    @available_if(has_method("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the classes, by the best weights, where the rule gives any."""
        return np.asarray(self._best().decision_function(X))

    @property
    def n_features_in_(self) -> int:
        """How many columns target rows have."""
        return int(self._best().n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def score(self, X: Any, y: Any) -> float:
        """What ``scoring`` says of the best weights on these rows."""
        return float(check_scoring(self.estimator, scoring=self.scoring)(self._best(), X, y))


def _scores(
    given: GivenSource,
    weights: tuple[list[Any], list[Any]],
    X: Any,
    y: NDArray[Any],
    train: IntArray,
    test: IntArray,
    scorer: Any,
) -> FloatArray:
    """The score (n_λ1 · n_λ2,) of each cell on the test rows of a fold; λ2 changes fastest."""
    first, second = weights
    source, (X_train, X_test) = given.source, (_taken(X, rows) for rows in (train, test))
    options = {"alignment_weights": first, "pair_weights": second}
    path = weight_path(given.estimator, source.X, source.y, X_train, y[train], **options)
    models = (GivenSource(model, source).around(model, X_train) for model in path)
    scores = [float(scorer(model, X_test, y[test])) for model in models]
    return np.reshape(scores, (len(second), len(first))).T.ravel()


def _taken(X: Any, rows: IntArray) -> Any:
    """Some rows of an array, a sparse matrix, a frame or a list."""
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _results(weights: tuple[list[Any], list[Any]], scores: FloatArray) -> dict[str, Any]:
    """As ``GridSearchCV`` has them, from the scores (n_splits, n_cells)."""
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
    ranked = np.where(missing, np.nanmin(mean) - 1.0, mean)
    return {
        "params": [dict(zip(names, cell, strict=True)) for cell in cells],
        **{f"param_{name}": _objects(values) for name, values in zip(names, zip(*cells, strict=True), strict=True)},
        **{f"split{k}_test_score": fold for k, fold in enumerate(scores)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": rankdata(-ranked, method="min").astype(np.int32),
    }


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    """Weights as they are: a word among numbers makes no words of these."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
