"""A score over two parameters, as a map of cells with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus._core.validation import BoolArray, FloatArray
from isthmus.exceptions import InputError
from isthmus.view.canvas import INK, make_legend_entry
from studies.paper.drawing.canvas import NORMAL, SMALL, array_of_shape, empty_figure, fix_layout, name_list

COLOUR_MAP = "cividis"
"""Perceptually uniform, and the same to readers with and without a red-green deficiency."""
CELL = 0.52, 0.72
"""Height and width, inches."""
CORNER = ((-0.5, 0.5), (0.5, 0.5), (0.5, -0.5))


def plot_heat_map(
    values: Any,
    rows: Sequence[float],
    columns: Sequence[float],
    *,
    row_name: str,
    column_name: str,
    title: str | None = None,
    default: tuple[int, int] | None = None,
    spread: Any = None,
    marked: Any = None,
    unit: str = "accuracy, %",
) -> Any:
    """A value for every pair of two parameters, written in its cell and told by its colour.

    The first row is at the bottom, as on a vertical axis. Powers of ten are labelled as such.

    Parameters
    ----------
    values : array (n_rows, n_columns)
        NaN where there is none.
    rows, columns : sequence of float
        The parameters.
    row_name, column_name : str
        What they are called.
    title : str, optional
        Above all.
    default : (int, int), optional
        Row and column of the cell to outline as the default setting.
    spread : array (n_rows, n_columns), optional
        Standard deviations, written under the values.
    marked : array of bool (n_rows, n_columns), optional
        Cells where a run did not converge: they get a filled corner.
    unit : str
        What the values are.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> figure = plot_heat_map([[40.1, 41.0], [43.2, 42.9]], [0.1, 1.0], [1.0, 10.0], row_name="λ1",
    ...                        column_name="λ2", default=(1, 1))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['40.1', '41.0', '43.2', '42.9']
    """
    row_labels, column_labels = name_list(rows, "rows"), name_list(columns, "columns")
    shape = len(row_labels), len(column_labels)
    V = array_of_shape(values, "values", shape, "rows and columns")
    spreads = np.full(shape, np.nan) if spread is None else array_of_shape(spread, "spread", shape, "values")
    marks = np.zeros(shape) if marked is None else array_of_shape(marked, "marked", shape, "values")
    if default is not None and not (len(default) == 2 and 0 <= default[0] < shape[0] and 0 <= default[1] < shape[1]):
        raise InputError(f"default: expected a row below {shape[0]} and a column below {shape[1]}, got {default!r}.")
    width = min(max(shape[1] * CELL[1] + 1.6, 4.0), 7.2)
    figure = empty_figure(shape[0] * CELL[0] + 1.3, title, width=width)
    ax = figure.add_subplot()
    image = ax.imshow(V, cmap=COLOUR_MAP, origin="lower", aspect="auto", **_limits(V))
    bar = figure.colorbar(image, ax=ax, fraction=0.05, pad=0.02)
    bar.set_label(unit, fontsize=NORMAL, color=INK)
    bar.ax.tick_params(labelsize=SMALL)
    bar.outline.set_visible(False)
    _write(ax, V, spreads, image)
    _mark(ax, marks != 0, image, V)
    _name_axes(ax, rows, columns, row_name, column_name)
    _explain(figure, ax, default, bool((marks != 0).any()))
    return fix_layout(figure)


def _limits(V: FloatArray) -> dict[str, float]:
    """The range of the colours: never less than a point, so that noise does not look like a slope."""
    known = V[np.isfinite(V)]
    if not len(known):
        return {"vmin": 0.0, "vmax": 1.0}
    middle, half = (known.min() + known.max()) / 2, max((known.max() - known.min()) / 2, 0.5)
    return {"vmin": float(middle - half), "vmax": float(middle + half)}


def _inks(V: FloatArray, image: Any) -> list[list[str]]:
    """White on dark cells, black on light ones."""
    luminance = np.asarray(image.cmap(image.norm(V)))[..., :3] ** 2.2 @ (0.2126, 0.7152, 0.0722)
    light = luminance > 0.18  # where both inks have the same contrast
    light |= np.isnan(V)  # an empty cell is white
    return [["black" if cell else "white" for cell in row] for row in light.tolist()]


def _write(ax: Any, V: FloatArray, spreads: FloatArray, image: Any) -> None:
    inks = _inks(V, image)
    for i, j in np.ndindex(V.shape):
        if np.isnan(V[i, j]):
            ax.text(j, i, "–", ha="center", va="center", fontsize=NORMAL, color=INK)
            continue
        plus = f"\n±{spreads[i, j]:.1f}" if np.isfinite(spreads[i, j]) else ""
        ax.text(j, i, f"{V[i, j]:.1f}{plus}", ha="center", va="center", fontsize=NORMAL, color=inks[i][j])


def _mark(ax: Any, marks: BoolArray, image: Any, V: FloatArray) -> None:
    from matplotlib.patches import Polygon

    inks = _inks(V, image)
    for i, j in np.argwhere(marks).tolist():
        corner = [(j + 0.5, i + 0.5), (j + 0.2, i + 0.5), (j + 0.5, i + 0.2)]
        ax.add_patch(Polygon(corner, facecolor=inks[i][j], edgecolor="none"))


def _name_axes(ax: Any, rows: Sequence[float], columns: Sequence[float], row_name: str, column_name: str) -> None:
    ax.set_yticks(range(len(rows)), [_label(value) for value in rows], fontsize=NORMAL)
    ax.set_xticks(range(len(columns)), [_label(value) for value in columns], fontsize=NORMAL)
    ax.set_ylabel(row_name, fontsize=NORMAL + 1, color=INK)
    ax.set_xlabel(column_name, fontsize=NORMAL + 1, color=INK)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _label(value: Any) -> str:
    """A power of ten as such, any other number in full, any other name as it is.

    >>> _label(0.01), _label(0.5), _label("none")
    ('$10^{-2}$', '0.5', 'none')
    """
    if not isinstance(value, int | float | np.number):
        return str(value)
    power = round(np.log10(value)) if value > 0 else 0
    return f"$10^{{{power}}}$" if np.isclose(value, 10.0**power, rtol=1e-9, atol=0) else f"{value:g}"


def _explain(figure: Any, ax: Any, default: tuple[int, int] | None, marks: bool) -> None:
    from matplotlib.patches import Patch, Rectangle

    keys: list[Any] = []
    if default is not None:
        i, j = default
        # Black in a white line is seen on every cell, in colour and in grey.
        for colour, width in (("white", 4.0), ("black", 1.8)):
            ax.add_patch(Rectangle((j - 0.46, i - 0.45), 0.92, 0.9, fill=False, edgecolor=colour, linewidth=width))
        keys.append(Patch(facecolor="none", edgecolor="black", linewidth=1.8, label="the default setting"))
    if marks:
        keys.append(make_legend_entry("a run here did not converge", CORNER, 7, INK, "none"))
    if keys:
        figure.legend(handles=keys, loc="outside lower center", ncols=2, frameon=False, fontsize=NORMAL)
