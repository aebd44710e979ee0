"""Whether a source helps, asked on rows of one's own: labels are hidden, systems and controls run on what is left."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from isthmus._validation import number
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.exceptions import DataWarning, InputError
from isthmus.registry import systems
from isthmus.transfer import LabelTransfer
from isthmus.verdict.evidence import geometry
from isthmus.verdict.question import Question, question
from isthmus.verdict.sentences import sentence, without_tests
from isthmus.verdict.settings import Setting, setting
from isthmus.verdict.shared import SHARED, common_columns
from isthmus.verdict.splits import NAMING, Splits
from isthmus.verdict.target_rules import TARGET_ONLY
from isthmus.verdict.trials import SPOILT, SYSTEM, study
from isthmus.verdict.verdict import CurvePoint, Row, Verdict

SPLITS = {500: 10, 2000: 6}
"""How often labels are hidden, up to so many rows of both domains together; four times beyond."""
BEST = "best target-only rule"


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
    progress: bool = False,
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
        How often labels are hidden, at least 3; None: 10 times up to 500 rows, 6 times up to 2,000, 4 times beyond.
    n_jobs : int
        Splits side by side; -1: one for each core. The verdict is the same.
    random_state : int
        Which labels are hidden, and whatever systems draw.
    progress : bool
        Whether to show on standard error how far it is.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from isthmus import ARC
    >>> from isthmus.datasets import load_toy
    >>> toy = load_toy()
    >>> verdict = does_source_help(toy.X_source, toy.y_source, toy.X_test, toy.y_test, system=ARC())
    >>> verdict.helps, verdict.n_tested
    (False, 400)
    """
    columns = common_columns(shared_columns, X_source, X_target)
    asked = question(X_source, y_source, X_target, y_target, pairs)
    estimator = _estimator(system, pairs)
    seed = int(number(random_state, "random_state", low=0, whole=True))
    J = _n_splits(n_splits, asked)
    steps = [str(k) for k in asked.steps]
    hiding = [NAMING] if asked.can_hide else []
    judged = _judged(asked, steps, hiding)
    settings: dict[str, Setting] = {}
    if groups := [*steps, *hiding]:
        seeds = tuple(np.random.SeedSequence(seed).generate_state(J).tolist())
        asking = study(Splits(asked, seeds), estimator, groups, judged or NAMING, columns)
        with warnings.catch_warnings():
            # That classes have no labelled row is our doing.
            warnings.filterwarnings("ignore", "y_target: .* no labelled row", DataWarning)
            board = asking.run(seeds, n_jobs=n_jobs, progress=progress)
        settings = {group: setting(board, asked, group, seed) for group in groups}
    return _verdict(asked, settings, judged, type(estimator).__name__, J)


def _judged(asked: Question, steps: Sequence[str], hiding: Sequence[str]) -> str | None:
    """What the verdict is about, decided before anything is run: names, where some are missing; else few labels."""
    if asked.unnamed and hiding:
        return NAMING
    return steps[0] if steps else None


def _verdict(asked: Question, settings: dict[str, Setting], judged: str | None, system: str, J: int) -> Verdict:
    steps, naming = [s for group, s in settings.items() if group != NAMING], settings.get(NAMING)
    curve = tuple(
        CurvePoint(int(s.group), s.accuracy[SYSTEM], s.without, *vars(s.over_target).values()) for s in steps
    )
    found, names = geometry(asked), None if naming is None else naming.names
    rows = tuple(row for each in settings.values() for row in _rows(each))
    main = None if judged is None else settings[judged]
    if main is None:
        text = without_tests(asked.tested(1), naming, found)
        return Verdict(None, None, None, text, rows, curve, system, J if naming else 0, 0, names, found)
    gain, text = main.over_target, sentence(main, steps, asked.unnamed, naming)
    span = (gain.low, gain.high)
    return Verdict(main.helps, gain.mean, span, text, rows, curve, system, J, main.tested, names, found)


def _rows(each: Setting) -> Iterator[Row]:
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


def _estimator(system: Any, pairs: Any) -> TwoDomainEstimator:
    if isinstance(system, str):
        system = LabelTransfer() if system == "auto" else systems()[system].make()
    if not isinstance(system, TwoDomainEstimator):
        raise InputError(f"system: expected 'auto', a name or a system over two domains, got {system!r:.60}.")
    estimator: TwoDomainEstimator = clone(system)
    estimator._require_use_of(pairs)
    return estimator


def _n_splits(n_splits: int | None, asked: Question) -> int:
    if n_splits is None:
        n = asked.X_source.shape[0] + asked.X_target.shape[0]
        return next((times for most, times in SPLITS.items() if n <= most), 4)
    return int(number(n_splits, "n_splits", low=3, whole=True))
