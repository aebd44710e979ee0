"""Who takes part in the paper's experiments: its systems and the controls, with the grids an oracle may search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from isthmus.estimators.arc import ARC
from isthmus.estimators.cca import CCA
from isthmus.estimators.controls import BalancedKMeans
from isthmus.estimators.itml import ITML
from isthmus.estimators.mlhd import MLHD
from isthmus.study.design import Entrant, predict_by_target_rows
from isthmus.study.registry import systems
from isthmus.study.trial_rows import CorruptedRows
from studies.defaults.settings import by_means
from studies.labels.controls import MeanOfBoth

LAMBDA1 = (1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2)
LAMBDA2 = (1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3)
"""The values of the paper's parameter study."""
DECADES = (1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3)
"""For systems with one weight, over which the paper says nothing: all decades that it names."""
BY_TARGET = "by target rows"
"""The name of the second reading of a metric: a row is called by its nearest labelled target row."""


BY_MEANS = "by means"
"""The name of the third: a row is called by the nearest class mean of the source in the common space."""
FLAT_WEIGHT = 100.0
"""A λ2 where the accuracy of the grids of 0.1 no longer changes with it."""


def _read(entrant: Entrant, **readings: Callable[..., Any]) -> Entrant:
    """An entrant with further readings, each named by its word after the system."""
    stem, *kind = entrant.name.split(", ")
    return replace(entrant, readings={", ".join([f"{stem} {word}", *kind]): read for word, read in readings.items()})


def _three_readings(
    name: str, make: Callable[[], Any], grid: Mapping[str, tuple[float, ...]] | None = None
) -> Entrant:
    return _read(Entrant(name, make, grid or {}), **{BY_TARGET: predict_by_target_rows, BY_MEANS: by_means})


def _also_by_means(name: str, grid: Mapping[str, tuple[float, ...]]) -> Entrant:
    return _read(replace(Entrant.of(name), grid=grid), **{BY_MEANS: by_means})


def _make_control(kind: str, grid: Mapping[str, tuple[float, ...]]) -> Entrant:
    entrant = _three_readings(f"{MLHD_RBF.name}, {kind}", MLHD_RBF.make, grid)
    return replace(entrant, control=True, rows=CorruptedRows(kind))


def _cca_itml() -> CCA:
    return CCA(metric=ITML(), rule="nearest")


def _make_unaligned_mlhd() -> MLHD:
    return MLHD(alignment="none")


CONTROLS = (
    *(
        replace(Entrant.of(name), grid=grid)
        for name, grid in (
            ("target 1-NN", {}),
            ("target SVM", {"classifier__C": DECADES}),
            ("target label spreading", {}),
            ("target self-trained LDA", {}),
        )
    ),
    Entrant("target balanced k-means", BalancedKMeans, control=True),
    Entrant("target mean of LDA and k-means", MeanOfBoth, control=True),
)
MLHD_RBF = _three_readings(
    "mlhd-rbf", systems()["mlhd-rbf"].make, {"alignment_weight": LAMBDA1, "pair_weight": LAMBDA2}
)
MLHD_FLAT = _read(
    Entrant(f"mlhd-rbf λ2={FLAT_WEIGHT:g}", partial(MLHD, "rbf", "rbf", pair_weight=FLAT_WEIGHT)),
    **{BY_MEANS: by_means},
)
TABLE = (
    _also_by_means("kcca+nn", {"regularization": DECADES}),
    _also_by_means("kcca+itml", {"metric__pair_weight": DECADES}),
    _also_by_means("arc-rbf", {"pair_weight": DECADES}),
    MLHD_RBF,
    MLHD_FLAT,
    Entrant.of("label-transfer"),
    *CONTROLS,
    _make_control(
        "noise", MLHD_RBF.grid
    ),  # one corrupted source is searched too: it shows how much of an oracle is luck
    *(_make_control(kind, {}) for kind in ("permuted", "renamed")),
)
"""The tables: the paper's four systems with RBF kernels, MLHD where λ2 is flat, label transfer, then the controls."""
COARSE = (1e-2, 1e0, 1e2)
TABLE_COARSE = tuple(
    replace(each, grid=dict.fromkeys(each.grid, COARSE)) if each.name.startswith(("mlhd", "kcca+itml")) else each
    for each in TABLE
)
"""The same for large problems: systems that take long search three of the paper's values of each weight."""
PAPER = ("kcca+nn", "kcca+itml", "arc-rbf", "mlhd-rbf")
"""The columns that the paper prints, in its order."""

TOY = (
    Entrant.of("cca+nn"),
    Entrant("cca+itml", _cca_itml),
    Entrant("arc", ARC),
    _three_readings("mlhd", MLHD),
    _three_readings("mlhd without alignment", _make_unaligned_mlhd),
    *CONTROLS,
)
"""The toy problem: linear, as in the paper's figure, and MLHD once more without the alignment of the priors."""
