"""The evidence on the worth of a source: differences within each group of trials, class geometry, held-out labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
from sklearn.base import clone

from isthmus._core.validation import BoolArray, FloatArray, IntArray, Matrix, as_labels, is_unlabelled
from isthmus.estimators.controls import SHARED, SelfTrainedLDA, SharedColumns
from isthmus.evidence.comparison import Estimate, compare_with_best, estimate_difference
from isthmus.evidence.held_out import wilson_interval
from isthmus.evidence.scores import Reliability, measure_reliability
from isthmus.exceptions import DataWarning, InputError
from isthmus.geometry.similarity import prepare_rows, scale_rows
from isthmus.study.board import Board
from isthmus.study.source_value.engine import CORRUPTED, SYSTEM, TARGET_ONLY
from isthmus.study.source_value.problem import LABELS_FOR_NAMING, NAMING, Question, Splits, make_question
from isthmus.study.trial_rows import Trial
from isthmus.tasks.transfer.evidence import class_cosines, correlate_upper

# A gain below one point is not worth a source.
WORTH = 0.01


@dataclass(frozen=True)
class Names:
    """Rows of hidden classes: the share named correctly with the source, and with the best corrupted one."""

    right: Estimate
    corrupted: float
    classes: int


@dataclass(frozen=True)
class TrialGroup:
    """The measurements of one group of trials.

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
    over_corrupted : mapping of str to Estimate
        The system, less itself with each kind of corrupted source; empty where it was not run.
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
    over_corrupted: Mapping[str, Estimate] = field(default_factory=dict)
    over_shared: Estimate | None = None
    names: Names | None = None

    @property
    def without(self) -> float:
        """The accuracy of the best rule that never sees the source."""
        return self.accuracy[self.best]

    @property
    def helps(self) -> bool | None:
        """Whether the source helps: True above target-only and every corrupted source, False if surely not, or None.

        Each comparison has to be won, so that the chance of a false "yes" is not above that of any single one.
        """
        every = (self.over_target, *self.over_corrupted.values())
        if all(each.low > 0.0 for each in every):
            return True
        return False if any(each.high < WORTH for each in every) else None


def correct_predictions(board: Board, column: str, group: str, n_rows: int) -> FloatArray:
    """Return right (1) or wrong (0) for each split and each target row (J, n_t), NaN where a row is not tested."""
    records = board.records(column)[board.groups.index(group)]
    found = np.full((len(records), n_rows), np.nan)
    for split, record in enumerate(records):
        if record is None or record.figures is None:
            status = "no record" if record is None else record.status
            raise InputError(f"{column}: expected fits that succeed, got one that {status.rstrip('.')}.")
        rows = np.array(list(map(int, record.figures)), dtype=np.intp)
        found[split, rows] = list(record.figures.values())
    return found


def summarize_group(board: Board, splits: Splits, group: str) -> TrialGroup:
    """Compare the columns of a group of trials on the same tested rows."""
    question, entrants = splits.question, board.design.entrants
    entered = {name for each in entrants if each.takes_part(group, None) for name in each.columns}
    columns = [name for name in board.design.columns if name in entered]
    every = {name: correct_predictions(board, name, group, len(question.y_target)) for name in columns}
    shown = float(question.shown_labels(LABELS_FOR_NAMING if group == NAMING else int(group)).sum())
    cells, units, names = every, None, None
    if group == NAMING:
        shown /= 2.0  # half of the classes are hidden
        hidden = np.stack([np.isin(question.y_target, splits.hide_classes(seed)) for seed in board.seeds])
        # A row counts as another one while its class is hidden: columns (J, 2 n_t).
        apart = {
            n: np.hstack([np.where(hidden, each, np.nan), np.where(hidden, np.nan, each)])
            for n, each in every.items()
        }
        cells, units = apart, np.tile(question.y_target, 2)
        names = _measure_names(every, hidden, question, shown)
    own = cells[SYSTEM]
    over_target, best = compare_with_best(own, {name: cells[name] for name in TARGET_ONLY}, shown, units)
    return TrialGroup(
        group,
        int(np.isfinite(every[SYSTEM]).any(axis=0).sum()),
        {name: float(np.nanmean(each)) for name, each in every.items()},
        best,
        over_target,
        {name: estimate_difference(own - cells[name], shown, units) for name in CORRUPTED if name in cells},
        estimate_difference(own - cells[SHARED], shown, units) if SHARED in cells else None,
        names,
    )


