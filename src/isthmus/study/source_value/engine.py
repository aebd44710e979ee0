"""The trials of a source: a system with it, the same with corrupted sources, and rules of the target alone."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from isthmus._core.validation import FloatArray, IntArray, Matrix
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import TargetEstimator
from isthmus.estimators.controls import KINDS, SHARED, BalancedKMeans, SelfTrainedLDA, SharedColumns, TargetOnly
from isthmus.exceptions import DataWarning
from isthmus.geometry.similarity import normalize_rows
from isthmus.study.board import Board
from isthmus.study.design import Classification, Entrant, Fit
from isthmus.study.source_value.problem import Splits, WithoutSource
from isthmus.study.study import Study
from isthmus.study.trial_rows import CorruptedRows, TrialRows

# Of label spreading, scikit-learn's default.
NEIGHBOURS = 7
# Axes in multiples of the number of classes: of simple rules, and of rules that are averaged over several.
AXES, SEVERAL = 3, (2, 3, 5)
LDA, KMEANS, BOTH = "target self-trained LDA", "target balanced k-means", "target LDA and k-means"
VOTE = "target vote of these"
# The weight of the discriminants' probabilities in the vote: small enough to decide ties only.
TIE = 1e-3


def _simple_rules(n_rows: int) -> dict[str, TargetOnly]:
    rules = {facts.name: clone(TargetOnly(**facts.options)) for facts in TargetOnly.systems}
    rules["target label spreading"].set_params(classifier__n_neighbors=min(NEIGHBOURS, n_rows))
    return rules


class TargetRules(TargetEstimator):
    """Five rules of the target alone, the mean of the two strongest, and the vote of all five.

    Rows come on principal axes. Each rule takes some leading ones, in multiples of the number of classes, and rows of
    unit length there: on text that matters more than the choice of the rule.

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
        self._set_parameters(locals())

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        source, target, C = domains.source, domains.target, len(domains.classes)

        def fit(rule: Any, multiple: int) -> Any:
            S, Z = (_leading_unit_rows(X, multiple, C) for X in (source.X, target.X))
            return rule.fit(S, source.y, Z, target.y)

        return {
            "rules_": {name: fit(rule, AXES) for name, rule in _simple_rules(len(target.X)).items()},
            "discriminants_": {m: fit(SelfTrainedLDA((m,)), m) for m in SEVERAL},
            "means_": {m: fit(BalancedKMeans((m,)), m) for m in SEVERAL},
        }

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """Return the class that most rules give to each target row (n,); ties go to the discriminants."""
        rows = self._rows(X, domain)
        five = (*self.rules_, LDA, KMEANS)
        votes = np.sum([np.eye(len(self.classes_))[self._codes(name, rows)] for name in five], axis=0)
        return np.asarray(self.classes_[(votes + TIE * self._probabilities(LDA, rows)).argmax(axis=1)])

    def predict_by(self, name: str, X: Any) -> NDArray[Any]:
        """Return the class that one of the rules gives to each target row (n,)."""
        return np.asarray(self.classes_[self._codes(name, self._rows(X, "target"))])

    def _codes(self, name: str, rows: Matrix) -> IntArray:
        if name in self.rules_:
            Z = _leading_unit_rows(rows, AXES, len(self.classes_))
            return np.asarray(self.rules_[name].predict(Z), dtype=np.intp)
        both = (LDA, KMEANS) if name == BOTH else (name,)
        return np.asarray(np.sum([self._probabilities(each, rows) for each in both], axis=0).argmax(axis=1))

    def _probabilities(self, name: str, rows: Matrix) -> FloatArray:
        """Return probabilities (n, C), averaged over the numbers of axes."""
        rules: dict[int, Any] = self.discriminants_ if name == LDA else self.means_
        every = [rule.predict_proba(_leading_unit_rows(rows, m, len(self.classes_))) for m, rule in rules.items()]
        return np.asarray(np.mean(every, axis=0))

    def _dimension(self) -> int:
        return self.n_features_["target"]


def _leading_unit_rows(rows: Matrix, multiple: int, C: int) -> FloatArray:
    return normalize_rows(np.asarray(rows)[:, : multiple * C])


def _predict_by(name: str, model: TargetRules, rows: TrialRows, X: Matrix) -> NDArray[Any]:
    return model.predict_by(name, X)


