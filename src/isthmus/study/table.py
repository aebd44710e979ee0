"""A table as a value, printed for a terminal or for Markdown."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

NOTE_WIDTH = 118


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
