"""What every system over two domains can do, and what follows from a metric over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted

from isthmus._arrays import FloatArray, IntArray, Matrix
from isthmus._validation import choice, matrix, number, same_columns
from isthmus.domains import TwoDomains
from isthmus.evaluation.scores import share_predicted
from isthmus.exceptions import InputError
from isthmus.metric import DOMAINS, CrossDomainMetric

if TYPE_CHECKING:
    from isthmus.estimators.given_source import GivenSource

REFERENCES = ("source", "target", "both")
PAIR_BLOCK = 128
"""Rows whose full table of distances is computed at once where only its diagonal is asked for."""


class TwoDomainEstimator(BaseEstimator):  # type: ignore[misc]
    """The base of every system over a source and a target, whether or not it learns a metric.

    A subclass has a ``fit(X_source, y_source, X_target, y_target)`` that ends in :meth:`_note`, and a ``predict``.
    """

    classes_: NDArray[Any]
    n_features_: dict[str, int]

    def fit(self, X_source: Any, y_source: Any, X_target: Any, y_target: Any) -> Self:
        """Learn from a labelled source and a partly labelled target."""
        raise NotImplementedError

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The class of each row (n,)."""
        raise NotImplementedError

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Rows as points of the common space (n, k)."""
        raise NotImplementedError

    def _dimension(self) -> int:
        """The number k of columns of :meth:`transform`."""
        raise NotImplementedError

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of :meth:`transform`."""
        check_is_fitted(self, "classes_")
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{k}" for k in range(self._dimension())], dtype=object)

    def _note(self, domains: TwoDomains) -> None:
        """Remember what new rows have to look like. Called last in fit, when everything has been computed."""
        self.classes_ = domains.classes
        self.n_features_ = {"source": domains.source.X.shape[1], "target": domains.target.X.shape[1]}
        self._columns = {"source": domains.source.columns, "target": domains.target.columns}

    def _rows(self, X: Any, domain: str, name: str = "X") -> Matrix:
        """New rows of a domain, checked against those of fit."""
        check_is_fitted(self, "classes_")
        choice(domain, "domain", DOMAINS)
        same_columns(X, self._columns[domain], name)
        return matrix(X, name, n_columns=self.n_features_[domain])

    def _both(self, A: Any, B: Any, domains: tuple[str, str]) -> tuple[Matrix, Matrix]:
        """Rows of two domains, checked."""
        first, second = _two(domains)
        return self._rows(A, first, "A"), self._rows(B, second, "B")

    def score(self, X: Any, y: Any, domain: str = "target") -> float:
        """The share of labelled rows whose class is predicted; rows marked as unlabelled do not count."""
        return share_predicted(y, self.predict(X, domain), "y", "X")

    def given_source(self, X_source: Any, y_source: Any) -> GivenSource:
        """The same system as an ordinary scikit-learn estimator over the target, with the source held fixed.

        Returns
        -------
        GivenSource
            ``fit(X, y)``, ``predict``, ``transform`` and ``score`` over target rows; for ``GridSearchCV``,
            ``cross_val_score``, ``Pipeline`` and the like.
        """
        from isthmus.estimators.given_source import GivenSource, Source

        return GivenSource(self, Source(X_source, y_source))


