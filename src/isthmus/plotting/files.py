"""Figures as files: the same picture gives the same bytes, and a file is there whole or not at all."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import Any

from isthmus.exceptions import InputError
from isthmus.plotting.canvas import DPI
from isthmus.storage.writing import write_bytes

# Neither the day nor the version of the drawing library belongs to the picture.
METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


def save_figure(figure: Any, path: str | os.PathLike[str]) -> list[Path]:
    """Write a figure as PNG and as SVG, and return the two paths.

    Both are drawn before either is written, and no reader sees half a file. The figure stays the caller's.

    Parameters
    ----------
    figure : matplotlib Figure
        What to write.
    path : path
        Where, without a suffix: ``"results/table1"`` gives ``results/table1.png`` and ``results/table1.svg``. The
        folder must exist.

    Returns
    -------
    list of Path

    Examples
    --------
    >>> import tempfile
    >>> from isthmus.plotting import plot_differences
    >>> figure = plot_differences(["ours - theirs"], [1.0], [0.5], [1.5], title="An example")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_figure(figure, f"{folder}/example")]
    ['example.png', 'example.svg']
    """
    stem = Path(path)
    if not stem.name or not stem.parent.is_dir():
        raise InputError(f"path: expected a file name in a folder that exists, got {str(path)!r}.")
    contents = {stem.with_name(f"{stem.name}.{kind}"): _bytes(figure, kind) for kind in METADATA}
    for destination, content in contents.items():
        write_bytes(destination, content)
    return list(contents)


def _bytes(figure: Any, kind: str) -> bytes:
    from matplotlib import rc_context

    drawn = BytesIO()
    # The salt stands for the random one that would name the parts of an SVG file otherwise.
    with rc_context({"svg.hashsalt": "isthmus", "svg.fonttype": "path"}):
        figure.savefig(drawn, format=kind, dpi=DPI, metadata=METADATA[kind])
    return drawn.getvalue()
