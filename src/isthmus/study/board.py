"""The board of a study: records as arrays (groups, seeds), paired differences, claims with verdicts, and tables.

The order of the file: cells and tables of text, claims, the board, and the notes and tables that it prints.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from isthmus._core.validation import BoolArray, FloatArray, check_choice
from isthmus.evidence.comparison import Difference, format_points, holm, paired_difference
from isthmus.exceptions import InputError
from isthmus.study.design import SETTINGS, Design
from isthmus.study.records import SCHEME, Record

# The significance level of a claim.
LEVEL = 0.05
# The verdicts on a claim.
HOLDS, REVERSED, OPEN, UNRUN = "holds", "reversed", "not shown", "not run"
NOTE_WIDTH = 118
ABSENT = "–"
MARK = "†"
UNCERTIFIED = f"{MARK} at least one fit failed, or stopped before its optimum was certified."
INCOMPLETE = f"{ABSENT} not run, or not finished."
# How differences are computed, by what they are clustered by (`Board.clusters`).
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
class TextTable:
    """Rows of text under a head; the first column names the rows, the others are aligned to the right.

    The title may be empty. The notes stand below. The last ``footer`` rows summarise the others, and stand under a
    rule. ``str`` formats the table for a terminal.

    Examples
    --------
    >>> print(TextTable("Two pairs", ("pair", "score"), (("a → b", "1.0"), ("mean", "1.0")), footer=1))
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
        cells = [max(map(len, column)) for column in zip(*self.rows, strict=True)] or [0] * len(self.head)
        # A long name of a column is broken between words, down to its longest word; names of rows are not.
        words = [max(map(len, name.split()), default=0) for name in self.head]
        widths = [max(pair) for pair in zip(cells, [len(self.head[0]), *words[1:]], strict=True)]
        broken = [textwrap.wrap(name, max(width, 1)) for name, width in zip(self.head, widths, strict=True)]
        deep = max(map(len, broken))
        head = zip(*([""] * (deep - len(lines)) + lines for lines in broken), strict=True)
        rule = "  ".join("-" * width for width in widths).rstrip()
        body = [_align(row, widths) for row in self.rows]
        cut = len(body) - self.footer
        lines = [*(_align(row, widths) for row in head), rule, *body[:cut], *([rule] if self.footer else [])]
        notes = [textwrap.fill(note, NOTE_WIDTH) for note in self.notes]
        title = [self.title, ""] if self.title else []
        return "\n".join([*title, *lines, *body[cut:], *(["", *notes] if notes else [])])

    @property
    def markdown(self) -> str:
        """The table in Markdown, with its last ``footer`` rows in bold."""
        cut = len(self.rows) - self.footer
        rows = [*self.rows[:cut], *(tuple(f"**{cell}**" if cell else "" for cell in row) for row in self.rows[cut:])]
        every = [self.head, ("---", *("---:" for _ in self.head[1:])), *rows]
        escaped = [[cell.replace("|", r"\|") for cell in row] for row in every]
        lines = [f"| {' | '.join(row)} |" for row in escaped]
        title = [f"**{self.title}**", ""] if self.title else []
        return "\n".join([*title, *lines, *(f"\n{note}" for note in self.notes)])


def _align(row: tuple[str, ...], widths: list[int]) -> str:
    first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    return "  ".join([first.strip().ljust(widths[0]), *others]).rstrip()


def mean_cell(values: FloatArray, digits: int = 1) -> str:
    """Return mean ± standard deviation of a sample (0 of a single value); a dash where values are missing."""
    deviation = values.std(ddof=1 if len(values) > 1 else 0)
    return f"{values.mean():.{digits}f}±{deviation:.{digits}f}" if np.isfinite(values).all() else ABSENT


def number_cell(value: float) -> str:
    """Return a number with one digit; a dash where it is missing."""
    return f"{value:.1f}" if np.isfinite(value) else ABSENT


def format_seeds(seeds: Sequence[int]) -> str:
    """Return the seeds in words."""
    return f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"


@dataclass(frozen=True)
class Claim:
    """The claim that one thing is larger than another, and the evidence of the trials.

    Parameters
    ----------
    statement : str
        The claim, in words.
    difference : Difference or None
        First thing less second, given the data: trials resample the same rows. None where trials are missing, or
        too few to compare.

    Examples
    --------
    >>> print(Claim("mlhd > arc", Difference(0.03, 0.01, 0.05, 0.004, 0.02, 20, 20, 0.95)))
    mlhd > arc: holds, +3.0 [1.0, 5.0], p = .004 (Holm .020)
    """

    statement: str
    difference: Difference | None

    @property
    def verdict(self) -> str:
        """The claim holds or is reversed where the adjusted p-value is below 5 %, and is not shown otherwise."""
        if self.difference is None:
            return UNRUN
        if self.difference.p_adjusted >= LEVEL or self.difference.mean == 0:
            return OPEN
        return HOLDS if self.difference.mean > 0 else REVERSED

    def __str__(self) -> str:
        return f"{self.statement}: {self.verdict}" + (f", {self.difference}" if self.difference else "")


