"""Two domains and what several systems make of them: a panel each, and one legend for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus._core.validation import UNLABELLED, BoolArray, FloatArray
from isthmus.exceptions import InputError
from isthmus.view.canvas import (
    FAINT,
    INK,
    OKABE_ITO,
    SOURCE_MARKER,
    TARGET_MARKER,
    TEN_COLOURS,
    choose_colours,
    make_legend_entry,
)
from studies.paper.drawing.canvas import DOUBT, NORMAL, SMALL, empty_figure
from studies.paper.drawing.grid import TICKS, TITLE, Grid
from studies.paper.drawing.panel import Panel


def plot_toy(panels: Sequence[Panel], *, title: str | None = None) -> Any:
    """A grid of panels: the data of either domain, then both domains in the common space of one system after another.

    A circle is a source row, a triangle a target row, and the colour is the class. Unlabelled target rows are hollow,
    and coloured by the true class where the panel gives it; labelled ones are large, with a dark edge, so that
    one sees how they were chosen. Points of three columns get three axes. A unit is as long on one axis as on the
    other: distances can be compared within a panel, not between two. Points on a line (a second column that is
    constant) are drawn in two bands, one per domain.

    Parameters
    ----------
    panels : sequence of Panel
        In the order of reading.
    title : str, optional
        Above all.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> points, classes = np.eye(4)[:, :2], np.array([0, 0, 1, 1])
    >>> data = Panel("Source", points, classes)
    >>> both = Panel("CCA", points, classes, points + 1, np.array([0, -1, 1, -1]), classes, "accuracy 87 %")
    >>> [ax.get_title() for ax in plot_toy([data, both]).axes]
    ['Source', 'CCA']
    """
    if len(panels) == 0 or not all(isinstance(panel, Panel) for panel in panels):
        kinds = ", ".join(sorted({type(panel).__name__ for panel in panels})) or "none"
        raise InputError(f"panels: expected at least one Panel and nothing else, got {kinds}.")
    classes = sorted(
        {label for panel in panels for label in panel.classes}, key=lambda label: (str(type(label)), label)
    )
    scheme = OKABE_ITO if len(classes) <= len(OKABE_ITO) else TEN_COLOURS
    colours = choose_colours(classes, scheme)
    grid = Grid.of(panels, 0.0 if title is None else TITLE)
    figure = empty_figure(grid.height, title)
    figure.set_layout_engine("none")  # three-dimensional axes and captions of unequal length are beyond it
    for place, panel in enumerate(panels):
        projection = "3d" if panel.n_dimensions == 3 else None
        _draw(figure.add_axes(grid.box(place), projection=projection), panel, colours)
    _explain(figure, panels, colours, grid.height)
    return figure


def _draw(ax: Any, panel: Panel, colours: dict[Any, Any]) -> None:
    """Unlabelled rows lowest, then the source, then labelled rows."""
    shade = {"depthshade": False} if panel.n_dimensions == 3 else {}
    S, T = _apart(panel) if panel.is_line else (panel.source, panel.target)
    if T is not None:
        hidden: BoolArray = panel.target_labels == UNLABELLED
        shown = (panel.target_labels if panel.target_classes is None else panel.target_classes)[hidden]
        edges = [colours.get(label, FAINT) for label in shown.tolist()]
        _scatter(ax, T[hidden], TARGET_MARKER, 17, "none", edges, 0.8, zorder=2, **shade)
    if S is not None:
        faces = [colours.get(label, FAINT) for label in panel.source_labels.tolist()]
        _scatter(ax, S, SOURCE_MARKER, 11, faces, "none", 0.0, zorder=3, alpha=0.75, **shade)
    if T is not None:
        faces = [colours[label] for label in panel.target_labels[~hidden].tolist()]
        _scatter(ax, T[~hidden], TARGET_MARKER, 75, faces, INK, 1.1, zorder=4, **shade)
    _frame(ax, panel)


def _scatter(
    ax: Any, points: FloatArray, marker: str, size: float, faces: Any, edges: Any, width: float, **rest: Any
) -> None:
    if len(points):
        ax.scatter(*points.T, marker=marker, s=size, facecolors=faces, edgecolors=edges, linewidths=width, **rest)


def _apart(panel: Panel) -> tuple[FloatArray | None, FloatArray | None]:
    """Points of a line spread over two bands, the source above, so that they do not hide one another."""

    def band(points: FloatArray | None, middle: float) -> FloatArray | None:
        # Multiples of the golden ratio modulo one fill a band evenly, and the same way each time.
        return None if points is None else np.c_[points[:, 0], middle + (np.arange(len(points)) * 0.618034) % 1 - 0.5]

    return band(panel.source, 0.75), band(panel.target, -0.75)


def _frame(ax: Any, panel: Panel) -> None:
    ax.set_title(panel.title, fontsize=NORMAL + 1, color=INK, pad=5)
    ax.tick_params(labelsize=SMALL, length=2, width=0.5, color=FAINT, labelcolor=INK, pad=2)
    if panel.n_dimensions == 3:
        _three_axes(ax)
    else:
        ax.spines[:].set_color(FAINT)
        ax.margins(0.08)
        for axis in (ax.xaxis, ax.yaxis):
            axis.get_major_locator().set_params(nbins=4)
            axis.set_major_formatter(lambda value, _: f"{value:.3g}".replace("-", "−"))
        if panel.is_line:
            ax.set_ylim(-2.2, 2.2)
            ax.set_yticks([])
            said = "one dimension: height\nonly sets domains apart"
            ax.text(0.5, 0.98, said, transform=ax.transAxes, ha="center", va="top", fontsize=SMALL, color=DOUBT)
        else:
            ax.set_aspect("equal", adjustable="datalim")
    below = -TICKS / (ax.get_position().height * ax.figure.get_figheight())
    place = {"transform": ax.transAxes, "ha": "center", "va": "top", "fontsize": SMALL + 0.5, "color": INK}
    (ax.text2D if panel.n_dimensions == 3 else ax.text)(0.5, below, panel.caption, **place)


def _three_axes(ax: Any) -> None:
    ax.computed_zorder = False  # labelled rows stay in front, wherever they are
    ax.set_box_aspect(None, zoom=1.05)
    ax.view_init(elev=22, azim=-58)
    ax.tick_params(pad=-3)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis.line.set_color(FAINT)
        axis.get_major_locator().set_params(nbins=4)


def _explain(figure: Any, panels: Sequence[Panel], colours: dict[Any, Any], height: float) -> None:
    """Markers in one line, colours in the next."""
    classes = [make_legend_entry(f"class {label}", "s", 6, colour, colour) for label, colour in colours.items()]
    for keys, bottom in ((_markers(panels), 0.27), (classes, 0.05)):
        place = {
            "loc": "lower center",
            "bbox_to_anchor": (0.5, bottom / height),
            "borderaxespad": 0.0,
            "borderpad": 0.0,
        }
        figure.legend(handles=keys, ncols=max(len(keys), 1), frameon=False, fontsize=NORMAL, **place)


def _markers(panels: Sequence[Panel]) -> list[Any]:
    targets = [panel for panel in panels if panel.target is not None]
    keys = []
    if any(panel.source is not None for panel in panels):
        keys.append(make_legend_entry("source row (labelled)", SOURCE_MARKER, 4, INK, "none"))
    if any((panel.target_labels != UNLABELLED).any() for panel in targets):
        keys.append(make_legend_entry("target row, labelled", TARGET_MARKER, 8, FAINT, INK, markeredgewidth=1.1))
    hidden = [panel for panel in targets if (panel.target_labels == UNLABELLED).any()]
    if hidden:
        true = all(panel.target_classes is not None for panel in hidden)
        words = "target row, unlabelled (colour: its true class)" if true else "target row, unlabelled"
        keys.append(make_legend_entry(words, TARGET_MARKER, 4.5, "none", INK if true else FAINT, markeredgewidth=0.8))
    return keys
