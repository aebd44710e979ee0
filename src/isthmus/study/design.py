"""The design of a study: entrants (systems and controls), the task that scores them, and the trials they share.

An :class:`Entrant` is one system and the columns of the results table that one fit of it fills. A :class:`Task` fits
and scores it. A :class:`Design` has the entrants, the rows of every trial, and the fingerprints of its records.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from isthmus._core.validation import UNLABELLED, FloatArray, Matrix, ShortRepr, check_choice
from isthmus.evidence.scores import mean_average_precision, precision_at_k
from isthmus.exceptions import InputError
from isthmus.study.records import SCHEME, fingerprint
from isthmus.study.registry import systems
from isthmus.study.trial_rows import Trial, TrialRows

# The settings of a study: how the parameters of a fit are chosen.
SETTINGS = {
    "default": "no tuning",
    "oracle": "the best of the grid by test accuracy: an upper bound, never a result",
    "selected": "the best of the grid by reverse agreement, which uses no test label",
}


@dataclass(frozen=True, eq=False, repr=False)
class Fit(ShortRepr):
    """A fitted model and the rows of its trial: :class:`TrialRows`, or whatever the task takes."""

    model: Any
    rows: Any

    @cached_property
    def distances(self) -> FloatArray:
        """Distances of test rows to source rows (n_test, n_s), or negative similarities if there are none."""
        return self.distances_to(self.rows.X_test).T

    def distances_to(self, X: Matrix) -> FloatArray:
        """Return distances of the source rows to the target rows X, or negative similarities (n_s, n)."""
        if hasattr(self.model, "pairwise_distances"):
            return np.asarray(self.model.pairwise_distances(self.rows.X_source, X))
        return np.asarray(-self.model.pairwise_similarities(self.rows.X_source, X))


def has_distances(model: Any) -> bool:
    """Return whether a system measures distances or similarities between rows of the two domains."""
    return hasattr(model, "pairwise_distances") or hasattr(model, "pairwise_similarities")


# A figure is a number that is recorded in addition to the score, for systems with distances between the domains.
Figure: TypeAlias = Callable[[Fit], float]


def average_precision(fit: Fit) -> float:
    """Return the mean average precision of the source rows, ranked for every test row."""
    return mean_average_precision(fit.distances, fit.rows.y_test, fit.rows.y_source)


def precision_at_10(fit: Fit) -> float:
    """Return the mean share of the ten nearest source rows that have the class of the test row."""
    n = min(10, len(fit.rows.y_source))
    return precision_at_k(fit.distances, fit.rows.y_test, fit.rows.y_source, n)


# Figures of search across the domains: source rows ranked for every test row.
RETRIEVAL: dict[str, Figure] = {"map": average_precision, "precision@10": precision_at_10}


def predict_by_target_rows(model: Any, rows: TrialRows, X: Matrix) -> NDArray[Any]:
    """Return the class of the nearest labelled target row under the learned metric, for ``Entrant.readings``."""
    distances = model.pairwise_distances(X, rows.X_target[rows.labelled], ("target", "target"))
    return np.asarray(rows.y_target[rows.labelled][distances.argmin(axis=1)])


@dataclass(frozen=True, repr=False)
class Entrant(ShortRepr):
    """A system in a study, and the columns of the results table that one fit of it fills.

    Parameters
    ----------
    name : str
        The column of the system's own predictions.
    make : estimator or callable
        An unfitted estimator, or a function that returns one, with the parameters of the "default" setting.
    grid : mapping of str to tuple
        Values to choose from, by parameter, for the settings "oracle" and "selected"; empty for no choice.
    control : bool
        Whether it is a control.
    readings : mapping of str to callable
        Further columns of the same fit, each with a function that predicts classes in another way: it is called with
        the fitted model, the rows of the trial and the target rows to classify. Other tasks may call it otherwise.
    rows : callable, optional
        Function of (rows of a trial, seed) that returns other rows to fit to, such as :class:`CorruptedRows`.
    groups, variants : tuple of str, optional
        The groups and variants of the design in which it takes part; None for all.
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
        model = self.new_model() if callable(self.make) or hasattr(self.make, "get_params") else self.make
        if not all(hasattr(model, method) for method in ("get_params", "fit")):
            raise InputError(f"{self.name}: expected an estimator or a function that makes one, got {model!r:.60}.")
        for name, values in self.grid.items():
            check_choice(name, f"{self.name}, grid", model.get_params())
            if isinstance(values, str) or not np.iterable(values) or not len(values):
                raise InputError(f"{self.name}, grid: expected a tuple of values for {name}, got {values!r:.60}.")

    @classmethod
    def of(cls, system: str | Self) -> Self:
        """Return the entrant of a system of :func:`isthmus.systems` by its name, or an entrant as it is."""
        if isinstance(system, cls):
            return system
        if not isinstance(system, str):
            raise InputError(f"systems: expected names or Entrant(name, estimator), got {system!r:.60}.")
        found = systems()[system]
        return cls(found.name, found.make, control=found.control)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that one fit fills."""
        return (self.name, *self.readings)

    def new_model(self) -> Any:
        """Return an unfitted estimator with the defaults."""
        is_estimator = hasattr(self.make, "get_params") and not isinstance(self.make, type)
        return clone(self.make) if is_estimator else self.make()

    def configure_model(self, parameters: Mapping[str, Any], seed: int) -> Any:
        """Return an unfitted estimator with these parameters, and the seed for everything that it draws."""
        model = self.new_model()
        states = {name: seed for name in model.get_params() if name.endswith("random_state")}
        return model.set_params(**states, **parameters)

    def grid_points(self) -> Iterator[dict[str, Any]]:
        """Yield every point of the grid, the last parameter fastest."""
        for values in product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))

    def predict(self, column: str, fit: Fit, X: Matrix) -> NDArray[Any]:
        """Return the classes of target rows, by the system's own rule or by a further reading of the fit."""
        reading = self.readings.get(column)
        return np.asarray(fit.model.predict(X) if reading is None else reading(fit.model, fit.rows, X))

    def takes_part(self, group: str | None, variant: str | None) -> bool:
        """Return whether it is in the trials of a group and a variant; None stands for any."""
        where = ((self.groups, group), (self.variants, variant))
        return all(some is None or name is None or name in some for some, name in where)

    def cells(self, settings: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield its (column, setting) pairs; without a grid, those of the default setting only."""
        for column in self.columns:
            for setting in settings:
                # "selected" needs reverse agreement, and that needs distances.
                tuned = bool(self.grid) and (setting != "selected" or has_distances(self.new_model()))
                if tuned or setting == "default":
                    yield column, setting


class Task(Protocol):
    """How systems are fitted and scored; the dataclass fields that a task compares by enter every fingerprint."""

    # The name of the score, a number from 0 to 1; larger is better.
    measure: ClassVar[str]
    # The methods that a system must have.
    needs: ClassVar[tuple[str, ...]]

    def fit(self, model: Any, rows: Any) -> None:
        """Fit a system to the rows of a trial; only this is timed."""

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """Return the score of a column of a fit, and further numbers by name."""

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """Return the number that "selected" settings maximise, without a test label; None where there is none."""


@dataclass(frozen=True)
class Classification:
    """Fit to the labels of both domains, predict the class of the target's test rows; the score is accuracy."""

    measure: ClassVar[str] = "accuracy"
    needs: ClassVar[tuple[str, ...]] = ("predict",)

    def fit(self, model: Any, rows: Any) -> None:
        """Fit to source and target with their labels."""
        model.fit(*rows.fit)

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """Return the accuracy on the test rows."""
        return float(np.mean(entrant.predict(column, fit, fit.rows.X_test) == fit.rows.y_test)), {}

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """Return the reverse agreement of systems with distances between the domains."""
        if not has_distances(fit.model):
            return None
        return reverse_agreement(fit, entrant.predict(column, fit, fit.rows.X_target))


CLASSIFICATION = Classification()


def reverse_agreement(fit: Fit, predicted: NDArray[Any]) -> float:
    """Return the accuracy on source rows of a 1-NN classifier trained on target rows with predicted labels.

    Target rows of the fit have their own label if they have one, else the label ``predicted``; each source row then
    gets the label of its nearest target row. A good metric carries labels there and back, and no test row is needed
    to measure it (reverse validation; Zhong et al. 2010).
    """
    rows = fit.rows
    labels = np.where(rows.y_target == UNLABELLED, predicted, rows.y_target)
    return float(np.mean(labels[fit.distances_to(rows.X_target).argmin(axis=1)] == rows.y_source))


@dataclass(frozen=True)
class Design:
    """Systems and controls, compared on the same rows in every trial.

    Parameters
    ----------
    name : str
        Stem of the file name of the records.
    rows : callable
        Returns the rows of a :class:`Trial`: :class:`TrialRows`, or whatever the task takes. If it has a method
        ``check``, that is called before the first trial. If it has methods ``load_data(trial)`` and
        ``draw_rows(data, trial)``, the content of the loaded data is part of the fingerprint of every record, unless
        ``load_data`` returns None.
    entrants : tuple of Entrant
        Systems and controls.
    title, protocol : str
        For tables: the subject of the study, and a sentence on how the rows are drawn.
    groups : tuple of str
        Names of the pairs of source and target, as shown in tables.
    variants : mapping of str to str
        Ways to preprocess the features, with a description of each.
    figures : mapping of str to callable
        Numbers that are recorded in addition to the score, for the default setting only.
    redrawn : bool
        Whether the rows change with the seed. If only the randomness of the systems does, seeds are no independent
        samples, and differences are tested over groups.
    task : Task
        How systems are fitted and scored; by default, classification of test rows.
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
            model = entrant.new_model()
            for method in self.task.needs:
                if not hasattr(model, method):
                    raise InputError(f"{entrant.name}: expected an estimator with {method}, got {model!r:.60}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column, in the order of the entrants."""
        return tuple(name for entrant in self.entrants for name in entrant.columns)

    @property
    def controls(self) -> tuple[str, ...]:
        """The columns of the controls."""
        return tuple(name for entrant in self.entrants if entrant.control for name in entrant.columns)

    def entrant(self, column: str) -> Entrant:
        """Return the entrant whose fit fills a column."""
        owners = {name: entrant for entrant in self.entrants for name in entrant.columns}
        return owners[check_choice(column, "system", owners)]

    def cells(
        self, settings: Sequence[str], group: str | None = None, variant: str | None = None
    ) -> Iterator[tuple[str, str]]:
        """Yield the (column, setting) pairs in trials of a group and a variant; None stands for any."""
        for entrant in self.entrants:
            if entrant.takes_part(group, variant):
                yield from entrant.cells(settings)

    def load(self, trial: Trial) -> tuple[Any, str]:
        """Return the loaded data of a trial, and their fingerprint; None and "" if the rows have no ``load_data``.

        The files that a loader reads may change, so the data are loaded to compute it.
        """
        data = getattr(self.rows, "load_data", lambda trial: None)(trial)
        return data, "" if data is None else f"-{fingerprint(data).removeprefix(SCHEME)}"

    def draw(self, trial: Trial) -> tuple[Any, str]:
        """Return the rows of a trial and the fingerprint of the data that they were drawn from."""
        rows: Any = self.rows
        data, mark = self.load(trial)
        return rows.draw_rows(data, trial) if hasattr(rows, "load_data") else rows(trial), mark

    def fingerprint(self, variant: str, column: str, setting: str) -> str:
        """Return the first part of the fingerprint of a record; :meth:`load` returns the second.

        A stored record with another fingerprint is not reused.
        """
        rows, found = self._fingerprints
        if (variant, column, setting) not in found:
            entrant = self.entrant(column)
            recorded = self.figures if setting == "default" else {**entrant.grid, "": setting}
            system = entrant.new_model(), entrant.rows, entrant.readings.get(column), recorded
            found[variant, column, setting] = fingerprint(rows, variant, *system, self.task)
        return found[variant, column, setting]

    @cached_property
    def _fingerprints(self) -> tuple[str, dict[tuple[str, str, str], str]]:
        """The fingerprint of the rows, and a cache of those of records: rows may be large, every trial needs them."""
        return fingerprint(self.rows), {}
