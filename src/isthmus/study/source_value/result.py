"""The verdict whether a source helps: its sentence, its table, and :func:`does_source_help`, which reaches it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from isthmus._core.threads import cap_threads
from isthmus._core.validation import ShortRepr, check_flag, check_number
from isthmus.data.shared_columns import find_common_columns
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.estimators.controls import SHARED
from isthmus.evidence.comparison import format_points
from isthmus.evidence.held_out import read_value
from isthmus.exceptions import InputError
from isthmus.study.board import TextTable
from isthmus.study.registry import systems
from isthmus.study.source_value.engine import NAMING, SYSTEM, TARGET_ONLY, Question, Splits, make_question, run_splits
from isthmus.study.source_value.evidence import WORTH, Names, TrialGroup, measure_groups
from isthmus.tasks.transfer.result import LabelTransfer


def count_labels(k: float) -> str:
    """Return a number of labels in words.

    Examples
    --------
    >>> count_labels(1), count_labels(3)
    ('1 label per class', '3 labels per class')
    """
    return f"{k:g} label{'' if k == 1 else 's'} per class"


def describe_group(group: TrialGroup) -> str:
    """Return the group in words."""
    return "where classes are hidden" if group.group == NAMING else f"with {count_labels(int(group.group))}"


def write_verdict_sentence(
    judged: TrialGroup, steps: Sequence[TrialGroup], unnamed: int, naming: TrialGroup | None
) -> str:
    """Write the verdict on the group that is judged, and what else was found."""
    if judged.group == NAMING and judged.names is not None:
        starts = {True: "The source names", False: "The source does not help to name"}
        start = "Can't tell whether the source names" if judged.helps is None else starts[judged.helps]
        classes = f"{unnamed} class{'' if unnamed == 1 else 'es'} without labels"
        return f"{start} {classes}: {_describe_names(judged.names)}, in trials that hide classes."
    parts = [
        _say_yes(judged, steps) if judged.helps else _say_no(judged) if judged.helps is False else _say_open(judged)
    ]
    if unnamed and naming is None:
        parts.append(f"its names for the {unnamed} classes without labels can't be tested")
    elif naming is not None and naming.names is not None and naming.helps:
        parts.append(f"it names classes without labels ({_describe_names(naming.names)})")
    return "; ".join(parts) + "."


def _say_yes(s: TrialGroup, steps: Sequence[TrialGroup]) -> str:
    """Write the gain, the labels that it is worth, and the first number of labels at which it is not certain."""
    parts = [f"The source is worth {s.over_target} {describe_group(s)}"]
    if len(steps) > 1:
        k = labels_for(s.without + s.over_target.mean, steps)
        enough = f"does not reach that with {count_labels(int(steps[-1].group))}"
        enough = enough if k is None else f"needs about {count_labels(k)} for the same"
        parts.append(f"without it, target-only {enough}")
    lost = [each for each in steps if each.over_target.low <= 0.0]
    parts += [f"{describe_group(each)}, {each.over_target} is left" for each in lost[:1]]
    if s.over_shared is not None and s.over_shared.low <= 0.0:
        parts.append(f"a plain rule on the columns that both share does as well ({s.over_shared} between them)")
    return "; ".join(parts)


def _say_no(s: TrialGroup) -> str:
    where, best = describe_group(s), "the best rule that never sees it"
    if s.is_unused:
        return (
            f"The source does not help: {where} the system uses it in {s.used} of {s.splits} splits ({s.over_target})"
        )
    if s.over_target.high < WORTH:
        return f"The source is not worth having: {s.over_target} {where}, against {best}"
    return (
        f"The source does not help: {where} the system is no better with it than with corrupted ones "
        f"({s.over_corrupted}), and {s.over_target} against {best}"
    )


def _say_open(s: TrialGroup) -> str:
    where = describe_group(s)
    if s.over_target.low > 0.0:
        doubt = f"but only {s.over_corrupted} against the same system with corrupted sources"
        if s.used is not None:
            doubt = f"but the system uses it in {s.used} of {s.splits} splits only"
        return f"Can't tell whether it is the source: {s.over_target} {where}, {doubt}"
    return f"Can't tell: {s.over_target} {where}, from {s.tested} tested rows"


def labels_for(accuracy: float, steps: Sequence[TrialGroup]) -> int | None:
    """Return the labels per class at which the curve without the source reaches an accuracy; None beyond its end.

    Straight lines over the logarithm of the labels; where the curve falls, its largest value so far counts.
    """
    k = np.array([int(s.group) for s in steps], dtype=float)
    curve = np.maximum.accumulate([s.without for s in steps])
    if accuracy > curve[-1]:
        return None
    last = int(np.argmax(curve >= accuracy))
    if last == 0:
        return int(k[0])
    rise = (accuracy - curve[last - 1]) / (curve[last] - curve[last - 1])
    return max(int(k[0]), round(float(np.exp(np.interp(rise, [0.0, 1.0], np.log(k[last - 1 : last + 1]))))))


def _describe_names(names: Names) -> str:
    shares = names.right, names.low, names.high, names.corrupted
    share, low, high, corrupted = (f"{100 * each:.0f}" for each in shares)
    rows = f"{share} % [{low}, {high}] of the rows of {names.classes} hidden classes right"
    return f"{rows}, {corrupted} % with corrupted sources"


def write_untested_sentence(tested: int, naming: TrialGroup | None) -> str:
    """Write the verdict where too few rows are labelled for a test: an indication only."""
    few = f"Can't tell: {tested} labelled rows are left for testing with 1 label per class, too few for an interval"
    if naming is None or naming.names is None:
        return f"{few}."
    return f"{few}; of hidden classes, {_describe_names(naming.names)}; an indication, not a test."


WORDS = {True: "helps", False: "does not help", None: "can't tell"}


@dataclass(frozen=True)
class Row:
    """One comparison: in a group of trials, the system with the source against something else, all as shares."""

    # Labels per class, or "naming": half of the classes hidden.
    group: str
    # What the system is compared with; "" for the system itself.
    against: str
    # Of what it is compared with.
    accuracy: float
    # The system's accuracy less that; None where there is nothing to compare.
    difference: float | None
    low: float | None
    # Each end holds with 95 %; None for single rules, of which the best is judged.
    high: float | None


@dataclass(frozen=True)
class CurvePoint:
    """Accuracy with the source and without it at a number of labels per class, and the difference, as shares."""

    labels: int
    with_source: float
    without: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Verdict(ShortRepr):
    """Whether a source helps: an :class:`~isthmus.evidence.Answer`.

    Parameters
    ----------
    helps : bool or None
        True, False, or None for "can't tell".
    difference : float or None
        The worth of the source, as a share of the tested rows: the system's accuracy less that of the rule without
        the source that is best on the other splits. None where nothing could be tested.
    interval : (float, float) or None
        Its interval, of which each end holds with 95 %.
    sentence : str
        The conclusion in one sentence.
    rows : tuple of Row
        Every comparison that was made.
    curve : tuple of CurvePoint
        Labels per class, with and without the source.
    system : str
        The system that was tried.
    n_splits, n_tested : int
        How often labels were hidden, and how many different rows were tested.
    names : Names or None
        How well hidden classes were named.
    """

    helps: bool | None
    difference: float | None
    interval: tuple[float, float] | None
    sentence: str
    rows: tuple[Row, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    system: str = ""
    n_splits: int = 0
    n_tested: int = 0
    names: Names | None = None

    def __str__(self) -> str:
        return self.sentence

    @property
    def ok(self) -> bool | None:
        """Whether the source helps, as ``helps``."""
        return self.helps

    @property
    def evidence(self) -> tuple[Row, ...]:
        """Every comparison that was made, as ``rows``."""
        return self.rows

    @property
    def table(self) -> TextTable:
        """Every comparison: accuracy in per cent, and the gain of the system with the source in points."""
        cells = tuple(_format_row(row, self.system) for row in self.rows)
        notes = (
            f"Accuracy in per cent, differences in points, {self.n_splits} splits, {self.n_tested} tested rows. "
            "Each end of an interval holds with 95 %, for these rows with other labels.",
        )
        return TextTable(self.sentence, ("", "labels per class", "accuracy", "better by", "95 %"), cells, notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain types, for JSON."""
        parts = {name: list(part) if isinstance(part, tuple) else part for name, part in asdict(self).items()}
        return parts | {"verdict": WORDS[self.helps]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Verdict:
        """Return the verdict that :meth:`to_dict` turned into ``values``; every part is checked.

        Examples
        --------
        >>> verdict = Verdict(True, 0.1, (0.05, 0.15), "The source helps.")
        >>> Verdict.from_dict(verdict.to_dict()) == verdict
        True
        """
        try:
            found: Verdict = read_value(cls, values)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError("verdict: expected all parts that `Verdict.to_dict` writes, got others.") from None
        return found


def _format_row(row: Row, system: str) -> tuple[str, ...]:
    group = "half hidden" if row.group == NAMING else row.group
    shares = row.difference, row.low, row.high
    gain, *ends = ("" if share is None else format_points(100 * share) for share in shares)
    interval = f"[{', '.join(ends)}]" if all(ends) else ""
    return row.against or system, group, f"{100 * row.accuracy:.1f}", gain, interval


BEST, MEAN = "best target-only rule", "mean of the corrupted sources"


def conclude(question: Question, groups: Mapping[str, TrialGroup], judged: str | None, system: str) -> Verdict:
    """Reach the verdict on the group that is judged, with all other measurements; None: nothing could be tested."""
    steps, naming = [s for name, s in groups.items() if name != NAMING], groups.get(NAMING)
    curve = tuple(
        CurvePoint(int(s.group), s.accuracy[SYSTEM], s.without, *vars(s.over_target).values()) for s in steps
    )
    names = None if naming is None else naming.names
    rows = tuple(row for each in groups.values() for row in _list_comparisons(each))
    if judged is None:
        text = write_untested_sentence(question.tested_rows(1), naming)
        n_splits, n_tested = (max((getattr(s, k) for s in groups.values()), default=0) for k in ("splits", "tested"))
        return Verdict(None, None, None, text, rows, curve, system, n_splits, n_tested, names)
    main = groups[judged]
    gain, text = main.over_target, write_verdict_sentence(main, steps, question.unnamed, naming)
    span = (gain.low, gain.high)
    return Verdict(main.helps, gain.mean, span, text, rows, curve, system, main.splits, main.tested, names)


def _list_comparisons(each: TrialGroup) -> Iterator[Row]:
    """Yield the comparisons of a group; single target-only rules have no interval, because the best is judged."""
    own = each.accuracy[SYSTEM]
    yield Row(each.group, "", own, None, None, None)
    for name in TARGET_ONLY:
        yield Row(each.group, name, each.accuracy[name], own - each.accuracy[name], None, None)
    yield Row(each.group, BEST, each.without, *vars(each.over_target).values())
    if each.over_corrupted is not None:
        yield Row(each.group, MEAN, own - each.over_corrupted.mean, *vars(each.over_corrupted).values())
    if each.over_shared is not None:
        yield Row(each.group, SHARED, each.accuracy[SHARED], *vars(each.over_shared).values())


# How often labels are hidden at most: up to so many rows of both domains together, and beyond.
MANY_ROWS, SPLITS = 2000, (40, 20)


@cap_threads
def does_source_help(
    X_source: Any,
    y_source: Any,
    X_target: Any,
    y_target: Any,
    *,
    system: Any = "auto",
    pairs: Any = None,
    shared_columns: Any = None,
    n_splits: int | None = None,
    curve: bool = True,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Any = False,
) -> Verdict:
    """Measure whether a source helps to classify the rows of a target.

    Labels of the target are hidden, several times: a system is fitted to the source and the other labels, and tested
    on the hidden ones; so are rules that never see the source, and the same system with corrupted sources. The source
    helps if the system is better than the best of these rules (chosen on the other splits), and uses the source in
    half of the splits. Of a system that does not say whether it does, it has to be better than with corrupted
    sources, too. Splits end as soon as that is decided (:func:`~isthmus.study.source_value.engine.plan_looks`).

    Parameters
    ----------
    X_source, y_source : array, sparse matrix or data frame (n_s, d_s), array (n_s,)
        Source rows and their classes.
    X_target, y_target : array, sparse matrix or data frame (n_t, d_t), array (n_t,)
        Target rows and their classes; -1, None or NaN where unknown.
    system : estimator or str
        The system: any estimator over two domains, or a name of :func:`isthmus.systems`; "auto" is
        :class:`~isthmus.LabelTransfer`.
    pairs : as in :meth:`isthmus.MLHD.fit`, optional
        Rows of both that are the same object. Tested rows are without their partners.
    shared_columns : sequence, optional
        Columns that mean the same in both: pairs of a source and a target column, or names that both have. None:
        columns of equal names, where both are data frames.
    n_splits : int, optional
        How often labels are hidden at most, at least 3; None: 40 times, or 20 times beyond 2,000 rows of both.
    curve : bool
        Whether other numbers of labels per class, and naming, are tried too, three times each.
    n_jobs : int
        Splits run in parallel; -1: one for each core. The verdict is the same.
    random_state : int
        Which labels are hidden, and the random numbers of systems.
    progress : bool or function
        Whether to show a bar with the time left; or a function that is called with (trials done, trials in all).

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from isthmus import ARC
    >>> y = np.arange(80) % 2
    >>> X = np.random.default_rng(0).normal(size=(80, 3)) + 2 * y[:, None] - 1
    >>> verdict = does_source_help(X[:40, :2], y[:40], X[40:], y[40:], system=ARC())
    >>> verdict.helps, verdict.n_tested
    (False, 40)
    """
    columns = find_common_columns(shared_columns, X_source, X_target)
    question = make_question(X_source, y_source, X_target, y_target, pairs)
    estimator = _check_system(system, pairs)
    seed = int(check_number(random_state, "random_state", low=0, whole=True))
    usual = SPLITS[question.X_source.shape[0] + question.X_target.shape[0] > MANY_ROWS]
    J = int(check_number(usual if n_splits is None else n_splits, "n_splits", low=3, whole=True))
    steps = [str(k) for k in question.steps]
    hiding = [NAMING] if question.can_hide else []
    # What is judged is decided before anything is run: names, where some are missing; else few labels.
    judged = NAMING if question.unnamed and hiding else steps[0] if steps else None
    others = [group for group in (*steps, *hiding) if group != judged and check_flag(curve, "curve")]
    splits = Splits(question, tuple(np.random.SeedSequence(seed).generate_state(J).tolist()))
    run = partial(run_splits, splits, estimator, columns, n_jobs=n_jobs, progress=progress)
    measured = measure_groups(splits, judged, others, run)
    return conclude(question, measured, judged, type(estimator).__name__)


def _check_system(system: Any, pairs: Any) -> TwoDomainEstimator:
    if isinstance(system, str):
        # Only predicted classes are compared, and these do not depend on calibration.
        system = LabelTransfer(calibrate=False) if system == "auto" else systems()[system].make()
    if not isinstance(system, TwoDomainEstimator):
        raise InputError(f"system: expected 'auto', a name or a system over two domains, got {system!r:.60}.")
    estimator: TwoDomainEstimator = clone(system)
    estimator._check_use_of(pairs)
    return estimator
