"""Rules that never see the source, fitted together: what a source has to add to."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC

from isthmus._core.validation import BoolArray, FloatArray, IntArray, Matrix
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import TargetEstimator
from isthmus.estimators.controls import KINDS, BalancedKMeans, SelfTrainedLDA, TargetOnly
from isthmus.estimators.shared_columns import SHARED, SharedColumns
from isthmus.evidence.comparison import Estimate, compare_with_best, estimate_difference
from isthmus.exceptions import DataWarning, InputError
from isthmus.geometry.similarity import normalize_rows
from isthmus.study.board import Board
from isthmus.study.design import Classification, Entrant, Fit
from isthmus.study.source_value.problem import LABELS_FOR_NAMING, NAMING, Question, Splits, WithoutSource
from isthmus.study.study import Study
from isthmus.study.trial_rows import CorruptedRows, TrialRows

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
            S, Z = (_leading_unit_rows(X, multiple, C) for X in (source.X, target.X))
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
            return np.asarray(
                self.rules_[name].predict(_leading_unit_rows(rows, AXES, len(self.classes_))), dtype=np.intp
            )
        both = (LDA, KMEANS) if name == BOTH else (name,)
        return np.asarray(np.sum([self._probabilities(each, rows) for each in both], axis=0).argmax(axis=1))

    def _probabilities(self, name: str, rows: Matrix) -> FloatArray:
        """Probabilities (n, C), averaged over the numbers of axes."""
        rules: dict[int, Any] = self.discriminants_ if name == LDA else self.means_
        every = [rule.predict_proba(_leading_unit_rows(rows, m, len(self.classes_))) for m, rule in rules.items()]
        return np.asarray(np.mean(every, axis=0))

    def _dimension(self) -> int:
        return self.n_features_["target"]


def _leading_unit_rows(rows: Matrix, multiple: int, C: int) -> FloatArray:
    """Leading coordinates, with rows of unit length."""
    return normalize_rows(np.asarray(rows)[:, : multiple * C])


def _predict_rule(name: str, model: TargetRules, rows: TrialRows, X: Matrix) -> NDArray[Any]:
    return model.called(name, X)


READINGS: dict[str, Callable[..., Any]] = {
    name: partial(_predict_rule, name) for name in (*_simple_rules(1), LDA, KMEANS, BOTH)
}
"""What each rule by itself calls rows, as further columns of one fit."""
TARGET_ONLY = (*READINGS, VOTE)
"""The columns of all that never see the source."""


SYSTEM = "with the source"
SPOILT = {f"{kind} source": kind for kind in KINDS}
"""The columns of the same system with sources that say nothing."""
FOR_NAMES = "renamed"
TITLE = "does the source help"


@dataclass(frozen=True)
class RowByRow(Classification):
    """Classification, with pairs where there are any; right (1) or wrong (0) is noted for each tested row."""

    measure: ClassVar[str] = "accuracy"

    def fit(self, model: Any, rows: Any) -> None:
        """Fit to both domains, with the pairs that are not held back."""
        model.fit(*rows.fit, **({} if rows.pairs is None else {"pairs": rows.pairs}))

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """Accuracy, and what it is the mean of, by the number of the row."""
        right = entrant.predict(column, fit, fit.rows.X_test) == fit.rows.y_test
        return float(np.mean(right)), dict(zip(map(str, fit.rows.test), map(float, right), strict=True))


def make_study(
    splits: Splits, system: Any, groups: Sequence[str], judged: str, columns: IntArray | None = None
) -> Study:
    """The system and all that needs no source in every group; its spoilt sources where it is ``judged``.

    Where classes are hidden, and that is not what is judged, one kind has to do: :data:`FOR_NAMES`.
    """
    alone = WithoutSource(splits.question.coordinates)
    where = {kind: (judged, NAMING) if kind == FOR_NAMES else (judged,) for kind in KINDS}
    shared = () if columns is None else (Entrant(SHARED, partial(SharedColumns, columns), control=True),)
    entrants = (
        Entrant(SYSTEM, system),
        *(Entrant(n, system, control=True, rows=CorruptedRows(k), groups=where[k]) for n, k in SPOILT.items()),
        Entrant(VOTE, TargetRules, control=True, readings=READINGS, rows=alone),
        *shared,
    )
    return Study(TITLE, splits, entrants, groups=tuple(groups), task=RowByRow())


def correct_predictions(board: Board, column: str, group: str, n_rows: int) -> FloatArray:
    """Right (1) or wrong (0) for each split and each target row (J, n_t), NaN where a row is not tested."""
    records = board.records(column)[board.groups.index(group)]
    found = np.full((len(records), n_rows), np.nan)
    for split, record in enumerate(records):
        if record is None or record.figures is None:
            status = "no record" if record is None else record.status
            raise InputError(f"{column}: expected fits that succeed, got one that {status.rstrip('.')}.")
        rows = np.array(list(map(int, record.figures)), dtype=np.intp)
        found[split, rows] = list(record.figures.values())
    return found


WORTH = 0.01
"""A gain below one point is not worth having a source for."""


@dataclass(frozen=True)
class TrialGroup:
    """One group of trials.

    Parameters
    ----------
    group : str
        Labels per class, or "naming".
    tested : int
        How many different rows were tested.
    accuracy : mapping of str to float
        Of every column.
    best : str
        The best rule that never sees the source.
    over_target : Estimate
        The system, less that; the interval is corrected for the choice of the best.
    over_spoilt : mapping of str to Estimate
        The system, less itself with each kind of spoilt source; empty where it was not asked.
    over_shared : Estimate, optional
        The system, less a rule on the columns that both domains have.
    names : Names, optional
        Of classes that were hidden.
    """

    group: str
    tested: int
    accuracy: Mapping[str, float]
    best: str
    over_target: Estimate
    over_spoilt: Mapping[str, Estimate] = field(default_factory=dict)
    over_shared: Estimate | None = None
    names: Names | None = None

    @property
    def without(self) -> float:
        """The accuracy of the best rule that never sees the source."""
        return self.accuracy[self.best]

    @property
    def helps(self) -> bool | None:
        """Whether the source helps: better than target-only and than every spoilt source, or surely not; or None.

        Each comparison has to be won, so that the chance of a false "yes" is not above that of any single one.
        """
        every = (self.over_target, *self.over_spoilt.values())
        if all(each.low > 0.0 for each in every):
            return True
        return False if any(each.high < WORTH for each in every) else None


@dataclass(frozen=True)
class Names:
    """Rows of hidden classes: how many are called by their name with the source, and by the best spoilt one."""

    right: Estimate
    spoilt: float
    classes: int


def summarize_group(board: Board, splits: Splits, group: str) -> TrialGroup:
    """What the trials of a group say; they have run."""
    question = splits.question
    entered = {
        name for entrant in board.design.entrants if entrant.takes_part(group, None) for name in entrant.columns
    }
    columns = [name for name in board.design.columns if name in entered]
    every = {name: correct_predictions(board, name, group, len(question.y_target)) for name in columns}
    train = _labels_shown(question, group)
    hidden = _hidden(splits, board.seeds) if group == NAMING else None

    units = None if hidden is None else np.tile(question.y_target, 2)
    cells = {name: each if hidden is None else _separate_hidden(each, hidden) for name, each in every.items()}
    own = cells[SYSTEM]
    over_target, best = compare_with_best(own, {name: cells[name] for name in TARGET_ONLY}, train, units)
    return TrialGroup(
        group,
        int(np.isfinite(every[SYSTEM]).any(axis=0).sum()),
        {name: float(np.nanmean(each)) for name, each in every.items()},
        best,
        over_target,
        {name: estimate_difference(own - cells[name], train, units) for name in SPOILT if name in cells},
        estimate_difference(own - cells[SHARED], train, units) if SHARED in cells else None,
        None if hidden is None else _names(every, hidden, question, train),
    )


def _labels_shown(question: Question, group: str) -> float:
    shown = question.taken(LABELS_FOR_NAMING if group == NAMING else int(group)).sum()
    return float(shown) / (2.0 if group == NAMING else 1.0)


def _hidden(splits: Splits, seeds: Sequence[int]) -> BoolArray:
    """Which rows are of a class that a split hides (J, n_t)."""
    return np.stack([np.isin(splits.question.y_target, splits.hidden(seed)) for seed in seeds])


def _separate_hidden(right: FloatArray, hidden: BoolArray) -> FloatArray:
    """Columns (J, 2n): a row is another one while its class is hidden."""
    return np.hstack([np.where(hidden, right, np.nan), np.where(hidden, np.nan, right)])


def _names(every: Mapping[str, FloatArray], hidden: BoolArray, question: Question, train: float) -> Names:
    named = {name: np.where(hidden, every[name], np.nan) for name in (SYSTEM, *SPOILT) if name in every}
    spoilt = max(float(np.nanmean(each)) for name, each in named.items() if name != SYSTEM)
    classes: IntArray = question.named
    found = estimate_difference(named[SYSTEM], train, question.y_target)
    bounded = Estimate(found.mean, max(found.low, 0.0), min(found.high, 1.0))
    return Names(bounded, spoilt, len(classes) // 2)


FEWEST = 3
"""Splits in any group."""


def run_groups(
    splits: Splits,
    system: Any,
    groups: Sequence[str],
    judged: str,
    columns: IntArray | None = None,
    *,
    n_jobs: int = 1,
    progress: Any = False,
) -> dict[str, TrialGroup]:
    """What was measured in each group; the others come with more labels, or with classes hidden."""
    others, half = [group for group in groups if group != judged], max(FEWEST, (len(splits.seeds) + 1) // 2)
    found: dict[str, TrialGroup] = {}
    for some, seeds in (([judged], splits.seeds), (others, splits.seeds[:half])):
        if some:
            asking = make_study(splits, system, some, judged, columns)
            with warnings.catch_warnings():
                # That classes have no labelled row is our doing.
                warnings.filterwarnings("ignore", "y_target: .* no labelled row", DataWarning)
                board = asking.run(seeds, n_jobs=n_jobs, progress=progress)
            found |= {group: summarize_group(board, splits, group) for group in some}
    return {group: found[group] for group in groups}
