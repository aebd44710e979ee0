"""The canvas of all plots: colours and markers, figures of matplotlib (loaded on first use), and files."""

from __future__ import annotations

import colorsys
import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from isthmus._core.files import write_whole
from isthmus.exceptions import InputError, import_extra

# The colours of text, and of what is unknown.
INK, FAINT = "#222222", "#c0c0c0"
# Paul Tol's "muted" scheme, safe for colour-blind readers, and black; no grey, which means unlabelled.
TEN_COLOURS = (
    *("#cc6677", "#332288", "#ddcc77", "#117733", "#88ccee"),
    *("#882255", "#44aa99", "#999933", "#aa4499", "#000000"),
)
# Okabe and Ito's scheme, without its yellow, which is lost on white. The first three also differ in grey.
OKABE_ITO = ("#0072b2", "#e69f00", "#000000", "#d55e00", "#56b4e9", "#009e73", "#cc79a7")
# A domain is a marker, a class is a colour.
SOURCE_MARKER, TARGET_MARKER = "o", "^"
# Dots per inch.
DPI = 150
# Without date and version of matplotlib, the same plot gives the same bytes.
METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
# The file formats of a plot.
FORMATS = tuple(METADATA)


def new_figure(width: float, height: float, **options: Any) -> Any:
    """Return a figure that belongs to the caller alone: pyplot neither keeps nor shows it."""
    figures = import_extra("matplotlib.figure", "plot", "Plots need")
    return figures.Figure(figsize=(width, height), layout="constrained", **options)


def get_axes(ax: Any, width: float, height: float) -> Any:
    """Return the axes to draw in: those of the caller, or those of a new figure."""
    return new_figure(width, height).subplots() if ax is None else ax


def remove_frame(ax: Any) -> Any:
    """Remove the box around axes, and return them."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def make_legend_entry(label: str, marker: Any, size: float, face: Any, edge: Any, **line: Any) -> Any:
    """Return an entry of a legend: a marker and its meaning."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"linestyle": "none"} | line, label=label, marker=marker, ms=size, mfc=face, mec=edge)


def choose_colours(classes: Sequence[Any], colours: Sequence[str] = TEN_COLOURS) -> dict[Any, str]:
    """Return a colour for each class: of the given colours where they suffice, of a colour wheel otherwise.

    Examples
    --------
    >>> choose_colours(["a", "b"], ["#000000", "#ffffff", "#808080"])
    {'a': '#000000', 'b': '#ffffff'}
    """
    if len(classes) > len(colours):
        wheel = (colorsys.hls_to_rgb(i / len(classes), 0.52, 0.55) for i in range(len(classes)))
        colours = ["#" + "".join(f"{round(255 * part):02x}" for part in rgb) for rgb in wheel]
    return dict(zip(classes, colours, strict=False))


def save_figure(figure: Any, path: str | os.PathLike[str]) -> list[Path]:
    """Write a figure as PNG and SVG, and return the two paths.

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
    drawn = {stem.with_name(f"{stem.name}.{kind}"): BytesIO() for kind in FORMATS}
    # A fixed salt: the parts of an SVG file get random names otherwise.
    with rc_context({"svg.hashsalt": "isthmus", "svg.fonttype": "path"}):
        for kind, content in zip(FORMATS, drawn.values(), strict=True):
            figure.savefig(content, format=kind, dpi=DPI, metadata=METADATA[kind])
    for destination, content in drawn.items():
        write_whole(destination, content.getvalue())
    return list(drawn)
