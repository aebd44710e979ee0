"""Which settings the systems should have by default: one factor at a time, then together, then with other sizes.

Reuters and Office, the data of the paper's tables, are not among the data; seeds are those of development.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus import CCA, KCCA
from isthmus._core.validation import Matrix
from isthmus.estimators.controls import SelfTrainedLDA, TargetOnly
from isthmus.geometry.kernels import Kernel
from isthmus.study.design import Entrant
from isthmus.study.study import Study
from isthmus.study.trial_rows import Trial, TrialRows, hash_name
from studies.defaults.candidates import MedianMultiple, WeighedARC, WeighedITML, WeighedMLHD
from studies.defaults.preparation import PREPARATIONS, Preparation
from studies.defaults.specification import LOADERS, MOST_LABELLED, VARIANTS
from studies.views import Views, draw_split, load_views, take_rows

PAIRS = (
    *("mfeat fou76→kar64", "mfeat pix240→fou76"),
    *("snareseq rna10→atac19", "snareseq atac19→rna10"),
    *("debian en→fr", "debian fr→de"),
    *("digits pixels→shape", "digits shape→pixels"),
)
"""The collection and its two views: two of each, and each collection counts once."""
SYSTEMS = ("mlhd", "mlhd-rbf", "arc", "arc-rbf", "cca+nn", "kcca+nn", "cca+itml", "kcca+itml")
MEANS = ", means"
"""The ending of the columns in which rows are called by the nearest class mean."""
TOTALS = (1e2, 1e3, 1e4, 1e5, 1e6)
SIZES = {"5": "5 source rows per class", "20": "20", "60": "60"}


@dataclass(frozen=True)
class Setting:
    """A system, and where it differs from the defaults that it had before the study."""

    system: str
    total_weight: float | None = None
    alignment_weight: float = 1.0
    bounds: tuple[float, float] | None = None
    bandwidth: float = 1.0
    regularization: float = 0.1
    preparation: str = "standardised"
    axes: int | None = None

    @property
    def changes(self) -> str:
        """What differs, in words; empty for the centre.

        Examples
        --------
        >>> Setting("mlhd", total_weight=1e4, axes=3).changes
        'total weight 10000, axes 3'
        """
        changed = [f for f in fields(self)[1:] if getattr(self, f.name) != f.default]
        return ", ".join(f"{f.name.replace('_', ' ')} {_written(getattr(self, f.name))}" for f in changed)

    @property
    def column(self) -> str:
        """Its name in the records."""
        return f"{self.system}: {self.changes or 'before'}"

    def entrant(self) -> Entrant:
        """One fit, read by the nearest row and by the nearest class mean."""
        rows = Preparation(self.preparation, self.axes)
        return Entrant(self.column, partial(make_system, self), readings={self.column + MEANS: by_means}, rows=rows)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else "–".join(f"{v:g}" for v in np.atleast_1d(value))


def by_means(model: Any, rows: TrialRows, X: Matrix) -> NDArray[Any]:
    """A reading: each row is called by the nearest class mean of the source in the common space."""
    other = copy(model)
    other.rule = "means"
    return np.asarray(other.predict(X))


def make_system(setting: Setting) -> Any:
    """The unfitted system."""
    name = setting.system
    curved = name.endswith("-rbf") or name.startswith("kcca")
    kernel: Kernel | str = MedianMultiple(factor=setting.bandwidth) if curved else "linear"
    weight = {"total_weight": setting.total_weight}
    if name.startswith("mlhd"):
        factors = setting.bounds or (0.5, 1.5)
        return WeighedMLHD(kernel, **weight, alignment_weight=setting.alignment_weight, factors=factors)
    if name.startswith("arc"):
        return WeighedARC(kernel, **weight, bounds=setting.bounds or (0.0, 1.0))
    metric: Any = "euclidean"
    if name.endswith("itml"):
        metric = WeighedITML(**weight, percentiles=setting.bounds or (5.0, 95.0))
    penalty = {"regularization": setting.regularization, "metric": metric, "rule": "nearest"}
    return KCCA(kernel, kernel, **penalty) if curved else CCA(**penalty)


MLHD_BOUNDS = ((0.25, 1.0), (0.5, 1.0), (0.75, 1.25), (0.25, 2.0))
FACTORS: dict[str, dict[str, tuple[Any, ...]]] = {
    "mlhd": {"total_weight": TOTALS, "alignment_weight": (0.0, 0.1, 10.0, 100.0), "bounds": MLHD_BOUNDS},
    "arc": {"total_weight": (1e1, *TOTALS[:4]), "bounds": ((-1.0, 1.0), (0.5, 1.0))},
    "cca+nn": {"regularization": (0.01, 0.03, 0.3, 1.0, 3.0)},
    "cca+itml": {"total_weight": TOTALS[:4], "bounds": ((20.0, 80.0),)},
}
CURVED = {"mlhd-rbf": "mlhd", "arc-rbf": "arc", "kcca+nn": "cca+nn", "kcca+itml": "cca+itml"}
BANDWIDTHS = (0.25, 0.5, 2.0, 4.0)
FOR_ALL = {"axes": (2, 3, 5), "preparation": tuple(PREPARATIONS)[1:]}


def one_at_a_time(system: str) -> Iterator[Setting]:
    """The settings before the study, and every other value of each factor alone."""
    factors = {**FACTORS[CURVED.get(system, system)], **FOR_ALL}
    if system in CURVED:
        factors["bandwidth"] = BANDWIDTHS
    yield Setting(system)
    for name, values in factors.items():
        yield from (replace(Setting(system), **{name: value}) for value in values)


UNIT = "unit rows"
ITML_GRID = tuple(product((1e1, 1e2, 1e3), (None, (20.0, 80.0), (35.0, 65.0))))


def together() -> Iterator[Setting]:
    """What mattered alone, in combinations: chosen after the study of one factor at a time, before this one."""
    for total, how in product((None, 1e4, 1e5), ("standardised", UNIT)):
        yield Setting("mlhd", total, preparation=how)
    yield Setting("mlhd", 1e4, preparation=UNIT, axes=3)
    for total, how, alignment in product((None, 1e4, 1e5), ("standardised", UNIT), (1.0, 100.0)):
        yield Setting("mlhd-rbf", total, alignment, preparation=how)
    yield from (Setting("mlhd-rbf", 1e4, 1000.0, preparation=how) for how in ("standardised", UNIT))
    yield Setting("mlhd-rbf", 1e4, preparation=UNIT, axes=3)
    for system in ("arc", "arc-rbf"):
        yield from (Setting(system), Setting(system, preparation=UNIT))
    for system in ("cca+nn", "kcca+nn"):
        yield Setting(system)
        yield from (Setting(system, regularization=gamma, preparation=UNIT) for gamma in (0.01, 0.03, 0.1))
    for system in ("cca+itml", "kcca+itml"):
        yield from (Setting(system), Setting(system, bounds=(35.0, 65.0)))
        yield from (Setting(system, total, bounds=bounds) for total, bounds in ITML_GRID)


def controls() -> Iterator[Entrant]:
    """The target alone, on the same rows."""
    makes: dict[str, Callable[[], Any]] = {"target 1-NN": TargetOnly, "target self-trained LDA": SelfTrainedLDA}
    for (name, make), how in product(makes.items(), PREPARATIONS):
        ending = "" if how == "standardised" else f": preparation {how}"
        yield Entrant(name + ending, make, control=True, rows=Preparation(how))


@dataclass(frozen=True)
class RawRows:
    """The rows of a trial as their collection has them.

    The variant is the number of labels per class or, where ``labels`` is given, of source rows per class.
    """

    folder: Path | None = field(default=None, compare=False)
    pairs: tuple[str, ...] = field(default=PAIRS, compare=False)
    labels: int | None = None

    def check(self) -> None:
        """Raise if data are not there."""
        for pair in self.pairs:
            self.views(pair)

    def views(self, pair: str) -> Views:
        """The two views of a pair."""
        collection, names = pair.split(" ")
        return load_views(LOADERS[collection], self.folder, *names.split("→"))

    def __call__(self, trial: Trial) -> TrialRows:
        """The rows of a trial; with more source rows, or labels, the others stay the same."""
        views, number = self.views(trial.group), int(trial.variant)
        seed = [trial.seed, hash_name(trial.group)]
        if self.labels is None:
            split = draw_split(views.y, seed, number, MOST_LABELLED)
        else:
            most = max(map(int, SIZES))
            split = draw_split(views.y, seed, self.labels, self.labels, source=number, most_source=most)
        return take_rows(views, split)


def settings_study(name: str, folder: Path | None = None, pairs: Iterable[str] = PAIRS) -> Study:
    """One of "settings" (one factor at a time), "together" and "sizes"."""
    rows = RawRows(folder, tuple(pairs), 1 if name == "sizes" else None)
    if name == "settings":
        entrants = [s.entrant() for system in SYSTEMS for s in one_at_a_time(system)] + list(controls())
    elif name == "together":
        entrants = [setting.entrant() for setting in together()]
    else:
        entrants = [Setting(system, total).entrant() for system in SYSTEMS[:2] for total in (None, *TOTALS)]
    variants = SIZES if name == "sizes" else VARIANTS
    return Study(name, rows, tuple(entrants), groups=rows.pairs, variants=variants)
