"""Plots of spaces and of results; matplotlib (extra ``plot``) is imported when something is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus._core.linalg import PrincipalAxes, principal_axes
from isthmus._core.threads import cap_threads
from isthmus._core.validation import (
    UNLABELLED,
    BoolArray,
    FloatArray,
    IntArray,
    Matrix,
    as_dense,
    check_length,
    check_matrix,
    check_number,
)
from isthmus.exceptions import InputError
from isthmus.maps.regression import fit_ridge
from isthmus.solvers.result import Result
from isthmus.view import canvas

if TYPE_CHECKING:
    from isthmus.tasks.matching.result import Matching
    from isthmus.tasks.migration.evidence import Recall


# Up to this number of iterations each has a dot of its own.
FEW = 60
# Between A and B, in units of the width of A.
GAP = 0.5
# Principal axes of B that predict A's plane.
MOST_AXES = 50


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
        got = type(result).__name__
        raise InputError(f"result: expected a Result, or an estimator fitted by an iterative solver, got {got}.")
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
    right[:, 0] += left[:, 0].max() + GAP * np.ptp(left[:, 0]) - right[:, 0].min()
    order = np.argsort(-matching.confidence, kind="stable")
    chosen = order[np.unique(np.linspace(0, len(order) - 1, min(int(most), len(order))).astype(np.intp))]
    _draw_lines(ax, left, right, matching, chosen)
    for points, marker in ((left, canvas.SOURCE_MARKER), (right, canvas.TARGET_MARKER)):
        ax.scatter(*points.T, marker=marker, s=9, color=canvas.INK, alpha=0.5, linewidths=0, zorder=2)
    top = max(left[:, 1].max(), right[:, 1].max())
    for name, points in (("A", left), ("B", right)):
        middle, label = (points[:, 0].min() + points[:, 0].max()) / 2, f"{name}: {len(points):,} rows"
        style = {"ha": "center", "va": "bottom", "color": canvas.INK}
        ax.annotate(label, (middle, top), (0, 8), textcoords="offset points", **style)
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


WIDTH, HEIGHT = 7.5, 5.5


@cap_threads
def principal_plane(source: Any, target: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return points of both domains in their common plane of largest variance, each domain with half of the weight.

    Parameters
    ----------
    source, target : array (n_s, d), array (n_t, d)
        Points of one common space.

    Returns
    -------
    source, target : array (n_s, 2), array (n_t, 2)
        The same points along the two directions, around the middle between the two means.
    share : array (2,)
        The share of the total variance along each.

    Examples
    --------
    >>> import numpy as np
    >>> S, T, share = principal_plane(np.diag([3.0, 1.0, 0.0]), -np.diag([3.0, 1.0, 0.0]))
    >>> S.shape, T.shape, share.round(2).tolist()
    ((3, 2), (3, 2), [0.9, 0.1])
    """
    S, T = check_matrix(source, "source"), check_matrix(target, "target")
    if S.shape[1] != T.shape[1]:
        raise InputError(f"space: expected one space for both domains, got {S.shape[1]} and {T.shape[1]} columns.")
    plane, share = fit_plane(S, T)
    return plane.coordinates(S), plane.coordinates(T), share


def fit_plane(*parts: Matrix) -> tuple[PrincipalAxes, FloatArray]:
    """Return the two directions of largest variance of rows, each part with equal weight, and their shares."""
    weights = np.concatenate([np.full(X.shape[0], 1.0 / X.shape[0]) for X in parts])
    rows = parts[0] if len(parts) == 1 else np.vstack([as_dense(X) for X in parts])
    found = principal_axes(rows, weights=weights)
    plane = found.leading(2)
    return plane, plane.deviations**2 / (np.sum(found.deviations**2) or 1.0)


