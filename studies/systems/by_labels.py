"""Who takes part where labels tie the domains: every system with four sources, and target-only rules."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from isthmus import HeMap, systems
from isthmus.estimators.controls import BalancedKMeans, Corrupted, SelfTrainedLDA
from isthmus.study.design import Entrant, predict_by_target_rows
from isthmus.study.registry import System
from isthmus.study.study import Study
from studies.labels.controls import MeanOfBoth
from studies.systems.data import FOR_LABELS as GROUPS
from studies.systems.data import SAME_FEATURES
from studies.systems.rows import Draw, Sees

NAME = "labels"
SPOILT = ("noise", "permuted", "renamed")
OWN_AXES = ("semantic", "label-transfer")
"""Systems that choose among the principal axes themselves, and so are given all features in rows of unit length."""
BY_TARGET = {"mlhd": "mlhd by target rows"}
"""A further reading of a fit: each row called by the nearest labelled target row, under the metric learned."""
FROM_LABELS = {"hemap": ("hemap from labels", partial(HeMap, correspondence="labels"))}
"""What stands for a system that needs pairs, where it can make some from labels."""


def spoilt(name: str, kind: str) -> str:
    """The column of a system that is taught by a spoilt source."""
    return f"{name}, {kind}"


def why_not(system: System) -> str | None:
    """Why a system has no part here; None where it has."""
    if not system.needs_pairs or system.name in FROM_LABELS:
        return None
    return "learns from pairs"


def remark(system: System) -> str | None:
    """What to know of a system's part."""
    home = f"here they are as many, and the same only with {', '.join(SAME_FEATURES)}"
    if system.transductive:
        return (
            "for the rows of the fit only, so that the features of the test rows are among the unlabelled rows here"
        )
    if system.learns == "ranking":
        return (
            f"for classes that have an order, which these have not, and for the same features in both domains; {home}"
        )
    if system.equal_features:
        return f"for the same features in both domains; {home}"
    return None


def taking_part() -> tuple[System, ...]:
    """The systems of the registry that have a part, controls left out."""
    return tuple(system for system in systems() if not system.control and why_not(system) is None)


def _entrants(system: System) -> Iterator[Entrant]:
    name, make = FROM_LABELS.get(system.name, (system.name, system.make))
    form = "unit" if system.name in OWN_AXES else "narrow"
    reading = BY_TARGET.get(system.name)
    for kind in (None, *SPOILT):
        column = name if kind is None else spoilt(name, kind)
        readings: dict[str, Any] = {}
        if reading is not None:
            readings[reading if kind is None else spoilt(reading, kind)] = predict_by_target_rows
        sees = Sees(form, kind, test_rows=system.transductive)
        yield Entrant(column, make, control=kind is not None, readings=readings, rows=sees)


def names(every: bool = False) -> tuple[str, ...]:
    """The columns of the systems with their true source; and the names of those that have no part, if asked for."""
    found = []
    for system in (s for s in systems() if not s.control and (every or why_not(s) is None)):
        found.append(FROM_LABELS[system.name][0] if system.name in FROM_LABELS else system.name)
        found += [BY_TARGET[system.name]] if system.name in BY_TARGET else []
    return tuple(found)


def _target_only() -> tuple[Entrant, ...]:
    """The controls of the registry that never see the source, and further ones on all features."""
    kept = [s for s in systems() if s.control and not isinstance(s.make(), Corrupted)]
    further = (
        ("target self-trained LDA, all features", SelfTrainedLDA),
        ("target balanced k-means", BalancedKMeans),
        ("target mean of LDA and k-means", MeanOfBoth),
    )
    return (
        *(Entrant(s.name, s.make, control=True, rows=Sees()) for s in kept),
        *(Entrant(name, make, control=True, rows=Sees("unit")) for name, make in further),
    )


TARGET_ONLY = _target_only()


def study(folder: Path | None = None) -> Study:
    """The study on the data of a folder (None: :func:`studies.datasets.data_folder`)."""
    entrants = (*(entrant for system in taking_part() for entrant in _entrants(system)), *TARGET_ONLY)
    return Study(NAME, Draw(GROUPS, folder=folder), entrants, title="Labels in both domains", groups=GROUPS)
