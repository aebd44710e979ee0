"""What can be said of a source without testing anything: whether its classes lie to each other as the target's do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from isthmus._core.threads import cap_threads
from isthmus._core.validation import FloatArray, IntArray, check_number, short_repr
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.estimators.controls import SelfTrainedLDA
from isthmus.estimators.shared_columns import SHARED, find_common_columns
from isthmus.evidence.comparison import Estimate, format_points
from isthmus.exceptions import InputError
from isthmus.geometry.similarity import normalize_rows, prepare_rows, scale_rows
from isthmus.study.board import TextTable
from isthmus.study.registry import systems
from isthmus.study.source_value.engine import SPOILT, SYSTEM, TARGET_ONLY, WORTH, Names, TrialGroup, run_groups
from isthmus.study.source_value.problem import NAMING, Question, Splits, make_question
from isthmus.tasks.transfer.result import LabelTransfer

FEWEST = 4
"""Classes: three have three angles between them, and any two sets of three numbers correlate."""
MOST_EXACT, N_DRAWS = 6, 999
"""Up to so many classes all renamings are tried; beyond, so many at random."""


@dataclass(frozen=True)
class Geometry:
    """Correlation of the angles between classes in source and target, and the share of renamings as high as it."""

    correlation: float
    p_value: float


def measure_geometry(question: Question) -> Geometry | None:
    """How far the classes lie alike, those of the target as rules guess that never see the source.

    None with fewer than four classes that both have. The guesses are those of
    :class:`isthmus.estimators.controls.SelfTrainedLDA` from all labels.
    """
    q = question
    if len(q.named) < FEWEST:
        return None
    Z, known = q.coordinates, q.labelled
    guess = SelfTrainedLDA().fit(Z[known], q.y_target[known], Z, q.y_target).predict(Z)
    guess[known] = q.y_target[known]
    X = prepare_rows(scale_rows(q.X_source), "X_source").centred.astype(np.float64)
    return compare_class_geometry(_means(X, q.y_source, q.named), _means(Z, guess, q.named))


def compare_class_geometry(A: FloatArray, B: FloatArray) -> Geometry:
    """The same for the classes' means (C, d), (C, d'), in the order of the classes.

    Examples
    --------
    >>> A = np.array([[3.0, 0.1], [2.0, 1.0], [0.2, 4.0], [-1.0, 1.0], [-2.0, -3.0]])
    >>> compare_class_geometry(A, -A)
    Geometry(correlation=1.0, p_value=0.008...)
    """
    cosines = [normalize_rows(M) @ normalize_rows(M).T for M in (A, B)]
    above = np.triu_indices(len(A), 1)
    target = cosines[1][above]
    found = _correlation(cosines[0][above], target)
    other = [_correlation(cosines[0][np.ix_(p, p)][above], target) for p in _draw_relabellings(len(A))]
    return Geometry(round(found, 12), float(np.mean(np.array(other) >= found - 1e-12)))


def _draw_relabellings(C: int) -> list[IntArray]:
    """All orders of the classes, the present one among them; or as many as are tried."""
    if C <= MOST_EXACT:
        return [np.array(order, dtype=np.intp) for order in permutations(range(C))]
    rng = np.random.default_rng(0)
    return [np.arange(C), *(rng.permutation(C) for _ in range(N_DRAWS))]


def _correlation(a: FloatArray, b: FloatArray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0.0 else 0.0


def _means(X: FloatArray, y: IntArray, classes: IntArray) -> FloatArray:
    """The classes' means about their own mean, so that angles are between classes and not to the origin."""
    M = np.stack([X[y == c].mean(axis=0) if (y == c).any() else np.zeros(X.shape[1]) for c in classes])
    return np.asarray(M - M.mean(axis=0))


def count_labels(k: float) -> str:
    """A number of labels in words.

    Examples
    --------
    >>> count_labels(1), count_labels(3)
    ('1 label per class', '3 labels per class')
    """
    return f"{k:g} label{'' if k == 1 else 's'} per class"


def describe_group(setting: TrialGroup) -> str:
    """The setting in words."""
    return "where classes are hidden" if setting.group == NAMING else f"with {count_labels(int(setting.group))}"


