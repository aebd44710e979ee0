"""Corrupted sources: what a method gains from a source that says nothing, it did not gain from the source."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import InputTags
from sklearn.utils.validation import check_is_fitted

from isthmus._arrays import FloatArray, IntArray, Matrix, is_sparse
from isthmus._validation import as_generator, choice, length, matrix
from isthmus.domains import encoded_classes
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.estimators.training_data import TrainingData
from isthmus.exceptions import InputError


def noise_source(X: Any, y: Any, rng: np.random.Generator) -> tuple[Matrix, NDArray[Any]]:
    """Random features under true labels.

    Dense rows are turned about their mean by a random rotation of the n_s-dimensional space that the columns live
    in: mean and covariance stay as they were, and what a row says of its label is gone. Of sparse rows the entries
    of every column are dealt out to rows anew: each column keeps its values and its density.

    Examples
    --------
    >>> X, y = noise_source([[1.0], [1.0], [5.0], [5.0]], ["a", "a", "b", "b"], np.random.default_rng(0))
    >>> X.mean().round(12), X.std().round(12), y
    (np.float64(3.0), np.float64(2.0), array(['a', 'a', 'b', 'b'], dtype=object))
    """
    rows = matrix(X, "X_source")
    codes, classes = encoded_classes(y, "y_source")
    length(codes, rows.shape[0], "y_source", "X_source")
    return (_dealt_out if is_sparse(rows) else _rotated)(rows, rng), classes[codes]


def permuted_source(X: Any, y: Any, rng: np.random.Generator) -> tuple[Matrix, NDArray[Any]]:
    """True rows under labels permuted among them: classes as large as before, that mean nothing.

    Examples
    --------
    >>> permuted_source([[0.0], [1.0], [2.0]], ["a", "b", "c"], np.random.default_rng(0))[1]
    array(['c', 'a', 'b'], dtype=object)
    """
    codes, classes = encoded_classes(y, "y_source")
    return X, classes[rng.permutation(codes)]


def renamed_source(X: Any, y: Any, rng: np.random.Generator) -> tuple[Matrix, NDArray[Any]]:
    """True rows and groups, each class under the name of another: all classes in one random cycle.

    Examples
    --------
    >>> renamed_source([[0.0], [1.0], [2.0]], ["a", "b", "a"], np.random.default_rng(0))[1]
    array(['b', 'a', 'b'], dtype=object)
    """
    codes, classes = encoded_classes(y, "y_source")
    if len(classes) == 1:
        raise InputError(f"y_source: expected at least two classes to rename, got {len(classes)}.")
    cycle = rng.permutation(len(classes))
    names = np.empty(len(classes), dtype=np.intp)
    names[cycle] = np.roll(cycle, 1)
    return X, classes[names[codes]]


def _rotated(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Rows of the same mean and the same covariance."""
    mean = X.mean(axis=0, dtype=np.float64)
    _, s, Vt = sla.svd(X - mean, full_matrices=False)
    # n centred rows span n - 1 directions at most; Q is uniform among the bases orthogonal to the constant.
    r = min(len(s), len(X) - 1)
    G = rng.normal(size=(len(X), r))
    Q, R = sla.qr(G - G.mean(axis=0), mode="economic")
    Q = Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)
    return np.asarray(mean + (Q * s[:r]) @ Vt[:r], dtype=X.dtype)


def _dealt_out(X: Matrix, rng: np.random.Generator) -> Matrix:
    """Every column's entries at other rows."""
    columns = sp.csc_array(X, copy=True)
    columns.sum_duplicates()
    counts = np.diff(columns.indptr)
    rows = [rng.choice(X.shape[0], size=count, replace=False) for count in counts[counts > 0]]
    indices: IntArray = np.concatenate(rows) if rows else np.zeros(0, dtype=np.intp)
    indices = indices.astype(columns.indices.dtype)  # wider ones are not for all of scikit-learn
    return sp.csc_array((columns.data, indices, columns.indptr), shape=X.shape).tocsr()


KINDS = {"noise": noise_source, "permuted": permuted_source, "renamed": renamed_source}


class Corrupted(TwoDomainEstimator):
    """Any system, taught by a corrupted source.

    Parameters
    ----------
    estimator : TwoDomainEstimator
        The system; it is cloned in ``fit`` and never changed.
    kind : {"noise", "permuted", "renamed"}
        How the source is corrupted: :func:`noise_source`, :func:`permuted_source` or :func:`renamed_source`.
    random_state : int, Generator, RandomState or None
        A number corrupts the same source in the same way at every fit; a generator moves on from fit to fit, but a
        clone starts from a copy of it; None draws afresh.

    Attributes
    ----------
    estimator_ : TwoDomainEstimator
        The fitted system, with all it has learnt.
    classes_ : array
        The classes of the source.

    Examples
    --------
    >>> from isthmus import MLHD
    >>> X_source, y_source = [[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]], ["a", "a", "b", "b"]
    >>> X_target, y_target = [[4.0], [3.5], [-4.0], [-3.5]], ["a", None, "b", None]
    >>> corrupted = Corrupted(MLHD(), "renamed", random_state=0).fit(X_source, y_source, X_target, y_target)
    >>> corrupted.predict([[-2.0, -2.0]], domain="source")
    array(['b'], dtype=object)
    """

    estimator_: TwoDomainEstimator

    def __init__(self, estimator: TwoDomainEstimator, kind: str = "noise", *, random_state: Any = None) -> None:
        self.estimator = estimator
        self.kind = kind
        self.random_state = random_state

    def _validate(self) -> Any:
        if not isinstance(self.estimator, TwoDomainEstimator):
            raise InputError(f"estimator: expected a system over two domains, got {self.estimator!r}.")
        return KINDS[choice(self.kind, "kind", KINDS)]

    def _fit_data(self, data: TrainingData, settings: Any) -> dict[str, Any]:
        """Corrupt the source as it was given, then fit the system; its own transformers and checks see the result."""
        X, y = settings(data.X_source, data.y_source, as_generator(self.random_state))
        fitted = clone(self.estimator).fit(X, y, data.X_target, data.y_target, pairs=data.pairs)
        return {"estimator_": fitted, "classes_": fitted.classes_, "n_features_": fitted.n_features_}

    def _input_tags(self, domain: str) -> InputTags:
        return self.estimator._input_tags(domain)

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The class of each row (n,), by the fitted system."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X, domain)

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Rows as points of the fitted system's space (n, k)."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.transform(X, domain)

    def _dimension(self) -> int:
        return self.estimator_._dimension()
