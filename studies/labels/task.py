"""What is counted: target rows that are called by their class, in all classes and in those without a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isthmus.domains import UNLABELLED
from isthmus.study import Entrant, Fit
from studies.labels.rows import LabelRows

UNNAMED, NAMED, HELD_OUT, USED = "unlabelled classes", "labelled classes", "held out", "source used"


@dataclass(frozen=True)
class Calling:
    """Learn from the labels that there are, then call rows by their class; the score is accuracy.

    Parameters
    ----------
    transductive : bool
        Whether the score is of the unlabelled target rows of the fit; that of the rows held out is then noted
        beside. Otherwise it is of the rows held out.
    """

    transductive: bool = False
    measure: ClassVar[str] = "accuracy"
    needs: ClassVar[tuple[str, ...]] = ("predict",)

    def fit(self, model: Any, rows: LabelRows) -> None:
        """Fit to source and target with their labels."""
        model.fit(*rows.fit)

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """The share of rows that are called by their class, and the same of parts of them."""
        rows: LabelRows = fit.rows
        noted = {USED: float(fit.model.source_used_)} if hasattr(fit.model, "source_used_") else {}
        right = np.asarray(fit.model.predict(rows.X_test)) == rows.y_test
        if self.transductive:
            free = rows.y_target == UNLABELLED
            called = np.asarray(fit.model.predict(rows.X_target[free]))
            return float(np.mean(called == rows.y_true[free])), {**noted, HELD_OUT: _share(right)}
        named = np.isin(rows.y_test, rows.known)
        return float(right.mean()), {**noted, NAMED: _share(right[named]), UNNAMED: _share(right[~named])}

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """None: there are no grids."""
        return None


def _share(right: Any) -> float:
    """NaN, which no record keeps, where there are no rows."""
    return float(np.mean(right)) if len(right) else float("nan")
