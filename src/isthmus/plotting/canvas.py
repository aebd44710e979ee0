"""What figures share: sizes, checked numbers, files, and matplotlib, asked for only when something is drawn."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.plotting.palette import FAINT, INK
from isthmus.storage.files import write_bytes

SMALL, NORMAL, LARGE = 7.0, 8.0, 9.5
"""Sizes of type in points. Figures are made as wide as a page, so this is their size in print."""
PAGE_WIDTH, DPI = 7.2, 150
"""Inches, and dots per inch."""
TITLE_LETTERS = 80
"""How many letters of a title fit into a line."""
# Neither the day nor the version of the drawing library belongs to the picture.
METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


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


def pyplot() -> Any:
    """The module of that name, for figures that the user may want shown."""
    try:
        from matplotlib import pyplot
    except ImportError:
        message = 'Pictures need matplotlib, which is not installed: pip install "isthmus[plot]".'
        raise MissingDependencyError(message) from None
    return pyplot


def empty_figure(height: float, title: str | None = None, *, width: float = PAGE_WIDTH) -> Any:
    """A figure of a page's width that belongs to the caller alone: pyplot neither keeps nor shows it."""
    figure = pyplot().Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")
    if title is not None:
        figure.suptitle("\n".join(textwrap.wrap(title, TITLE_LETTERS)), fontsize=LARGE, color=INK)
    return figure


def settled(figure: Any) -> Any:
    """The figure with everything where the layout engine put it, for good.

    The engine improves a little on its own result at every drawing: the same figure would be saved as other bytes
    the second time.
    """
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")
    return figure


def key(label: str, marker: Any, size: float, face: Any, edge: Any, **line: Any) -> Any:
    """An entry of a legend: a marker and its meaning."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"linestyle": "none"} | line, label=label, marker=marker, ms=size, mfc=face, mec=edge)


def plain(ax: Any) -> None:
    """Only the lower and left edge, thin, with small type."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(labelsize=SMALL, length=2, width=0.5, color=FAINT, labelcolor=INK)


def save_figure(figure: Any, path: str | os.PathLike[str]) -> list[Path]:
    """Write a figure as PNG and as SVG, and return the two paths.

    Both are drawn before either is written, and no reader sees half a file. The figure stays the caller's.

    Parameters
    ----------
    figure : matplotlib Figure
    path : path
        Where, without a suffix: ``"results/table1"`` gives ``results/table1.png`` and ``results/table1.svg``. The
        folder must exist.

    Examples
    --------
    >>> import tempfile
    >>> from isthmus.plotting import plot_differences
    >>> figure = plot_differences(["ours - theirs"], [1.0], [0.5], [1.5], title="An example")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_figure(figure, f"{folder}/example")]
    ['example.png', 'example.svg']
    """
    from matplotlib import rc_context

    stem = Path(path)
    if not stem.name or not stem.parent.is_dir():
        raise InputError(f"path: expected a file name in a folder that exists, got {str(path)!r}.")
    drawn = {stem.with_name(f"{stem.name}.{kind}"): BytesIO() for kind in METADATA}
    # The salt stands for the random one that would name the parts of an SVG file otherwise.
    with rc_context({"svg.hashsalt": "isthmus", "svg.fonttype": "path"}):
        for kind, content in zip(METADATA, drawn.values(), strict=True):
            figure.savefig(content, format=kind, dpi=DPI, metadata=METADATA[kind])
    for destination, content in drawn.items():
        write_bytes(destination, content.getvalue())
    return list(drawn)
