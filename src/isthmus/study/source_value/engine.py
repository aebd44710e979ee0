"""The trials of a source: the question, the splits that hide labels, and what is compared in each of them.

A system with the source is compared with itself with corrupted sources, and with rules of the target alone.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from isthmus._core.linalg import normalize_rows
from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, Matrix
from isthmus.data.domains import KnownPairs, TwoDomains
from isthmus.estimators.base import TargetEstimator
from isthmus.estimators.controls import KINDS, SHARED, BalancedKMeans, SelfTrainedLDA, SharedColumnsOnly, TargetOnly
from isthmus.exceptions import DataWarning, InputError
from isthmus.geometry.similarity import prepare_rows, scale_rows
from isthmus.study.board import Board
from isthmus.study.design import Classification, Entrant, Fit
from isthmus.study.study import Study
from isthmus.study.trial_rows import CorruptedRows, Trial, TrialRows

# Labels per class that are tried, as far as there are labels.
STEPS = (1, 3, 10, 30)
# Rows needed for testing: an interval from fewer is too wide to say anything.
FEWEST_TESTED = 20
# With fewer, hiding half of the classes leaves one class to name, or one to learn from.
FEWEST_CLASSES = 4
# The group of trials in which half of the classes are hidden; others are named by their labels per class.
NAMING = "naming"
# Labels per class of the classes that are not hidden.
LABELS_FOR_NAMING = 3


@dataclass(frozen=True, eq=False)
class Question:
    """Two collections: rows as numbers, classes as codes of both together, -1 where a target row has no label."""

    X_source: Matrix
    y_source: IntArray
    X_target: Matrix
    y_target: IntArray
    classes: NDArray[Any]
    pairs: KnownPairs | None = None

    @cached_property
    def labelled(self) -> IntArray:
        """The numbers of the labelled target rows."""
        return np.flatnonzero(self.y_target != UNLABELLED)

    @cached_property
    def counts(self) -> IntArray:
        """Labelled target rows of each class (C,)."""
        return np.bincount(self.y_target[self.labelled], minlength=len(self.classes))

    @property
    def named(self) -> IntArray:
        """The classes with a labelled target row that the source has, too."""
        return np.intersect1d(np.flatnonzero(self.counts), self.y_source)

    @property
    def unnamed(self) -> int:
        """The number of classes of the source without a labelled target row."""
        return int(np.count_nonzero(self.counts[np.unique(self.y_source)] == 0))

    @cached_property
    def coordinates(self) -> FloatArray:
        """Target rows (n_t, k) for rules that never see the source: on one scale, along principal axes."""
        return prepare_rows(scale_rows(self.X_target), "X_target").centred.astype(np.float64)

    def shown_labels(self, group: str) -> IntArray:
        """Return the labels of each class (C,) that a fit of a group sees: half of them stay for testing."""
        k = LABELS_FOR_NAMING if group == NAMING else int(group)
        return np.minimum(k, np.maximum(self.counts // 2, np.minimum(self.counts, 1)))

    def tested_rows(self, k: int) -> int:
        """Return the number of labelled rows that are left for testing with k labels per class."""
        return int(np.sum(self.counts - self.shown_labels(str(k))))

    @property
    def steps(self) -> tuple[int, ...]:
        """The labels per class that can be tried: most classes have twice as many, enough rows stay for testing."""
        typical = float(np.median(self.counts[self.counts > 0])) / 2.0
        return tuple(k for k in STEPS if k <= typical and self.tested_rows(k) >= FEWEST_TESTED)

    @property
    def can_hide(self) -> bool:
        """Whether there are enough labelled classes to hide half of them."""
        return len(self.named) >= FEWEST_CLASSES


def make_question(X_source: Any, y_source: Any, X_target: Any, y_target: Any, pairs: Any = None) -> Question:
    """Check the rows and labels, and return the question.

    Examples
    --------
    >>> q = make_question([[0.0], [1.0], [2.0]], ["a", "b", "c"], [[1.0], [2.0], [3.0]], ["a", "b", None])
    >>> q.y_target, q.unnamed, q.steps
    (array([ 0,  1, -1]), 1, ())
    """
    domains = TwoDomains.of(X_source, y_source, X_target, y_target, pairs, own_classes=True)
    source, target = domains.source.y, domains.target.y
    if missing := int(np.count_nonzero(source == UNLABELLED)):
        raise InputError(f"y_source: expected a label for every row, got {missing} without.")
    present = len(np.unique(target[target != UNLABELLED]))
    if present < 2:
        raise InputError(f"y_target: expected labels of at least two classes, got {present}.")
    if len(np.unique(source)) < 2:
        raise InputError("y_source: expected at least two classes, got 1.")
    return Question(domains.source.X, source, domains.target.X, target, domains.classes, domains.pairs)


@dataclass(frozen=True, eq=False)
class SplitRows(TrialRows):
    """Rows of a trial, the numbers of those that are tested, and the pairs that a fit may see."""

    test: IntArray
    pairs: KnownPairs | None = None


@dataclass(frozen=True, eq=False)
class Splits:
    """The rows of each trial, given its group (labels per class, or :data:`NAMING`) and its seed.

    A fit sees all rows, with fewer labels: rows whose label is hidden are unlabelled rows. Splits of one seed are
    nested: more labels per class include those of fewer.
    """

    question: Question
    seeds: tuple[int, ...]

    def hide_classes(self, seed: int) -> IntArray:
        """Return the classes that are hidden where naming is tested: half of those that are labelled.

        Every second split hides the other half, so that each class is hidden about as often as any other.
        """
        named, place = self.question.named, self.seeds.index(seed)
        order = np.random.default_rng([self.seeds[place - place % 2], 1]).permutation(named)
        half = len(named) // 2
        return order[:half] if place % 2 == 0 else order[-half:]

    def __call__(self, trial: Trial) -> SplitRows:
        """Return the rows of a trial."""
        q, rng = self.question, np.random.default_rng(trial.seed)
        lots = rng.random(len(q.y_target))
        shown = q.shown_labels(trial.group)
        if trial.group == NAMING:
            shown[self.hide_classes(trial.seed)] = 0
        kept = np.zeros(len(q.y_target), dtype=bool)
        for c in np.flatnonzero(shown):
            rows = np.flatnonzero(q.y_target == c)
            kept[rows[np.argsort(lots[rows])[: shown[c]]]] = True
        test = q.labelled[~kept[q.labelled]]
        pairs, test = split_pairs(q.pairs, test, rng)
        y, X = np.where(kept, q.y_target, UNLABELLED), q.X_target
        return SplitRows(q.X_source, q.y_source, X, y, X[test], q.y_target[test], test, pairs)


def split_pairs(
    pairs: KnownPairs | None, test: IntArray, rng: np.random.Generator
) -> tuple[KnownPairs | None, IntArray]:
    """Return the pairs that a fit sees, and the rows that are tested.

    A tested row has no partner, because the partner's class would give it away: of hidden rows with a partner every
    second is tested, and their pairs are held out.
    """
    if pairs is None:
        return None, test
    paired = np.intersect1d(test, pairs.target)
    spared = rng.permutation(paired)[: len(paired) // 2]
    tested = np.setdiff1d(test, spared)
    keep = ~np.isin(pairs.target, tested)
    return (KnownPairs(pairs.rows[keep], pairs.weights[keep]) if keep.any() else None), tested


def replace_source(coordinates: FloatArray, rows: SplitRows, seed: int) -> SplitRows:
    """Return the rows on the target's own ``coordinates``, with labelled target rows in the place of the source."""
    Z, known = coordinates, rows.labelled
    return SplitRows(Z[known], rows.y_target[known], Z, rows.y_target, Z[rows.test], rows.y_test, rows.test)


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

    # Each rule, fitted for one or several multiples of the number of classes.
    rules_: dict[str, dict[int, Any]]

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        source, target, C = domains.source, domains.target, len(domains.classes)

        def fit(rule: Any, multiple: int) -> Any:
            S, Z = (_leading_unit_rows(X, multiple, C) for X in (source.X, target.X))
            return rule.fit(S, source.y, Z, target.y)

        rules = {name: {AXES: fit(rule, AXES)} for name, rule in _simple_rules(len(target.X)).items()}
        averaged = {LDA: SelfTrainedLDA, KMEANS: BalancedKMeans}
        rules |= {name: {m: fit(make((m,)), m) for m in SEVERAL} for name, make in averaged.items()}
        return {"rules_": rules}

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """Return the class that most rules give to each target row (n,); ties go to the discriminants."""
        rows = self._rows(X, domain)
        scores = {name: self._scores(name, rows) for name in self.rules_}
        votes = np.sum([np.eye(len(self.classes_))[each.argmax(axis=1)] for each in scores.values()], axis=0)
        return np.asarray(self.classes_[(votes + TIE * scores[LDA]).argmax(axis=1)])

    def predict_by(self, name: str, X: Any) -> NDArray[Any]:
        """Return the class that one of the rules gives to each target row (n,)."""
        rows = self._rows(X, "target")
        both = (LDA, KMEANS) if name == BOTH else (name,)
        scores: FloatArray = np.sum([self._scores(each, rows) for each in both], axis=0)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def _scores(self, name: str, rows: Matrix) -> FloatArray:
        """Return probabilities (n, C), averaged over the numbers of axes; one and zeros of rules without any."""
        C, found = len(self.classes_), []
        for multiple, rule in self.rules_[name].items():
            Z = _leading_unit_rows(rows, multiple, C)
            certain = isinstance(rule, TargetOnly)
            found.append(np.eye(C)[rule.predict(Z).astype(np.intp)] if certain else rule.predict_proba(Z))
        return np.asarray(np.mean(found, axis=0))

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


def corrupt_in_turn(seeds: Sequence[int], rows: TrialRows, seed: int) -> TrialRows:
    """Return the rows with their source corrupted: as noise, permuted labels and renamed classes, in turn."""
    return CorruptedRows(tuple(KINDS)[seeds.index(seed) % len(KINDS)])(rows, seed)


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
    alone = partial(replace_source, splits.question.coordinates)
    shared = () if columns is None else (Entrant(SHARED, partial(SharedColumnsOnly, columns), control=True),)
    spoilt = partial(corrupt_in_turn, splits.seeds)
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
