"""What was measured with so many labels per class, or with classes hidden: accuracies, and differences to others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from isthmus._arrays import BoolArray, FloatArray, IntArray
from isthmus.study import Scoreboard
from isthmus.verdict.differences import Estimate, estimate, over_best
from isthmus.verdict.question import LABELS_FOR_NAMING, Question
from isthmus.verdict.shared import SHARED
from isthmus.verdict.splits import NAMING, Splits
from isthmus.verdict.target_rules import TARGET_ONLY
from isthmus.verdict.trials import SPOILT, SYSTEM, right

WORTH = 0.01
"""A gain below one point is not worth having a source for."""


@dataclass(frozen=True)
class Setting:
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


def setting(board: Scoreboard, splits: Splits, group: str) -> Setting:
    """What the trials of a group say; they have run."""
    question = splits.question
    entered = {
        name for entrant in board.design.entrants if entrant.takes_part(group, None) for name in entrant.columns
    }
    columns = [name for name in board.design.columns if name in entered]
    every = {name: right(board, name, group, len(question.y_target)) for name in columns}
    train = _labels_shown(question, group)
    hidden = _hidden(splits, board.seeds) if group == NAMING else None

    units = None if hidden is None else np.tile(question.y_target, 2)
    cells = {name: each if hidden is None else _apart(each, hidden) for name, each in every.items()}
    own = cells[SYSTEM]
    over_target, best = over_best(own, {name: cells[name] for name in TARGET_ONLY}, train, units)
    return Setting(
        group,
        int(np.isfinite(every[SYSTEM]).any(axis=0).sum()),
        {name: float(np.nanmean(each)) for name, each in every.items()},
        best,
        over_target,
        {name: estimate(own - cells[name], train, units) for name in SPOILT if name in cells},
        estimate(own - cells[SHARED], train, units) if SHARED in cells else None,
        None if hidden is None else _names(every, hidden, question, train),
    )


def _labels_shown(question: Question, group: str) -> float:
    shown = question.taken(LABELS_FOR_NAMING if group == NAMING else int(group)).sum()
    return float(shown) / (2.0 if group == NAMING else 1.0)


def _hidden(splits: Splits, seeds: Sequence[int]) -> BoolArray:
    """Which rows are of a class that a split hides (J, n_t)."""
    return np.stack([np.isin(splits.question.y_target, splits.hidden(seed)) for seed in seeds])


def _apart(right: FloatArray, hidden: BoolArray) -> FloatArray:
    """Columns (J, 2n): a row is another one while its class is hidden."""
    return np.hstack([np.where(hidden, right, np.nan), np.where(hidden, np.nan, right)])


def _names(every: Mapping[str, FloatArray], hidden: BoolArray, question: Question, train: float) -> Names:
    named = {name: np.where(hidden, every[name], np.nan) for name in (SYSTEM, *SPOILT) if name in every}
    spoilt = max(float(np.nanmean(each)) for name, each in named.items() if name != SYSTEM)
    classes: IntArray = question.named
    found = estimate(named[SYSTEM], train, question.y_target)
    bounded = Estimate(found.mean, max(found.low, 0.0), min(found.high, 1.0))
    return Names(bounded, spoilt, len(classes) // 2)
