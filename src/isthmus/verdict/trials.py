"""Who takes part, and what is noted of each fit: which of the tested rows it calls right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.controls.corrupted import KINDS
from isthmus.exceptions import InputError
from isthmus.study import CorruptedSource, Entrant, Fit, Scoreboard, Study
from isthmus.study.tasks import Classification
from isthmus.verdict.shared import SHARED, SharedColumns
from isthmus.verdict.splits import NAMING, Splits, WithoutSource
from isthmus.verdict.target_rules import READINGS, VOTE, TargetRules

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
        right = entrant.called(column, fit, fit.rows.X_test) == fit.rows.y_test
        return float(np.mean(right)), dict(zip(map(str, fit.rows.test), map(float, right), strict=True))


def study(splits: Splits, system: Any, groups: Sequence[str], judged: str, columns: IntArray | None = None) -> Study:
    """The system and all that needs no source in every group; its spoilt sources where it is ``judged``.

    Where classes are hidden, and that is not what is judged, one kind has to do: :data:`FOR_NAMES`.
    """
    alone = WithoutSource(splits.question.coordinates)
    where = {kind: (judged, NAMING) if kind == FOR_NAMES else (judged,) for kind in KINDS}
    shared = () if columns is None else (Entrant(SHARED, partial(SharedColumns, columns), control=True),)
    entrants = (
        Entrant(SYSTEM, system),
        *(Entrant(n, system, control=True, rows=CorruptedSource(k), groups=where[k]) for n, k in SPOILT.items()),
        Entrant(VOTE, TargetRules, control=True, readings=READINGS, rows=alone),
        *shared,
    )
    return Study(TITLE, splits, entrants, groups=tuple(groups), task=RowByRow())


def right(board: Scoreboard, column: str, group: str, n_rows: int) -> FloatArray:
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
