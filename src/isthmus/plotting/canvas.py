"""What pictures share: colours and markers, matplotlib, asked for only when something is drawn, and files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.storage.files import write_whole

INK, FAINT = "#222222", "#c0c0c0"
"""What is written, and what is unknown."""
# Paul Tol's "muted" scheme, safe for colour-blind readers, and black; no grey, which means unlabelled.
TEN_COLOURS = (
    *("#cc6677", "#332288", "#ddcc77", "#117733", "#88ccee"),
    *("#882255", "#44aa99", "#999933", "#aa4499", "#000000"),
)
# Okabe and Ito's scheme, without its yellow, which is lost on white. The first three also differ in grey.
OKABE_ITO = ("#0072b2", "#e69f00", "#000000", "#d55e00", "#56b4e9", "#009e73", "#cc79a7")
SOURCE_MARKER, TARGET_MARKER = "o", "^"
"""A domain is a marker, a class is a colour."""
DPI = 150
"""Dots per inch."""
# Neither the day nor the version of the drawing library belongs to the picture.
METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
KINDS = tuple(METADATA)
"""Of files that a picture is written to."""


def figure_type() -> Any:
    """Matplotlib's type of figures, or one sentence on what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        message = 'Pictures need matplotlib, which is not installed: pip install "isthmus[plot]".'
        raise MissingDependencyError(message) from None
    return Figure


def new_figure(width: float, height: float, **options: Any) -> Any:
    """A figure that belongs to the caller alone: pyplot neither keeps nor shows it."""
    return figure_type()(figsize=(width, height), layout="constrained", **options)


def given_or_new(ax: Any, width: float, height: float) -> Any:
    """The axes to draw in: those of the caller, or those of a new figure."""
    return new_figure(width, height).subplots() if ax is None else ax


def plain(ax: Any) -> Any:
    """The same axes without a box around them."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def beside(left: FloatArray, right: FloatArray, gap: float) -> FloatArray:
    """Points (m, 2), moved to the right of others (n, 2), with a gap in units of the width of these."""
    shift = left[:, 0].max() + gap * np.ptp(left[:, 0]) - right[:, 0].min()
    return np.column_stack([right[:, 0] + shift, right[:, 1]])


def name_clouds(ax: Any, clouds: Mapping[str, FloatArray]) -> None:
    """Write the name of each cloud of points above its middle, all at one height."""
    top = max(points[:, 1].max() for points in clouds.values())
    for name, points in clouds.items():
        middle = (points[:, 0].min() + points[:, 0].max()) / 2
        ax.annotate(name, (middle, top), (0, 8), textcoords="offset points", ha="center", va="bottom", color=INK)


def key(label: str, marker: Any, size: float, face: Any, edge: Any, **line: Any) -> Any:
    """An entry of a legend: a marker and its meaning."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"linestyle": "none"} | line, label=label, marker=marker, ms=size, mfc=face, mec=edge)


def class_colours(classes: IntArray, colours: Sequence[str] = TEN_COLOURS) -> dict[Any, Any]:
    """A colour for each class: of these as far as they go, of a rainbow beyond."""
    if len(classes) <= len(colours):
        return dict(zip(classes.tolist(), colours, strict=False))
    from matplotlib import colormaps

    return dict(zip(classes.tolist(), colormaps["turbo"](np.linspace(0.05, 0.95, len(classes))), strict=True))


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
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_figure(Figure(), f"{folder}/example")]
    ['example.png', 'example.svg']
    """
    from matplotlib import rc_context

    stem = Path(path)
    if not stem.name or not stem.parent.is_dir():
        raise InputError(f"path: expected a file name in a folder that exists, got {str(path)!r}.")
    drawn = {stem.with_name(f"{stem.name}.{kind}"): BytesIO() for kind in KINDS}
    # The salt stands for the random one that would name the parts of an SVG file otherwise.
    with rc_context({"svg.hashsalt": "isthmus", "svg.fonttype": "path"}):
        for kind, content in zip(KINDS, drawn.values(), strict=True):
            figure.savefig(content, format=kind, dpi=DPI, metadata=METADATA[kind])
    for destination, content in drawn.items():
        write_whole(destination, content.getvalue())
    return list(drawn)
