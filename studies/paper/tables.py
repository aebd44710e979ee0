"""The tables of an experiment: paper / ours / difference, the controls, the settings."""

from __future__ import annotations

import math

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.evidence.comparison import format_points
from isthmus.study.board import (
    ABSENT,
    MARK,
    UNCERTIFIED,
    TextTable,
    mean_cell,
    mean_cells,
    number_cell,
    table_notes,
)
from isthmus.study.design import SETTINGS
from studies.paper.entrants import BY_TARGET, PAPER
from studies.paper.experiment import PaperBoard
from studies.paper.published import Published
from studies.paper.rows import VARIANTS

BY_SEED = (
    "In points. The first row is clustered by seed and by group, the more cautious of the two; ranges are of the "
    "means over all groups, one per seed. Intervals are of each row alone; p-values are adjusted for both (Holm)."
)


def paper_table(board: PaperBoard, setting: str = "default") -> TextTable:
    """The paper's systems, each as paper / ours / difference; mean ± standard deviation over the seeds."""
    head = [f"{name}{part}" for name in PAPER for part in (": paper", " ours", " diff.")]
    ours = [mean_cells(board, name, setting) for name in PAPER]
    printed = [[row.figures[k] for row in board.design.published] for k in range(len(PAPER))]
    gaps = [
        [_difference(mean, paper[0]) for mean, paper in zip(_means(board, name, setting), column, strict=True)]
        for name, column in zip(PAPER, printed, strict=True)
    ]
    rows = [
        (
            group,
            *(
                cell
                for k in range(len(PAPER))
                for cell in ("{:.1f}±{:.1f}".format(*printed[k][g]), ours[k][g], gaps[k][g])
            ),
        )
        for g, group in enumerate(board.groups)
    ]
    average = published_means(board.design.published).mean(axis=0)
    totals = [overall(board, name, setting) for name in PAPER]
    bottom = [
        cell
        for paper, total in zip(average, totals, strict=True)
        for cell in (f"{paper:.1f}", number_cell(total), _difference(total, float(paper)))
    ]
    return TextTable(
        f"{board.design.title}: the paper's systems, {setting} ({SETTINGS[setting]}); {VARIANTS[board.variant]}",
        ("source → target", *head),
        (*rows, ("mean", *bottom)),
        table_notes(board, rows) if setting == "default" else (*table_notes(board, rows), _grids(board)),
        footer=1,
    )


def control_table(board: PaperBoard, setting: str = "default", *, corrupted: bool = False) -> TextTable:
    """Further readings and the target alone, or corrupted sources; mean ± standard deviation over the seeds."""
    spoilt = [name for name in board.design.controls if board.design.entrant(name).rows is not None]
    names = [name for name in board.design.columns if name not in PAPER[:-1] and (name in spoilt) == corrupted]
    names = [name for name in names if board.has(name, setting)] or names
    columns = [mean_cells(board, name, setting) for name in names]
    rows = list(zip(board.groups, *columns, strict=True))
    return TextTable(
        f"{board.design.title}: {'corrupted sources' if corrupted else 'MLHD, other readings, the target alone'}, "
        f"{setting} ({SETTINGS[setting]}); {VARIANTS[board.variant]}",
        ("source → target", *names),
        (*rows, ("mean", *(number_cell(overall(board, name, setting)) for name in names))),
        table_notes(board, rows) if setting == "default" else (*table_notes(board, rows), _grids(board)),
        footer=1,
    )


def settings_table(board: PaperBoard) -> TextTable:
    """Every column, one to a row: its mean in every setting over all groups and seeds."""
    settings = [s for s in SETTINGS if any(board.has(name, s) for name in board.design.columns)] or ["default"]
    rows = [
        (name, "yes" if name in board.design.controls else "", *(_setting_cell(board, name, s) for s in settings))
        for name in board.design.columns
    ]
    meanings = [f"{setting}: {SETTINGS[setting]}." for setting in settings]
    return TextTable(
        f"{board.design.title}: means over all groups and seeds; {VARIANTS[board.variant]}",
        ("system", "control", *settings),
        tuple(rows),
        (*meanings, *table_notes(board, rows), _grids(board)),
    )


