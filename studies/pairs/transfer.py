"""Label transfer through pairs: classes of the source, read in the common space, without one target label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.svm import LinearSVC

from isthmus._core.validation import UNLABELLED
from isthmus.estimators.controls import SelfTrainedLDA, TargetOnly
from isthmus.study.design import Entrant, Fit
from isthmus.study.study import Study
from studies.pairs.retrieval import SHUFFLED, SYSTEMS, TESTED
from studies.pairs.rows import PairedDraw, PairedRows, ShuffledPairs, known_pairs

PAIRS = (30, 100, 300)
GROUPS = tuple(group for group in TESTED if group not in ("mfeat fac–pix", "Debian fr–de"))
"""One of each kind of pair is enough."""
VARIANTS = {str(P): f"{P} known pairs" for P in PAIRS}


@dataclass(frozen=True)
class Transfer:
    """Learn from pairs and source labels, then call the rows of the target that were held out by their class."""

    measure: ClassVar[str] = "accuracy"
    needs: ClassVar[tuple[str, ...]] = ("predict",)

    def fit(self, model: Any, rows: PairedRows) -> None:
        """Fit with pairs and without target labels; controls that know of no pairs have target labels instead."""
        if rows.pairs is None:
            model.fit(rows.X_source, rows.y_source, rows.X_target, rows.y_target)
        else:
            model.fit(rows.X_source, rows.y_source, rows.X_target, None, pairs=rows.pairs)

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """The share of objects held out that are called by their class."""
        return float(np.mean(fit.model.predict(fit.rows.Q_target) == fit.rows.y_test)), {}

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """None: there are no grids."""
        return None


@dataclass(frozen=True)
class FewLabels:
    """No pairs; so many labelled target rows per class instead, of objects that are in no pair."""

    per_class: int

    def __call__(self, rows: PairedRows, seed: int) -> PairedRows:
        """The first unpaired rows of each class keep their label; where there are fewer, those."""
        unpaired = np.setdiff1d(np.arange(len(rows.y_target)), known_pairs(rows)[:, 1])
        of_class = [unpaired[rows.y_target[unpaired] == c] for c in np.unique(rows.y_target)]
        labelled = np.concatenate([some[: self.per_class] for some in of_class])
        y = np.full(len(rows.y_target), UNLABELLED)
        y[labelled] = rows.y_target[labelled]
        return replace(rows, pairs=None, y_target=y)


def copied_labels(rows: PairedRows, seed: int) -> PairedRows:
    """No map at all: the target row of each pair gets the label of its source row, and the source is not used."""
    source, target = known_pairs(rows).T
    y = np.full(len(rows.y_target), UNLABELLED)
    y[target] = rows.y_source[source]
    return replace(rows, pairs=None, y_target=y)


def _target_svm() -> TargetOnly:
    return TargetOnly(LinearSVC(random_state=0))


def _largest_class() -> TargetOnly:
    return TargetOnly(DummyClassifier())


LDA = "target self-trained LDA"
COPIED = "labels copied through pairs"
CONTROLS = (
    *(Entrant(f"{LDA}, {k} per class", SelfTrainedLDA, control=True, rows=FewLabels(k)) for k in (1, 3)),
    Entrant(f"{COPIED}, SVM", _target_svm, control=True, rows=copied_labels),
    Entrant(f"{COPIED}, self-trained LDA", SelfTrainedLDA, control=True, rows=copied_labels),
    Entrant("largest class", _largest_class, control=True, rows=copied_labels),
)


def _reading(entrant: Entrant) -> Any:
    """The same system, whose common space is read by a linear classifier of the source rows."""
    return partial(_linear, entrant.make)


def _linear(make: Any) -> Any:
    return make().set_params(rule="linear", references="source")


def study(folder: Path | None = None) -> Study:
    """The study on the data of a folder (None: :func:`studies.datasets.data_folder`)."""
    systems = tuple(Entrant(each.name, _reading(each)) for each in SYSTEMS)
    shuffled = tuple(
        Entrant(f"{each.name}, {SHUFFLED}", _reading(each), control=True, rows=ShuffledPairs())
        for each in SYSTEMS
        if each.name in ("ridge", "cca", "mlhd")
    )
    return Study(
        "transfer",
        PairedDraw({group: TESTED[group] for group in GROUPS}, max(PAIRS), folder),
        (*systems, *shuffled, *CONTROLS),
        title="Label transfer through known pairs",
        protocol="no target label but where a control says so",
        groups=GROUPS,
        variants=VARIANTS,
        task=Transfer(),
    )