# The predictions of each rule by itself, as further columns of one fit.
READINGS: dict[str, Callable[..., Any]] = {
    name: partial(_predict_by, name) for name in (*_simple_rules(1), LDA, KMEANS, BOTH)
}
# The columns of all rules that never see the source.
TARGET_ONLY = (*READINGS, VOTE)
SYSTEM = "with the source"
# The column of the same system with sources that carry no information, of another kind in each split.
CORRUPTED = "corrupted sources"
TITLE = "does the source help"
# Splits in any group, and of groups that are not judged.
FEWEST_SPLITS, OTHER_SPLITS = 3, 3
# The shares of all splits after which the verdict may be reached.
LOOKS = (0.15, 0.25, 0.5, 1.0)
# The chance of a wrong end of an interval, over all looks.
LEVEL = 0.05
# Notes of a fit: whether it used the source, and the share of rows of hidden classes that it named correctly.
USED, NAMED = "source used", "hidden classes"


def plan_looks(n_splits: int) -> Iterator[tuple[int, float]]:
    r"""Yield after how many splits the verdict may be reached, with the level of each end of the interval there.

    A share t of all splits has the level :math:`\alpha (t_k^2 - t_{k-1}^2)`. The levels sum to α, so that the chance
    of a wrong end at any look is at most α, however the looks depend on each other (Bonferroni's inequality).

    Examples
    --------
    >>> [(splits, round(level, 4)) for splits, level in plan_looks(40)]
    [(6, 0.0011), (10, 0.002), (20, 0.0094), (40, 0.0375)]
    >>> list(plan_looks(3))
    [(3, 0.05)]
    """
    before = 0.0
    for n in sorted({max(FEWEST_SPLITS, math.ceil(share * n_splits)) for share in LOOKS}):
        spent = (n / n_splits) ** 2
        yield n, LEVEL * (spent - before)
        before = spent


@dataclass(frozen=True)
class RotatedCorruption:
    """Source rows that are corrupted, in turn as noise, permuted labels and renamed classes."""

    seeds: tuple[int, ...]

    def kind(self, seed: int) -> str:
        """Return the kind of a split."""
        return tuple(KINDS)[self.seeds.index(seed) % len(KINDS)]

    def __call__(self, rows: TrialRows, seed: int) -> TrialRows:
        """Return the rows with their source corrupted."""
        return CorruptedRows(self.kind(seed))(rows, seed)


@dataclass(frozen=True)
class WithPairs(Classification):
    """Classification, with pairs where there are any; notes: the use of the source, and hidden classes."""

    def fit(self, model: Any, rows: Any) -> None:
        """Fit to both domains, with the pairs that are not held out."""
        model.fit(*rows.fit, **({} if rows.pairs is None else {"pairs": rows.pairs}))

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """Return the accuracy with the notes."""
        rows, used = fit.rows, getattr(fit.model, "source_used_", None)
        right = entrant.predict(column, fit, rows.X_test) == rows.y_test
        hidden = ~np.isin(rows.y_test, rows.y_target[rows.labelled])
        notes = {} if used is None else {USED: float(used)}
        return float(np.mean(right)), notes | ({NAMED: float(np.mean(right[hidden]))} if hidden.any() else {})


def run_splits(
    splits: Splits, system: Any, columns: IntArray | None, groups: Sequence[str], corrupted: Sequence[str],
    seeds: Sequence[int], *, n_jobs: int = 1, progress: Any = False,
) -> Board:  # fmt: skip
    """Run some splits of groups of trials: the system, target-only rules, corrupted sources in some groups.

    Where both domains have ``columns``, a rule on these takes part.
    """
    alone = WithoutSource(splits.question.coordinates)
    shared = () if columns is None else (Entrant(SHARED, partial(SharedColumns, columns), control=True),)
    spoilt = RotatedCorruption(splits.seeds)
    entrants = (
        Entrant(SYSTEM, system),
        *((Entrant(CORRUPTED, system, control=True, rows=spoilt, groups=tuple(corrupted)),) if corrupted else ()),
        Entrant(VOTE, TargetRules, control=True, readings=READINGS, rows=alone),
        *shared,
    )
    study = Study(TITLE, splits, entrants, groups=tuple(groups), task=WithPairs())
    with warnings.catch_warnings():
        # Classes have no labelled row because the splits hide them.
        warnings.filterwarnings("ignore", "y_target: .* no labelled row", DataWarning)
        return study.run(seeds, n_jobs=n_jobs, progress=progress)
