"""The tables of an experiment: paper / ours / difference, the controls, the settings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.experiments.claims import Claim
from isthmus.experiments.entrants import BY_TARGET, PAPER
from isthmus.experiments.published import Published
from isthmus.experiments.rows import VARIANTS
from isthmus.experiments.scoreboard import Scoreboard
from isthmus.experiments.table import Table
from isthmus.experiments.trials import SETTINGS

ABSENT = "–"
MARK = "†"
_UNCERTIFIED = f"{MARK} at least one fit failed, or stopped before its optimum was certified."
CLUSTERED = (
    "Differences in points over all groups and seeds, clustered by seed and by group: the wider interval and the "
    "larger p-value of the two. Intervals are of each row alone; p-values are adjusted for all rows (Holm), so that "
    "an interval may leave out 0 where nothing is shown."
)
BY_SEED = (
    "In points. The first row is clustered by seed and by group, the more cautious of the two; ranges are of the "
    "means over all groups, one a seed. Intervals are of each row alone; p-values are adjusted for both (Holm)."
)
_INCOMPLETE = f"{ABSENT} not run, or not finished."


def paper_table(board: Scoreboard, setting: str = "default") -> Table:
    """The paper's systems, each as paper / ours / difference; mean ± standard deviation over the seeds."""
    head = [f"{name}{part}" for name in PAPER for part in (": paper", " ours", " diff.")]
    ours = [_cells(board, name, setting) for name in PAPER]
    printed = [[row.figures[k] for row in board.experiment.published] for k in range(len(PAPER))]
    gaps = [
        [_difference(mean, paper[0]) for mean, paper in zip(_means(board, name, setting), column, strict=True)]
        for name, column in zip(PAPER, printed, strict=True)
    ]
    rows = [
        (group, *(cell for k in range(len(PAPER)) for cell in (_pm(*printed[k][g]), ours[k][g], gaps[k][g])))
        for g, group in enumerate(board.groups)
    ]
    average = published_means(board.experiment.published).mean(axis=0)
    totals = [_overall(board, name, setting) for name in PAPER]
    bottom = [
        cell
        for paper, total in zip(average, totals, strict=True)
        for cell in (f"{paper:.1f}", _number(total), _difference(total, float(paper)))
    ]
    return Table(
        f"{board.experiment.title}: the paper's systems, {setting} ({SETTINGS[setting]}); {VARIANTS[board.variant]}",
        ("source → target", *head),
        (*rows, ("mean", *bottom)),
        _notes(board, rows) if setting == "default" else (*_notes(board, rows), _grids(board)),
        footer=1,
    )


def control_table(board: Scoreboard, setting: str = "default") -> Table:
    """MLHD and the controls on the same rows; mean ± standard deviation over the seeds."""
    names = [name for name in board.experiment.columns if name not in PAPER[:-1]]
    names = [name for name in names if board.has(name, setting)] or names
    columns = [_cells(board, name, setting) for name in names]
    rows = list(zip(board.groups, *columns, strict=True))
    return Table(
        f"{board.experiment.title}: MLHD and controls, {setting} ({SETTINGS[setting]}); {VARIANTS[board.variant]}",
        ("source → target", *names),
        (*rows, ("mean", *(_number(_overall(board, name, setting)) for name in names))),
        _notes(board, rows) if setting == "default" else (*_notes(board, rows), _grids(board)),
        footer=1,
    )


def settings_table(board: Scoreboard) -> Table:
    """Every column, one row each: its mean in every setting over all groups and seeds."""
    settings = [s for s in SETTINGS if any(board.has(name, s) for name in board.experiment.columns)] or ["default"]
    rows = [
        (name, "yes" if name in board.experiment.controls else "", *(_setting_cell(board, name, s) for s in settings))
        for name in board.experiment.columns
    ]
    notes = [f"{setting}: {SETTINGS[setting]}." for setting in settings]
    return Table(
        f"{board.experiment.title}: means over all groups and seeds; {VARIANTS[board.variant]}",
        ("system", "control", *settings),
        tuple(rows),
        (*notes, *_notes(board, rows), _grids(board)),
    )


def claim_table(
    boards: Sequence[Scoreboard], claims: Sequence[Sequence[Claim]], title: str, note: str = CLUSTERED
) -> Table:
    """Comparisons, one a row, with their difference and verdict for every set of seeds."""
    sets = [f"seeds {board.seeds[0]}–{board.seeds[-1]}" for board in boards]
    head = [cell for name in sets for cell in (f"{name}: difference", "95 %", "p (Holm)", "verdict")]
    rows = [
        (same[0].statement, *(cell for claim in same for cell in (*_difference_cells(claim), claim.verdict)))
        for same in zip(*claims, strict=True)
    ]
    return Table(
        title,
        ("claim", *head),
        tuple(rows),
        (note,),
    )


