"""What the systems of a study are asked to do: how one is fitted to the rows of a trial, and what its score is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from isthmus.domains import UNLABELLED
from isthmus.study.entrants import Entrant, Fit, measures


class Task(Protocol):
    """A task is a value: what it compares by goes into the fingerprint of every record."""

    @property
    def measure(self) -> str:
        """What the score of a record is, in a word or two; a number from 0 to 1, and more is better."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The methods that a system has to have."""

    def fit(self, model: Any, rows: Any) -> None:
        """Fit a system to the rows of a trial; this is what is timed."""

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """The score of a column of a fit, and further numbers by name."""

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """What "selected" settings are chosen by, without a test label; None where a system can't be judged so."""


@dataclass(frozen=True)
class Classification:
    """Learn from labels of both domains, then call test rows of the target by their class; the score is accuracy."""

    measure: ClassVar[str] = "accuracy"
    needs: ClassVar[tuple[str, ...]] = ("predict",)

    def fit(self, model: Any, rows: Any) -> None:
        """Fit to source and target with their labels."""
        model.fit(*rows.fit)

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """The share of test rows that are called by their class."""
        return float(np.mean(entrant.called(column, fit, fit.rows.X_test) == fit.rows.y_test)), {}

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """Reverse agreement, of systems that measure across the domains."""
        if not measures(fit.model):
            return None
        return reverse_agreement(fit, entrant.called(column, fit, fit.rows.X_target))


CLASSIFICATION = Classification()


def reverse_agreement(fit: Fit, called: NDArray[Any]) -> float:
    """The share of source rows that the target rows call right, under the labels that the system gave them.

    The target rows of the fit get the labels ``called`` (their own, where they have one); each source row is then
    called by its nearest target row. A metric that carries labels there and back is worth more than one that
    does not, and no test row is needed to see it (reverse validation; Zhong et al. 2010).
    """
    rows = fit.rows
    labels = np.where(rows.y_target == UNLABELLED, called, rows.y_target)
    return float(np.mean(labels[fit.across(rows.X_target).argmin(axis=1)] == rows.y_source))