def write_verdict_sentence(
    judged: TrialGroup, steps: Sequence[TrialGroup], unnamed: int, naming: TrialGroup | None
) -> str:
    """The verdict on what was judged, with what else is worth knowing."""
    if judged.group == NAMING and judged.names is not None:
        return _on_names(judged, judged.names, unnamed)
    text = {True: _yes, False: _no, None: _open}[judged.helps](judged)
    more = [_as_many_labels(judged, steps), _until(judged, steps), _shared(judged)] if judged.helps else []
    if unnamed and naming is None:
        more.append(f"whether it names the {unnamed} classes that nobody labelled, nobody can test")
    elif naming is not None and naming.names is not None and naming.helps:
        more.append(f"it names classes that nobody labelled ({_shares(naming.names)})")
    return "; ".join([text, *filter(None, more)]) + "."


def _yes(s: TrialGroup) -> str:
    return f"The source is worth {s.over_target} {describe_group(s)}"


def _no(s: TrialGroup) -> str:
    if s.over_target.high < WORTH:
        return f"The source is not worth having: {s.over_target} {describe_group(s)}, against the best rule that never sees it"
    name, least = _least(s)
    return (
        f"The source does not help: {describe_group(s)} the system is no better with it than with a {name} ({least}), "
        f"and {s.over_target} against the best rule that never sees it"
    )


def _open(s: TrialGroup) -> str:
    name, least = _least(s)
    if s.over_target.low > 0.0:
        return (
            f"Can't tell whether it is the source: {s.over_target} {describe_group(s)}, but only {least} against the same "
            f"system with a {name}"
        )
    return f"Can't tell: {s.over_target} {describe_group(s)}, from {s.tested} tested rows"


def _least(s: TrialGroup) -> tuple[str, Estimate]:
    """The spoilt source that the true one is least sure to be better than."""
    return min(s.over_spoilt.items(), key=lambda each: (each[1].high >= WORTH, each[1].low))


def _as_many_labels(judged: TrialGroup, steps: Sequence[TrialGroup]) -> str:
    """How many labels target-only needs for the same."""
    if len(steps) < 2:
        return ""
    k = labels_for(judged.without + judged.over_target.mean, steps)
    if k is None:
        return f"without it, target-only does not reach that with {count_labels(int(steps[-1].group))}"
    return f"without it, target-only needs about {count_labels(k)} for the same"


def labels_for(accuracy: float, steps: Sequence[TrialGroup]) -> int | None:
    """Labels per class at which the curve without the source reaches an accuracy: None, if beyond its end.

    Straight lines over the logarithm of the labels; where the curve falls, by its largest value so far.
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


def _until(judged: TrialGroup, steps: Sequence[TrialGroup]) -> str:
    """Where the gain is no longer to be seen."""
    lost = [s for s in steps if s.over_target.low <= 0.0]
    return f"{describe_group(lost[0])}, {lost[0].over_target} is left" if lost else ""


def _shared(s: TrialGroup) -> str:
    if s.over_shared is None or s.over_shared.low > 0.0:
        return ""
    return f"a plain rule on the columns that both share does as well ({s.over_shared} between them)"


def _shares(names: Names) -> str:
    low, high = (f"{100 * share:.0f}" for share in (names.right.low, names.right.high))
    return (
        f"{100 * names.right.mean:.0f} % [{low}, {high}] of the rows of {names.classes} hidden classes right, with "
        f"spoilt sources {100 * names.spoilt:.0f} %"
    )


def _on_names(judged: TrialGroup, names: Names, unnamed: int) -> str:
    """Where there are classes to name, what is judged is whether the source names them."""
    classes = f"{unnamed} class{'' if unnamed == 1 else 'es'} that nobody labelled"
    if judged.helps:
        return f"The source names {classes}: {_shares(names)}, when classes are hidden on purpose."
    start = "The source does not help to name" if judged.helps is False else "Can't tell whether the source names"
    return f"{start} {classes}: {_shares(names)}, when classes are hidden on purpose."


def write_untested_sentence(tested: int, naming: TrialGroup | None, found: Geometry | None) -> str:
    """Where too few rows are labelled to test anything: signs, and what they are not."""
    signs = []
    if naming is not None and naming.names is not None:
        signs.append(f"of hidden classes, {_shares(naming.names)}")
    if found is not None:
        how = f"correlation {found.correlation:.2f} (p = {found.p_value:.3f})"
        signs.append(f"classes lie to each other as in the source with {how}")
    few = f"Can't tell: {tested} labelled rows are left for testing with 1 label per class, too few for an interval"
    return "; ".join([few, *signs, *(["signs, no proof"] if signs else [])]) + "."


WORDS = {True: "helps", False: "does not help", None: "can't tell"}
LARGEST, MOST = 1e9, 10_000
"""The largest number, and the most comparisons or points of a curve, that a stored verdict may hold."""


class Row(NamedTuple):
    """One comparison: in a setting, the system with the source against something else, all as shares."""

    setting: str
    """Labels per class, or "naming": half of the classes hidden."""
    against: str
    """What the system is compared with; "" for the system itself."""
    accuracy: float
    """Of what it is compared with."""
    difference: float | None
    """The system's accuracy less that; None where there is nothing to compare."""
    low: float | None
    high: float | None
    """The interval of 95 %; None for single target-only rules, of which the best is judged."""


