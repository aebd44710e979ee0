"""Balanced k-means from a few labels: one of the rules that never see the source."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import softmax

from isthmus._arrays import FloatArray
from isthmus.controls.discriminants import balanced
from isthmus.controls.target_only import TargetEstimator
from isthmus.domains import TwoDomains

KMEANS_ROUNDS, SEED_WEIGHT, TEMPERATURE = 15, 3.0, 0.5
"""A labelled row counts three times in a mean; scores are divided by half of their deviation before balancing."""


class BalancedKMeans(TargetEstimator):
    r"""Means of the classes that learn from balanced guesses of the unlabelled rows.

    .. math:: P = \mathrm{balanced}(-\|z_i - \mu_c\|^2 / (\tau s)), \qquad
              \mu_c = \frac{\sum_u P_{uc} z_u + w \sum_{l \in c} z_l}{\sum_u P_{uc} + w n_c}

    with s the standard deviation of the squared distances. Classes without a labelled row are never called.

    Examples
    --------
    >>> X_target, y_target = [[0.0], [1.0], [2.0], [7.0], [9.0], [8.0]], ["a", None, None, None, "b", None]
    >>> rule = BalancedKMeans().fit([[0.0], [9.0]], ["a", "b"], X_target, y_target)
    >>> rule.predict([[4.0], [5.0]])
    array(['a', 'b'], dtype=object)
    """

    means_: FloatArray

    def __init__(self, *, source_transformer: Any = None, target_transformer: Any = None) -> None:
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _learned(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        X, y = domains.target.X, domains.target.y
        present, codes = np.unique(y[domains.target.labelled], return_inverse=True)
        means = _balanced_means(X[domains.target.labelled], np.eye(len(present))[codes], X[y < 0])
        return {"means_": means, "_present": present}

    def predict_proba(self, X: Any, domain: str = "target") -> FloatArray:
        """Probabilities of the classes (n, C), from squared distances in units of their own spread."""
        D = cdist(self._rows(X, domain), self.means_, "sqeuclidean")
        P = np.zeros((len(D), len(self.classes_)))
        P[:, self._present] = softmax(-D / (TEMPERATURE * (D.std() or 1.0)), axis=1)
        return P

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The class of each target row (n,): that of the nearest mean."""
        return np.asarray(self.classes_[self.predict_proba(X, domain).argmax(axis=1)])

    def _dimension(self) -> int:
        return int(self.means_.shape[1])


def _balanced_means(L: FloatArray, seeds: FloatArray, U: FloatArray) -> FloatArray:
    """The means (C, k) from labelled rows L, whose classes are the rows of ``seeds``, and unlabelled rows U."""
    totals, sizes = SEED_WEIGHT * seeds.T @ L, SEED_WEIGHT * seeds.sum(axis=0)
    M = totals / sizes[:, None]
    for _ in range(KMEANS_ROUNDS if len(U) else 0):
        scores = -cdist(U, M, "sqeuclidean")
        P = balanced(scores / (TEMPERATURE * (scores.std() or 1.0)), np.full(len(M), 1.0 / len(M)))
        M = (totals + P.T @ U) / (sizes + P.sum(axis=0))[:, None]
    return np.asarray(M)
