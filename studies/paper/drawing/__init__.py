"""Figures that only the paper's experiments need, from plain arrays, as wide as a page."""

from studies.paper.drawing.differences import plot_differences
from studies.paper.drawing.heat_map import plot_heat_map
from studies.paper.drawing.panel import Panel
from studies.paper.drawing.table import plot_table
from studies.paper.drawing.toy import plot_toy

__all__ = ["Panel", "plot_differences", "plot_heat_map", "plot_table", "plot_toy"]
