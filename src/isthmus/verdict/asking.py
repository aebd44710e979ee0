"""Whether a source helps, asked on rows of one's own: labels are hidden, systems and controls run on what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from isthmus._threads import cap_threads
from isthmus._validation import number
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.exceptions import InputError
from isthmus.registry import systems
from isthmus.transfer import LabelTransfer
from isthmus.verdict.question import Question, question
from isthmus.verdict.reading import verdict_on
from isthmus.verdict.running import settings
from isthmus.verdict.settings import Setting
from isthmus.verdict.shared import common_columns
from isthmus.verdict.splits import NAMING, Splits
from isthmus.verdict.verdict import Verdict

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
    measured: dict[str, Setting] = {}
    if groups := [*steps, *hiding]:
        splits = Splits(asked, tuple(np.random.SeedSequence(seed).generate_state(J).tolist()))
        measured = settings(splits, estimator, groups, judged or NAMING, columns, n_jobs=n_jobs, progress=progress)
    return verdict_on(asked, measured, judged, type(estimator).__name__, J if measured else 0)


def _judged(asked: Question, steps: Sequence[str], hiding: Sequence[str]) -> str | None:
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


def _n_splits(n_splits: int | None, asked: Question) -> int:
    if n_splits is None:
        n = asked.X_source.shape[0] + asked.X_target.shape[0]
        return next((times for most, times in SPLITS.items() if n <= most), 4)
    return int(number(n_splits, "n_splits", low=3, whole=True))
