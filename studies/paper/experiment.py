"""The paper's experiments as values: data, groups, protocol, who takes part, and what the paper printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.exceptions import InputError
from isthmus.study.board import Board
from isthmus.study.design import RETRIEVAL, Fit
from isthmus.study.study import Study
from studies.paper.data import load_office31_bow, load_office31_released, load_reuters, load_reuters600
from studies.paper.discrepancy import mmd
from studies.paper.entrants import TABLE, TABLE_COARSE, TOY
from studies.paper.protocols import OFFICE, REUTERS
from studies.paper.published import BESIDE, TABLE1, TABLE2, Published
from studies.paper.rows import ARROW, VARIANTS, Collected, toy_rows


@dataclass(frozen=True)
class Experiment(Study):
    """A table or a figure of the paper.

    Parameters
    ----------
    published : tuple of Published
        What the paper printed, one row for each group; empty where it printed no numbers.
    run_variants : tuple of str, optional
        Those that are run unless others are named; None: all.
    searched_variants : tuple of str
        Where grids are searched, if at all.
    searched_seeds : int
        In how many draws of a set they are.
    """

    published: tuple[Published, ...] = ()
    run_variants: tuple[str, ...] | None = None
    searched_variants: tuple[str, ...] = ("whole",)
    searched_seeds: int = 10

    def at(self, folder: Path | None) -> Self:
        """The same with its data in a folder."""
        return replace(self, rows=replace(self.rows, folder=folder)) if isinstance(self.rows, Collected) else self

    def select_groups(self, groups: Sequence[str]) -> Self:
        """The same with some of its groups."""
        kept = [k for k, name in enumerate(self.groups) if name in groups]
        if not kept:
            raise InputError(f"groups: expected some of {', '.join(self.groups)}, got {groups[0]!r}.")
        published = tuple(self.published[k] for k in kept) if self.published else ()
        return replace(self, groups=tuple(self.groups[k] for k in kept), published=published)


class PaperBoard(Board):
    """A scoreboard that knows what the paper printed."""

    design: Experiment

    def select_searched_seeds(self) -> PaperBoard:
        """The same for the draws in which grids are searched."""
        seeds = self.seeds[: self.design.searched_seeds]
        return PaperBoard(self.design, self._records.values(), self.variant, seeds)

    def has(self, system: str, setting: str) -> bool:
        """Whether there is any record, of a failure too: a column that failed is shown as such, not left out."""
        return any(record is not None for row in self.records(system, setting) for record in row)

    def grid(self, system: str, setting: str = "oracle") -> FloatArray:
        """What was chosen by, at every point of the grid (groups, seeds, *grid), NaN where there is none."""
        shape = tuple(len(values) for values in self.design.entrant(system).grid.values())
        values = np.full((len(self.groups), len(self.seeds), int(np.prod(shape))), np.nan)
        records = self.records(system, setting)
        for place in np.ndindex(values.shape[:2]):
            record = records[place[0]][place[1]]
            if record is None or record.grid is None:
                continue
            if len(record.grid) != values.shape[2]:
                raise InputError(
                    f"records of {system}, {record.group}, seed {record.seed}: expected a grid of {values.shape[2]} "
                    f"values, got {len(record.grid)}; remove them to run them again."
                )
            values[place] = record.grid
        return values.reshape(*values.shape[:2], *shape)


def discrepancy(fit: Fit) -> float:
    """MMD² of the two domains in the common space."""
    return mmd(fit.model.transform(fit.rows.X_source, "source"), fit.model.transform(fit.rows.X_target, "target"))


def _table(name: str, title: str, rows: Collected, published: tuple[Published, ...], **others: Any) -> Experiment:
    given: dict[str, Any] = {"entrants": TABLE, "variants": VARIANTS, "figures": RETRIEVAL} | others
    groups = tuple(f"{row.source}{ARROW}{row.target}" for row in published)
    return Experiment(
        name, rows, title=title, protocol=str(rows.protocol), groups=groups, published=published, **given
    )


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "toy",
            toy_rows,
            TOY,
            "Toy problem",
            "40 labelled source rows per class in the plane; 2 labelled and 40 unlabelled target rows per class in "
            "space, the labelled ones from one corner of their class; 200 fresh test rows per class",
            (f"plane{ARROW}space",),
            {"as drawn": "as drawn"},
            {"mmd": discrepancy},
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
        _table(
            "table2-released",
            "Office by released features, accuracy in per cent",
            Collected(load_office31_released, OFFICE, histogram=True),
            BESIDE,
            entrants=TABLE_COARSE,
            run_variants=("whole",),
            searched_seeds=1,
        ),
    )
}
"""By name."""
