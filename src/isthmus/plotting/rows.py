"""Rows of two domains as points of a plane: a domain is a marker, a class is a colour."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray
from isthmus._validation import length
from isthmus.domains import UNLABELLED
from isthmus.plotting.canvas import FAINT, INK, SOURCE_MARKER, TARGET_MARKER, class_colours, key, plain


@dataclass(frozen=True, eq=False)
class Rows:
    """What is known of the rows: classes of the source, of the target (-1: none), and those to colour it by."""

    y_source: NDArray[Any]
    y_target: NDArray[Any]
    shown: NDArray[Any]
    coloured: bool
    """Whether unlabelled rows have the colours of their true classes."""

    @classmethod
    def of(cls, X_source: Any, y_source: Any, X_target: Any, y_target: Any, truth: Any) -> Self:
        """Checked against the rows."""
        known = y_target if truth is None else truth
        lengths = (y_source, X_source, "source"), (y_target, X_target, "target")
        for y, X, name in lengths:
            length(y, _count(X), f"y_{name}", f"X_{name}")
        length(known, _count(X_target), "truth", "X_target")
        return cls(np.asarray(y_source), np.asarray(y_target), np.asarray(known), truth is not None)

    @cached_property
    def colours(self) -> dict[Any, Any]:
        """A colour for each class."""
        return class_colours(np.unique(np.concatenate([self.y_source, self.shown[self.shown != UNLABELLED]])))

    def draw(self, ax: Any, S: FloatArray, T: FloatArray) -> None:
        """Points (n_s, 2) and (n_t, 2): unlabelled rows lowest, then the source, then labelled rows and names."""
        from matplotlib.patheffects import withStroke

        hidden = self.y_target == UNLABELLED
        edges = [self.colours.get(label, FAINT) for label in self.shown[hidden].tolist()]
        hollow = {"facecolors": "none", "edgecolors": edges, "linewidths": 0.7, "alpha": 0.75}
        ax.scatter(*T[hidden].T, marker=TARGET_MARKER, s=16, **hollow)
        dots, stars = ([self.colours[label] for label in y.tolist()] for y in (self.y_source, self.y_target[~hidden]))
        ax.scatter(*S.T, marker=SOURCE_MARKER, s=14, c=dots, linewidths=0, alpha=0.8)
        ax.scatter(*T[~hidden].T, marker="*", s=170, c=stars, edgecolors=INK, linewidths=0.9, zorder=3)
        style = {"ha": "center", "va": "center", "fontsize": 13, "fontweight": "bold", "color": INK, "zorder": 4}
        halo = [withStroke(linewidth=3, foreground="white")]
        for label in np.unique(self.y_source).tolist():
            ax.annotate(str(label), S[self.y_source == label].mean(axis=0), path_effects=halo, **style)
        ax.set_aspect("equal", adjustable="datalim")
        plain(ax)

    def explain(self, ax: Any) -> None:
        """Markers and colours, to the right of the picture."""
        hidden = int(np.count_nonzero(self.y_target == UNLABELLED))
        keys = [key("source row", SOURCE_MARKER, 5, INK, INK)]
        if hidden < len(self.y_target):
            keys.append(key("target row, labelled", "*", 12, "white", INK))
        if hidden:
            known = "target row, unlabelled\n(coloured by the truth)" if self.coloured else "target row, unlabelled"
            keys.append(key(known, TARGET_MARKER, 5, "none", INK if self.coloured else FAINT))
        keys += [key(f"class {label}", "s", 7, colour, colour) for label, colour in self.colours.items()]
        ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, borderaxespad=0)


def _count(X: Any) -> int:
    """How many rows: of arrays, of sparse matrices, and of lists of texts."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
