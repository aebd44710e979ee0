"""Paired differences with their intervals, around zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus._core.validation import BoolArray, FloatArray, check_length
from isthmus.exceptions import InputError
from isthmus.view.canvas import INK, make_legend_entry
from studies.paper.drawing import canvas
from studies.paper.drawing.canvas import DOUBT, GAIN, LOSS, NORMAL, PAPER, SMALL

LINE_HEIGHT = 0.2
"""Inches."""


def plot_differences(
    names: Sequence[str],
    means: Any,
    lows: Any,
    highs: Any,
    *,
    title: str | None = None,
    groups: Sequence[str] | None = None,
    decided: Sequence[bool] | None = None,
    unit: str = "difference in accuracy, points",
) -> Any:
    """A forest plot: for each comparison the mean difference and its interval, and a line at zero.

    Blue and filled where the whole interval is above zero, red and filled where it is below, grey and hollow where
    zero is in it: then the sign is not known. The numbers stand to the right.

    Parameters
    ----------
    names : sequence of str
        What is compared, from top to bottom.
    means, lows, highs : array (n,)
        Mean differences and the ends of their intervals.
    title : str, optional
        Above all.
    groups : sequence of str, optional
        The group of each comparison; a new group begins under a heading of its own.
    decided : sequence of bool, optional
        Whether the sign of each difference counts as known, by a test that knows of the other comparisons, say.
        By default: where zero is not in the interval.
    unit : str
        What the differences are.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> figure = plot_differences(["MLHD - ARC", "MLHD - SVM"], [1.2, -0.3], [0.4, -1.0], [2.0, 0.4])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['+1.2  [+0.4, +2.0]', '−0.3  [−1.0, +0.4]']
    """
    labels = canvas.name_list(names, "names")
    n = len(labels)
    given = {"means": means, "lows": lows, "highs": highs}
    mean, low, high = (canvas.array_of_shape(values, name, (n,), "names") for name, values in given.items())
    if np.isnan([mean, low, high]).any():
        raise InputError("means, lows, highs: expected numbers, got NaN.")
    if (low > mean).any() or (mean > high).any():
        raise InputError("lows, highs: expected an interval around each mean, got one that leaves it out.")
    for values, name in ((groups, "groups"), (decided, "decided")):
        if values is not None:
            check_length(values, n, name, "names")
    known = (low > 0) | (high < 0) if decided is None else np.array(decided, dtype=bool)
    places, headings = _places(n, groups)
    figure = canvas.empty_figure((n + len(headings)) * LINE_HEIGHT + 1.25, title)
    ax = figure.add_subplot()
    _draw(ax, places, mean, low, high, known)
    _name(ax, places, labels, headings)
    ax.set_xlabel(unit, fontsize=NORMAL, color=INK)
    figure.legend(
        handles=_keys(decided is not None), loc="outside lower center", ncols=3, frameon=False, fontsize=NORMAL
    )
    return canvas.fix_layout(figure)


def _places(n: int, groups: Sequence[str] | None) -> tuple[list[int], dict[int, str]]:
    """The line of each comparison, counted from the top, and the lines of the headings."""
    if groups is None:
        return list(range(n)), {}
    places: list[int] = []
    headings: dict[int, str] = {}
    for k in range(n):
        if k == 0 or groups[k] != groups[k - 1]:
            headings[k + len(headings)] = str(groups[k])
        places.append(k + len(headings))
    return places, headings


def _draw(ax: Any, places: list[int], mean: FloatArray, low: FloatArray, high: FloatArray, known: BoolArray) -> None:
    for k, place in enumerate(places):
        colour = DOUBT if not known[k] else GAIN if mean[k] > 0 else LOSS
        if k % 2:
            ax.axhspan(place - 0.5, place + 0.5, color=PAPER, zorder=0, linewidth=0)
        ax.plot([low[k], high[k]], [place, place], color=colour, linewidth=1.4, solid_capstyle="butt", zorder=2)
        face = "white" if colour == DOUBT else colour
        ax.plot(mean[k], place, "o", ms=4.5, mfc=face, mec=colour, zorder=3)
        rounded = [round(float(value[k]), 1) + 0.0 for value in (mean, low, high)]  # + 0.0: no minus before a zero
        numbers = "{:+.1f}  [{:+.1f}, {:+.1f}]".format(*rounded).replace("-", "−")
        ax.annotate(
            numbers, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=SMALL, color=INK
        )
    ax.axvline(0.0, color=INK, linewidth=0.8, zorder=1)


def _name(ax: Any, places: list[int], labels: list[str], headings: dict[int, str]) -> None:
    lines = dict(zip(places, labels, strict=True)) | headings
    ax.set_yticks(sorted(lines), [lines[place] for place in sorted(lines)])
    canvas.plain(ax)
    ax.tick_params(axis="y", length=0, labelsize=NORMAL)
    ax.spines["left"].set_visible(False)
    for place, tick in zip(sorted(lines), ax.get_yticklabels(), strict=True):
        tick.set_fontweight("bold" if place in headings else "normal")
    ax.set_ylim(max(lines) + 0.6, -0.6)
    ax.margins(x=0.05)


def _keys(tested: bool) -> list[Any]:
    above, below, open_ = "interval above zero", "interval below zero", "zero inside: sign not known"
    if tested:
        above, below, open_ = "shown to be above zero", "shown to be below zero", "not shown"
    meanings = ((above, GAIN, GAIN), (below, LOSS, LOSS), (open_, "white", DOUBT))
    return [
        make_legend_entry(label, "o", 4.5, face, edge, color=edge, linestyle="-") for label, face, edge in meanings
    ]
