"""A system with its source held fixed: an ordinary scikit-learn estimator over target rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import InputTags, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from isthmus._core.sklearn_bases import BaseEstimator, ClassifierMixin, TransformerMixin
from isthmus._core.validation import (
    FloatArray,
    as_labels,
    check_column_names,
    check_length,
    check_matrix,
    is_unlabelled,
)
from isthmus.estimators.base import SklearnCompatible, TwoDomainEstimator
from isthmus.exceptions import InputError


class Source:
    """Source rows and their labels as one value.

    scikit-learn slices anything passed to ``fit`` that happens to be as long as the target; a value that has no
    length and is shared, not copied, by ``clone`` can't be sliced, and costs nothing in a grid search.
    """

    def __init__(self, X: Any, y: Any) -> None:
        self.X: Any = X
        self.y: Any = y

    def __sklearn_clone__(self) -> Source:
        return self

    def __deepcopy__(self, memo: Any) -> Source:
        return self

    def __repr__(self) -> str:
        return f"Source({' × '.join(map(str, np.shape(self.X)))})"


def has_method(method: str) -> Callable[[Any], bool]:
    """Return whether the system has a method, as the parameters now have it."""
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), method)


class GivenSource(ClassifierMixin, TransformerMixin, BaseEstimator):
    """A cross-domain estimator as a scikit-learn classifier and transformer over the target.

    Made by :meth:`MLHD.given_source`. Parameters of the system are reached as ``estimator__alignment_weight`` and the
    like, before ``fit``; after it, ``estimator_`` is the system to change a rule of. Bad rows are refused in
    scikit-learn's own words, which its checks ask for.

    Parameters
    ----------
    estimator : TwoDomainEstimator
        The system; it is cloned in ``fit`` and never changed.
    source : Source
        Source rows and labels.

    Attributes
    ----------
    estimator_ : TwoDomainEstimator
        The fitted system.
    classes_ : array
        The classes of the source.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from isthmus import MLHD
    >>> from isthmus.data.datasets import load_digits
    >>> from isthmus.data.splits import SemiSupervisedSplit
    >>> d = load_digits(3)
    >>> over_target = MLHD().given_source(d.X_source, d.y_source)
    >>> scores = cross_val_score(over_target, d.X_target, d.y_target, cv=SemiSupervisedSplit(3))
    >>> scores.shape
    (3,)
    """

    estimator_: Any
    classes_: NDArray[Any]

    def __init__(self, estimator: TwoDomainEstimator, source: Source) -> None:
        self.estimator = estimator
        self.source = source

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the source and target rows X (n, d_t) with classes y (n,): -1, None or NaN where unknown."""
        if y is None:
            raise InputError("y: requires y to be passed, but the target y is None; mark unlabelled rows with -1.")
        if not isinstance(self.source, Source):
            got = type(self.source).__name__
            raise InputError(f"source: expected a Source, as given_source makes it, got {got}.")
        # scikit-learn notes the columns on the object it is given, before anyone knows whether the fit succeeds.
        columns = GivenSource(self.estimator, self.source)
        rows = self._check_rows(columns, X)
        fitted = clone(self.estimator).fit(self.source.X, self.source.y, rows, _labels(y))
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update({name: value for name, value in vars(columns).items() if name.endswith("_in_")})
        self.estimator_, self.classes_ = fitted, fitted.classes_
        self.n_iter_: Any = getattr(fitted, "n_iter_", None)
        return self

    def _call(self, method: str, X: Any, *others: Any) -> Any:
        """Call a method of the fitted system with checked target rows."""
        check_is_fitted(self)
        rows = self._check_rows(self, X, reset=False)
        return getattr(self.estimator_, method)(rows, *others)

    def _check_rows(self, owner: Any, X: Any, **options: Any) -> Any:
        """Return rows that scikit-learn finds good; where a transformer takes them first, their columns only."""
        check_column_names(X, "X")
        if getattr(self.estimator, "target_transformer", None) is not None:
            return validate_data(owner, X, skip_check_array=True, **options)
        accepted = "csr" if self._input_tags().sparse else False
        # NaN and inf are refused below, in one sentence; all else in scikit-learn's words, which its checks ask for.
        types = [np.float64, np.float32]
        rows = validate_data(owner, X, accept_sparse=accepted, dtype=types, ensure_all_finite=False, **options)
        return check_matrix(rows, "X")

    def _input_tags(self) -> Any:
        """Return the tags of target rows."""
        return self.estimator._input_tags("target") if isinstance(self.estimator, SklearnCompatible) else InputTags()

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each target row (n,)."""
        return np.asarray(self._call("predict", X))

    def transform(self, X: Any) -> FloatArray:
        """Return target rows as points of the common space (n, k)."""
        return np.asarray(self._call("transform", X))

    @available_if(has_method("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities of the classes (n, C), where the rule gives any."""
        return np.asarray(self._call("predict_proba", X))

    @available_if(has_method("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Return scores of the classes, where the rule gives any."""
        return np.asarray(self._call("decision_function", X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share, by weight, of labelled rows whose class is predicted; unlabelled rows do not count."""
        plain = float(self._call("score", X, y))  # checks y
        if sample_weight is None:
            return plain
        labels, weights = as_labels(y, "y"), np.asarray(sample_weight, dtype=np.float64)
        check_length(weights, len(labels), "sample_weight", "y")
        known = ~is_unlabelled(labels)
        if not weights[known].sum() > 0.0:
            raise InputError("sample_weight: expected a positive weight of a labelled row, got none.")
        return float(np.average((self.predict(X) == labels)[known], weights=weights[known]))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of :meth:`transform`."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.get_feature_names_out())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self._input_tags()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _labels(y: Any) -> Any:
    """Return labels as scikit-learn expects of every classifier: a column is flattened, real numbers refused."""
    if not isinstance(y, list | tuple) and len(getattr(y, "shape", ())) == 2:
        y = column_or_1d(y, warn=True)
    labels = as_labels(y, "y")
    if labels.dtype.kind == "f" and np.isfinite(labels).all():
        check_classification_targets(labels)
    return labels
