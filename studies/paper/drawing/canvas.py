"""What the figures of the experiments share: sizes, colours, and checked numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.exceptions import InputError
from isthmus.view.canvas import DPI, FAINT, INK, new_figure

PAPER = "#f3f3f3"
"""Every second row of a table."""
GAIN, LOSS, DOUBT = "#0072b2", "#d55e00", "#767676"
SMALL, NORMAL, LARGE = 7.0, 8.0, 9.5
"""Sizes of type in points. Figures are made as wide as a page, so this is their size in print."""
PAGE_WIDTH = 7.2
"""Inches."""
TITLE_LETTERS = 80
"""How many letters of a title fit into a line."""


def array_of_shape(values: Any, name: str, shape: tuple[int, ...], like: str) -> FloatArray:
    """A float array of the shape that ``like`` asks for, the caller's own untouched; NaN allowed, infinity not."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected numbers in shape {shape} to match {like}, got something else.") from None
    if array.shape != shape:
        raise InputError(f"{name}: expected shape {shape} to match {like}, got {array.shape}.")
    if np.isinf(array).any():
        raise InputError(f"{name}: expected finite numbers, or NaN where there is none, got inf.")
    return array


def name_list(values: Sequence[Any], name: str) -> list[str]:
    """At least one name."""
    if isinstance(values, str) or len(values) == 0:
        raise InputError(f"{name}: expected a sequence of at least one name, got {values!r}.")
    return [str(value) for value in values]


def empty_figure(height: float, title: str | None = None, *, width: float = PAGE_WIDTH) -> Any:
    """A figure of a page's width that belongs to the caller alone."""
    figure = new_figure(width, height, dpi=DPI, facecolor="white")
    if title is not None:
        figure.suptitle("\n".join(textwrap.wrap(title, TITLE_LETTERS)), fontsize=LARGE, color=INK)
    return figure


def fix_layout(figure: Any) -> Any:
    """The figure with everything where the layout engine put it, for good.

    The engine improves a little on its own result at every drawing: the same figure would be saved as other bytes
    the second time.
    """
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")
    return figure


def plain(ax: Any) -> None:
    """Only the lower and left edge, thin, with small type."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(labelsize=SMALL, length=2, width=0.5, color=FAINT, labelcolor=INK)
