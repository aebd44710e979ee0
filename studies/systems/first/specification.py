"""Every system and control on four real pairs of views: who takes part, and on which rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from numpy.random import RandomState

from isthmus import ARC, ITML, MLHD, systems
from isthmus.controls import Corrupted
from isthmus.estimators.logdet.constraints import percentile_bounds
from isthmus.estimators.logdet.one_space import SignedPairs
from isthmus.registry import System
from isthmus.study import Entrant, Rows, Study, Trial
from isthmus.study.rows import name_number, prepared
from studies.datasets import load_debian, load_mfeat, load_reuters600, load_snareseq
from studies.systems.preparation import COMPONENTS_PER_CLASS, Reduced, standardising
from studies.views import Loader, Views, drawn_split, rows_of, views_of

PAIRS: dict[str, tuple[Loader, str, str]] = {
    "digits fou76→kar64": (load_mfeat, "fou76", "kar64"),
    "Debian en→fr": (load_debian, "en", "fr"),
    "SNARE-seq RNA→ATAC": (load_snareseq, "rna10", "atac19"),
    "Reuters EN→FR": (load_reuters600, "EN", "FR"),
}
"""A collection and two of its views."""


@dataclass(frozen=True)
class Standardised:
    """The rows of a trial, after the first step of the preparation; ``folder`` has the data."""

    folder: Path | None = field(default=None, compare=False)

    def check(self) -> None:
        """Raise if data are not there."""
        for pair in PAIRS:
            self.views(pair)

    def views(self, pair: str) -> Views:
        """The two views of a pair."""
        load, *names = PAIRS[pair]
        return views_of(load, self.folder, *names)

    def __call__(self, trial: Trial) -> Rows:
        """Numeric features standardised, rows of text scaled to length one and reduced by a truncated SVD."""
        views = self.views(trial.group)
        rows = rows_of(views, drawn_split(views.y, [trial.seed, name_number(trial.group)]))
        return prepared(rows, *(standardising(X) for X in (rows.X_source, rows.X_target)))


class FormerITML(ITML):
    """ITML with the automatic bounds of 0.1."""

    def _bounds(self, pairs: SignedPairs, random: RandomState) -> tuple[float, float]:
        return percentile_bounds(pairs.points, random, (5, 95))


def as_before(system: System) -> Any:
    """A system with its defaults at the time of these runs, 0.1: weights were one on each pair (docs/defaults.md)."""
    model = system.make()
    weights = [name for name in model.get_params() if name.endswith(("alignment_weight", "pair_weight"))]
    if isinstance(model, ARC):
        return model
    model.set_params(**dict.fromkeys(weights, 1.0))
    return model.set_params(metric=FormerITML(1.0, random_state=0)) if "metric__pair_weight" in weights else model


SYSTEMS = (
    *("mlhd", "mlhd-rbf", "cca+nn", "kcca+nn", "cca+itml", "kcca+itml", "saenko", "arc", "arc-rbf"),
    *("target 1-NN", "target SVM", "target label spreading", "target self-trained LDA"),
    *("mlhd, noise", "mlhd, permuted", "mlhd, renamed"),
)
"""All that there were."""
LDA = "target self-trained LDA"
WIDE = f"{LDA}, all features"
FAVOURITES = "mlhd", "mlhd by target rows"
"""The systems that are also taught by corrupted sources."""
_by_target = partial(MLHD, references="target", alignment_weight=1.0, pair_weight=1.0)
_reduced = Reduced(COMPONENTS_PER_CLASS)
ENTRANTS = (
    *(
        Entrant(system.name, partial(as_before, system), control=system.control, rows=_reduced)
        for system in map(systems().__getitem__, SYSTEMS)
    ),
    Entrant(WIDE, systems()[LDA].make, control=True, rows=Reduced(None)),
    Entrant(FAVOURITES[1], _by_target, rows=_reduced),
    *(
        Entrant(f"{FAVOURITES[1]}, {kind}", partial(Corrupted, _by_target(), kind), control=True, rows=_reduced)
        for kind in ("noise", "permuted", "renamed")
    ),
)


def study(folder: Path | None = None) -> Study:
    """The study on the data of a folder (None: :func:`studies.datasets.data_folder`)."""
    return Study("systems", Standardised(folder), ENTRANTS, groups=tuple(PAIRS))
