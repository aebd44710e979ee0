"""A table of accuracies as dots: the paper's systems, theirs and ours, and ours beside the controls."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.exceptions import InputError
from isthmus.view.canvas import INK, OKABE_ITO, make_legend_entry
from studies.paper.drawing import canvas
from studies.paper.drawing.canvas import DOUBT, NORMAL, PAPER, SMALL

ROW_HEIGHT = 0.36
"""Inches."""
MEAN = "mean"
SYSTEM_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<", ">", "p", "h", "d")


def plot_table(
    rows: Sequence[str],
    systems: Sequence[str],
    ours: Any,
    ours_sd: Any = None,
    paper: Any = None,
    controls: Collection[int] = (),
    *,
    title: str | None = None,
    focus: int | None = None,
    unit: str = "accuracy, %",
) -> Any:
    """Accuracies of several systems on several tasks: on the left against the paper's, on the right the controls.

    Left, every system that is not a control: a filled marker for ours, with a thin line of one standard deviation
    to either side, and an upright tick for the paper's, joined to it. Right, one system once more, filled, beside the
    controls, hollow. Every system has a lane of its own in each row. The last row is the mean over the others, for
    systems that have them all.

    Parameters
    ----------
    rows, systems : sequence of str
        Names, from top to bottom of the figure and of each row.
    ours : array (n_rows, n_systems)
        In percent; NaN where there is none.
    ours_sd : array (n_rows, n_systems), optional
        Standard deviations over the trials.
    paper : array (n_rows, n_systems), optional
        The published numbers; NaN where there is none.
    controls : collection of int
        Which systems are controls.
    title : str, optional
        Above all.
    focus : int, optional
        The system to show beside the controls: that of the highest mean of ours, if None.
    unit : str
        What the numbers are.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> figure = plot_table(["EN-FR"], ["ARC", "MLHD", "target-only"], [[45.0, 46.0, 44.0]], controls=[2])
    >>> [ax.get_title() for ax in figure.axes]
    ['Systems', 'MLHD beside the controls']
    """
    labels, shown = canvas.name_list(rows, "rows"), canvas.name_list(systems, "systems")
    shape = len(labels), len(shown)
    nothing = np.full(shape, np.nan)
    scores = canvas.array_of_shape(ours, "ours", shape, "rows and systems")
    sd = nothing if ours_sd is None else canvas.array_of_shape(ours_sd, "ours_sd", shape, "ours")
    theirs = nothing if paper is None else canvas.array_of_shape(paper, "paper", shape, "ours")
    tested = _find_systems(controls, focus, shape[1])
    best = focus if focus is not None else _highest(scores, tested)
    table = _Table([*labels, MEAN], _with_mean(scores), np.vstack([sd, nothing[:1]]), _with_mean(theirs))
    marks = _marks(shown, tested, sorted(set(controls)), best)

    figure = canvas.empty_figure((shape[0] + 1) * ROW_HEIGHT + 1.8, title)
    published = bool(np.isfinite(theirs).any())
    heading = "Systems: the paper and ours" if published else "Systems"
    axes = figure.subplots(1, 2 if controls else 1, sharey=True, sharex=True, squeeze=False)[0]
    _draw(axes[0], table, [marks[k] for k in tested], heading, unit)
    deviations = bool(np.isfinite(sd).any())
    _explain(figure, "left", [marks[k] for k in tested], published=published, deviations=deviations)
    if controls:
        beside = [marks[k] for k in (best, *sorted(set(controls)))]
        _draw(axes[1], replace(table, paper=table.paper * np.nan), beside, f"{shown[best]} beside the controls", unit)
        _explain(figure, "right", beside)
    return canvas.fix_layout(figure)


@dataclass(frozen=True, eq=False)
class _Table:
    """Rows by systems, the row of means last."""

    rows: list[str]
    ours: FloatArray
    sd: FloatArray
    paper: FloatArray


@dataclass(frozen=True)
class _Mark:
    """How a system is drawn everywhere."""

    system: int
    name: str
    marker: str
    colour: str
    face: str


def _find_systems(controls: Collection[int], focus: int | None, n_systems: int) -> list[int]:
    """The systems that are not controls."""
    if not set(controls) <= set(range(n_systems)):
        raise InputError(f"controls: expected positions from 0 to {n_systems - 1}, got {sorted(controls)}.")
    tested = [k for k in range(n_systems) if k not in controls]
    if not tested:
        raise InputError("controls: expected at least one system that is not a control, got none.")
    if focus is not None and focus not in tested:
        raise InputError(f"focus: expected the position of a system that is not a control, got {focus!r}.")
    return tested


def _highest(scores: FloatArray, tested: list[int]) -> int:
    """The system of the highest mean, among those with all rows; the last one if none has."""
    means = scores.mean(axis=0)
    return max(tested, key=lambda k: (-np.inf if np.isnan(means[k]) else means[k], k))


def _with_mean(values: FloatArray) -> FloatArray:
    """One more row: the mean of the others, NaN for a system that lacks one."""
    return np.vstack([values, values.mean(axis=0)])


def _marks(systems: list[str], tested: list[int], controls: list[int], best: int) -> dict[int, _Mark]:
    """Systems are filled, controls hollow; no control has the colour of the system it stands beside."""
    marks = {}
    for place, k in enumerate(tested):
        colour = OKABE_ITO[place % len(OKABE_ITO)]
        marks[k] = _Mark(k, systems[k], SYSTEM_MARKERS[place % len(SYSTEM_MARKERS)], colour, colour)
    others = [colour for colour in (*OKABE_ITO, DOUBT) if colour != marks[best].colour]
    for place, k in enumerate(controls):
        marker, colour = SYSTEM_MARKERS[place % len(SYSTEM_MARKERS)], others[place % len(others)]
        marks[k] = _Mark(k, systems[k], marker, colour, "white")
    return marks


def _draw(ax: Any, table: _Table, marks: list[_Mark], heading: str, unit: str) -> None:
    n = len(table.rows)
    for row in range(0, n, 2):
        ax.axhspan(row - 0.5, row + 0.5, color=PAPER, linewidth=0, zorder=0)
    lanes = (np.arange(len(marks)) - (len(marks) - 1) / 2) * min(0.84 / len(marks), 0.2)
    for lane, mark in zip(lanes, marks, strict=True):
        _lane(
            ax, np.arange(n) + lane, mark, *(values[:, mark.system] for values in (table.ours, table.sd, table.paper))
        )
    ax.axhline(n - 1.5, color=INK, linewidth=0.6)
    ax.set_yticks(range(n), table.rows)
    ax.set_ylim(n - 0.5, -0.5)
    canvas.plain(ax)
    ax.tick_params(axis="y", length=0, labelsize=NORMAL)
    ax.set_axisbelow(True)
    ax.grid(axis="x", color="#e2e2e2", linewidth=0.7)
    ax.set_title(heading, fontsize=NORMAL + 1, color=INK)
    ax.set_xlabel(unit, fontsize=NORMAL, color=INK)


def _lane(ax: Any, y: FloatArray, mark: _Mark, ours: FloatArray, sd: FloatArray, paper: FloatArray) -> None:
    """One system in all rows: deviation, join, tick of the paper, marker of ours."""
    ax.hlines(y, ours - sd, ours + sd, color=mark.colour, linewidth=0.7, alpha=0.45, zorder=1.5)
    ax.hlines(y, paper, ours, color=mark.colour, linewidth=1.5, alpha=0.45, zorder=2)
    ax.plot(paper, y, "|", color=mark.colour, ms=6, mew=1.3, zorder=3)
    ax.plot(ours, y, mark.marker, mfc=mark.face, mec=mark.colour, mew=0.9, ms=3.8, zorder=4)


def _explain(
    figure: Any, side: str, marks: list[_Mark], *, published: bool = False, deviations: bool = False
) -> None:
    keys = [make_legend_entry(mark.name, mark.marker, 4.5, mark.face, mark.colour) for mark in marks]
    if published:
        keys.append(make_legend_entry("the paper, joined to ours", "|", 7, DOUBT, DOUBT, markeredgewidth=1.3))
    if deviations:
        keys.append(
            make_legend_entry(
                "± one standard deviation", "", 0, "none", "none", color=DOUBT, linestyle="-", linewidth=0.7
            )
        )
    figure.legend(
        handles=keys, loc=f"outside lower {side}", ncols=2, frameon=False, fontsize=SMALL + 0.5, columnspacing=1.0,
        handletextpad=0.4,
    )  # fmt: skip
