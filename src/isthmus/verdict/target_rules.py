"""Rules that never see the source, fitted together: what a source has to add to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC

from isthmus._arrays import FloatArray, IntArray, Matrix
from isthmus.controls import SelfTrainedLDA, TargetOnly
from isthmus.controls.discriminants import balanced
from isthmus.controls.target_only import TargetEstimator
from isthmus.domains import TwoDomains
from isthmus.study import Rows

NEIGHBOURS = 7
"""Of label spreading, as scikit-learn has it."""
COMPONENTS = (2, 3, 5)
"""Principal axes of k-means, in multiples of the number of classes, as of the self-trained discriminants."""
KMEANS_ROUNDS, SEED_WEIGHT, TEMPERATURE = 15, 3.0, 0.5
"""A labelled row counts three times in a mean; scores are divided by half of their deviation before balancing."""
MEAN, BOTH = "target vote of these", "target LDA and k-means"
LDA, KMEANS = "target self-trained LDA", "target balanced k-means"
TIE = 1e-3
"""What the probabilities of the discriminants add to votes: they decide ties, and nothing else."""


class BalancedKMeans(TargetEstimator):
    r"""Means of the classes that learn from balanced guesses of the unlabelled rows.

    .. math:: P = \mathrm{balanced}(-\|z_i - \mu_c\|^2 / (\tau s)), \qquad
              \mu_c = \frac{\sum_u P_{uc} z_u + w \sum_{l \in c} z_l}{\sum_u P_{uc} + w n_c}

    with s the standard deviation of the squared distances. Squared distances are averaged over several numbers of
    leading columns; rows come on principal axes, and classes without a labelled row are never called.

    Examples
    --------
    >>> X_target, y_target = [[0.0], [1.0], [2.0], [7.0], [9.0], [8.0]], ["a", None, None, None, "b", None]
    >>> rule = BalancedKMeans().fit([[0.0], [9.0]], ["a", "b"], X_target, y_target)
    >>> rule.predict([[4.0], [5.0]])
    array(['a', 'b'], dtype=object)
    """

    means_: tuple[FloatArray, ...]

    def __init__(self, *, source_transformer: Any = None, target_transformer: Any = None) -> None:
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _learned(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        X, y = domains.target.X, domains.target.y
        present, codes = np.unique(y[domains.target.labelled], return_inverse=True)
        seeds = np.eye(len(present))[codes]
        sizes = sorted({min(multiple * len(present), X.shape[1]) for multiple in COMPONENTS})
        L, U = X[domains.target.labelled], X[y < 0]
        return {"means_": tuple(_balanced_means(L[:, :k], seeds, U[:, :k]) for k in sizes), "_present": present}

    def predict_proba(self, X: Any, domain: str = "target") -> FloatArray:
        """Probabilities of the classes (n, C): squared distances, over all sizes, in units of their own spread."""
        rows = self._rows(X, domain)
        D = np.sum([cdist(rows[:, : M.shape[1]], M, "sqeuclidean") for M in self.means_], axis=0)
        P = np.zeros((len(D), len(self.classes_)))
        P[:, self._present] = softmax(-D / (TEMPERATURE * (D.std() or 1.0)), axis=1)
        return P

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The class of each target row (n,): that of the nearest mean."""
        return np.asarray(self.classes_[self.predict_proba(X, domain).argmax(axis=1)])

    def _dimension(self) -> int:
        return int(max(M.shape[1] for M in self.means_))


def _balanced_means(L: FloatArray, seeds: FloatArray, U: FloatArray) -> FloatArray:
    """The means (C, k) from labelled rows L, whose classes are the rows of ``seeds``, and unlabelled rows U."""
    totals, sizes = SEED_WEIGHT * seeds.T @ L, SEED_WEIGHT * seeds.sum(axis=0)
    M = totals / sizes[:, None]
    for _ in range(KMEANS_ROUNDS if len(U) else 0):
        scores = -cdist(U, M, "sqeuclidean")
        P = balanced(scores / (TEMPERATURE * (scores.std() or 1.0)), np.full(len(M), 1.0 / len(M)))
        M = (totals + P.T @ U) / (sizes + P.sum(axis=0))[:, None]
    return np.asarray(M)


def _rules(n_rows: int) -> dict[str, TargetEstimator]:
    spreading = LabelSpreading(kernel="knn", n_neighbors=min(NEIGHBOURS, n_rows))
    return {
        "target 1-NN": TargetOnly(KNeighborsClassifier(1)),
        "target SVM": TargetOnly(LinearSVC(random_state=0)),
        "target label spreading": TargetOnly(spreading),
        LDA: SelfTrainedLDA(),
        KMEANS: BalancedKMeans(),
    }


class TargetRules(TargetEstimator):
    """Five rules of the target alone, fitted to the same rows, and their vote; ties go to the discriminants.

    Examples
    --------
    >>> X_target, y_target = [[0.0], [1.0], [2.0], [7.0], [9.0], [8.0]], ["a", None, None, None, "b", None]
    >>> rules = TargetRules().fit([[0.0], [9.0]], ["a", "b"], X_target, y_target)
    >>> rules.predict([[4.0], [5.0]])
    array(['a', 'b'], dtype=object)
    """

    rules_: dict[str, TargetEstimator]

    def __init__(self, *, source_transformer: Any = None, target_transformer: Any = None) -> None:
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _learned(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        (X, y), (Z, codes) = (domains.source.X, domains.source.y), (domains.target.X, domains.target.y)
        return {"rules_": {name: rule.fit(X, y, Z, codes) for name, rule in _rules(len(Z)).items()}}

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The class that most rules give to each target row (n,)."""
        rows = self._rows(X, domain)
        votes = sum(self._votes(name, rows) for name in self.rules_) + TIE * self._of(LDA).predict_proba(rows)
        return np.asarray(self.classes_[np.asarray(votes).argmax(axis=1)])

    def called(self, name: str, X: Any) -> NDArray[Any]:
        """The class that one of the rules, or the mean of the two strongest, gives to each target row (n,)."""
        rows = self._rows(X, "target")
        return np.asarray(self.classes_[self._both(rows) if name == BOTH else self._codes(name, rows)])

    def _both(self, rows: Matrix) -> IntArray:
        """By the mean of the probabilities of discriminants and means."""
        P = self._of(LDA).predict_proba(rows) + self._of(KMEANS).predict_proba(rows)
        return np.asarray(P.argmax(axis=1), dtype=np.intp)

    def _of(self, name: str) -> Any:
        return self.rules_[name]

    def _codes(self, name: str, rows: Matrix) -> IntArray:
        return np.asarray(self._of(name).predict(rows), dtype=np.intp)  # the rules were fitted to codes

    def _votes(self, name: str, rows: Matrix) -> FloatArray:
        return np.asarray(np.eye(len(self.classes_))[self._codes(name, rows)])

    def _dimension(self) -> int:
        return self.n_features_["target"]


def _reading(name: str, model: TargetRules, rows: Rows, X: Matrix) -> NDArray[Any]:
    return model.called(name, X)


READINGS: dict[str, Callable[..., Any]] = {name: partial(_reading, name) for name in (*_rules(1), BOTH)}
"""What each rule by itself calls rows, as further columns of one fit."""
TARGET_ONLY = (*READINGS, MEAN)
"""The columns of all that never see the source."""
