"""What pictures share: matplotlib, asked for only when something is drawn, entries of legends, and files."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import Any

from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.storage.files import write_bytes

DPI = 150
"""Dots per inch."""
# Neither the day nor the version of the drawing library belongs to the picture.
METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


def pyplot() -> Any:
    """The module of that name, for figures that the user may want shown."""
    try:
        from matplotlib import pyplot
    except ImportError:
        message = 'Pictures need matplotlib, which is not installed: pip install "isthmus[plot]".'
        raise MissingDependencyError(message) from None
    return pyplot


def key(label: str, marker: Any, size: float, face: Any, edge: Any, **line: Any) -> Any:
    """An entry of a legend: a marker and its meaning."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"linestyle": "none"} | line, label=label, marker=marker, ms=size, mfc=face, mec=edge)


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
    drawn = {stem.with_name(f"{stem.name}.{kind}"): BytesIO() for kind in METADATA}
    # The salt stands for the random one that would name the parts of an SVG file otherwise.
    with rc_context({"svg.hashsalt": "isthmus", "svg.fonttype": "path"}):
        for kind, content in zip(METADATA, drawn.values(), strict=True):
            figure.savefig(content, format=kind, dpi=DPI, metadata=METADATA[kind])
    for destination, content in drawn.items():
        write_bytes(destination, content.getvalue())
    return list(drawn)
