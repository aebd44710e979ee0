"""Who takes part where known pairs tie the domains and no target row is labelled, and what they stand beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.svm import LinearSVC

from isthmus import systems
from isthmus.estimators.controls import SelfTrainedLDA, TargetOnly
from isthmus.study.design import Entrant, Fit
from isthmus.study.registry import System
from isthmus.study.study import Study
from studies.systems import by_labels
from studies.systems.data import FOR_PAIRS as GROUPS
from studies.systems.data import NON_NEGATIVE
from studies.systems.rows import N_PAIRS, Draw, Sees, SystemRows, named_by_source

NAME = "pairs"
SHUFFLED = "shuffled pairs"


@dataclass(frozen=True)
class Through:
    """Learn from pairs and source labels, then call test rows of the target by their class; the score is accuracy."""

    measure: ClassVar[str] = "accuracy"
    needs: ClassVar[tuple[str, ...]] = ("predict",)

    def fit(self, model: Any, rows: SystemRows) -> None:
        """Fit with what the rows have: pairs, or target labels, or both."""
        if rows.pairs is None:
            model.fit(*rows.fit)
        else:
            y_target = rows.y_target if len(rows.labelled) else None
            model.fit(rows.X_source, rows.y_source, rows.X_target, y_target, pairs=rows.pairs)

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """The share of test rows that are called by their class."""
        return float(np.mean(fit.model.predict(fit.rows.X_test) == fit.rows.y_test)), {}

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """None: there are no grids."""
        return None


def shuffled_name(name: str) -> str:
    """The column of a system that is taught by wrong pairs."""
    return f"{name}, {SHUFFLED}"


def read_by_source(make: Any) -> Any:
    """A system whose common space is read by a linear machine of the source rows; one without a space as it is."""
    model = make()
    return model.set_params(rule="linear", references="source") if "rule" in model.get_params() else model


def taking_part() -> tuple[System, ...]:
    """The systems of the registry that can learn from pairs."""
    return tuple(system for system in systems() if system.takes_pairs and not system.control)


def why_not(system: System, group: str) -> str | None:
    """Why a system has no part in a group; None where it has."""
    if system.non_negative and group not in NON_NEGATIVE:
        return "takes features that are never negative, such as counts of words"
    return None


def wants_labels(system: System) -> bool:
    """Whether a system does nothing without target labels, pairs or not: it then keeps one per class."""
    # A metric learned after CCA needs labels too, but those of the source are enough.
    labels = system.learns in ("labels", "ranking") or not system.takes_pairs
    return labels and not system.needs_pairs


def _entrants(system: System) -> tuple[Entrant, Entrant]:
    groups = tuple(group for group in GROUPS if why_not(system, group) is None)
    make = partial(read_by_source, system.make)
    form = "raw" if system.non_negative else "unit" if system.name in by_labels.OWN_AXES else "wide"
    true, wrong = (Sees(form, pairs=kind, labels=wants_labels(system)) for kind in ("true", "shuffled"))
    return (
        Entrant(system.name, make, rows=true, groups=groups),
        Entrant(shuffled_name(system.name), make, control=True, rows=wrong, groups=groups),
    )


def _svm() -> TargetOnly:
    return TargetOnly(LinearSVC(random_state=0))


NO_MAP = "no map: the source's SVM names paired rows"
CONTROLS = (
    Entrant(f"{NO_MAP}, SVM", _svm, control=True, rows=named_by_source),
    Entrant(f"{NO_MAP}, self-trained LDA", SelfTrainedLDA, control=True, rows=named_by_source),
)


def study(folder: Path | None = None) -> Study:
    """The study on the data of a folder (None: :func:`studies.datasets.data_folder`)."""
    entrants = (*(entrant for system in taking_part() for entrant in _entrants(system)), *CONTROLS)
    rows = Draw(GROUPS, N_PAIRS, folder=folder)
    title = f"{N_PAIRS} known pairs, no target label"
    every = (*entrants, *by_labels.TARGET_ONLY)
    return Study(NAME, rows, every, title=title, groups=GROUPS, task=Through())
