"""The three parts of the study of few labels: which rows, and who takes part."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC

from isthmus import ARC, CCA, MLHD
from isthmus.estimators.controls import BalancedKMeans, SelfTrainedLDA, TargetOnly
from isthmus.study.design import Entrant
from isthmus.study.study import Study
from isthmus.study.trial_rows import CorruptedRows
from studies.labels.controls import MeanOfBoth, RandomNames, SourceShares
from studies.labels.data import groups_of, set_of
from studies.labels.rows import DEMO, LabelRows, NamingDraw, OnAxes, PaperDraw, RealDraw, label_all_classes
from studies.labels.task import Calling

TRANSFER = "label transfer"
LDA, KMEANS, BOTH = "target self-trained LDA", "target balanced k-means", "target mean of LDA and k-means"
SHARES = "target LDA, the source's class shares"
RANDOM, FULL = "target clusters, random names", "target LDA, all classes labelled"
SPOILT = {kind: f"{TRANSFER}, {kind} source" for kind in ("noise", "permuted", "renamed")}
"""The same system, taught by a source that says nothing."""


def _label_transfer() -> Any:
    """A fresh one; the package is asked for it by name, when it is needed."""
    import isthmus

    return isthmus.LabelTransfer()


def _svm() -> TargetOnly:
    return TargetOnly(LinearSVC(random_state=0))


def _spreading() -> TargetOnly:
    return TargetOnly(LabelSpreading(kernel="knn"))


ON_AXES, ON_MORE_AXES = OnAxes(3), OnAxes(5)


def all_labelled_on_axes(rows: LabelRows, seed: int) -> LabelRows:
    """The same rows with the labels of the hidden classes, on principal axes."""
    return ON_MORE_AXES(label_all_classes(rows, seed), seed)


SYSTEMS = (
    Entrant(TRANSFER, _label_transfer),
    *(Entrant(name, _label_transfer, control=True, rows=CorruptedRows(kind)) for kind, name in SPOILT.items()),
)
TARGET_ONLY = (
    Entrant(LDA, SelfTrainedLDA, control=True, rows=ON_MORE_AXES),
    Entrant(KMEANS, BalancedKMeans, control=True),
    Entrant("target 1-NN", TargetOnly, control=True, rows=ON_AXES),
    Entrant("target SVM", _svm, control=True),
    Entrant("target label spreading", _spreading, control=True, rows=ON_AXES),
)
AT_REAL_SIZE = (Entrant(LDA, SelfTrainedLDA, control=True), *TARGET_ONLY[1:])
"""There, rows on all axes were the better ones for it, on development seeds."""
NEIGHBOURS = tuple(
    Entrant(f"{name}, 1-NN", make, rows=ON_AXES)
    # With the defaults of 0.1, by which the committed records were made.
    for name, make in (
        ("mlhd", partial(MLHD, alignment_weight=1.0, pair_weight=1.0)),
        ("arc", ARC),
        ("cca", partial(CCA, rule="nearest")),
    )
)
PLAIN = tuple(entrant.name for entrant in TARGET_ONLY)
"""The controls that are in every part."""

NAMING = (DEMO, "digits", "mfeat", "Debian en→fr", "Debian de→en", "Reuters EN→FR", "Reuters IT→EN", "SNARE")
PAPER = ("Reuters", "Debian", "mfeat", "SNARE", "Office31", "Office-Caltech")
REAL = {
    **{"Debian en→fr": 1400, "Debian de→en": 950, "Debian fr→en": 1400, "Debian fr→de": 840},
    **dict.fromkeys(("Reuters EN→FR", "Reuters IT→EN"), 290),
    **dict.fromkeys(groups_of("SNARE"), 500),
    **dict.fromkeys(groups_of("mfeat"), 900),
    "digits": 850,
}
"""Rows of either domain: 1,400, or nearly half of the objects where there are fewer."""


def naming(folder: Path | None = None) -> Study:
    """Half of the classes labelled."""
    groups = groups_of(*NAMING)
    return Study(
        "naming",
        NamingDraw(groups, folder=folder),
        (
            *SYSTEMS,
            *NEIGHBOURS,
            *TARGET_ONLY,
            Entrant(RANDOM, RandomNames, control=True),
            Entrant(FULL, SelfTrainedLDA, control=True, rows=all_labelled_on_axes),
        ),
        title="Half of the classes labelled",
        groups=groups,
        variants={"3": "3 labels per labelled class"},
        task=Calling(),
    )


def paper_size(folder: Path | None = None) -> Study:
    """Every class labelled, 20 source rows and 20 unlabelled target rows per class."""
    groups = groups_of(*PAPER)
    return Study(
        "few",
        PaperDraw(groups, folder=folder),
        (*SYSTEMS, *TARGET_ONLY, Entrant(BOTH, MeanOfBoth, control=True, rows=ON_MORE_AXES)),
        title="The paper's size",
        groups=groups,
        variants=_labels(1, 3, 5),
        task=Calling(),
    )


def real_size(folder: Path | None = None) -> Study:
    """Every class labelled, up to 1,400 rows of either domain."""
    extra = Entrant(BOTH, MeanOfBoth, control=True), Entrant(SHARES, SourceShares, control=True)
    return Study(
        "real",
        RealDraw(tuple(REAL), tuple(REAL.items()), folder=folder),
        (*SYSTEMS, *AT_REAL_SIZE, *extra),
        title="Real sizes",
        groups=tuple(REAL),
        variants=_labels(1, 3, 10),
        task=Calling(transductive=True),
    )


def _labels(*numbers: int) -> dict[str, str]:
    return {str(n): f"{n} label{'' if n == 1 else 's'} per class" for n in numbers}


STUDIES: dict[str, Callable[[Path | None], Study]] = {"naming": naming, "few": paper_size, "real": real_size}
"""The parts, in the order of the page."""


def sets_of(study: Study) -> dict[str, list[int]]:
    """The data sets of a study, and the places of their groups."""
    found: dict[str, list[int]] = {}
    for place, group in enumerate(study.groups):
        found.setdefault(set_of(group), []).append(place)
    return found
