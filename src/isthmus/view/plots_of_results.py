"""Plots of results: convergence of a solver, matches, recall of a migration, and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus._core.linalg import principal_axes
from isthmus._core.threads import cap_threads
from isthmus._core.validation import FloatArray, IntArray, Matrix, check_matrix, check_number
from isthmus.exceptions import InputError
from isthmus.maps.regression import fit_ridge
from isthmus.solvers.result import Result
from isthmus.view import canvas

if TYPE_CHECKING:
    from isthmus.study.source_value.result import Verdict
    from isthmus.tasks.matching.result import Matching
    from isthmus.tasks.migration.evidence import Recall

FEW = 60
"""Up to this number of iterations each has a dot of its own."""
GAP = 0.5
"""Between A and B, in units of the width of A."""
MOST_AXES = 50
"""Principal axes of B that predict A's plane."""


def plot_convergence(result: Any, ax: Any = None) -> Any:
    """Draw how far each iterate was proven to be from the optimum, and how far the result is.

    The curve is the relative duality gap of the iterates, on a logarithmic scale; the dashed line is the
    tolerance. The star is the certificate: the gap of the returned matrix, computed from the data.
    Several results may be drawn into the same axes.

    Parameters
    ----------
    result : Result or fitted estimator
        ``estimator.result_``, or the estimator that has it.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
    """
    found = getattr(result, "result_", result)
    if not isinstance(found, Result):
        closed = ", which is fitted without an iterative solver" if hasattr(found, "common_space_") else ""
        got = f"{type(result).__name__}{closed}"
        raise InputError(f"result: expected a Result, or a fitted estimator with result_, got {got}.")
    ax = canvas.remove_frame(canvas.get_axes(ax, 6.4, 4.4))
    gaps = np.array([point.relative_gap for point in found.trace])
    steps = np.array([point.iteration for point in found.trace])
    shown = np.isfinite(gaps) & (gaps > 0.0)  # no iterate has to have a bound, and the last may have no gap at all
    first = not ax.lines
    colour = canvas.OKABE_ITO[len(ax.lines) % len(canvas.OKABE_ITO)]
    label = f"{found.solver}: {found.status.value}, {found.n_iter} iterations"
    dots = "o" if shown.sum() <= FEW else None
    ax.plot(steps[shown], gaps[shown], marker=dots, ms=4, color=colour, label=label)
    if np.isfinite(found.relative_gap) and found.relative_gap > 0.0:
        ax.plot(steps[-1], found.relative_gap, marker="*", ms=15, color=colour, mec=canvas.INK, mew=0.8, ls="none")
    if first:
        label = f"tolerance: {found.tolerance:.0e}"
        ax.axhline(found.tolerance, color=canvas.INK, linestyle="--", linewidth=1.0, label=label)
    ax.set(yscale="log", xlabel="iteration", ylabel="certified gap, relative to the objective")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(frameon=False)
    return ax


def plot_confidence(matching: Matching, ax: Any = None) -> Any:
    """Draw the confidence of all matches, surest first, and how many rows have none.

    Read off how many matches there are above any confidence. Their mean confidence is the share of them that should
    be right, if the matching as a whole worked.

    Parameters
    ----------
    matching : Matching
        The answer of :func:`isthmus.match`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
    """
    ax = canvas.remove_frame(canvas.get_axes(ax, 6.4, 4.4))
    confidence, possible = np.sort(matching.confidence)[::-1], min(matching.shape)
    count = np.arange(1, len(confidence) + 1)
    blue, orange = canvas.OKABE_ITO[:2]
    if len(confidence):
        ax.fill_between(count, confidence, color=blue, alpha=0.15, linewidth=0)
        ax.plot(count, confidence, color=blue, label="confidence of each match")
        expected = np.cumsum(confidence) / count
        label = "mean confidence up to it: the expected precision"
        ax.plot(count, expected, color=orange, linestyle="--", label=label)
        ax.legend(frameon=False, loc="lower left")
    if possible > len(confidence):
        ax.axvspan(len(confidence), possible, color=canvas.FAINT, alpha=0.3, linewidth=0)
        middle = (len(confidence) + possible) / 2
        ax.text(middle, 0.5, "no match", rotation=90, ha="center", va="center", color=canvas.INK)
    ax.set(xlim=(0, max(possible, 1)), ylim=(0, 1.02), xlabel="matches, surest first", ylabel="confidence")
    ax.set_title(matching.verdict, loc="left", fontsize=9, wrap=True)
    return ax


@cap_threads
def plot_matches(matching: Matching, A: Any, B: Any, *, most: int = 100, ax: Any = None) -> Any:
    """Draw both collections side by side, and lines between rows that were matched.

    A is drawn along its own two principal directions, B along the two that predict those of A best, by ridge
    regression over the matches (its penalty chosen by leave-one-out). Where the matches make sense, lines run
    in parallel; where they do not, B shrinks to a point and lines cross. The colour is the confidence.

    Parameters
    ----------
    matching : Matching
        The answer of :func:`isthmus.match`.
    A, B : array or sparse matrix (n, d_a), (m, d_b)
        The rows that were matched.
    most : int
        Lines at most, evenly over the confidence; the rows are all drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
    """
    check_number(most, "most", low=1, whole=True)
    tables = check_matrix(A, "A"), check_matrix(B, "B")
    for X, n, name in zip(tables, matching.shape, "AB", strict=True):
        if X.shape[0] != n:
            raise InputError(f"{name}: expected the {n} rows that were matched, got {X.shape[0]}.")
    ax = canvas.get_axes(ax, 9.0, 4.6)
    left, right = _planes(*tables, matching)
    right = canvas.move_right_of(left, right, GAP)
    order = np.argsort(-matching.confidence, kind="stable")
    chosen = order[np.unique(np.linspace(0, len(order) - 1, min(int(most), len(order))).astype(np.intp))]
    _draw_lines(ax, left, right, matching, chosen)
    for points, marker in ((left, canvas.SOURCE_MARKER), (right, canvas.TARGET_MARKER)):
        ax.scatter(*points.T, marker=marker, s=9, color=canvas.INK, alpha=0.5, linewidths=0, zorder=2)
    canvas.label_clouds(ax, {f"A: {len(left):,} rows": left, f"B: {len(right):,} rows": right})
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return ax


