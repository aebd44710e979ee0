"""What a matching has found: how sure each match is, and where the matched rows lie."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from isthmus._arrays import FloatArray, IntArray, Matrix
from isthmus._threads import cap_threads
from isthmus._validation import matrix, number
from isthmus.exceptions import InputError
from isthmus.linalg import principal_axes
from isthmus.maps import ridge
from isthmus.plotting.canvas import (
    FAINT,
    INK,
    OKABE_ITO,
    SOURCE_MARKER,
    TARGET_MARKER,
    beside,
    given_or_new,
    name_clouds,
    plain,
)

GAP = 0.5
"""Between A and B, in units of the width of A."""
MOST_AXES = 50
"""Principal axes of B from which A's plane is told."""


class Matched(Protocol):
    """What is drawn of a matching: :class:`isthmus.Matching`."""

    @property
    def pairs(self) -> IntArray:
        """Numbers of rows (m, 2)."""

    @property
    def confidence(self) -> FloatArray:
        """Of each match (m,)."""

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows A and B have."""

    @property
    def verdict(self) -> str:
        """One sentence."""


def plot_confidence(matching: Matched, ax: Any = None) -> Any:
    """Draw the confidence of all matches, surest first, and how many rows have none.

    Read off how many matches there are above any confidence. The mean over those kept is what share of them should be
    right, if the matching as a whole worked.

    Parameters
    ----------
    matching : Matching
        What :func:`isthmus.match` returned.
    ax : matplotlib Axes, optional
        Where; a new figure unless given.

    Returns
    -------
    matplotlib Axes
    """
    ax = plain(given_or_new(ax, 6.4, 4.4))
    confidence, possible = np.sort(matching.confidence)[::-1], min(matching.shape)
    count = np.arange(1, len(confidence) + 1)
    blue, orange = OKABE_ITO[:2]
    if len(confidence):
        ax.fill_between(count, confidence, color=blue, alpha=0.15, linewidth=0)
        ax.plot(count, confidence, color=blue, label="confidence of each match")
        expected = np.cumsum(confidence) / count
        ax.plot(
            count, expected, color=orange, linestyle="--", label="of all up to it: the share that should be right"
        )
        ax.legend(frameon=False, loc="lower left")
    if possible > len(confidence):
        ax.axvspan(len(confidence), possible, color=FAINT, alpha=0.3, linewidth=0)
        middle = (len(confidence) + possible) / 2
        ax.text(middle, 0.5, "no match", rotation=90, ha="center", va="center", color=INK)
    ax.set(xlim=(0, max(possible, 1)), ylim=(0, 1.02), xlabel="matches, surest first", ylabel="confidence")
    ax.set_title(matching.verdict, loc="left", fontsize=9, wrap=True)
    return ax


@cap_threads
def plot_matches(matching: Matched, A: Any, B: Any, *, most: int = 100, ax: Any = None) -> Any:
    """Draw both collections side by side, and lines between rows that were matched.

    A is seen along its own two principal directions, B along the two that tell those of A best, by ridge regression
    over the matches (its penalty chosen by leaving out each match in turn). Where the matches make sense, lines run
    in parallel; where they do not, B shrinks to a point and lines cross. The colour is the confidence.

    Parameters
    ----------
    matching : Matching
        What :func:`isthmus.match` returned.
    A, B : array or sparse matrix (n, d_a), (m, d_b)
        The rows that were matched.
    most : int
        At most so many lines, evenly over the confidence; the rows are all drawn.
    ax : matplotlib Axes, optional
        Where; a new figure unless given.

    Returns
    -------
    matplotlib Axes
    """
    number(most, "most", low=1, whole=True)
    tables = matrix(A, "A"), matrix(B, "B")
    for X, n, name in zip(tables, matching.shape, "AB", strict=True):
        if X.shape[0] != n:
            raise InputError(f"{name}: expected the {n} rows that were matched, got {X.shape[0]}.")
    ax = given_or_new(ax, 9.0, 4.6)
    left, right = _planes(*tables, matching)
    right = beside(left, right, GAP)
    order = np.argsort(-matching.confidence, kind="stable")
    chosen = order[np.unique(np.linspace(0, len(order) - 1, min(int(most), len(order))).astype(np.intp))]
    _draw_lines(ax, left, right, matching, chosen)
    for points, marker in ((left, SOURCE_MARKER), (right, TARGET_MARKER)):
        ax.scatter(*points.T, marker=marker, s=9, color=INK, alpha=0.5, linewidths=0, zorder=2)
    name_clouds(ax, {f"A: {len(left):,} rows": left, f"B: {len(right):,} rows": right})
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return ax


def _planes(A: Matrix, B: Matrix, matching: Matched) -> tuple[FloatArray, FloatArray]:
    """A on its principal plane, and B on the plane that tells that of A best, by the matches."""
    left = principal_axes(A).leading(2).coordinates(A)
    axes = principal_axes(B).leading(MOST_AXES)
    Z, pairs = axes.coordinates(B), matching.pairs
    if len(pairs) < 3:
        return left, Z[:, :2]
    found = ridge(Z[pairs[:, 1]], left[pairs[:, 0]], weights=np.maximum(matching.confidence, 1e-3)).map
    return left, found(Z)


def _draw_lines(ax: Any, left: FloatArray, right: FloatArray, matching: Matched, chosen: IntArray) -> None:
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    ends = np.stack([left[matching.pairs[chosen, 0]], right[matching.pairs[chosen, 1]]], axis=1)
    lines = LineCollection(list(ends), cmap=colormaps["viridis_r"], linewidths=0.6, alpha=0.7, zorder=1)
    lines.set(array=matching.confidence[chosen], clim=(0.0, 1.0))
    ax.add_collection(lines)
    bar = ax.figure.colorbar(lines, ax=ax, shrink=0.6, pad=0.01)
    bar.set_label("confidence")
    bar.outline.set_visible(False)
