"""Who takes part in the paper's experiments: its systems and the controls, with the grids an oracle may search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from isthmus.estimators import ARC, CCA, ITML, MLHD
from isthmus.registry import systems
from isthmus.study import CorruptedSource, Entrant, by_target_rows

LAMBDA1 = (1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2)
LAMBDA2 = (1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3)
"""The values of the paper's parameter study."""
DECADES = (1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3)
"""For systems with one weight, over which the paper says nothing: all decades that it names."""
BY_TARGET = "by target rows"
"""The name of the second reading of a metric: a row is called by its nearest labelled target row."""


def _read_twice(name: str, make: Callable[[], Any], grid: Mapping[str, tuple[float, ...]] | None = None) -> Entrant:
    """An entrant whose metric is also read by the nearest labelled target row."""
    stem, *kind = name.split(", ")
    second = ", ".join([f"{stem} {BY_TARGET}", *kind])
    return Entrant(name, make, grid or {}, readings={second: by_target_rows})


def _corrupted(kind: str, grid: Mapping[str, tuple[float, ...]]) -> Entrant:
    entrant = _read_twice(f"{MLHD_RBF.name}, {kind}", MLHD_RBF.make, grid)
    return replace(entrant, control=True, rows=CorruptedSource(kind))


def _cca_itml() -> CCA:
    return CCA(metric=ITML())


def _mlhd_unaligned() -> MLHD:
    return MLHD(alignment="none")


CONTROLS = tuple(
    replace(Entrant.of(name), grid=grid)
    for name, grid in (
        ("target 1-NN", {}),
        ("target SVM", {"classifier__C": DECADES}),
        ("target label spreading", {}),
        ("target self-trained LDA", {}),
    )
)
MLHD_RBF = _read_twice("mlhd-rbf", systems()["mlhd-rbf"].make, {"alignment_weight": LAMBDA1, "pair_weight": LAMBDA2})
TABLE = (
    replace(Entrant.of("kcca+nn"), grid={"regularization": DECADES}),
    replace(Entrant.of("kcca+itml"), grid={"metric__pair_weight": DECADES}),
    replace(Entrant.of("arc-rbf"), grid={"pair_weight": DECADES}),
    MLHD_RBF,
    *CONTROLS,
    _corrupted(
        "noise", MLHD_RBF.grid
    ),  # one corrupted source is searched too: it shows how much of an oracle is luck
    *(_corrupted(kind, {}) for kind in ("permuted", "renamed")),
)
"""The tables: the paper's four systems with RBF kernels, then the controls."""
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
    _read_twice("mlhd", MLHD),
    _read_twice("mlhd without alignment", _mlhd_unaligned),
    *CONTROLS,
)
"""The toy problem: linear, as in the paper's figure, and MLHD once more without the alignment of the priors."""