def adjust_claims(claims: Sequence[tuple[str, Difference | None]]) -> list[Claim]:
    """Return statements with their differences as claims of one family: p-values adjusted for their number (Holm)."""
    adjusted = iter(holm([difference.p_value for _, difference in claims if difference is not None]))
    return [Claim(s, None if d is None else replace(d, p_adjusted=float(next(adjusted)))) for s, d in claims]


class Board:
    """Scores of every column and setting over the same groups and seeds; ``str`` prints the table.

    Parameters
    ----------
    design : Design
        The design of the study.
    records : iterable of Record
        Its records; those of other studies, variants or seeds are ignored.
    variant : str
        The variant of the features.
    seeds : sequence of int
        The seeds.
    """

    def __init__(self, design: Design, records: Iterable[Record], variant: str, seeds: Sequence[int]) -> None:
        self.design: Design = design
        self.seeds: tuple[int, ...] = tuple(seeds)
        self.groups: tuple[str, ...] = design.groups
        self.variant: str = check_choice(variant, "variant", design.variants)
        self._records = {
            (r.group, r.seed, r.system, r.setting): r
            for r in records
            if r.experiment == design.name and r.variant == variant and r.seed in self.seeds
        }

    def records(self, system: str, setting: str = "default") -> list[list[Record | None]]:
        """Return one record for each group and seed, None where there is none."""
        check_choice(system, "system", self.design.columns)
        return [[self._records.get((group, seed, system, setting)) for seed in self.seeds] for group in self.groups]

    def scores(self, system: str, setting: str = "default") -> FloatArray:
        """Return the scores (groups, seeds), NaN where there is none."""
        return self._values(system, setting, lambda record: record.score)

    def figures(self, system: str, name: str) -> FloatArray:
        """Return a further number (groups, seeds), NaN where there is none."""
        return self._values(system, "default", lambda record: (record.figures or {}).get(name))

    def _values(self, system: str, setting: str, value: Callable[[Record], float | None]) -> FloatArray:
        rows = [[None if r is None else value(r) for r in row] for row in self.records(system, setting)]
        return np.array(rows, dtype=float)  # None becomes NaN

    def uncertified_groups(self, system: str, setting: str = "default") -> BoolArray:
        """Return a mask of the groups with a trial whose fit failed or was not certified."""
        rows = self.records(system, setting)
        return np.array([any(r is not None and not r.certified for r in row) for row in rows])

    def count_outdated_records(self) -> int:
        """Count the records of another version, or of other systems or rows than the study now has.

        Nothing is loaded for that: data of loaders are compared when a run is resumed. Records without a fingerprint,
        or with one of an earlier scheme, can't be compared: they count by their version alone.
        """
        cells = set(self.design.cells(tuple(SETTINGS)))

        def is_stale(r: Record) -> bool:
            mark, cell = str(r.fingerprint), (r.variant, r.system, r.setting)
            old = not r.of_this_version  # first: fingerprints take time
            return old or (mark.startswith(SCHEME) and not mark.startswith(self.design.fingerprint(*cell)))

        return sum(is_stale(r) for r in self._records.values() if (r.system, r.setting) in cells)

    def difference(self, a: str, b: str, setting: str = "default") -> Difference:
        """Return the mean of a - b over all trials, clustered by seed and by group, whichever is more cautious."""
        for name in (a, b):
            every = chain(*self.records(name, setting))
            lost = ["no record" if r is None else r.status for r in every if r is None or r.score is None]
            if lost:
                raise InputError(f"{name}: expected a score in every trial, got {len(lost)} without ({lost[0]}).")
        found = self.compare(self.scores(a, setting), self.scores(b, setting))
        if found is None:
            got = f"{len(self.seeds)} seed(s) and {len(self.groups)} group(s)"
            raise InputError(f"seeds: expected two trials with rows of their own, or two groups, got {got}.")
        return found

    def claim(self, a: str, b: str, setting: str = "default") -> Claim:
        """Return the claim that a is better than b."""
        return Claim(f"{a} > {b}", self.difference(a, b, setting))

    def claims(self, pairs: Iterable[tuple[str, str]], setting: str = "default") -> list[Claim]:
        """Return the claims that the first of each pair of columns is better, as one family (Holm).

        Where trials are missing a claim is not judged: a difference over those that happen to be there could mislead.
        """
        names = [[check_choice(name, "system", self.design.columns) for name in pair] for pair in pairs]
        found = [(f"{a} > {b}", self.compare(self.scores(a, setting), self.scores(b, setting))) for a, b in names]
        return adjust_claims(found)

    @property
    def clusters(self) -> tuple[str, ...]:
        """What differences are clustered by: seeds, where each has rows of its own, and groups, where several."""
        several = {"seed": self.design.redrawn and len(self.seeds) > 1, "group": len(self.groups) > 1}
        return tuple(name for name, there in several.items() if there)

    def compare(self, a: FloatArray, b: FloatArray) -> Difference | None:
        """Return the difference of two arrays (groups, seeds); None where values or a second cluster are missing."""
        # Seeds that only move the systems, on the same rows, are no clusters: they say nothing of other rows.
        clusters = [np.indices(a.shape)[("group", "seed").index(name)].ravel() for name in self.clusters]
        if not np.isfinite(a - b).all() or not clusters:
            return None
        return paired_difference(a.ravel(), b.ravel(), clusters)

    def table(self, setting: str = "default") -> TextTable:
        """Return mean ± standard deviation over seeds in per cent, a row for each system, a column for each group."""
        design, several = self.design, len(self.groups) > 1
        rows = []
        for name in design.columns:
            mean = [number_cell(100 * self.scores(name, setting).mean())] if several else []
            rows.append((name, "yes" if name in design.controls else "", *mean_cells(self, name, setting), *mean))
        words = [design.title or design.name, f"{design.task.measure} in per cent", design.variants[self.variant]]
        groups = (*self.groups, "mean") if several else (self.groups[0] or design.task.measure,)
        head = ("system", "control", *groups)
        return TextTable(", ".join(filter(None, words)), head, tuple(rows), table_notes(self, rows))

    def claim_table(self, pairs: Iterable[tuple[str, str]], setting: str = "default") -> TextTable:
        """Return paired differences with intervals and verdicts, as one family of claims."""
        title = f"{self.design.title or self.design.name}: what holds, {setting} settings"
        return make_claim_table([self], [self.claims(pairs, setting)], title)

    def __str__(self) -> str:
        return str(self.table())