@cap_threads
def plot_common_space(
    space: Any,
    X_source: Any,
    y_source: Any,
    X_target: Any,
    y_target: Any,
    *,
    truth: Any = None,
    ax: Any = None,
    title: str | None = None,
) -> Any:
    """Draw both domains in the learned space, along its two principal directions.

    The plane is that of the largest variance, each domain counting one half however many rows it has; labels
    play no part in it. A dot is a source row, a star a labelled target row, a hollow triangle an unlabelled one;
    the colour is the class, and its name stands at the mean of its source rows.

    Parameters
    ----------
    space : object with ``transform(X, domain=...)``
        A fitted estimator.
    X_source, y_source : array (n_s, d_s), array (n_s,)
        Source rows and their classes.
    X_target, y_target : array (n_t, d_t), array (n_t,)
        Target rows and their classes, -1 where unlabelled.
    truth : array (n_t,), optional
        The classes of all target rows, to colour the unlabelled ones by: for looking, never for learning.
        Without it they are grey.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    title : str, optional
        Above the plot.

    Returns
    -------
    matplotlib Axes
    """
    own, ax = ax is None, canvas.get_axes(ax, WIDTH, HEIGHT)
    shown = y_target if truth is None else truth
    check_length(y_source, np.shape(X_source)[0], "y_source", "X_source")
    for y, name in ((y_target, "y_target"), (shown, "truth")):
        check_length(y, np.shape(X_target)[0], name, "X_target")
    y_source, y_target, shown = np.asarray(y_source), np.asarray(y_target), np.asarray(shown)
    S, T = space.transform(X_source, domain="source"), space.transform(X_target, domain="target")
    S, T, share = principal_plane(S, T)
    classes = np.unique(np.concatenate([y_source, shown[shown != UNLABELLED]])).tolist()
    colours = canvas.choose_colours(classes)
    _draw_classes(ax, (S, T), (y_source, y_target, shown), colours)
    if own:  # a flat cloud gets a flat figure
        width, height = np.ptp(np.vstack([S, T]), axis=0)
        ax.figure.set_size_inches(WIDTH, np.clip(1.0 + 4.5 * height / (width or 1.0), 0.6 * HEIGHT, HEIGHT))
    ax.set_xlabel(f"first direction ({share[0]:.0%} of the variance)")
    ax.set_ylabel(f"second direction ({share[1]:.0%})")
    if title is not None:
        ax.set_title(title, loc="left")
    _add_legend(ax, y_target == UNLABELLED, colours, coloured=truth is not None)
    return ax


def _draw_classes(ax: Any, points: Any, labels: Any, colours: Mapping[Any, str]) -> None:
    """Draw points (n_s, 2) and (n_t, 2): unlabelled rows lowest, then source, then labelled rows and names."""
    from matplotlib.patheffects import withStroke

    (S, T), (y_source, y_target, shown) = points, labels
    hidden = y_target == UNLABELLED
    edges = [colours.get(label, canvas.FAINT) for label in shown[hidden].tolist()]
    hollow = {"facecolors": "none", "edgecolors": edges, "linewidths": 0.7, "alpha": 0.75}
    ax.scatter(*T[hidden].T, marker=canvas.TARGET_MARKER, s=16, **hollow)
    dots, stars = ([colours[label] for label in y.tolist()] for y in (y_source, y_target[~hidden]))
    ax.scatter(*S.T, marker=canvas.SOURCE_MARKER, s=14, c=dots, linewidths=0, alpha=0.8)
    ax.scatter(*T[~hidden].T, marker="*", s=170, c=stars, edgecolors=canvas.INK, linewidths=0.9, zorder=3)
    style = {"ha": "center", "va": "center", "fontsize": 13, "fontweight": "bold", "color": canvas.INK}
    halo = {"path_effects": [withStroke(linewidth=3, foreground="white")], "zorder": 4}
    for label in np.unique(y_source).tolist():
        ax.annotate(str(label), S[y_source == label].mean(axis=0), **style, **halo)
    ax.set_aspect("equal", adjustable="datalim")
    canvas.remove_frame(ax)


def _add_legend(ax: Any, hidden: BoolArray, colours: Mapping[Any, str], *, coloured: bool) -> None:
    """Draw the legend of markers and colours, to the right of the plot."""
    key, ink = canvas.make_legend_entry, canvas.INK
    keys = [key("source row", canvas.SOURCE_MARKER, 5, ink, ink)]
    if not hidden.all():
        keys.append(key("target row, labelled", "*", 12, "white", ink))
    if hidden.any():
        known = "target row, unlabelled\n(coloured by the truth)" if coloured else "target row, unlabelled"
        keys.append(key(known, canvas.TARGET_MARKER, 5, "none", ink if coloured else canvas.FAINT))
    keys += [key(f"class {name}", "s", 7, colour, colour) for name, colour in colours.items()]
    ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, borderaxespad=0)
