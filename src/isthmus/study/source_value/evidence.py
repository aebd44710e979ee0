"""The evidence on the worth of a source: differences within each group of trials, and held-out labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom
from sklearn.base import clone

from isthmus._core.validation import FloatArray, Matrix, as_labels, is_unlabelled
from isthmus.estimators.controls import SHARED, SharedColumnsOnly
from isthmus.evidence.comparison import Estimate, choose_on_other_splits, estimate_over_splits
from isthmus.evidence.held_out import wilson_interval
from isthmus.evidence.scores import Reliability, measure_reliability
from isthmus.exceptions import DataWarning, InputError
from isthmus.study.board import Board
from isthmus.study.source_value import engine
from isthmus.study.source_value.engine import LEVEL, NAMING, SYSTEM, Splits, make_question, plan_looks
from isthmus.study.trial_rows import Trial

# A gain below one point is not worth a source.
WORTH = 0.01
# The share of splits in which a source that helps is used at least, and the chance to miss one that is.
LEAST_USED, MISSED = 0.5, 0.05


@dataclass(frozen=True)
class Names:
    """Rows of hidden classes: the share named correctly with its interval, and with corrupted sources."""

    right: float
    low: float
    high: float
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
        Of every column, and the means of the notes.
    over_target : Estimate
        The system, less the rule without the source that is best on the other splits.
    splits : int
        How often labels were hidden.
    used : int, optional
        In how many splits the system used the source; None for systems that do not say.
    over_corrupted : Estimate, optional
        The system, less itself with corrupted sources, where these were run.
    over_shared : Estimate, optional
        The system, less a rule on the columns that both domains have.
    names : Names, optional
        Of classes that were hidden.
    """

    group: str
    tested: int
    accuracy: Mapping[str, float]
    over_target: Estimate
    splits: int = 0
    used: int | None = None
    over_corrupted: Estimate | None = None
    over_shared: Estimate | None = None
    names: Names | None = None

    @property
    def without(self) -> float:
        """The accuracy of rules that never see the source, each chosen on the other splits."""
        return self.accuracy[SYSTEM] - self.over_target.mean

    @property
    def is_unused(self) -> bool:
        """Whether the system surely uses the source in less than half of all splits.

        Given the rows, splits are independent draws: the number of those that use it is binomial.
        """
        return self.used is not None and float(binom.cdf(self.used, self.splits, LEAST_USED)) <= MISSED

    @property
    def helps(self) -> bool | None:
        """Whether the source helps: True above target-only and if it is the source, False if surely not, or None.

        It is the source, if the system used it in half of the splits; of a system that does not say so, if it is
        better than with corrupted sources.
        """
        every = [self.over_target]
        if self.used is None and self.over_corrupted is not None:
            every.append(self.over_corrupted)
        if self.is_unused or any(each.high < WORTH for each in every):
            return False
        is_used = self.used is None or self.used >= LEAST_USED * self.splits
        return True if is_used and all(each.low > 0.0 for each in every) else None


def read_splits(board: Board, group: str) -> dict[str, FloatArray]:
    """Return the accuracy of every column of a group in each split (J,), and the notes of the fits."""
    place, found = board.groups.index(group), dict[str, FloatArray]()
    entered = [each for each in board.design.entrants if each.takes_part(group, None)]
    for column in (name for each in entered for name in each.columns):
        for record in board.records(column)[place]:
            if record is None or record.score is None:
                status = "no record" if record is None else record.status
                raise InputError(f"{column}: expected fits that succeed, got one that {status.rstrip('.')}.")
        found[column] = board.scores(column)[place]
    for column in (SYSTEM, engine.CORRUPTED):
        for note in (engine.USED, engine.NAMED) if column in found else ():
            values = board.figures(column, note)[place]
            found |= {f"{column}, {note}": values} if np.isfinite(values).all() else {}
    return found


