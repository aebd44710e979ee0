"""Who takes part in a study: a system, the columns that one fit of it fills, and what else is noted of the fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from isthmus._core.validation import UNLABELLED, FloatArray, Matrix, check_choice, short_repr
from isthmus.evidence.scores import mean_average_precision, precision_at_k
from isthmus.exceptions import InputError
from isthmus.study.fingerprints import SCHEME, describe, fingerprint
from isthmus.study.registry import systems
from isthmus.study.trial_rows import Trial, TrialRows

SETTINGS = {
    "default": "no tuning",
    "oracle": "the best of the grid by test accuracy: an upper bound, never a result",
    "selected": "the best of the grid by reverse agreement, which no test label enters",
}
"""How the parameters of a fit are chosen."""


@short_repr
@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model and the rows of its trial (:class:`TrialRows`, but for tasks with others): what is scored."""

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


def predict_by_target_rows(model: Any, rows: TrialRows, X: Matrix) -> NDArray[Any]:
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
            check_choice(name, f"{self.name}, grid", model.get_params())
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
                if setting == "default" or (self.grid and (setting == "oracle" or has_distances(self.made()))):
                    yield column, setting


def has_distances(model: Any) -> bool:
    """Whether a system says how far rows of the two domains are apart."""
    return hasattr(model, "pairwise_distances") or hasattr(model, "pairwise_similarities")


class Task(Protocol):
    """A task is a value: what it compares by goes into the fingerprint of every record."""

    @property
    def measure(self) -> str:
        """What the score of a record is, in a word or two; a number from 0 to 1, and more is better."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The methods that a system has to have."""

    def fit(self, model: Any, rows: Any) -> None:
        """Fit a system to the rows of a trial; this is what is timed."""

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """The score of a column of a fit, and further numbers by name."""

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """What "selected" settings are chosen by, without a test label; None where a system can't be judged so."""


@dataclass(frozen=True)
class Classification:
    """Learn from labels of both domains, then call test rows of the target by their class; the score is accuracy."""

    measure: ClassVar[str] = "accuracy"
    needs: ClassVar[tuple[str, ...]] = ("predict",)

    def fit(self, model: Any, rows: Any) -> None:
        """Fit to source and target with their labels."""
        model.fit(*rows.fit)

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """The share of test rows that are called by their class."""
        return float(np.mean(entrant.called(column, fit, fit.rows.X_test) == fit.rows.y_test)), {}

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """Reverse agreement, of systems that measure across the domains."""
        if not has_distances(fit.model):
            return None
        return reverse_agreement(fit, entrant.called(column, fit, fit.rows.X_target))


CLASSIFICATION = Classification()


def reverse_agreement(fit: Fit, called: NDArray[Any]) -> float:
    """The share of source rows that the target rows call right, under the labels that the system gave them.

    The target rows of the fit get the labels ``called`` (their own, where they have one); each source row is then
    called by its nearest target row. A metric that carries labels there and back is worth more than one that
    does not, and no test row is needed to see it (reverse validation; Zhong et al. 2010).
    """
    rows = fit.rows
    labels = np.where(rows.y_target == UNLABELLED, called, rows.y_target)
    return float(np.mean(labels[fit.across(rows.X_target).argmin(axis=1)] == rows.y_source))