def _measure_names(every: Mapping[str, FloatArray], hidden: BoolArray, question: Question, shown: float) -> Names:
    named = {name: np.where(hidden, every[name], np.nan) for name in (SYSTEM, *CORRUPTED) if name in every}
    found = estimate_difference(named.pop(SYSTEM), shown, question.y_target)
    right = Estimate(found.mean, max(found.low, 0.0), min(found.high, 1.0))
    return Names(right, max(float(np.nanmean(each)) for each in named.values()), len(question.named) // 2)


# Three classes have three angles between them, and any two sets of three numbers correlate.
FEWEST_CLASSES = 4
# All relabellings are tried up to this number of classes; beyond, this number of random ones.
MOST_EXACT, N_DRAWS = 6, 999


@dataclass(frozen=True)
class Geometry:
    """Correlation of the angles between classes in source and target, and the share of relabellings as high as it."""

    correlation: float
    p_value: float


def measure_geometry(question: Question) -> Geometry | None:
    """Compare the class geometries, those of the target as a rule guesses that never sees the source.

    None with fewer than four classes that both have. The guesses are those of
    :class:`isthmus.estimators.controls.SelfTrainedLDA` from all labels.
    """
    q = question
    if len(q.named) < FEWEST_CLASSES:
        return None
    Z, known = q.coordinates, q.labelled
    guess = SelfTrainedLDA().fit(Z[known], q.y_target[known], Z, q.y_target).predict(Z)
    guess[known] = q.y_target[known]
    X = prepare_rows(scale_rows(q.X_source), "X_source").centred.astype(np.float64)
    A, B = (np.stack([R[y == c].mean(axis=0) for c in q.named]) for R, y in ((X, q.y_source), (Z, guess)))
    return compare_class_geometry(A, B)


def compare_class_geometry(A: FloatArray, B: FloatArray) -> Geometry:
    """Compare the angles between class means A (C, d) and B (C, d'), in the order of the classes.

    Examples
    --------
    >>> A = np.array([[3.0, 0.1], [2.0, 1.0], [0.2, 4.0], [-1.0, 1.0], [-2.0, -3.0]])
    >>> compare_class_geometry(A, -A)
    Geometry(correlation=1.0, p_value=0.008...)
    """
    S, T = class_cosines(A), class_cosines(B)
    found = correlate_upper(S, T)
    other = [correlate_upper(S[np.ix_(order, order)], T) for order in _draw_relabellings(len(A))]
    return Geometry(round(found, 12), float(np.mean(np.array(other) >= found - 1e-12)))


def _draw_relabellings(C: int) -> list[IntArray]:
    """Return all orders of the classes, or some random ones; the present order is among them."""
    if C <= MOST_EXACT:
        return [np.array(order, dtype=np.intp) for order in permutations(range(C))]
    rng = np.random.default_rng(0)
    return [np.arange(C), *(rng.permutation(C) for _ in range(N_DRAWS))]


# Labels per class that are shown: half of those there are, however many.
ALL_LABELS = 10**6
# How often labels are hidden, up to this many rows of both domains together; once beyond.
TIMES = {2000: 3, 20_000: 2}


@dataclass(frozen=True)
class HeldOutLabels:
    """The share of hidden labels that were predicted correctly, with the shared-column baseline.

    Parameters
    ----------
    tested, never_hidden : int
        Labelled rows that were tested, each at least once, and those that never were.
    times : int
        How often labels were hidden.
    accuracy : float
        The share of tested rows that got their class, the mean over rows.
    interval : (float, float)
        Its 95 % interval (Wilson), as far as a few rows can tell.
    n_shared : int
        Columns that both domains share.
    shared_accuracy : float or None
        The accuracy of linear support vectors on these; None without any.
    reliability : Reliability or None
        Of the probabilities of the predictions; None where the system has none.
    """

    tested: int
    never_hidden: int
    times: int
    accuracy: float
    interval: tuple[float, float]
    n_shared: int = 0
    shared_accuracy: float | None = None
    reliability: Reliability | None = None

    @property
    def sentence(self) -> str:
        """The measurement in words."""
        low, high = self.interval
        others = f" ({self.never_hidden:,} more were never hidden)" if self.never_hidden else ""
        baseline = "none, the domains share no words or columns."
        if self.shared_accuracy is not None:
            baseline = f"the {self.n_shared:,} shared words or columns alone predict {self.shared_accuracy:.0%}."
        return (
            f"Held-out labels: {self.accuracy:.0%} [{low:.0%}, {high:.0%}] of {self.tested:,} are predicted "
            f"correctly, half of them hidden at a time{others}. Baseline: {baseline}"
            + ("" if self.reliability is None else f" {self.reliability.sentence}")
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as plain types, for JSON."""
        curve = None
        if self.reliability is not None:
            error, found = self.reliability.error, vars(self.reliability)
            bins = {k: [None if x != x else x for x in values.tolist()] for k, values in found.items()}
            curve = {"error": error, **bins}
        return vars(self) | {"interval": list(self.interval), "sentence": self.sentence, "reliability": curve}


def hold_out_labels(
    X_source: Any,
    y_source: Any,
    X_target: Any,
    y_target: Any,
    system: Any,
    *,
    pairs: Any = None,
    shared: tuple[Matrix, Matrix] | None = None,
    learns_shared: bool = False,
    times: int | None = None,
    random_state: int = 0,
    progress: Callable[[int, int], None] = lambda done, times: None,
) -> HeldOutLabels | None:
    """Hide half of the labels of each class of the target, fit, and predict them; several times.

    Parameters
    ----------
    X_source, y_source, X_target, y_target, pairs
        As for :func:`~isthmus.does_source_help`.
    system : estimator over two domains
        It is cloned and fitted each time.
    shared : (matrix (n_s, m), matrix (n_t, m)), optional
        The columns that both domains have.
    learns_shared : bool
        Whether the system learns from them too.
    times : int, optional
        How often; None: by the number of rows.
    random_state : int
        Which labels are hidden.
    progress : callable
        Called before each fit with the number of fits done and of all fits.

    Returns
    -------
    HeldOutLabels or None
        None where the target has fewer than two classes, or no class with two labels.

    Examples
    --------
    >>> from isthmus import ARC
    >>> from isthmus.data.datasets import load_toy
    >>> toy = load_toy()
    >>> found = hold_out_labels(toy.X_source, toy.y_source, toy.X_test, toy.y_test, ARC(), times=1)
    >>> found.tested, found.shared_accuracy is None
    (200, True)
    """
    labels = as_labels(y_target, "y_target")
    if len(set(labels[~is_unlabelled(labels)].tolist())) < 2:
        return None
    question = make_question(X_source, y_source, X_target, labels, pairs)
    if not question.tested_rows(ALL_LABELS):
        return None
    n_target = question.X_target.shape[0]
    n = question.X_source.shape[0] + n_target
    J = next((often for most, often in TIMES.items() if n <= most), 1) if times is None else times
    splits = Splits(question, tuple(np.random.SeedSequence(random_state).generate_state(J).tolist()))
    right, baseline, claimed = (np.full((J, n_target), np.nan) for _ in range(3))
    n_shared = 0 if shared is None else int(shared[0].shape[1])
    for split, seed in enumerate(splits.seeds):
        progress(split, J)
        rows = splits(Trial(str(ALL_LABELS), "", seed))
        if not len(rows.test):  # every labelled row is in a pair
            return None
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "y_target: .* no labelled row", DataWarning)
            known = {} if rows.pairs is None else {"pairs": rows.pairs}
            both = {"shared": shared} if learns_shared and shared is not None else {}
            model = clone(system).fit(*rows.fit, **known, **both)
            tested = {name: table[1][rows.test] for name, table in both.items()}
            right[split, rows.test] = model.predict(rows.X_test, **tested) == rows.y_test
            if hasattr(model, "predict_proba"):
                claimed[split, rows.test] = model.predict_proba(rows.X_test, **tested).max(axis=1)
            if shared is not None:
                S, T = shared
                columns = np.repeat(np.arange(n_shared)[:, None], 2, axis=1)
                control = SharedColumns(columns).fit(S, rows.y_source, T, rows.y_target)
                baseline[split, rows.test] = control.predict(T[rows.test]) == rows.y_test
    n_tested, accuracy = int(np.any(~np.isnan(right), axis=0).sum()), _mean_by_row(right)
    interval = wilson_interval(accuracy * n_tested, n_tested)
    alone = None if shared is None else _mean_by_row(baseline)
    sure = np.isfinite(claimed)
    curve = measure_reliability(claimed[sure], right[sure]) if sure.any() else None
    return HeldOutLabels(n_tested, len(question.labelled) - n_tested, J, accuracy, interval, n_shared, alone, curve)


def _mean_by_row(right: FloatArray) -> float:
    """Return the mean over rows of the mean over the times that a row was tested."""
    counts = np.count_nonzero(~np.isnan(right), axis=0)
    return float(np.mean((np.nansum(right, axis=0) / np.maximum(counts, 1))[counts > 0]))
