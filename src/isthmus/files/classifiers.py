"""Classifiers of scikit-learn that can be stored as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.semi_supervised import LabelPropagation, LabelSpreading
from sklearn.svm import LinearSVC

from isthmus.files.arrays import Array, Labels, Rows
from isthmus.files.fitted import fitted_kind
from isthmus.files.kinds import Kind, Kinds, kinds
from isthmus.files.settings import Setting
from isthmus.files.shapes import Shape, require
from isthmus.files.transformers import PREPARING

CLASSIFYING = Kinds()
"""Classifiers, and pipelines that end in one: the list is filled below."""
_LINEAR: Mapping[str, Shape] = {
    "classes_": Labels("classes"),
    "coef_": Array("directions", "d"),
    "intercept_": Array("directions"),
    "n_iter_": Setting(),
}
_SPREAD: Mapping[str, Shape] = {
    "X_": Rows("n", "d"),
    "classes_": Labels("classes"),
    "label_distributions_": Array("n", "classes", allowed="nan"),
    "n_iter_": Setting(),
}


def _neighbours() -> Kind:
    """The nearest rows: stored as the rows, and looked up in a tree that is built again."""
    metrics = ("minkowski", "euclidean", "manhattan", "chebyshev", "cosine")
    limits = {"metric": metrics, "metric_params": (None,), "weights": ("uniform", "distance")}
    plain = fitted_kind(KNeighborsClassifier, {"rows": Rows("n", "d"), "labels": Labels("n")}, limits)

    def taken(estimator: Any) -> dict[str, Any]:
        values = plain.taken(estimator)
        if values["state"] is not None:
            rows, labels = estimator._fit_X, estimator.classes_[estimator._y]
            values["state"] = {"rows": rows, "labels": labels}
        return values

    def made(values: dict[str, Any]) -> Any:
        state = values.get("state")
        estimator = plain.made({**values, "state": None})
        if not state:
            return estimator
        require(state.keys() == {"rows", "labels"}, "rows and labels", [*state])
        return estimator.fit(state["rows"], state["labels"])

    return Kind(KNeighborsClassifier, plain.fields, taken, made, plain.fits)


def _without_neighbours(estimator: Any) -> None:
    estimator.nn_fit = None  # found again from the rows, when it is first asked


CLASSIFYING.by_name.update(PREPARING.by_name)
CLASSIFYING.by_name.update(
    kinds(
        fitted_kind(LinearSVC, _LINEAR),
        fitted_kind(LogisticRegression, _LINEAR),
        _neighbours(),
        fitted_kind(LabelSpreading, _SPREAD, {"kernel": ("knn", "rbf")}, finish=_without_neighbours),
        fitted_kind(LabelPropagation, _SPREAD, {"kernel": ("knn", "rbf")}, finish=_without_neighbours),
        fitted_kind(Pipeline, {}, {"transform_input": (None,)}, within=CLASSIFYING),
    ).by_name
)
