"""Who takes part in a study: a system, the columns that one fit of it fills, and what else is noted of the fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from isthmus._arrays import FloatArray, Matrix
from isthmus._validation import choice, short_repr
from isthmus.evaluation import mean_average_precision, precision_at_k
from isthmus.exceptions import InputError
from isthmus.registry import systems
from isthmus.study.rows import Rows

SETTINGS = {
    "default": "no tuning",
    "oracle": "the best of the grid by test accuracy: an upper bound, never a result",
    "selected": "the best of the grid by reverse agreement, which no test label enters",
}
"""How the parameters of a fit are chosen."""


@short_repr
@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model and the rows of its trial (:class:`Rows`, but for tasks with others): what is scored."""

    model: Any
    rows: Any

    @cached_property
    def distances(self) -> FloatArray:
        """How far test rows are from the source rows of the fit (n_test, n_s), however the system measures it."""
        return self.across(self.rows.X_test).T

    def across(self, X: Matrix) -> FloatArray:
        """How far the source rows of the fit are from target rows (n_s, n)."""
        if hasattr(self.model, "pairwise_distances"):
            return np.asarray(self.model.pairwise_distances(self.rows.X_source, X))
        return np.asarray(-self.model.pairwise_similarities(self.rows.X_source, X))


Figure: TypeAlias = Callable[[Fit], float]
"""A number that is recorded beside the score, of systems that measure across the domains."""


def average_precision(fit: Fit) -> float:
    """Mean average precision of the source rows, ranked for every test row."""
    return mean_average_precision(fit.distances, fit.rows.y_test, fit.rows.y_source)


def precision_at_10(fit: Fit) -> float:
    """The share of the ten nearest source rows that have the class of the test row."""
    n = min(10, len(fit.rows.y_source))
    return precision_at_k(fit.distances, fit.rows.y_test, fit.rows.y_source, n)


RETRIEVAL: dict[str, Figure] = {"map": average_precision, "precision@10": precision_at_10}
"""Search across the divide: source rows ranked for every test row."""


def by_target_rows(model: Any, rows: Rows, X: Matrix) -> NDArray[Any]:
    """A reading: each row is called by its nearest labelled target row, under the metric that was learned."""
    distances = model.pairwise_distances(X, rows.X_target[rows.labelled], ("target", "target"))
    return np.asarray(rows.y_target[rows.labelled][distances.argmin(axis=1)])


@short_repr
@dataclass(frozen=True)
class Entrant:
    """One fit of a study, and the columns that it fills.

    Parameters
    ----------
    name : str
        The column where rows are called as the system does by itself.
    make : estimator or callable
        An unfitted estimator, or what returns one; either has the defaults of the study.
    grid : mapping of str to tuple
        Parameters, and the values to choose from; empty where there is nothing to choose.
    control : bool
        Whether it is there to keep the others honest.
    readings : mapping of str to callable
        Further columns of the same fit, and how rows are called there: given the fitted model, the rows of the trial
        and some target rows, their classes. A task of another kind has readings of another kind.
    rows : callable, optional
        What is done to the rows of a trial before the fit, given the seed: :class:`CorruptedSource`, say.
    groups, variants : tuple of str, optional
        Where it takes part; None: everywhere.
    """

    name: str
    make: Any
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    control: bool = False
    readings: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    rows: Callable[[Any, int], Any] | None = None
    groups: tuple[str, ...] | None = None
    variants: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        model = self.made() if callable(self.make) or hasattr(self.make, "get_params") else self.make
        if not all(hasattr(model, method) for method in ("get_params", "fit")):
            raise InputError(f"{self.name}: expected an estimator, or what returns one, got {model!r:.60}.")
        for name, values in self.grid.items():
            choice(name, f"{self.name}, grid", model.get_params())
            if isinstance(values, str) or not np.iterable(values) or not len(values):
                raise InputError(f"{self.name}, grid: expected a tuple of values for {name}, got {values!r:.60}.")

    @classmethod
    def of(cls, system: str | Self) -> Self:
        """A system of :func:`isthmus.systems` by its name, or an entrant as it is."""
        if isinstance(system, cls):
            return system
        if not isinstance(system, str):
            raise InputError(
                f"systems: expected names, or estimators as Entrant(name, estimator), got {system!r:.60}."
            )
        found = systems()[system]
        return cls(found.name, found.make, control=found.control)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that one fit fills."""
        return (self.name, *self.readings)

    def made(self) -> Any:
        """An unfitted estimator with the defaults."""
        is_estimator = hasattr(self.make, "get_params") and not isinstance(self.make, type)
        return clone(self.make) if is_estimator else self.make()

    def model(self, parameters: Mapping[str, Any], seed: int) -> Any:
        """An unfitted estimator with these parameters; whatever it draws, it draws by the seed."""
        model = self.made()
        drawing = {name: seed for name in model.get_params() if name.endswith("random_state")}
        return model.set_params(**drawing, **parameters)

    def points(self) -> Iterator[dict[str, Any]]:
        """Every point of the grid, the last parameter fastest."""
        for values in product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))

    def called(self, column: str, fit: Fit, X: Matrix) -> NDArray[Any]:
        """The classes of target rows, by the system's own rule or by a further reading of the fit."""
        reading = self.readings.get(column)
        return np.asarray(fit.model.predict(X) if reading is None else reading(fit.model, fit.rows, X))

    def takes_part(self, group: str | None, variant: str | None) -> bool:
        """Whether it is in the trials of a group and a variant; None stands for any."""
        where = ((self.groups, group), (self.variants, variant))
        return all(some is None or name is None or name in some for some, name in where)

    def cells(self, settings: Collection[str]) -> Iterator[tuple[str, str]]:
        """The columns and settings that it can fill: without a grid, the default only."""
        for column in self.columns:
            for setting in settings:
                if setting == "default" or (self.grid and (setting == "oracle" or measures(self.made()))):
                    yield column, setting


def measures(model: Any) -> bool:
    """Whether a system says how far rows of the two domains are apart."""
    return hasattr(model, "pairwise_distances") or hasattr(model, "pairwise_similarities")
