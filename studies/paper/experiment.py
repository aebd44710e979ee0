"""An experiment as a value: the data, the groups, the protocol, who takes part, and what the paper printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus._validation import choice
from isthmus.datasets import load_office31_bow, load_reuters, load_reuters600
from isthmus.evaluation import OFFICE, REUTERS
from isthmus.experiments.entrants import TABLE, TABLE_COARSE, TOY, Entrant
from isthmus.experiments.published import TABLE1, TABLE2, Published
from isthmus.experiments.rows import VARIANTS, Collected, Rows, Trial, toy_rows


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of the paper.

    Parameters
    ----------
    name, title : str
        The name on the command line, and what is shown.
    rows : callable
        The rows of a trial, given the data folder.
    protocol : str
        How they are drawn, in a sentence.
    groups : tuple of (str, str)
        Sources and targets.
    entrants : tuple of Entrant
        Systems and controls.
    variants : tuple of str
        Preparations of the features.
    published : tuple of Published
        What the paper printed, a row a group; empty where it printed no numbers.
    run_variants : tuple of str, optional
        Those that are run unless others are asked for; None: all.
    searched_variants : tuple of str
        Where grids are searched, if at all.
    searched_seeds : int
        In how many draws of a set they are.
    figures : tuple of str
        What is recorded beside accuracy, at the default setting.
    """

    name: str
    title: str
    rows: Callable[[Path | None, Trial], Rows]
    protocol: str
    groups: tuple[tuple[str, str], ...]
    entrants: tuple[Entrant, ...] = TABLE
    variants: tuple[str, ...] = tuple(VARIANTS)
    published: tuple[Published, ...] = ()
    run_variants: tuple[str, ...] | None = None
    searched_variants: tuple[str, ...] = ("whole",)
    searched_seeds: int = 10
    figures: tuple[str, ...] = ("map", "precision@10")

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

    def check(self, folder: Path | None) -> None:
        """Raise if the data are not there."""
        if isinstance(self.rows, Collected):
            self.rows.data(folder)

    def trials(self, variants: tuple[str, ...], seeds: tuple[int, ...]) -> tuple[Trial, ...]:
        """All draws, seed by seed, so that a run that was stopped early has something of every group."""
        return tuple(Trial(*group, variant, seed) for seed in seeds for group in self.groups for variant in variants)


def _table(name: str, title: str, rows: Collected, published: tuple[Published, ...], **others: Any) -> Experiment:
    groups = tuple((row.source, row.target) for row in published)
    return Experiment(name, title, rows, str(rows.protocol), groups, published=published, **others)


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "toy",
            "Toy problem",
            toy_rows,
            "40 labelled source rows a class in the plane; 2 labelled and 40 unlabelled target rows a class in "
            "space, the labelled ones from one corner of their class; 200 fresh test rows a class",
            (("plane", "space"),),
            TOY,
            ("as drawn",),
            figures=("mmd",),
        ),
        _table("table1", "Multilingual Reuters, accuracy in per cent", Collected(load_reuters600, REUTERS), TABLE1),
        _table(
            "table1-native",
            "Multilingual Reuters, native documents, accuracy in per cent",
            Collected(load_reuters, REUTERS),
            TABLE1,
        ),
        _table(
            "table2",
            "Office, accuracy in per cent",
            Collected(load_office31_bow, OFFICE, histogram=True),
            TABLE2,
            entrants=TABLE_COARSE,
            run_variants=("whole",),  # the other takes as long again
            searched_seeds=1,
        ),
    )
}
"""By name."""