def summarize_group(scores: Mapping[str, FloatArray], splits: Splits, group: str, level: float = LEVEL) -> TrialGroup:
    """Compare the columns of a group of trials, each with its accuracy in the first splits (J,)."""
    question, own = splits.question, scores[SYSTEM]
    shown = float(question.shown_labels(group).sum())
    shown /= 2.0 if group == NAMING else 1.0  # half of the classes are hidden
    drawn = [splits(Trial(group, "", seed)).test for seed in splits.seeds[: len(own)]]
    tested = len(np.unique(np.concatenate(drawn)))
    overlap = shown / max(len(question.labelled) - shown, 1.0)

    def estimate(d: FloatArray) -> Estimate:
        return estimate_over_splits(d, overlap, level, 1.0 / tested)

    best = choose_on_other_splits(np.stack([scores[name] for name in engine.TARGET_ONLY]))
    used, named = scores.get(f"{SYSTEM}, {engine.USED}"), scores.get(f"{SYSTEM}, {engine.NAMED}")
    spoilt = scores.get(engine.CORRUPTED, np.zeros(0))
    names = None
    if named is not None:
        right = estimate_over_splits(named, 1.0)  # half of the classes, and the other half in the next split
        ends = max(right.low, 0.0), min(right.high, 1.0)
        corrupted = float(scores[f"{engine.CORRUPTED}, {engine.NAMED}"].mean())
        names = Names(right.mean, *ends, corrupted, len(question.named) // 2)
    return TrialGroup(
        group,
        tested,
        {name: float(values.mean()) for name, values in scores.items()},
        estimate(own - best),
        len(own),
        None if used is None else int(used.sum()),
        estimate(own[: len(spoilt)] - spoilt) if len(spoilt) else None,
        estimate(own - scores[SHARED]) if SHARED in scores else None,
        names,
    )


def measure_groups(
    splits: Splits, judged: str | None, others: Sequence[str], run: Callable[..., Board]
) -> dict[str, TrialGroup]:
    """Run the splits of the judged group until it is decided whether the source helps, and a few of the others."""
    scores, measured = dict[str, FloatArray](), dict[str, TrialGroup]()
    for n, level in plan_looks(len(splits.seeds)):
        if judged is None:
            break
        # A system that says whether it uses the source is compared with corrupted ones in the first splits only.
        corrupted = [] if f"{SYSTEM}, {engine.USED}" in scores else [judged]
        new = read_splits(run([judged], corrupted, splits.seeds[len(scores.get(SYSTEM, ())) : n]), judged)
        scores |= {name: np.concatenate([scores.get(name, np.zeros(0)), values]) for name, values in new.items()}
        measured[judged] = summarize_group(scores, splits, judged, level)
        if measured[judged].helps is not None:
            break
    if others:
        board = run(others, [NAMING] if NAMING in others else [], splits.seeds[: engine.OTHER_SPLITS])
        measured |= {group: summarize_group(read_splits(board, group), splits, group) for group in others}
    return measured


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
    >>> y = np.arange(80) % 2
    >>> X = np.random.default_rng(0).normal(size=(80, 3)) + 2 * y[:, None] - 1
    >>> found = hold_out_labels(X[:40, :2], y[:40], X[40:], y[40:], ARC(), times=1)
    >>> found.tested, found.shared_accuracy is None
    (20, True)
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
                control = SharedColumnsOnly(columns).fit(S, rows.y_source, T, rows.y_target)
                baseline[split, rows.test] = control.predict(T[rows.test]) == rows.y_test
    n_tested, accuracy = int(np.any(~np.isnan(right), axis=0).sum()), _mean_by_row(right)
    interval = wilson_interval(accuracy * n_tested, n_tested)
    alone = None if shared is None else _mean_by_row(baseline)
    sure = np.isfinite(claimed)
    curve = measure_reliability(claimed[sure], right[sure]) if sure.any() else None
    return HeldOutLabels(n_tested, len(question.labelled) - n_tested, J, accuracy, interval, n_shared, alone, curve)


def _mean_by_row(right: FloatArray) -> float:
    """Return the mean over rows of the mean over the times that a row was tested."""
    return float(np.nanmean(right[:, np.isfinite(right).any(axis=0)], axis=0).mean())
