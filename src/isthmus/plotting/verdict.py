"""What a source is worth: the curve over labels per class, with it and without, and the comparisons that decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from isthmus.plotting.canvas import FAINT, INK, OKABE_ITO, given_or_new, new_figure, plain

SIZE = 11.0, 4.4


class WithCurve(Protocol):
    """What is drawn of a verdict: :class:`isthmus.Verdict`; rows and points of the curve are named tuples."""

    @property
    def sentence(self) -> str:
        """The title."""

    @property
    def curve(self) -> Sequence[Any]:
        """Labels per class, with and without the source."""

    @property
    def rows(self) -> Sequence[Any]:
        """Comparisons."""


def plot_verdict(verdict: WithCurve) -> Any:
    """Draw a verdict: accuracy over labels per class, and differences with their intervals.

    On the left the band is the interval of the difference, laid about the curve without the source: where it is
    above that curve, the source helps. On the right are the comparisons that have an interval: what the system with
    the source is better than each of them.

    Parameters
    ----------
    verdict : Verdict
        What :func:`isthmus.does_source_help` returned.

    Returns
    -------
    matplotlib Figure
    """
    figure = new_figure(*SIZE)
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.2))
    figure.suptitle(verdict.sentence, x=0.01, ha="left", wrap=True, fontsize=10)
    plot_labels_curve(verdict, left)
    _draw_comparisons(plain(right), [row for row in verdict.rows if row.low is not None])
    return figure


def plot_labels_curve(verdict: WithCurve, ax: Any = None) -> Any:
    """Draw the accuracy of a verdict over labels per class, with the source and without.

    The band is the interval of the difference, laid about the curve without the source: where it is above that
    curve, the source helps.

    Parameters
    ----------
    verdict : Verdict
        What :func:`isthmus.does_source_help` returned.
    ax : matplotlib Axes, optional
        Where; a new figure unless given.

    Returns
    -------
    matplotlib Axes
    """
    ax, curve = plain(given_or_new(ax, 5.5, 4.2)), verdict.curve
    if not curve:
        ax.text(0.5, 0.5, "too few labels to hide any", ha="center", va="center", color=INK, transform=ax.transAxes)
        ax.set(xticks=[], yticks=[])
        return ax
    labels = [point.labels for point in curve]
    # The ends of an interval of differences may lie where no accuracy can be.
    low = [100 * max(p.without + p.low, 0.0) for p in curve]
    high = [100 * min(p.without + p.high, 1.0) for p in curve]
    blue, orange = OKABE_ITO[:2]
    if len(curve) > 1:
        ax.fill_between(labels, low, high, color=blue, alpha=0.15, linewidth=0)
    else:
        ax.vlines(labels, low, high, color=blue, alpha=0.3, linewidth=6)
    ax.plot(labels, [100 * p.with_source for p in curve], color=blue, marker="o", label="with the source")
    without = {"color": orange, "marker": "s", "linestyle": "--", "label": "best rule without it"}
    ax.plot(labels, [100 * p.without for p in curve], **without)
    ax.set(xscale="log", xlabel="labels per class", ylabel="accuracy in per cent")
    ax.set_xticks(labels, [str(k) for k in labels])
    ax.set_xticks([], minor=True)
    ax.legend(frameon=False, loc="best")
    return ax


def _draw_comparisons(ax: Any, rows: Sequence[Any]) -> None:
    ax.axvline(0.0, color=FAINT, linewidth=1.0, zorder=0)
    for place, row in enumerate(rows):
        colour = OKABE_ITO[0] if row.low > 0.0 else OKABE_ITO[3] if row.high < 0.0 else INK
        ax.plot([100 * row.low, 100 * row.high], [place, place], color=colour, linewidth=2.0, solid_capstyle="butt")
        ax.plot(100 * row.difference, place, "o", color=colour)
    ax.set_yticks(range(len(rows)), [f"{row.against}, {_where(row.setting)}" for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel("points that the system with the source is better (95 %)")


def _where(setting: str) -> str:
    return f"{setting} per class" if setting.isdigit() else "classes hidden"
