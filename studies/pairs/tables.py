"""What the records say, as tables: scores, paired differences, and who is the best where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.evidence.comparison import Difference, format_points, paired_difference
from isthmus.study.board import ABSENT, HOLDS, OPEN, REVERSED, Board, Claim, TextTable, mean_cell
from isthmus.study.records import Record
from isthmus.study.study import Study

MARKS = {HOLDS: "**", REVERSED: "**", OPEN: ""}
"""Around a difference whose sign is shown."""


def boards(study: Study, records: Iterable[Record], seeds: Sequence[int]) -> dict[str, Board]:
    """One board for each variant."""
    found = list(records)
    return {variant: study.board(found, seeds, variant) for variant in study.variants}


def values(board: Board, name: str, figure: str | None = None) -> FloatArray:
    """Scores, or another number of each record, in per cent (groups, seeds)."""
    return 100.0 * (board.scores(name) if figure is None else board.figures(name, figure))


def score_table(board: Board, names: Sequence[str], title: str, figure: str | None = None) -> TextTable:
    """Systems by groups: mean ± standard deviation over the seeds, in per cent; the best of each column is bold.

    Systems that are nowhere there are left out.
    """
    found = {name: values(board, name, figure) for name in names}
    names = [name for name in names if np.isfinite(found[name]).any()]
    best = [_best([found[name][g].mean() for name in names]) for g in range(len(board.groups))]
    rows = []
    for k, name in enumerate(names):
        cells = [mean_cell(row) for row in found[name]]
        rows.append((name, *(f"**{cell}**" if k == best[g] else cell for g, cell in enumerate(cells))))
    return TextTable(title, ("system", *board.groups), tuple(rows))


def _best(means: Sequence[float]) -> int | None:
    known = [(mean, -k) for k, mean in enumerate(means) if np.isfinite(mean)]
    return -max(known)[1] if known else None


def difference_table(
    found: Mapping[str, Board], pairs: Sequence[tuple[str, str]], title: str, heads: Mapping[str, str]
) -> TextTable:
    """Paired differences in points with intervals, a row for each comparison, a column for each variant.

    Over all groups and seeds, clustered by either; each variant is a family of claims.
    """
    claims = {variant: board.claims(pairs) for variant, board in found.items()}
    rows = [
        (f"{a} less {b}", *(difference_cell(claims[variant][k]) for variant in found))
        for k, (a, b) in enumerate(pairs)
    ]
    return TextTable(title, ("difference", *(heads[variant] for variant in found)), tuple(rows))


def difference_cell(claim: Claim) -> str:
    """A difference in points with its interval; bold where its sign is shown."""
    d = claim.difference
    if d is None:
        return ABSENT
    low, high = (format_points(100 * value).removeprefix("+") for value in (d.low, d.high))
    mark = MARKS.get(claim.verdict, "")
    return f"{mark}{format_points(100 * d.mean)}{mark} [{low}, {high}]"


@dataclass(frozen=True)
class Cell:
    """Who is ahead in one group and variant.

    Parameters
    ----------
    group, variant : str
        Where.
    best : str
        The system with the largest mean score.
    level : tuple of str
        Those that are not shown to be worse than the best, it among them: the 95 % interval of the paired difference
        over the seeds holds zero.
    means : mapping of str to float
        The mean score of each system.
    above : bool
        Whether the best is shown to be better than the control.
    """

    group: str
    variant: str
    best: str
    level: tuple[str, ...]
    means: Mapping[str, float]
    above: bool

    @property
    def score(self) -> float:
        """Of the best."""
        return self.means[self.best]


def cells(found: Mapping[str, Board], names: Sequence[str], control: str) -> list[Cell]:
    """Who is ahead, for every group and variant in which all trials are there."""
    return [
        cell
        for variant, board in found.items()
        for g, group in enumerate(board.groups)
        if (cell := _cell(board, g, group, variant, names, control)) is not None
    ]


def _cell(board: Board, g: int, group: str, variant: str, names: Sequence[str], control: str) -> Cell | None:
    scores = {name: board.scores(name)[g] for name in names}
    scores = {name: row for name, row in scores.items() if np.isfinite(row).all()}
    if not scores or len(board.seeds) < 2:
        return None
    best = max(scores, key=lambda name: float(scores[name].mean()))
    level = tuple(name for name in scores if name == best or difference(scores[best], scores[name]).low <= 0)
    bar = board.scores(control)[g]
    above = bool(np.isfinite(bar).all() and difference(scores[best], bar).low > 0)
    return Cell(group, variant, best, level, {name: float(row.mean()) for name, row in scores.items()}, above)


def alone_table(found: Mapping[str, Board], pairs: Sequence[tuple[str, str]], title: str) -> TextTable:
    """Paired differences of two systems in points, by data set: a row for each, a column for each variant.

    Intervals of 95 % over the seeds, each cell by itself; bold where zero is outside.
    """
    groups = next(iter(found.values())).groups
    rows = [
        (f"{group}: {a} less {b}", *(_alone(board.scores(a)[k], board.scores(b)[k]) for board in found.values()))
        for k, group in enumerate(groups)
        for a, b in pairs
    ]
    return TextTable(title, ("difference", *(f"{variant} pairs" for variant in found)), tuple(rows))


def _alone(a: FloatArray, b: FloatArray) -> str:
    if len(a) < 2 or not np.isfinite(a - b).all():
        return ABSENT
    d = difference(a, b)
    low, high = (format_points(100 * value).removeprefix("+") for value in (d.low, d.high))
    mark = "**" if d.low > 0 or d.high < 0 else ""
    return f"{mark}{format_points(100 * d.mean)}{mark} [{low}, {high}]"


def difference(a: FloatArray, b: FloatArray) -> Difference:
    """Of two systems in one group, over the seeds."""
    return paired_difference(a, b)


def join_tables(tables: Iterable[TextTable]) -> str:
    """Tables below each other, in Markdown."""
    return "\n\n".join(table.markdown for table in tables)
