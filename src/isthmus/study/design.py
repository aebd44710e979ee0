"""What a study asks, as a value: whose rows, who takes part, and what is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from isthmus._validation import choice
from isthmus.exceptions import InputError
from isthmus.study.entrants import Entrant, Figure
from isthmus.study.fingerprints import SCHEME, described, fingerprint
from isthmus.study.rows import Trial
from isthmus.study.tasks import CLASSIFICATION, Task


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
        return owners[choice(column, "system", owners)]

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
        return described(self.rows), {}


def _data_fingerprint(data: Any) -> str:
    return "" if data is None else f"-{fingerprint(data).removeprefix(SCHEME)}"