class CrossDomainEstimator(TwoDomainEstimator):
    """The base of systems that learn a metric over both domains: everything that follows from it.

    A subclass has the parameters ``n_neighbors`` and ``references``, and a ``fit`` that ends in :meth:`_learned`.
    """

    n_neighbors: int
    references: str
    metric_: CrossDomainMetric

    def _checked_neighbors(self, domains: TwoDomains) -> None:
        """Raise unless the nearest-neighbour rule can be carried out on these domains."""
        sizes = {"source": len(domains.source.y), "target": len(domains.target.labelled)}
        sizes["both"] = sum(sizes.values())
        n_references = sizes[choice(self.references, "references", REFERENCES)]
        if number(self.n_neighbors, "n_neighbors", low=1, whole=True) > n_references:
            raise InputError(
                f"n_neighbors: expected at most the {n_references} reference rows, got {self.n_neighbors}."
            )

    def _classifier(self, domains: TwoDomains, metric: CrossDomainMetric) -> KNeighborsClassifier:
        """The nearest-neighbour rule over the reference rows, in the common space."""
        kinds = DOMAINS if self.references == "both" else (self.references,)
        parts = [getattr(domains, kind) for kind in kinds]
        rows = [metric.embed(part.X[part.labelled], kind) for part, kind in zip(parts, kinds, strict=True)]
        labels = np.concatenate([part.y[part.labelled] for part in parts])
        points = np.vstack(rows).astype(np.float64)
        return KNeighborsClassifier(self.n_neighbors, algorithm="brute").fit(points, labels)

    def _learned(self, domains: TwoDomains, metric: CrossDomainMetric) -> None:
        """Set what all methods below read. Nothing is set before everything has been computed."""
        classifier = self._classifier(domains, metric)
        self.metric_, self._neighbours = metric, classifier
        self._note(domains)

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Rows as points of the common space, where Euclidean distance is the learned metric.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d_t), or (n, d_s) for the source
            New or old rows. Single precision in gives single precision out.
        domain : {"target", "source"}
            Where the rows come from.

        Returns
        -------
        array (n, k)
            The points; k is the same for both domains.
        """
        rows = self._rows(X, domain)
        return self.metric_.embed(rows, domain)

    def _dimension(self) -> int:
        return self.metric_.dimension

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The class of each row, by its nearest reference rows across the domains (n,)."""
        points = self.transform(X, domain)
        # In the precision of the reference rows: scikit-learn is several times slower on a mixture.
        return np.asarray(self.classes_[self._neighbours.predict(points.astype(np.float64, copy=False))])

    def kneighbors(
        self, X: Any, n_neighbors: int | None = None, domain: str = "target"
    ) -> tuple[FloatArray, IntArray]:
        """Distances and row numbers of the nearest reference rows, nearest first, both (n, k).

        The reference rows are those of the parameter ``references``: all source rows, the labelled target rows, or
        the source rows followed by the labelled target rows.
        """
        points = self.transform(X, domain)
        if n_neighbors is not None:
            number(n_neighbors, "n_neighbors", low=1, high=self._neighbours.n_samples_fit_, whole=True)
        distances, rows = self._neighbours.kneighbors(points.astype(np.float64, copy=False), n_neighbors)
        return np.asarray(distances), np.asarray(rows)

    def pairwise_distances(self, A: Any, B: Any, domains: tuple[str, str] = ("source", "target")) -> FloatArray:
        """All distances (n, m) between rows A of one domain and rows B of another, or of the same."""
        a, b = self._both(A, B, domains)
        return np.asarray(np.sqrt(self.metric_.squared_distances(a, b, domains)))

    def pair_distance(self, A: Any, B: Any, domains: tuple[str, str] = ("source", "target")) -> FloatArray:
        """The distance (n,) of each row of A to the row of B in the same place."""
        a, b = self._both(A, B, domains)
        if a.shape[0] != b.shape[0]:
            raise InputError(f"B: expected {a.shape[0]} rows, as many as A, got {b.shape[0]}.")
        blocks = [slice(i, i + PAIR_BLOCK) for i in range(0, a.shape[0], PAIR_BLOCK)]
        squared = [np.diagonal(self.metric_.squared_distances(a[rows], b[rows], domains)) for rows in blocks]
        return np.asarray(np.sqrt(np.concatenate(squared)))

    def get_metric(self, domains: tuple[str, str] = ("source", "target")) -> Callable[[Any, Any], float]:
        """The distance of a row of one domain to a row of another as a plain function of two rows."""
        check_is_fitted(self, "metric_")
        return self.metric_.function(_two(domains))

    def get_mahalanobis_matrix(self) -> FloatArray:
        """M over the features of both domains, source first (d_s + d_t, d_s + d_t); linear kernels only."""
        check_is_fitted(self, "metric_")
        return self.metric_.feature_matrix()


def _two(domains: Any) -> tuple[str, str]:
    """Two names of domains."""
    if not isinstance(domains, tuple | list) or len(domains) != 2:
        raise InputError(f"domains: expected two names, such as ('source', 'target'), got {domains!r}.")
    first, second = (choice(domain, "domains", DOMAINS) for domain in domains)
    return first, second
