"""Colours and markers that every picture shares: a domain is a marker, a class is a colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus._arrays import IntArray

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


def class_colours(classes: IntArray, colours: Sequence[str] = TEN_COLOURS) -> dict[Any, Any]:
    """A colour for each class: of these as far as they go, of a rainbow beyond."""
    if len(classes) <= len(colours):
        return dict(zip(classes.tolist(), colours, strict=False))
    from matplotlib import colormaps

    return dict(zip(classes.tolist(), colormaps["turbo"](np.linspace(0.05, 0.95, len(classes))), strict=True))