def grid_table(board: Scoreboard, system: str) -> Table:
    """Mean accuracy over the grid, rows λ1 and columns λ2."""
    (_, rows), (_, columns) = board.experiment.entrant(system).grid.items()
    values = 100 * board.grid(system).mean(axis=(0, 1))
    marked = MARK if board.uncertified(system, "oracle").any() else ""
    cells = [
        (f"{row:g}", *map(_number, line), _number(float(line.mean()))) for row, line in zip(rows, values, strict=True)
    ]
    total = ("mean", *map(_number, values.mean(axis=0)), _number(float(values.mean())))
    return Table(
        f"{board.experiment.title}: {system}{marked} over λ1 (rows) and λ2 (columns), mean of all groups and seeds; "
        f"{VARIANTS[board.variant]}",
        ("λ1 \\ λ2", *(f"{column:g}" for column in columns), "mean"),
        (*cells, total),
        _notes(board, cells) if not marked else (*_notes(board, cells), _UNCERTIFIED),
        footer=1,
    )


def retrieval_table(board: Scoreboard) -> Table:
    """Search across the divide: for every test row, how well source rows of its class come first."""
    found = [name for name in board.experiment.columns if np.isfinite(board.figures(name, "map")).any()]
    names = [name for name in found if BY_TARGET not in name]
    rows = [
        (name, *(_number(100 * float(board.figures(name, score).mean())) for score in ("map", "precision@10")))
        for name in names
    ]
    return Table(
        f"{board.experiment.title.split(',')[0]}: source rows ranked for every test row, in per cent, default; "
        f"{VARIANTS[board.variant]}",
        ("system", "mean average precision", "precision at 10"),
        tuple(rows),
        ("A spoilt source is judged by the labels that it was given.", *_notes(board, rows)),
    )


def toy_table(board: Scoreboard) -> Table:
    """Accuracy and MMD² of every column of the toy problem, over the seeds."""
    rows = []
    for name in board.experiment.columns:
        found = board.figures(name, "mmd").ravel()
        some, every = np.isfinite(found).any(), np.isfinite(found).all()
        discrepancy = _spread(found, 3) if every else ABSENT if some else ""
        mark = MARK if board.uncertified(name).any() else ""
        control = "yes" if name in board.experiment.controls else ""
        rows.append((name, control, _pm(*_moments(100 * board.scores(name).ravel())) + mark, discrepancy))
    title = "Toy problem, accuracy in per cent and MMD² in the common space"
    return Table(title, ("system", "control", "accuracy", "MMD²"), tuple(rows), _notes(board, rows))


def _difference_cells(claim: Claim) -> tuple[str, str, str]:
    d = claim.difference
    if d is None:
        return ABSENT, ABSENT, ABSENT
    low, high = (signed(100 * value).removeprefix("+") for value in (d.low, d.high))
    return signed(100 * d.mean), f"[{low}, {high}]", f"{d.p_adjusted:.3f}"


def _moments(values: FloatArray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1 if len(values) > 1 else 0))


def _spread(values: FloatArray, digits: int) -> str:
    mean, deviation = _moments(values)
    return f"{mean:.{digits}f}±{deviation:.{digits}f}"


def spanned(seeds: tuple[int, ...]) -> str:
    """The seeds in words."""
    return f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"


def signed(points: float) -> str:
    """A difference with its sign, and no minus before a zero."""
    return f"{round(points, 1) + 0.0:+.1f}".replace("-", "−")


def published_means(rows: tuple[Published, ...]) -> FloatArray:
    """The paper's means (groups, systems), in per cent."""
    return np.array([[mean for mean, _ in row.figures] for row in rows])


def _means(board: Scoreboard, name: str, setting: str) -> FloatArray:
    return np.asarray(100 * board.scores(name, setting).mean(axis=1))


def _overall(board: Scoreboard, name: str, setting: str) -> float:
    return float(100 * board.scores(name, setting).mean())


def _cells(board: Scoreboard, name: str, setting: str) -> list[str]:
    scores, marked = 100 * board.scores(name, setting), board.uncertified(name, setting)
    return [_pm(*_moments(row)) + (MARK if mark else "") for row, mark in zip(scores, marked, strict=True)]


def _setting_cell(board: Scoreboard, name: str, setting: str) -> str:
    mark = MARK if board.uncertified(name, setting).any() else ""
    return _number(_overall(board, name, setting)) + mark


def _pm(mean: float, deviation: float) -> str:
    return f"{mean:.1f}±{deviation:.1f}" if np.isfinite(mean) else ABSENT


def _number(value: float) -> str:
    return f"{value:.1f}" if np.isfinite(value) else ABSENT


def _difference(ours: float, paper: float) -> str:
    return signed(ours - paper) if np.isfinite(ours) else ABSENT


def _notes(board: Scoreboard, rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    text = "".join(cell for row in rows for cell in row)
    found = [_UNCERTIFIED] if MARK in text else []
    found += [_INCOMPLETE] if ABSENT in text else []
    return (f"{_sentence(spanned(board.seeds))} {_sentence(board.experiment.protocol)}", *found)


def _grids(board: Scoreboard) -> str:
    """What was searched."""
    sizes = {entrant.name: math.prod(map(len, entrant.grid.values())) for entrant in board.experiment.entrants}
    points = ", ".join(f"{name} {size}" for name, size in sizes.items() if sizes[name] > 1)
    return f"Points of the grid: {points}; the others have nothing to search, or are not searched."


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
