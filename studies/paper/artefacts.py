"""What a finished run leaves in its folder: tables in three formats and figures, all made from the records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from isthmus._core.files import write_text
from isthmus.study.board import TextTable, make_claim_table
from isthmus.study.records import Record
from isthmus.view.canvas import save_figure
from studies.paper.comparisons import READINGS, sensitivity_claims, table_claims
from studies.paper.entrants import MLHD_RBF
from studies.paper.experiment import Experiment, PaperBoard
from studies.paper.figures import difference_figure, heat_map, table_figure, toy_figure
from studies.paper.formats import FORMATS
from studies.paper.tables import (
    BY_SEED,
    control_table,
    grid_table,
    paper_table,
    retrieval_table,
    settings_table,
    toy_table,
)


@dataclass(frozen=True)
class Artefacts:
    """Tables and figures of one experiment.

    Parameters
    ----------
    name : str
        The stem of the files.
    tables : tuple of Table
        In the order of reading.
    figures : dict of str to callable
        By the stem of their files; drawn only when called.
    """

    name: str
    tables: tuple[TextTable, ...]
    figures: dict[str, Callable[[], Any]]

    def rename(self, ending: str) -> Artefacts:
        """The same under other file names."""
        return Artefacts(
            self.name + ending, self.tables, {stem + ending: draw for stem, draw in self.figures.items()}
        )

    def text(self, form: str) -> str:
        """All tables in one of the formats."""
        _, printed = FORMATS[form]
        return "\n\n\n".join(map(printed, self.tables)) + "\n"

    def write(self, folder: Path) -> list[Path]:
        """Write every file, each whole or not at all."""
        paths = []
        for form, (suffix, _) in FORMATS.items():
            paths.append(folder / f"{self.name}{suffix}")
            write_text(paths[-1], self.text(form))
        return paths + [path for stem, draw in self.figures.items() for path in save_figure(draw(), folder / stem)]


def boards(
    experiment: Experiment, records: Sequence[Record], variant: str, sets: Sequence[tuple[int, ...]]
) -> list[PaperBoard]:
    """One board for every set of seeds."""
    return [PaperBoard(experiment, records, variant, seeds) for seeds in sets]


def toy_artefacts(experiment: Experiment, records: Sequence[Record], sets: Sequence[tuple[int, ...]]) -> Artefacts:
    """The figure of the toy problem, and its numbers."""
    board = PaperBoard(experiment, records, next(iter(experiment.variants)), sets[0])
    return Artefacts("toy", (toy_table(board),), {"toy": partial(toy_figure, board)})


def table_artefacts(
    experiment: Experiment, records: Sequence[Record], variants: Sequence[str], sets: Sequence[tuple[int, ...]]
) -> Artefacts:
    """The tables of the first set of seeds, with verdicts of all sets."""
    tables: list[TextTable] = []
    figures: dict[str, Callable[[], Any]] = {}
    for variant in variants:
        every = boards(experiment, records, variant, sets)
        first, claims = every[0], [table_claims(board) for board in every]
        tables += [paper_table(first), control_table(first), control_table(first, corrupted=True)]
        tables.append(retrieval_table(first))
        searched = first.select_searched_seeds()
        if searched.has(MLHD_RBF.name, "oracle"):
            tables += [paper_table(searched, "oracle"), control_table(searched, "oracle"), settings_table(searched)]
        title = f"{experiment.title.split(',')[0]}: what holds, default settings; {variant}"
        tables.append(make_claim_table(every, claims, title))
        figures[f"{experiment.name}-{variant}"] = partial(table_figure, first)
        if any(claim.difference for claim in claims[0]):
            figures[f"{experiment.name}-{variant}-differences"] = partial(difference_figure, first, claims[0])
    return Artefacts(experiment.name, tuple(tables), figures)


def sensitivity_artefacts(
    experiment: Experiment, records: Sequence[Record], variants: Sequence[str], sets: Sequence[tuple[int, ...]]
) -> Artefacts:
    """The heat maps over λ1 and λ2, for each reading of the metric whose grid was searched, or for all."""
    searched = {record.system for record in records if record.grid is not None}
    readings = [system for system in READINGS if system in searched] or READINGS
    tables: list[TextTable] = []
    figures: dict[str, Callable[[], Any]] = {}
    for variant in [v for v in variants if v in experiment.searched_variants]:
        every = boards(experiment, records, variant, sets)
        for system in readings:
            claims = [sensitivity_claims(board, system) for board in every]
            tables += [
                grid_table(every[0], system),
                make_claim_table(every, claims, f"What holds for {system}; {variant}", BY_SEED),
            ]
            figures[f"sensitivity-{variant}-{system.replace(' ', '-')}"] = partial(heat_map, every[0], system)
    return Artefacts("sensitivity", tuple(tables), figures)
