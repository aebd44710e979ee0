"""Rules that never see the source, fitted together: what a source has to add to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC

from isthmus._arrays import FloatArray, IntArray, Matrix
from isthmus.controls import BalancedKMeans, SelfTrainedLDA, TargetOnly
from isthmus.controls.target_only import TargetEstimator
from isthmus.domains import TwoDomains
from isthmus.matching.preparation import unit
from isthmus.study import Rows

NEIGHBOURS = 7
"""Of label spreading, as scikit-learn has it."""
AXES, SEVERAL = 3, (2, 3, 5)
"""Axes in multiples of the number of classes: of simple rules, and of rules that are averaged over several."""
LDA, KMEANS, BOTH = "target self-trained LDA", "target balanced k-means", "target LDA and k-means"
VOTE = "target vote of these"
TIE = 1e-3
"""What the probabilities of the discriminants add to votes: they decide ties, and nothing else."""


def _simple_rules(n_rows: int) -> dict[str, TargetOnly]:
    spreading = LabelSpreading(kernel="knn", n_neighbors=min(NEIGHBOURS, n_rows))
    return {
        "target 1-NN": TargetOnly(KNeighborsClassifier(1)),
        "target SVM": TargetOnly(LinearSVC(random_state=0)),
        "target label spreading": TargetOnly(spreading),
    }


class TargetRules(TargetEstimator):
    """Five rules of the target alone, the mean of the two strongest, and the vote of all five.

    Rows come on principal axes. Each rule takes so many leading ones, in multiples of the number of classes, and
    rows of unit length there: on text that is worth more than the choice of the rule.

    Examples
    --------
    >>> X_target = [[3.0, 0.1], [2.0, 0.0], [2.0, 0.2], [-1.0, 2.0], [-2.0, 3.0], [-1.0, 1.0]]
    >>> y_target = ["a", None, None, None, "b", None]
    >>> rules = TargetRules().fit(X_target[::4], ["a", "b"], X_target, y_target)
    >>> rules.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['a', 'b'], dtype=object)
    """

    rules_: dict[str, TargetOnly]
    discriminants_: dict[int, SelfTrainedLDA]
    means_: dict[int, BalancedKMeans]

    def __init__(self, *, source_transformer: Any = None, target_transformer: Any = None) -> None:
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        source, target, C = domains.source, domains.target, len(domains.classes)

        def fitted(rule: Any, multiple: int) -> Any:
            S, Z = (_cut(X, multiple, C) for X in (source.X, target.X))
            return rule.fit(S, source.y, Z, target.y)

        return {
            "rules_": {name: fitted(rule, AXES) for name, rule in _simple_rules(len(target.X)).items()},
            "discriminants_": {m: fitted(SelfTrainedLDA((m,)), m) for m in SEVERAL},
            "means_": {m: fitted(BalancedKMeans((m,)), m) for m in SEVERAL},
        }

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The class that most rules give to each target row (n,); ties go to the discriminants."""
        rows = self._rows(X, domain)
        five = (*self.rules_, LDA, KMEANS)
        votes = np.sum([np.eye(len(self.classes_))[self._codes(name, rows)] for name in five], axis=0)
        return np.asarray(self.classes_[(votes + TIE * self._probabilities(LDA, rows)).argmax(axis=1)])

    def called(self, name: str, X: Any) -> NDArray[Any]:
        """The class that one of the rules gives to each target row (n,)."""
        return np.asarray(self.classes_[self._codes(name, self._rows(X, "target"))])

    def _codes(self, name: str, rows: Matrix) -> IntArray:
        if name in self.rules_:
            return np.asarray(self.rules_[name].predict(_cut(rows, AXES, len(self.classes_))), dtype=np.intp)
        both = (LDA, KMEANS) if name == BOTH else (name,)
        return np.asarray(np.sum([self._probabilities(each, rows) for each in both], axis=0).argmax(axis=1))

    def _probabilities(self, name: str, rows: Matrix) -> FloatArray:
        """Probabilities (n, C), averaged over the numbers of axes."""
        rules: dict[int, Any] = self.discriminants_ if name == LDA else self.means_
        every = [rule.predict_proba(_cut(rows, m, len(self.classes_))) for m, rule in rules.items()]
        return np.asarray(np.mean(every, axis=0))

    def _dimension(self) -> int:
        return self.n_features_["target"]


def _cut(rows: Matrix, multiple: int, C: int) -> FloatArray:
    """Leading coordinates, with rows of unit length."""
    return unit(np.asarray(rows)[:, : multiple * C])


def _reading(name: str, model: TargetRules, rows: Rows, X: Matrix) -> NDArray[Any]:
    return model.called(name, X)


READINGS: dict[str, Callable[..., Any]] = {
    name: partial(_reading, name) for name in (*_simple_rules(1), LDA, KMEANS, BOTH)
}
"""What each rule by itself calls rows, as further columns of one fit."""
TARGET_ONLY = (*READINGS, VOTE)
"""The columns of all that never see the source."""
