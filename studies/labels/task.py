"""What is counted: target rows that are called by their class, in all classes and in those without a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, Matrix
from isthmus.evidence.scores import measure_reliability
from isthmus.study.design import Entrant, Fit
from studies.labels.rows import LabelRows

UNNAMED, NAMED, HELD_OUT, USED = "unlabelled classes", "labelled classes", "held out", "source used"
ERROR, KEPT, SURE = "calibration error", "rows of 90 %", "accuracy of rows of 90 %"


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
        right = rightness(fit.model, rows.X_test, rows.y_test)
        if self.transductive:
            free = rows.y_target == UNLABELLED
            noted |= calibration(fit.model, rows.X_target[free], rows.y_true[free])
            score = rightness(fit.model, rows.X_target[free], rows.y_true[free]).mean()
            return float(score), {**noted, HELD_OUT: _share(right)}
        noted |= calibration(fit.model, rows.X_test, rows.y_test)
        named = np.isin(rows.y_test, rows.known)
        return float(right.mean()), {**noted, NAMED: _share(right[named]), UNNAMED: _share(right[~named])}

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """None: there are no grids."""
        return None


def rightness(model: Any, X: Matrix, y: IntArray) -> FloatArray:
    """Whether each row is called by its class (n,), 0 or 1.

    Where a model gave names to some classes at random, it is the mean over all ways to give them: a row of such a
    class that is called by any of those names is right once in as many.
    """
    called = np.asarray(model.predict(X))
    arbitrary = getattr(model, "arbitrary_names_", ())
    either = np.isin(y, arbitrary) & np.isin(called, arbitrary)
    return np.where(either, 1.0 / max(len(arbitrary), 1), (called == y).astype(np.float64))


def calibration(model: Any, X: Matrix, y: IntArray) -> dict[str, float]:
    """The expected calibration error, the share of rows with at least 90 %, and how many of these are right."""
    if not hasattr(model, "predict_proba"):
        return {}
    P = model.predict_proba(X)
    right = model.classes_[P.argmax(axis=1)] == y
    found = measure_reliability(P.max(axis=1), right)
    return {ERROR: found.error, KEPT: found.counts[-1] / len(P), SURE: float(found.correct[-1])}


def _share(right: FloatArray) -> float:
    """NaN, which no record keeps, where there are no rows."""
    return float(np.mean(right)) if len(right) else float("nan")
