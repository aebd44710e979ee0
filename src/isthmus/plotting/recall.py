"""How well an adapter finds held-out pairs, over the number of pairs that it was learned from."""

from __future__ import annotations

from typing import Any, Protocol

from isthmus._arrays import FloatArray
from isthmus.plotting.canvas import OKABE_ITO, given_or_new, plain


class RecallCurve(Protocol):
    """Shares (c, 3) with the ends of their intervals, for c numbers of pairs; :class:`isthmus.migration.Recall`."""

    @property
    def n_pairs(self) -> tuple[int, ...]:
        """Rising."""

    @property
    def at_1(self) -> FloatArray:
        """The own object is first."""

    @property
    def at_10(self) -> FloatArray:
        """The own object is among the first ten."""

    @property
    def overlap(self) -> FloatArray | None:
        """Of the new model's neighbours."""


def plot_recall(recall: RecallCurve, ax: Any = None) -> Any:
    """Draw recall and recovered neighbours over the number of pairs, with their intervals.

    Parameters
    ----------
    recall : isthmus.migration.Recall
        ``adapter.recall``.
    ax : matplotlib Axes, optional
        Where; a new figure unless given.

    Returns
    -------
    matplotlib Axes
    """
    axes = given_or_new(ax, 6.4, 4.8)
    curves = {"recall@1": recall.at_1, "recall@10": recall.at_10, "neighbours": recall.overlap}
    for (name, curve), colour, marker in zip(curves.items(), OKABE_ITO, "osD", strict=False):
        if curve is None:
            continue
        axes.plot(recall.n_pairs, curve[:, 0], color=colour, marker=marker, label=name)
        axes.fill_between(recall.n_pairs, curve[:, 1], curve[:, 2], color=colour, alpha=0.2, linewidth=0)
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="pairs learned from", ylabel="share, with its interval of 95 %")
    axes.legend(frameon=False)
    return plain(axes)
