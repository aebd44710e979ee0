"""What the fits say about settings: the tables of docs/defaults.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.evidence.comparison import format_points
from isthmus.study.board import Board, TextTable
from studies.defaults.settings import MEANS, SYSTEMS, TOTALS, Setting, one_at_a_time, together

ERRORS = 2.0
"""A setting is better where its gain is more than so many standard errors."""
CRITERION = (
    "Accuracy in per cent: the mean over collections of the mean over their pairs, splits, and 1 and 3 labels per "
    "class. Δ: paired, ± its standard error over the splits; * more than two of these above zero, − below."
)


@dataclass(frozen=True, eq=False)
class Gain:
    """Points that one column is above another, one number for each split, and for each collection and split."""

    splits: FloatArray
    collections: Mapping[str, FloatArray]

    @property
    def mean(self) -> float:
        """Over the splits."""
        return float(self.splits.mean())

    @property
    def error(self) -> float:
        """The standard error of the mean over the splits; zero where there is one only."""
        n = len(self.splits)
        return float(self.splits.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0

    def __str__(self) -> str:
        mark = "*" if self.mean > ERRORS * self.error else " −" if self.mean < -ERRORS * self.error else ""
        return f"{format_points(self.mean)} ± {self.error:.1f}{mark}"

    def parts(self) -> Iterator[str]:
        """The mean of each collection."""
        return (format_points(float(values.mean())) for values in self.collections.values())


def accuracies(boards: Sequence[Board], column: str) -> dict[str, FloatArray]:
    """Accuracy in per cent by collection (splits,): the mean over its pairs, and over the boards."""
    scores = 100 * np.mean([board.scores(column) for board in boards], axis=0)
    names = np.array([group.split()[0] for group in boards[0].groups])
    return {name: scores[names == name].mean(axis=0) for name in dict.fromkeys(names)}


def accuracy(boards: Sequence[Board], column: str) -> float:
    """Each collection counts once."""
    return float(np.mean([values.mean() for values in accuracies(boards, column).values()]))


def gain(boards: Sequence[Board], column: str, other: str) -> Gain:
    """A column less another, split by split."""
    ours, theirs = accuracies(boards, column), accuracies(boards, other)
    by_collection = {name: ours[name] - theirs[name] for name in ours}
    return Gain(np.mean(list(by_collection.values()), axis=0), by_collection)


def settings_tables(boards: Sequence[Board]) -> list[TextTable]:
    """The rules, the controls, and each system with one factor changed."""
    collections = tuple(accuracies(boards, Setting(SYSTEMS[0]).column))
    return [
        _rules(boards, collections),
        _controls(boards, collections),
        *(_one_factor(boards, s, collections) for s in SYSTEMS),
    ]


def _rules(boards: Sequence[Board], collections: tuple[str, ...]) -> TextTable:
    rows = []
    for system in SYSTEMS:
        name = Setting(system).column
        found = gain(boards, name + MEANS, name)
        each = f"{accuracy(boards, name):.1f}", f"{accuracy(boards, name + MEANS):.1f}"
        rows.append((system, *each, str(found), *found.parts()))
    head = "system", "nearest row", "nearest mean", "Δ", *(f"Δ {name}" for name in collections)
    return TextTable("The rule, other settings as before", head, tuple(rows), (CRITERION,))


def _controls(boards: Sequence[Board], collections: tuple[str, ...]) -> TextTable:
    rows = []
    for name in boards[0].design.controls:
        each = (f"{values.mean():.1f}" for values in accuracies(boards, name).values())
        rows.append((name, f"{accuracy(boards, name):.1f}", *each))
    return TextTable("The target alone", ("control", "accuracy", *collections), tuple(rows))


def _one_factor(boards: Sequence[Board], system: str, collections: tuple[str, ...]) -> TextTable:
    rows = [_row(boards, setting, Setting(system)) for setting in one_at_a_time(system)]
    return TextTable(f"{system}, one factor at a time", _head(collections), tuple(rows))


def together_tables(boards: Sequence[Board]) -> list[TextTable]:
    """What mattered alone, in combinations."""
    collections = tuple(accuracies(boards, Setting("mlhd").column))
    systems = list(dict.fromkeys(setting.system for setting in together()))
    return [
        TextTable(
            f"{system}, factors together",
            _head(collections),
            tuple(_row(boards, each, Setting(system)) for each in together() if each.system == system),
            (CRITERION,),
        )
        for system in systems
    ]


def _head(collections: tuple[str, ...]) -> tuple[str, ...]:
    return ("setting", "nearest row", "Δ", *(f"Δ {name}" for name in collections), "nearest mean", "Δ means")


def _row(boards: Sequence[Board], setting: Setting, before: Setting) -> tuple[str, ...]:
    """A setting less the one before, under either rule."""
    name = setting.column
    by_row, by_mean = (gain(boards, name + end, before.column + end) for end in ("", MEANS))
    levels = f"{accuracy(boards, name):.1f}", f"{accuracy(boards, name + MEANS):.1f}"
    if setting == before:
        return ("before", levels[0], "", *("" for _ in by_row.collections), levels[1], "")
    return (setting.changes, levels[0], str(by_row), *by_row.parts(), levels[1], str(by_mean))


def sizes_tables(boards: Sequence[Board]) -> list[TextTable]:
    """Accuracy by the weight, for each number of source rows: a board for each."""
    tables = []
    for system in SYSTEMS[:2]:
        rows = []
        for total in (None, *TOTALS):
            name = Setting(system, total).column
            figures = [f"{accuracy([board], name + end):.1f}" for end in ("", MEANS) for board in boards]
            rows.append(("1 on each pair" if total is None else f"{total:g} in all", *figures))
        sizes = [board.variant for board in boards]
        head = "weight", *(f"{size} rows" for size in sizes), *(f"{size} rows, means" for size in sizes)
        tables.append(TextTable(f"{system} by source rows per class, 1 label per class", head, tuple(rows)))
    return tables


SETTINGS_TABLES: dict[str, Callable[[Sequence[Board]], list[TextTable]]] = {
    "settings": settings_tables,
    "together": together_tables,
    "sizes": sizes_tables,
}
"""By the name of the study."""