def grid_table(board: PaperBoard, system: str) -> TextTable:
    """Mean accuracy over the grid, rows λ1 and columns λ2."""
    (_, rows), (_, columns) = board.design.entrant(system).grid.items()
    values = 100 * board.grid(system).mean(axis=(0, 1))
    marked = MARK if board.uncertified_groups(system, "oracle").any() else ""
    cells = [
        (f"{row:g}", *map(number_cell, line), number_cell(float(line.mean())))
        for row, line in zip(rows, values, strict=True)
    ]
    total = ("mean", *map(number_cell, values.mean(axis=0)), number_cell(float(values.mean())))
    return TextTable(
        f"{board.design.title}: {system}{marked} over λ1 (rows) and λ2 (columns), mean of all groups and seeds; "
        f"{VARIANTS[board.variant]}",
        ("λ1 \\ λ2", *(f"{column:g}" for column in columns), "mean"),
        (*cells, total),
        table_notes(board, cells) if not marked else (*table_notes(board, cells), UNCERTIFIED),
        footer=1,
    )


def retrieval_table(board: PaperBoard) -> TextTable:
    """Search across the divide: for every test row, how well source rows of its class come first."""
    found = [name for name in board.design.columns if np.isfinite(board.figures(name, "map")).any()]
    names = [name for name in found if BY_TARGET not in name]
    rows = [
        (name, *(number_cell(100 * float(board.figures(name, score).mean())) for score in ("map", "precision@10")))
        for name in names
    ]
    return TextTable(
        f"{board.design.title.split(',')[0]}: source rows ranked for every test row, in per cent, default; "
        f"{VARIANTS[board.variant]}",
        ("system", "mean average precision", "precision at 10"),
        tuple(rows),
        ("A corrupted source is judged by the labels that it was given.", *table_notes(board, rows)),
    )


def toy_table(board: PaperBoard) -> TextTable:
    """Accuracy and MMD² of every column of the toy problem, over the seeds."""
    rows = []
    for name in board.design.columns:
        found = board.figures(name, "mmd").ravel()
        some, every = np.isfinite(found).any(), np.isfinite(found).all()
        discrepancy = mean_cell(found, digits=3) if every else ABSENT if some else ""
        mark = MARK if board.uncertified_groups(name).any() else ""
        control = "yes" if name in board.design.controls else ""
        rows.append((name, control, mean_cell(100 * board.scores(name).ravel()) + mark, discrepancy))
    title = "Toy problem, accuracy in per cent and MMD² in the common space"
    return TextTable(title, ("system", "control", "accuracy", "MMD²"), tuple(rows), table_notes(board, rows))


def published_means(rows: tuple[Published, ...]) -> FloatArray:
    """The paper's means (groups, systems), in per cent."""
    return np.array([[mean for mean, _ in row.figures] for row in rows])


def overall(board: PaperBoard, name: str, setting: str = "default") -> float:
    """The mean over all groups and seeds, in per cent."""
    return float(100 * board.scores(name, setting).mean())


def _means(board: PaperBoard, name: str, setting: str) -> FloatArray:
    return np.asarray(100 * board.scores(name, setting).mean(axis=1))


def _setting_cell(board: PaperBoard, name: str, setting: str) -> str:
    mark = MARK if board.uncertified_groups(name, setting).any() else ""
    return number_cell(overall(board, name, setting)) + mark


def _difference(ours: float, paper: float) -> str:
    return format_points(ours - paper) if np.isfinite(ours) else ABSENT


def _grids(board: PaperBoard) -> str:
    """What was searched."""
    sizes = {entrant.name: math.prod(map(len, entrant.grid.values())) for entrant in board.design.entrants}
    points = ", ".join(f"{name} {size}" for name, size in sizes.items() if sizes[name] > 1)
    return f"Points of the grid: {points}; the others have nothing to search, or are not searched."
