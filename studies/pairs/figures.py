"""Curves over the number of known pairs, one panel for each data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from scipy.stats import t as student

from isthmus._core.validation import FloatArray
from isthmus.study.board import Board
from isthmus.view.canvas import FAINT, INK, OKABE_ITO
from studies.pairs.tables import values
from studies.paper.drawing.canvas import NORMAL, SMALL, empty_figure, fix_layout, plain

COLUMNS, PANEL_HEIGHT = 4, 1.7
MARKERS = "o", "s", "D", "^", "v", "P", "X"
DASHES = ((0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), "-")
CONTROL = "#767676"


@dataclass(frozen=True)
class Line:
    """How a system is drawn, the same in every panel."""

    name: str
    colour: str
    dash: Any
    marker: str


def lines(systems: Sequence[str], controls: Sequence[str]) -> list[Line]:
    """Systems in colours with markers, controls in grey with dashes."""
    drawn = [Line(name, OKABE_ITO[k % 7], "-", MARKERS[k % 7]) for k, name in enumerate(systems)]
    return drawn + [Line(name, CONTROL, DASHES[k % 4], "") for k, name in enumerate(controls)]


def curves(
    found: Mapping[str, Board],
    systems: Sequence[str],
    controls: Sequence[str],
    title: str,
    measure: str,
    figure: str | None = None,
) -> Any:
    """A matplotlib figure: means over the seeds with 95 % intervals, against the number of pairs.

    Parameters
    ----------
    found : mapping of str to Board
        By the number of pairs.
    systems, controls : sequence of str
        Which columns are drawn.
    title, measure : str
        Above all, and beside the axis.
    figure : str, optional
        Another number of the records than their score.
    """
    groups = next(iter(found.values())).groups
    columns = min(COLUMNS, len(groups))
    rows = ceil(len(groups) / columns)
    page = empty_figure(rows * PANEL_HEIGHT + 1.1, title)
    axes = page.subplots(rows, columns, squeeze=False, sharex=True)
    x = np.array([float(variant) for variant in found])
    styles = lines(systems, controls)
    for k, ax in enumerate(axes.ravel()):
        if k >= len(groups):
            ax.set_visible(False)
            continue
        for style in styles:
            _draw(ax, x, np.array([values(board, style.name, figure)[k] for board in found.values()]), style)
        _dress(ax, x, groups[k], measure if k % columns == 0 else "", k // columns == rows - 1)
    handles = axes[0, 0].get_legend_handles_labels()
    page.legend(*handles, loc="outside lower center", ncols=4, frameon=False, fontsize=SMALL, handlelength=2.6)
    return fix_layout(page)


def _draw(ax: Any, x: FloatArray, y: FloatArray, style: Line) -> None:
    """One curve; trials that are missing leave a gap, and a system that is nowhere there still has its key."""
    mean = y.mean(axis=1)
    half = np.zeros_like(mean)
    if y.shape[1] > 1:
        half = student.ppf(0.975, y.shape[1] - 1) * y.std(axis=1, ddof=1) / np.sqrt(y.shape[1])
    if style.marker:
        ends = mean - np.maximum(mean - half, 0.0), np.minimum(mean + half, 100.0) - mean
        ax.errorbar(x, mean, yerr=ends, fmt="none", ecolor=style.colour, elinewidth=0.7, alpha=0.6)
    ax.plot(
        x,
        mean,
        color=style.colour,
        linestyle=style.dash,
        marker=style.marker,
        ms=3.0,
        linewidth=1.1 if style.marker else 0.9,
        label=style.name,
    )


def _dress(ax: Any, x: FloatArray, name: str, measure: str, last: bool) -> None:
    plain(ax)
    ax.set_xscale("log")
    ax.set_xticks(x, [f"{value:g}" for value in x])
    ax.minorticks_off()
    ax.set_ylim(bottom=0.0)
    ax.grid(axis="y", color=FAINT, linewidth=0.3)
    ax.set_title(name, fontsize=NORMAL, color=INK)
    ax.set_ylabel(measure, fontsize=SMALL, color=INK)
    if last:
        ax.set_xlabel("known pairs", fontsize=SMALL, color=INK)
