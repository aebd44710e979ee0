"""How many known labels a system finds when it is not shown them, beside the columns that both domains share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from isthmus._arrays import FloatArray, Matrix
from isthmus.evaluation.intervals import wilson_interval
from isthmus.exceptions import DataWarning
from isthmus.study import Trial
from isthmus.verdict.question import question
from isthmus.verdict.shared import SharedColumns
from isthmus.verdict.splits import Splits

MOST = 10**6
"""Labels per class that are shown: half of those there are, however many."""
TIMES = {2000: 3, 20_000: 2}
"""How often labels are hidden, up to so many rows of both domains together; once beyond."""


@dataclass(frozen=True)
class HeldBack:
    """What was found of labels that were hidden.

    Parameters
    ----------
    tested : int
        How many rows were tested, each at least once.
    times : int
        How often labels were hidden.
    accuracy : float
        The share of them that got their class, the mean over rows.
    interval : (float, float)
        Its 95 % interval (Wilson), as far as so few rows can tell.
    shared : float or None
        The same of linear support vectors on the columns that both domains share; None where they share none.
    """

    tested: int
    times: int
    accuracy: float
    interval: tuple[float, float]
    shared: float | None


def held_back(
    X_source: Any,
    y_source: Any,
    X_target: Any,
    y_target: Any,
    system: Any,
    *,
    pairs: Any = None,
    shared: tuple[Matrix, Matrix] | None = None,
    times: int | None = None,
    random_state: int = 0,
    progress: Callable[[int, int], None] = lambda done, times: None,
) -> HeldBack | None:
    """Hide half of the labels of each class of the target, fit, and ask for them; some times.

    Parameters
    ----------
    X_source, y_source, X_target, y_target, pairs
        As for :func:`~isthmus.does_source_help`.
    system : estimator over two domains
        It is cloned, and fitted anew each time.
    shared : (matrix (n_s, m), matrix (n_t, m)), optional
        The columns that both domains have.
    times : int, optional
        How often; None: by the number of rows.
    random_state : int
        Which labels are hidden.
    progress : function
        Told, before each time, how many are done, and of how many.

    Returns
    -------
    HeldBack or None
        None where no class has two labels in the target, so that none can be hidden.

    Examples
    --------
    >>> from isthmus import ARC
    >>> from isthmus.datasets import load_toy
    >>> toy = load_toy()
    >>> found = held_back(toy.X_source, toy.y_source, toy.X_test, toy.y_test, ARC(), times=1)
    >>> found.tested, found.shared is None
    (200, True)
    """
    asked = question(X_source, y_source, X_target, y_target, pairs)
    if not asked.tested(MOST):
        return None
    n = asked.X_source.shape[0] + asked.X_target.shape[0]
    J = next((often for most, often in TIMES.items() if n <= most), 1) if times is None else times
    splits = Splits(asked, tuple(np.random.SeedSequence(random_state).generate_state(J).tolist()))
    right, plain = (np.full((J, asked.X_target.shape[0]), np.nan) for _ in range(2))
    for split, seed in enumerate(splits.seeds):
        progress(split, J)
        rows = splits(Trial(str(MOST), "", seed))
        if not len(rows.test):  # all of them were in pairs
            return None
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "y_target: .* no labelled row", DataWarning)
            model = clone(system).fit(*rows.fit, **({} if rows.pairs is None else {"pairs": rows.pairs}))
            right[split, rows.test] = model.predict(rows.X_test) == rows.y_test
            if shared is not None:
                S, T = shared
                columns = np.repeat(np.arange(S.shape[1])[:, None], 2, axis=1)
                control = SharedColumns(columns).fit(S, rows.y_source, T, rows.y_target)
                plain[split, rows.test] = control.predict(T[rows.test]) == rows.y_test
    tested = int(np.any(~np.isnan(right), axis=0).sum())
    accuracy = _mean(right)
    interval = wilson_interval(accuracy * tested, tested)
    return HeldBack(tested, J, accuracy, interval, None if shared is None else _mean(plain))


def _mean(right: FloatArray) -> float:
    """Over rows, of the mean over the times that a row was tested."""
    counts = np.count_nonzero(~np.isnan(right), axis=0)
    return float(np.mean((np.nansum(right, axis=0) / np.maximum(counts, 1))[counts > 0]))
