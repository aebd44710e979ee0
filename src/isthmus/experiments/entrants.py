"""Who takes part in an experiment: the paper's systems and the controls, with the grids an oracle may search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from sklearn.svm import LinearSVC

from isthmus.controls import TargetOnly
from isthmus.estimators import ARC, CCA, ITML, KCCA, MLHD
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.registry import systems

LAMBDA1 = (1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2)
LAMBDA2 = (1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3)
"""The values of the paper's parameter study."""
DECADES = (1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3)
"""For systems with one weight, over which the paper says nothing: all decades that it names."""
BY_TARGET = "by target rows"
"""The name of the second reading of a metric: a row is called by its nearest labelled target row."""


@dataclass(frozen=True)
class Entrant:
    """One fit of an experiment, and the columns that it fills.

    Parameters
    ----------
    name : str
        The column where rows are called as the system does by default.
    make : callable
        Returns a fresh estimator with the defaults of this experiment.
    grid : mapping of str to tuple of float
        Parameters, and the values that the oracle chooses from; empty where there is nothing to choose.
    control : bool
        Whether it is there to keep the others honest.
    by_target : bool
        Whether the same metric is also read by the nearest labelled target row, as the column ``by_target_name``.
    spoilt : {"", "noise", "permuted", "renamed"}
        What is done to the source before the fit.
    sees_source : bool
        Whether it learns from the source at all.
    """

    name: str
    make: Callable[[], TwoDomainEstimator]
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    control: bool = False
    by_target: bool = False
    spoilt: str = ""
    sees_source: bool = True

    @property
    def by_target_name(self) -> str:
        """The column of the second reading."""
        stem, *kind = self.name.split(", ")
        return ", ".join([f"{stem} {BY_TARGET}", *kind])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that one fit fills."""
        return (self.name, self.by_target_name) if self.by_target else (self.name,)

    def settings(self) -> Iterator[dict[str, float]]:
        """Every point of the grid, the last parameter fastest."""
        for values in product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))

    def estimator(self, parameters: Mapping[str, float], seed: int) -> TwoDomainEstimator:
        """An unfitted estimator with these parameters; whatever it draws, it draws by the seed."""
        model = self.make()
        drawing = {name: seed for name in model.get_params() if name.endswith("random_state")}
        model.set_params(**drawing, **parameters)
        return model


def _mlhd_rbf() -> MLHD:
    return MLHD("rbf", "rbf")


def _kcca_itml() -> KCCA:
    return KCCA(metric=ITML())


def _arc_rbf() -> ARC:
    return ARC("rbf", "rbf")


def _svm() -> TargetOnly:
    return TargetOnly(LinearSVC())


def _cca_itml() -> CCA:
    return CCA(metric=ITML())


def _mlhd_unaligned() -> MLHD:
    return MLHD(alignment="none")


CONTROLS = tuple(
    Entrant(name, make, grid, control=True, sees_source=False)
    for name, make, grid in (
        ("target 1-NN", TargetOnly, {}),
        ("target SVM", _svm, {"classifier__C": DECADES}),
        ("target label spreading", systems()["target label spreading"].make, {}),
        ("target self-trained LDA", systems()["target self-trained LDA"].make, {}),
    )
)
MLHD_RBF = Entrant("mlhd", _mlhd_rbf, {"alignment_weight": LAMBDA1, "pair_weight": LAMBDA2}, by_target=True)
NOISE = replace(MLHD_RBF, name="mlhd, noise", control=True, spoilt="noise")
SPOILT = (NOISE, *(replace(NOISE, name=f"mlhd, {kind}", spoilt=kind, grid={}) for kind in ("permuted", "renamed")))
"""One spoilt source searches the grid too: it shows how much of an oracle is luck."""
TABLE = (
    Entrant("kcca+nn", KCCA, {"regularization": DECADES}),
    Entrant("kcca+itml", _kcca_itml, {"metric__pair_weight": DECADES}),
    Entrant("arc", _arc_rbf, {"pair_weight": DECADES}),
    MLHD_RBF,
    *CONTROLS,
    *SPOILT,
)
"""The tables: the paper's four systems with RBF kernels, then the controls."""
COARSE = (1e-2, 1e0, 1e2)
TABLE_COARSE = tuple(
    replace(each, grid=dict.fromkeys(each.grid, COARSE)) if each.name.startswith(("mlhd", "kcca+itml")) else each
    for each in TABLE
)
"""The same for large problems: systems that take long search three of the paper's values of each weight."""
PAPER = ("kcca+nn", "kcca+itml", "arc", "mlhd")
"""The columns that the paper prints, in its order."""

TOY = (
    Entrant("cca+nn", CCA),
    Entrant("cca+itml", _cca_itml),
    Entrant("arc", ARC),
    Entrant("mlhd", MLHD, by_target=True),
    Entrant("mlhd without alignment", _mlhd_unaligned, by_target=True),
    *CONTROLS,
)
"""The toy problem: linear, as in the paper's figure, and MLHD once more without the alignment of the priors."""