class CurvePoint(NamedTuple):
    """With so many labels per class: accuracy with the source, without it, and their difference, as shares."""

    labels: int
    with_source: float
    without: float
    difference: float
    low: float
    high: float


@short_repr
@dataclass(frozen=True)
class Verdict:
    """Whether a source helps.

    Parameters
    ----------
    helps : bool or None
        True, False, or None for "can't tell".
    difference : float or None
        What the source is worth, as a share of the tested rows: the system's accuracy less that of the best rule
        that never sees the source. None where there was nothing to test.
    interval : (float, float) or None
        The interval of 95 % of that.
    sentence : str
        All of it in one sentence.
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
    geometry : Geometry or None
        The evidence that needs no test: whether classes lie to each other alike in both domains.
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
    geometry: Geometry | None = None

    def __str__(self) -> str:
        return self.sentence

    @property
    def table(self) -> TextTable:
        """Every comparison: accuracy in per cent, and in points what the system with the source is better."""
        cells = tuple((row.against or self.system, _setting(row), *_cells(row)) for row in self.rows)
        notes = (
            f"Accuracy in per cent, differences in points, {self.n_splits} splits, {self.n_tested} tested rows. "
            "Intervals of 95 %, for splits that share rows.",
        )
        return TextTable(self.sentence, ("", "labels per class", "accuracy", "better by", "95 %"), cells, notes)

    def plot(self) -> Any:
        """The curve over labels per class and the comparisons that decide, as a matplotlib figure."""
        from isthmus.view.plots_of_results import plot_verdict

        return plot_verdict(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain types, for JSON."""
        names, geometry = self.names, self.geometry
        return {
            "helps": self.helps,
            "verdict": WORDS[self.helps],
            "difference": self.difference,
            "interval": None if self.interval is None else list(self.interval),
            "sentence": self.sentence,
            "system": self.system,
            "n_splits": self.n_splits,
            "n_tested": self.n_tested,
            "rows": [row._asdict() for row in self.rows],
            "curve": [point._asdict() for point in self.curve],
            "names": None if names is None else {
                "right": names.right.mean, "low": names.right.low, "high": names.right.high,
                "spoilt": names.spoilt, "classes": names.classes,
            },
            "geometry": None if geometry is None else {
                "correlation": geometry.correlation, "p_value": geometry.p_value,
            },
        }  # fmt: skip

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Verdict:
        """Return the verdict that :meth:`to_dict` turned into ``values``; every part is checked.

        Examples
        --------
        >>> verdict = Verdict(True, 0.1, (0.05, 0.15), "The source helps.")
        >>> Verdict.from_dict(verdict.to_dict()) == verdict
        True
        """
        helps, names, geometry, ends = (values.get(key) for key in ("helps", "names", "geometry", "interval"))
        low, high = (None, None) if ends is None else _check_numbers(ends, 0, 1)
        curve = [_check_numbers(point, *CurvePoint._fields) for point in _check_list(values, "curve")]
        naming = None
        if names is not None:
            *right, spoilt, classes = _check_numbers(names, "right", "low", "high", "spoilt", "classes")
            naming = Names(Estimate(*right), spoilt, int(classes))
        return cls(
            None if helps is None else bool(helps),
            _check_optional(values, "difference"),
            None if low is None or high is None else (low, high),
            _check_text(values, "sentence"),
            tuple(
                Row(
                    _check_text(row, "setting"),
                    _check_text(row, "against"),
                    *_check_numbers(row, "accuracy"),
                    *(_check_optional(row, key) for key in ("difference", "low", "high")),
                )
                for row in _check_list(values, "rows")
            ),
            tuple(CurvePoint(int(labels), *shares) for labels, *shares in curve),
            _check_text({"system": "", **values}, "system"),
            int(_check_optional(values, "n_splits") or 0),
            int(_check_optional(values, "n_tested") or 0),
            naming,
            None if geometry is None else Geometry(*_check_numbers(geometry, "correlation", "p_value")),
        )


