"""Tables of any study: means with deviations, and claims with their verdicts; the cells that others are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.study.claims import Claim
from isthmus.study.scoreboard import Scoreboard
from isthmus.study.table import Table

ABSENT = "–"
MARK = "†"
UNCERTIFIED = f"{MARK} at least one fit failed, or stopped before its optimum was certified."
INCOMPLETE = f"{ABSENT} not run, or not finished."
CLUSTERED = (
    "Differences in points over all groups and seeds, clustered by seed and by group: the wider interval and the "
    "larger p-value of the two. Intervals are of each row alone; p-values are adjusted for all rows (Holm), so that "
    "an interval may leave out 0 where nothing is shown."
)


def mean_table(
    board: Scoreboard, setting: str = "default", columns: Sequence[str] | None = None, title: str | None = None
) -> Table:
    """A row for each system, a column for each group: mean ± standard deviation over the seeds, in per cent."""
    names = board.design.columns if columns is None else columns
    several = len(board.groups) > 1
    rows = [
        (
            name,
            "yes" if name in board.design.controls else "",
            *mean_cells(board, name, setting),
            *([number_cell(overall(board, name, setting))] if several else []),
        )
        for name in names
    ]
    shown = board.design.title if title is None else title
    words = [shown or board.design.name, "accuracy in per cent", board.design.variants[board.variant]]
    head = (*board.groups, "mean") if several else (board.groups[0] or "accuracy",)
    return Table(", ".join(filter(None, words)), ("system", "control", *head), tuple(rows), notes(board, rows))


def claim_table(
    boards: Sequence[Scoreboard], claims: Sequence[Sequence[Claim]], title: str, note: str = CLUSTERED
) -> Table:
    """Comparisons, one to a row, with their difference and verdict for every set of seeds."""
    sets = [f"seeds {board.seeds[0]}–{board.seeds[-1]}" for board in boards]
    head = [cell for name in sets for cell in (f"{name}: difference", "95 %", "p (Holm)", "verdict")]
    rows = [
        (same[0].statement, *(cell for claim in same for cell in (*_difference_cells(claim), claim.verdict)))
        for same in zip(*claims, strict=True)
    ]
    return Table(title, ("claim", *head), tuple(rows), (note,))


def notes(board: Scoreboard, rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """What a reader of these cells has to know: seeds and protocol, what the signs mean, what is out of date."""
    text = "".join(cell for row in rows for cell in row)
    protocol = [sentence(board.design.protocol)] if board.design.protocol else []
    found = [UNCERTIFIED] if MARK in text else []
    found += [INCOMPLETE] if ABSENT in text else []
    if old := board.outdated():
        found.append(f"{old} records are of another version, or of other systems or rows: a new run replaces them.")
    return (" ".join([sentence(spanned(board.seeds)), *protocol]), *found)


def mean_cells(board: Scoreboard, name: str, setting: str = "default") -> list[str]:
    """Mean ± standard deviation over the seeds, one for each group, in per cent."""
    scores, marked = 100 * board.scores(name, setting), board.uncertified(name, setting)
    return [pm_cell(*moments(row)) + (MARK if mark else "") for row, mark in zip(scores, marked, strict=True)]


def overall(board: Scoreboard, name: str, setting: str = "default") -> float:
    """The mean over all groups and seeds, in per cent."""
    return float(100 * board.scores(name, setting).mean())


def moments(values: FloatArray) -> tuple[float, float]:
    """Mean, and standard deviation of a sample (0 of a single value)."""
    return float(values.mean()), float(values.std(ddof=1 if len(values) > 1 else 0))


def pm_cell(mean: float, deviation: float, digits: int = 1) -> str:
    """A mean and a deviation; a dash where there is none."""
    return f"{mean:.{digits}f}±{deviation:.{digits}f}" if np.isfinite(mean) else ABSENT


def number_cell(value: float) -> str:
    """A number; a dash where there is none."""
    return f"{value:.1f}" if np.isfinite(value) else ABSENT


def signed(points: float) -> str:
    """A difference with its sign, and no minus before a zero."""
    return f"{round(points, 1) + 0.0:+.1f}".replace("-", "−")


def spanned(seeds: Sequence[int]) -> str:
    """The seeds in words."""
    return f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    return f"{text[0].upper()}{text[1:]}."


def _difference_cells(claim: Claim) -> tuple[str, str, str]:
    d = claim.difference
    if d is None:
        return ABSENT, ABSENT, ABSENT
    low, high = (signed(100 * value).removeprefix("+") for value in (d.low, d.high))
    return signed(100 * d.mean), f"[{low}, {high}]", f"{d.p_adjusted:.3f}"