@dataclass(frozen=True)
class Design:
    """Systems and controls on the same rows, trial by trial.

    Parameters
    ----------
    name : str
        The stem of the file of records.
    rows : callable
        The rows of a :class:`Trial`: :class:`Rows`, or whatever the task takes. If it has a method ``check``, that is
        called before anything is run. If it has methods ``load_data(trial)`` and ``draw_rows(data, trial)``, the
        content of what ``load_data`` returns enters the fingerprint of every record, unless it is None.
    entrants : tuple of Entrant
        Systems and controls.
    title, protocol : str
        For tables: what the study is about, and a sentence on how the rows are drawn.
    groups : tuple of str
        Sources and targets, as tables name them.
    variants : mapping of str to str
        Preparations of the features, and what each is in words.
    figures : mapping of str to callable
        What is recorded beside the score, at the default setting.
    redrawn : bool
        Whether another seed has other rows. Where it only moves the systems, seeds say nothing about other rows, and
        differences are judged by group alone.
    task : Task
        What systems are asked to do; by default, to call test rows by their class.
    """

    name: str
    rows: Callable[[Trial], Any]
    entrants: tuple[Entrant, ...]
    title: str = ""
    protocol: str = ""
    groups: tuple[str, ...] = ("",)
    variants: Mapping[str, str] = field(default_factory=lambda: {"": ""})
    figures: Mapping[str, Figure] = field(default_factory=dict)
    redrawn: bool = True
    task: Task = CLASSIFICATION

    def __post_init__(self) -> None:
        for names, what in ((self.columns, "systems"), (self.groups, "groups"), (tuple(self.variants), "variants")):
            if not names or len(set(names)) < len(names):
                got = next((f"{name!r} twice" for name in names if names.count(name) > 1), "none")
                raise InputError(f"{what}: expected at least one, each with a name of its own, got {got}.")
        for entrant in self.entrants:
            lacking = [method for method in self.task.needs if not hasattr(entrant.made(), method)]
            if lacking:
                raise InputError(
                    f"{entrant.name}: expected an estimator with {lacking[0]}, got {entrant.made()!r:.60}."
                )

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column, in the order of the entrants."""
        return tuple(name for entrant in self.entrants for name in entrant.columns)

    @property
    def controls(self) -> tuple[str, ...]:
        """The columns of the controls."""
        return tuple(name for entrant in self.entrants if entrant.control for name in entrant.columns)

    def entrant(self, column: str) -> Entrant:
        """Whose fit fills a column."""
        owners = {name: entrant for entrant in self.entrants for name in entrant.columns}
        return owners[check_choice(column, "system", owners)]

    def cells(
        self, settings: Sequence[str], group: str | None = None, variant: str | None = None
    ) -> Iterator[tuple[str, str]]:
        """The columns of a trial, with the settings that each can have; of all trials, where none is named."""
        for entrant in self.entrants:
            if entrant.takes_part(group, variant):
                yield from entrant.cells(settings)

    def fingerprint(self, variant: str, column: str, setting: str) -> str:
        """Return what the fingerprint of a record that this design produces begins with.

        The record's own continues with :meth:`data_fingerprint`, where there is one. A record with another
        fingerprint is not reused.
        """
        rows, found = self._fingerprints
        if (variant, column, setting) not in found:
            entrant = self.entrant(column)
            noted = self.figures if setting == "default" else {**entrant.grid, "": setting}
            system = entrant.made(), entrant.rows, entrant.readings.get(column), noted
            found[variant, column, setting] = fingerprint(rows, variant, *system, self.task)
        return found[variant, column, setting]

    def draw(self, trial: Trial) -> tuple[Any, str]:
        """Return the rows of a trial and the fingerprint of the data that they were drawn from."""
        rows: Any = self.rows
        if not hasattr(rows, "load_data"):
            return rows(trial), ""
        data = rows.load_data(trial)
        return rows.draw_rows(data, trial), _data_fingerprint(data)

    def data_fingerprint(self, trial: Trial) -> str:
        """Return the fingerprint of what a loader gives for a trial; "" where the rows have no loader.

        A loader may read files, and those may change: only what it returns tells.
        """
        load = getattr(self.rows, "load_data", lambda trial: None)
        return _data_fingerprint(load(trial))

    @cached_property
    def _fingerprints(self) -> tuple[str, dict[tuple[str, str, str], str]]:
        """The rows as a text, and what was found so far: rows may be large, and are asked for in every trial."""
        return describe(self.rows), {}


def _data_fingerprint(data: Any) -> str:
    return "" if data is None else f"-{fingerprint(data).removeprefix(SCHEME)}"