def _check_text(values: Any, name: str) -> str:
    value = values.get(name) if isinstance(values, Mapping) else None
    if not isinstance(value, str):
        raise InputError(f"{name}: expected a text, got {type(value).__name__}.")
    return value


def _check_list(values: Mapping[str, Any], name: str) -> list[Any]:
    value = values.get(name, [])
    if not isinstance(value, list) or len(value) > MOST:
        raise InputError(f"{name}: expected a list of at most {MOST:,} items, got {type(value).__name__}.")
    return value


def _check_numbers(values: Any, *keys: str | int) -> list[float]:
    """Return the numbers of a stored object, or of a stored list, by their names or places."""
    found = []
    for key in keys:
        try:
            value = values[key]
        except (LookupError, TypeError):
            value = None
        # A whole number of any length compares with a float, and NaN does not pass.
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
            raise InputError(f"{key}: expected a number, got {ascii(value)[:40]}.")
        found.append(float(value))
    return found


def _check_optional(values: Mapping[str, Any], name: str) -> float | None:
    return None if values.get(name) is None else _check_numbers(values, name)[0]


def _setting(row: Row) -> str:
    return "half hidden" if row.setting == "naming" else row.setting


def _cells(row: Row) -> tuple[str, str, str]:
    gain = "" if row.difference is None else format_points(row.difference)
    span = "" if row.low is None or row.high is None else f"[{format_points(row.low)}, {format_points(row.high)}]"
    return f"{100 * row.accuracy:.1f}", gain, span


BEST = "best target-only rule"


def conclude(
    asked: Question, settings: Mapping[str, TrialGroup], judged: str | None, system: str, n_splits: int
) -> Verdict:
    """The verdict on what is judged, with all else that was measured; None: there was nothing to test."""
    steps, naming = [s for group, s in settings.items() if group != NAMING], settings.get(NAMING)
    curve = tuple(
        CurvePoint(int(s.group), s.accuracy[SYSTEM], s.without, *vars(s.over_target).values()) for s in steps
    )
    found, names = measure_geometry(asked), None if naming is None else naming.names
    rows = tuple(row for each in settings.values() for row in _rows(each))
    main = None if judged is None else settings[judged]
    if main is None:
        text = write_untested_sentence(asked.tested(1), naming, found)
        return Verdict(None, None, None, text, rows, curve, system, n_splits, 0, names, found)
    gain, text = main.over_target, write_verdict_sentence(main, steps, asked.unnamed, naming)
    span = (gain.low, gain.high)
    return Verdict(main.helps, gain.mean, span, text, rows, curve, system, n_splits, main.tested, names, found)


def _rows(each: TrialGroup) -> Iterator[Row]:
    """The comparisons of a setting; single target-only rules without an interval, since the best is judged."""
    own = each.accuracy[SYSTEM]
    yield Row(each.group, "", own, None, None, None)
    for name in TARGET_ONLY:
        yield Row(each.group, name, each.accuracy[name], own - each.accuracy[name], None, None)
    yield Row(each.group, BEST, each.without, *vars(each.over_target).values())
    for name in SPOILT:
        if name in each.over_spoilt:
            yield Row(each.group, name, each.accuracy[name], *vars(each.over_spoilt[name]).values())
    if each.over_shared is not None:
        yield Row(each.group, SHARED, each.accuracy[SHARED], *vars(each.over_shared).values())


