"""Square panels in rows on a page, laid out in inches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from studies.paper.drawing.canvas import PAGE_WIDTH
from studies.paper.drawing.panel import Panel

TITLE, LEGEND, HEAD, TICKS, LINE = 0.3, 0.55, 0.3, 0.2, 0.15
"""Inches: the title of all, the legend, the title of a panel, the numbers on its axis, a line of its caption."""
LEFT, RIGHT = 0.45, 0.1
"""Inches to either side of a panel."""


@dataclass(frozen=True)
class Grid:
    """Where the panels are, in inches: squares in rows, with room for the longest caption under each."""

    columns: int
    rows: int
    top: float
    caption: float

    @classmethod
    def of(cls, panels: Sequence[Panel], top: float) -> Grid:
        """At most three columns for six panels, four for more."""
        n = len(panels)
        columns = max(n, 2) if n <= 3 else 3 if n <= 6 else 4
        return cls(columns, ceil(n / columns), top, LINE * max(len(p.caption.splitlines()) for p in panels) + 0.08)

    @property
    def side(self) -> float:
        """Of a panel."""
        return PAGE_WIDTH / self.columns - LEFT - RIGHT

    @property
    def row_height(self) -> float:
        """A panel with its title and caption."""
        return HEAD + self.side + TICKS + self.caption

    @property
    def height(self) -> float:
        """Of the whole figure."""
        return self.top + self.rows * self.row_height + LEGEND

    def box(self, place: int) -> tuple[float, float, float, float]:
        """Left, bottom, width and height of a panel as parts of the figure."""
        row, column = divmod(place, self.columns)
        left = column * PAGE_WIDTH / self.columns + LEFT
        bottom = self.height - self.top - row * self.row_height - HEAD - self.side
        return left / PAGE_WIDTH, bottom / self.height, self.side / PAGE_WIDTH, self.side / self.height