def _planes(A: Matrix, B: Matrix, matching: Matching) -> tuple[FloatArray, FloatArray]:
    """Return A on its principal plane, and B on the plane that predicts that of A best, by the matches."""
    left = principal_axes(A).leading(2).coordinates(A)
    axes = principal_axes(B).leading(MOST_AXES)
    Z, pairs = axes.coordinates(B), matching.pairs
    if len(pairs) < 3:
        return left, Z[:, :2]
    found = fit_ridge(Z[pairs[:, 1]], left[pairs[:, 0]], weights=np.maximum(matching.confidence, 1e-3)).map
    return left, found(Z)


def _draw_lines(ax: Any, left: FloatArray, right: FloatArray, matching: Matching, chosen: IntArray) -> None:
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    ends = np.stack([left[matching.pairs[chosen, 0]], right[matching.pairs[chosen, 1]]], axis=1)
    lines = LineCollection(list(ends), cmap=colormaps["viridis_r"], linewidths=0.6, alpha=0.7, zorder=1)
    lines.set(array=matching.confidence[chosen], clim=(0.0, 1.0))
    ax.add_collection(lines)
    bar = ax.figure.colorbar(lines, ax=ax, shrink=0.6, pad=0.01)
    bar.set_label("confidence")
    bar.outline.set_visible(False)


def plot_recall(recall: Recall, ax: Any = None) -> Any:
    """Draw recall and recovered neighbours over the number of pairs, with their intervals.

    Parameters
    ----------
    recall : isthmus.tasks.migration.evidence.Recall
        ``adapter.recall``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
    """
    axes = canvas.get_axes(ax, 6.4, 4.8)
    curves = {"recall@1": recall.at_1, "recall@10": recall.at_10, "neighbours": recall.overlap}
    for (name, curve), colour, marker in zip(curves.items(), canvas.OKABE_ITO, "osD", strict=False):
        if curve is None:
            continue
        axes.plot(recall.n_pairs, curve[:, 0], color=colour, marker=marker, label=name)
        axes.fill_between(recall.n_pairs, curve[:, 1], curve[:, 2], color=colour, alpha=0.2, linewidth=0)
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="pairs in the fit", ylabel="share, with 95 % interval")
    axes.legend(frameon=False)
    return canvas.remove_frame(axes)


def plot_verdict(verdict: Verdict) -> Any:
    """Draw a verdict: accuracy over labels per class, and differences with their intervals.

    On the left the band is the interval of the difference, laid about the curve without the source: where it is
    above that curve, the source helps. On the right are the comparisons that have an interval: the gain of the
    system with the source over each of them.

    Parameters
    ----------
    verdict : Verdict
        The answer of :func:`isthmus.does_source_help`.

    Returns
    -------
    matplotlib Figure
    """
    figure = canvas.new_figure(11.0, 4.4)
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.2))
    figure.suptitle(verdict.sentence, x=0.01, ha="left", wrap=True, fontsize=10)
    plot_labels_curve(verdict, left)
    _draw_comparisons(canvas.remove_frame(right), [row for row in verdict.rows if row.low is not None])
    return figure


def plot_labels_curve(verdict: Any, ax: Any = None) -> Any:
    """Draw the accuracy of a verdict over labels per class, with the source and without.

    The band is the interval of the difference, laid about the curve without the source: where it is above that
    curve, the source helps.

    Parameters
    ----------
    verdict : Verdict
        The answer of :func:`isthmus.does_source_help`, or any object with its ``curve``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
    """
    ax, curve = canvas.remove_frame(canvas.get_axes(ax, 5.5, 4.2)), verdict.curve
    if not curve:
        place = {"ha": "center", "va": "center", "color": canvas.INK, "transform": ax.transAxes}
        ax.text(0.5, 0.5, "too few labels to hold any out", **place)
        ax.set(xticks=[], yticks=[])
        return ax
    labels = [point.labels for point in curve]
    # The ends of an interval of differences may lie where no accuracy can be.
    low = [100 * max(p.without + p.low, 0.0) for p in curve]
    high = [100 * min(p.without + p.high, 1.0) for p in curve]
    blue, orange = canvas.OKABE_ITO[:2]
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
    ax.axvline(0.0, color=canvas.FAINT, linewidth=1.0, zorder=0)
    for place, row in enumerate(rows):
        colour = canvas.OKABE_ITO[0] if row.low > 0.0 else canvas.OKABE_ITO[3] if row.high < 0.0 else canvas.INK
        ax.plot([100 * row.low, 100 * row.high], [place, place], color=colour, linewidth=2.0, solid_capstyle="butt")
        ax.plot(100 * row.difference, place, "o", color=colour)
    ax.set_yticks(range(len(rows)), [f"{row.against}, {_describe_group(row.group)}" for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel("gain of the system with the source, in points (95 %)")


def _describe_group(group: str) -> str:
    return f"{group} per class" if group.isdigit() else "classes hidden"