SPLITS = {500: 10, 2000: 5}
"""How often labels are hidden, up to so many rows of both domains together; four times beyond."""


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
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Any = False,
) -> Verdict:
    """Whether a source helps to call the rows of a target by their class.

    Labels of the target are hidden, several times: a system is taught by the source and by what is left, and tested
    on the hidden ones; so are the same system with noise, permuted and renamed sources, and rules that never see the
    source. The source helps if the system is better than all of them, and surely so.

    Parameters
    ----------
    X_source, y_source : array, sparse matrix or data frame (n_s, d_s), array (n_s,)
        Source rows and their classes.
    X_target, y_target : array, sparse matrix or data frame (n_t, d_t), array (n_t,)
        Target rows and their classes; -1, None or NaN where unknown.
    system : estimator or str
        What is tried: any estimator over two domains, or a name of :func:`isthmus.systems`; "auto" is
        :class:`~isthmus.LabelTransfer`.
    pairs : as in :meth:`isthmus.MLHD.fit`, optional
        Rows of both that are the same object. Tested rows are without their partners.
    shared_columns : sequence, optional
        Columns that mean the same in both: pairs of a source and a target column, or names that both have. None:
        columns of equal names, where both are data frames.
    n_splits : int, optional
        How often labels are hidden, at least 3; None: 10 times up to 500 rows, 5 times up to 2,000, 4 times beyond.
        More labels per class, and names where they are not in question, are tried half as often.
    n_jobs : int
        Splits side by side; -1: one for each core. The verdict is the same.
    random_state : int
        Which labels are hidden, and whatever systems draw.
    progress : bool or function
        Whether to show a bar with the time left; or a function that is called with (trials done, trials in all).

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from isthmus import ARC
    >>> from isthmus.data.datasets import load_toy
    >>> toy = load_toy()
    >>> verdict = does_source_help(toy.X_source, toy.y_source, toy.X_test, toy.y_test, system=ARC())
    >>> verdict.helps, verdict.n_tested
    (False, 400)
    """
    columns = find_common_columns(shared_columns, X_source, X_target)
    asked = make_question(X_source, y_source, X_target, y_target, pairs)
    estimator = _estimator(system, pairs)
    seed = int(check_number(random_state, "random_state", low=0, whole=True))
    J = _check_n_splits(n_splits, asked)
    steps = [str(k) for k in asked.steps]
    hiding = [NAMING] if asked.can_hide else []
    judged = _choose_group(asked, steps, hiding)
    measured: dict[str, TrialGroup] = {}
    if groups := [*steps, *hiding]:
        splits = Splits(asked, tuple(np.random.SeedSequence(seed).generate_state(J).tolist()))
        measured = run_groups(splits, estimator, groups, judged or NAMING, columns, n_jobs=n_jobs, progress=progress)
    return conclude(asked, measured, judged, type(estimator).__name__, J if measured else 0)


def _choose_group(asked: Question, steps: Sequence[str], hiding: Sequence[str]) -> str | None:
    """What the verdict is about, decided before anything is run: names, where some are missing; else few labels."""
    if asked.unnamed and hiding:
        return NAMING
    return steps[0] if steps else None


def _estimator(system: Any, pairs: Any) -> TwoDomainEstimator:
    if isinstance(system, str):
        system = LabelTransfer() if system == "auto" else systems()[system].make()
    if not isinstance(system, TwoDomainEstimator):
        raise InputError(f"system: expected 'auto', a name or a system over two domains, got {system!r:.60}.")
    estimator: TwoDomainEstimator = clone(system)
    estimator._check_use_of(pairs)
    return estimator


def _check_n_splits(n_splits: int | None, asked: Question) -> int:
    if n_splits is None:
        n = asked.X_source.shape[0] + asked.X_target.shape[0]
        return next((times for most, times in SPLITS.items() if n <= most), 4)
    return int(check_number(n_splits, "n_splits", low=3, whole=True))
