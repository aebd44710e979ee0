"""Tables: a value that prints for a terminal or for Markdown; those of any study, and the cells of others."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.study.scoreboard import Claim, Scoreboard

NOTE_WIDTH = 118
ABSENT = "–"
MARK = "†"
UNCERTIFIED = f"{MARK} at least one fit failed, or stopped before its optimum was certified."
INCOMPLETE = f"{ABSENT} not run, or not finished."
CLUSTERED = {
    ("seed", "group"): "over all groups and seeds, clustered by seed and by group: the wider interval and the larger "
    "p-value of the two",
    ("seed",): "over all seeds, each with rows of its own",
    ("group",): "over all groups, each the mean of its seeds",
    (): "need at least two trials with rows of their own, or two groups",
}
ADJUSTED = (
    "Intervals are of each row alone; p-values are adjusted for all rows (Holm), so that an interval may leave out 0 "
    "where nothing is shown."
)


@dataclass(frozen=True)
class Table:
    """Rows of text under a head; the first column names the rows, the others are aligned to the right.

    The title may be empty. The notes stand below; as many rows as ``footer`` says sum up the others, and stand under
    a rule.

    Examples
    --------
    >>> print(Table("Two pairs", ("pair", "score"), (("a → b", "1.0"), ("mean", "1.0")), footer=1))
    Two pairs
    <BLANKLINE>
    pair   score
    -----  -----
    a → b    1.0
    -----  -----
    mean     1.0
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    footer: int = 0

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """For a terminal; long names of columns are broken between words."""
        cells = [max(map(len, column)) for column in zip(*self.rows, strict=True)] or [0] * len(self.head)
        words = [max(map(len, name.split()), default=0) for name in self.head]
        widths = [max(pair) for pair in zip(cells, [len(self.head[0]), *words[1:]], strict=True)]
        broken = [textwrap.wrap(name, width) for name, width in zip(self.head, widths, strict=True)]
        deep = max(map(len, broken))
        head = zip(*([""] * (deep - len(lines)) + lines for lines in broken), strict=True)
        rule = "  ".join("-" * width for width in widths)
        body = [_aligned(row, widths) for row in self.rows]
        cut = len(body) - self.footer
        lines = [*(_aligned(row, widths) for row in head), rule, *body[:cut], *([rule] if self.footer else [])]
        notes = [textwrap.fill(note, NOTE_WIDTH) for note in self.notes]
        title = [self.title, ""] if self.title else []
        return "\n".join([*title, *lines, *body[cut:], *(["", *notes] if notes else [])])

    def markdown(self) -> str:
        """For Markdown; the rows that sum up are bold."""
        cut = len(self.rows) - self.footer
        rows = [*self.rows[:cut], *(tuple(f"**{cell}**" if cell else "" for cell in row) for row in self.rows[cut:])]
        lines = [_barred(self.head), _barred(("---", *("---:" for _ in self.head[1:]))), *map(_barred, rows)]
        title = [f"**{self.title}**", ""] if self.title else []
        return "\n".join([*title, *lines, *(f"\n{note}" for note in self.notes)])


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    return "  ".join([first.strip().ljust(widths[0]), *others]).rstrip()


def _barred(row: tuple[str, ...]) -> str:
    cells = (cell.replace("|", r"\|") for cell in row)
    return f"| {' | '.join(cells)} |"


class Board(Scoreboard):
    """A scoreboard that prints itself."""

    def table(self, setting: str = "default") -> Table:
        """A row for each system, a column for each group: mean ± standard deviation over the seeds, in per cent."""
        design, several = self.design, len(self.groups) > 1
        rows = []
        for name in design.columns:
            mean = [number_cell(100 * self.scores(name, setting).mean())] if several else []
            rows.append((name, "yes" if name in design.controls else "", *mean_cells(self, name, setting), *mean))
        words = [design.title or design.name, f"{design.task.measure} in per cent", design.variants[self.variant]]
        head = (*self.groups, "mean") if several else (self.groups[0] or design.task.measure,)
        return Table(", ".join(filter(None, words)), ("system", "control", *head), tuple(rows), notes(self, rows))

    def claim_table(self, pairs: Iterable[tuple[str, str]], setting: str = "default") -> Table:
        """Paired differences with intervals and verdicts, as one family of claims."""
        title = f"{self.design.title or self.design.name}: what holds, {setting} settings"
        return claim_table([self], [self.claims(pairs, setting)], title)

    def __str__(self) -> str:
        return str(self.table())


def claim_table(
    boards: Sequence[Scoreboard], claims: Sequence[Sequence[Claim]], title: str, note: str | None = None
) -> Table:
    """Comparisons, one to a row, with their difference and verdict for every set of seeds."""
    note = note or f"Differences in points {CLUSTERED[boards[0].clusters]}. {ADJUSTED}"
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
    drawn = [words for words in (spanned(board.seeds), board.design.protocol) if words]
    found = [" ".join(f"{words[0].upper()}{words[1:]}." for words in drawn)]
    found += [UNCERTIFIED] if MARK in text else []
    found += [INCOMPLETE] if ABSENT in text else []
    if old := board.outdated():
        found.append(f"{old} records are of another version, or of other systems or rows: a new run replaces them.")
    return tuple(found)


def spanned(seeds: Sequence[int]) -> str:
    """The seeds in words."""
    return f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"


def mean_cells(board: Scoreboard, name: str, setting: str = "default") -> list[str]:
    """Mean ± standard deviation over the seeds, one for each group, in per cent."""
    scores, marked = 100 * board.scores(name, setting), board.uncertified(name, setting)
    return [mean_cell(row) + (MARK if mark else "") for row, mark in zip(scores, marked, strict=True)]


def mean_cell(values: FloatArray, digits: int = 1) -> str:
    """Mean ± standard deviation of a sample (0 of a single value); a dash where some are missing."""
    deviation = values.std(ddof=1 if len(values) > 1 else 0)
    return f"{values.mean():.{digits}f}±{deviation:.{digits}f}" if np.isfinite(values).all() else ABSENT


def number_cell(value: float) -> str:
    """A number; a dash where there is none."""
    return f"{value:.1f}" if np.isfinite(value) else ABSENT


def signed(points: float) -> str:
    """A difference with its sign, and no minus before a zero."""
    return f"{round(points, 1) + 0.0:+.1f}".replace("-", "−")


def _difference_cells(claim: Claim) -> tuple[str, str, str]:
    d = claim.difference
    if d is None:
        return ABSENT, ABSENT, ABSENT
    low, high = (signed(100 * value).removeprefix("+") for value in (d.low, d.high))
    return signed(100 * d.mean), f"[{low}, {high}]", f"{d.p_adjusted:.3f}"