def mean_cells(board: Board, name: str, setting: str = "default") -> list[str]:
    """Return mean ± standard deviation over the seeds for each group, in per cent."""
    scores, marked = 100 * board.scores(name, setting), board.uncertified_groups(name, setting)
    return [mean_cell(row) + (MARK if mark else "") for row, mark in zip(scores, marked, strict=True)]


def table_notes(board: Board, rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the notes on these cells: seeds and protocol, the meaning of signs, the number of outdated records."""
    text = "".join(cell for row in rows for cell in row)
    drawn = [words for words in (format_seeds(board.seeds), board.design.protocol) if words]
    found = [" ".join(f"{words[0].upper()}{words[1:]}." for words in drawn)]
    found += [UNCERTIFIED] if MARK in text else []
    found += [INCOMPLETE] if ABSENT in text else []
    if old := board.count_outdated_records():
        found.append(f"{old} records are of another version, or of other systems or rows: a new run replaces them.")
    return tuple(found)


def make_claim_table(
    boards: Sequence[Board], claims: Sequence[Sequence[Claim]], title: str, note: str | None = None
) -> TextTable:
    """Return a row for each claim, with its difference and verdict for every set of seeds."""
    note = note or f"Differences in points {CLUSTERED[boards[0].clusters]}. {ADJUSTED}"
    sets = [f"seeds {board.seeds[0]}–{board.seeds[-1]}" for board in boards]
    head = [cell for name in sets for cell in (f"{name}: difference", "95 %", "p (Holm)", "verdict")]
    rows = [
        (same[0].statement, *(cell for claim in same for cell in (*_difference_cells(claim), claim.verdict)))
        for same in zip(*claims, strict=True)
    ]
    return TextTable(title, ("claim", *head), tuple(rows), (note,))


def _difference_cells(claim: Claim) -> tuple[str, str, str]:
    d = claim.difference
    if d is None:
        return ABSENT, ABSENT, ABSENT
    low, high = (format_points(100 * value).removeprefix("+") for value in (d.low, d.high))
    return format_points(100 * d.mean), f"[{low}, {high}]", f"{d.p_adjusted:.3f}"
