"""Probe of a loaded model: it has to answer for a few rows of both domains before anybody relies on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from isthmus._core.threads import openmp_controller, single_threaded_blas
from isthmus.estimators.base import TargetClassifier
from isthmus.estimators.controls import Corrupted, SelfTrainedLDA, TargetOnly
from isthmus.estimators.itml import ITML
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import DOMAINS
from isthmus.io.stored_values import check, is_from_sklearn

# Rows of zeros, of ones, and at random.
ROWS = 4
# Longer rows are sparse: their zeros would take more than the model.
LONGEST_ROW = 2**18
# Columns of a table for a transformer.
LONGEST_INPUT = 2**20
METHODS = ("transform", "predict", "predict_proba", "decision_function", "kneighbors")


def inner_system(model: Any) -> Any:
    """Return the system within corrupted sources."""
    while isinstance(model, Corrupted):
        model = model.estimator_
    return model


def check_answers(model: Any) -> None:
    """Raise unless a fitted system answers for rows of each domain, behind its transformer and through it.

    What a system refuses in a sentence of its own (a similarity has no neighbours within a domain) is an answer, as
    long as one method has another.
    """
    # On a busy machine, threads for a handful of rows would wait for each other longer than they work.
    with single_threaded_blas(), openmp_controller().limit(limits=1):
        _check_answers(inner_system(model))


def _check_answers(inner: Any) -> None:
    inner._validate()
    if isinstance(inner, ITML):
        X = _make_rows(inner.n_features_in_)
        _check_points(inner.transform(X), X.shape[0])
        return
    of_target = isinstance(inner, TargetOnly | SelfTrainedLDA | TargetClassifier)
    check(inner.n_features_.keys() == {*DOMAINS} == inner.transformers_.keys(), "both domains", inner.n_features_)
    for domain in DOMAINS[1:] if of_target else DOMAINS:
        # Behind the transformers first: rows of any numbers do, and what the transformers take need not be known.
        kept = inner.transformers_, inner._columns
        try:
            inner.transformers_ = inner._columns = dict.fromkeys(DOMAINS)
            _check_methods(
                inner, inner._fit_rows[:ROWS] if inner.transductive else _make_rows(inner.n_features_[domain]), domain
            )
        finally:
            inner.transformers_, inner._columns = kept
        sample = sample_row(inner.transformers_[domain])
        if sample is not None and not inner.transductive:
            inner._rows(sample, domain)
    str(getattr(inner, "result_", ""))


def _check_methods(model: Any, X: Any, domain: str) -> None:
    n, answered = X.shape[0], False
    for method in METHODS:
        if not hasattr(model, method):
            continue
        try:
            found = getattr(model, method)(X, domain=domain)
        except InputError:
            continue
        answered = True
        for part in found if isinstance(found, tuple) else (found,):
            if method == "predict":
                check(np.shape(part) == (n,), "a class for each row", np.shape(part))
            else:
                _check_points(part, n)
            if method == "predict_proba":
                check(part.shape[1] == len(model.classes_), "a number for each class", part.shape)
    check(answered, f"a model that answers for the {domain}", "none")


def _check_points(points: Any, n: int) -> None:
    points = np.asarray(points)
    right = points.ndim in (1, 2) and len(points) == n and points.dtype.kind in "fi"
    check(right and not np.isnan(points).any(), "numbers for each row", f"{points.dtype} {points.shape}")


def _make_rows(d: Any) -> Any:
    check(type(d) is int and 1 <= d < 2**31, "a number of features", d)
    n = ROWS + (d == ROWS)  # else arrays that were turned would fit too
    if d > LONGEST_ROW:
        return sp.csr_array((np.ones(ROWS), np.arange(ROWS), np.arange(ROWS + 1)), shape=(ROWS, d))
    rows = np.abs(np.random.default_rng(0).normal(size=(n, d)))
    rows[0], rows[1] = 0.0, 1.0  # a division by a length or a deviation of zero would show here
    return rows


def sample_row(transformer: Any) -> Any:
    """Return one row that a fitted transformer of scikit-learn takes, or None where nobody knows.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> sample_row(StandardScaler().fit([[1.0, 2.0]]))
    array([[0., 0.]])
    """
    if transformer is None or not is_from_sklearn(transformer):
        return None
    d: Any = vars(transformer).get("n_features_in_", 1)
    check(type(d) is int and 0 < d <= LONGEST_INPUT, f"a transformer of at most {LONGEST_INPUT} columns", d)
    if isinstance(transformer, CountVectorizer):
        return ["a b"]
    if isinstance(transformer, Pipeline):
        steps = [step for _, step in transformer.steps if step not in (None, "passthrough")]
        return sample_row(steps[0]) if steps else None
    if isinstance(transformer, FeatureUnion):
        return sample_row(transformer.transformer_list[0][1])
    if isinstance(transformer, ColumnTransformer):
        return _sample_table(transformer)
    if isinstance(transformer, OneHotEncoder | OrdinalEncoder):
        cells = [names[0] for names in transformer.categories_]
    elif isinstance(transformer, SimpleImputer):
        cells = list(transformer.statistics_)
    else:
        return _add_names(np.zeros((1, d)), transformer) if "n_features_in_" in vars(transformer) else None
    row = np.empty((1, len(cells)), dtype=object)
    row[0] = cells
    numbers = all(isinstance(cell, int | float | np.number) for cell in cells)
    return _add_names(row.astype(np.float64) if numbers else row, transformer)


def _sample_table(transformer: Any) -> Any:
    """Return a row of a table, each column as the transformer of that column takes it."""
    row = np.zeros((1, transformer.n_features_in_), dtype=object)
    for _, inner, columns in transformer.transformers_:
        if isinstance(inner, str):
            continue
        cells = sample_row(inner)
        places = np.arange(transformer.n_features_in_)
        names = getattr(transformer, "feature_names_in_", None)
        if names is not None and not isinstance(columns, slice):
            listed = [columns] if isinstance(columns, str) else list(columns)
            if all(isinstance(name, str) for name in listed):
                columns = [list(names).index(name) for name in listed]
        if cells is not None:
            chosen = np.atleast_1d(places[columns])
            row[0, chosen] = cells if isinstance(cells, list) else np.asarray(cells)[0]
    return _add_names(row, transformer)


def _add_names(row: Any, transformer: Any) -> Any:
    """Return a row as a data frame where the transformer was fitted to one, and pandas is there."""
    names = getattr(transformer, "feature_names_in_", None)
    if names is None:
        return row
    try:
        import pandas
    except ImportError:
        return None
    return pandas.DataFrame(row, columns=names).infer_objects()
