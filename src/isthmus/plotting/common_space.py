"""Both domains as points of one learned space, seen along its two principal directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, IntArray, as_dense
from isthmus._validation import length, matrix
from isthmus.domains import UNLABELLED
from isthmus.exceptions import InputError
from isthmus.linalg import principal_axes
from isthmus.plotting.canvas import FAINT, INK, SOURCE_MARKER, TARGET_MARKER, class_colours, key, pyplot


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
    legend: bool = True,
) -> Any:
    """Both domains in the learned space, seen along its two principal directions.

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
        Above the picture.
    legend : bool
        Whether to explain markers and colours, to the right of the picture.

    Returns
    -------
    matplotlib Axes
    """
    plt = pyplot()
    S, T = space.transform(X_source, domain="source"), space.transform(X_target, domain="target")
    if ax is None:
        _, ax = plt.subplots(figsize=(7.5, 5.5), layout="constrained")
    return _panel(ax, S, y_source, T, y_target, truth, title, legend)


def plot_before_after(
    space: Any,
    X_source: Any,
    y_source: Any,
    X_target: Any,
    y_target: Any,
    *,
    truth: Any = None,
    title: str | None = None,
) -> Any:
    """Two panels: the domains before anything is learned, and in the learned space.

    Before, the metric is the identity: each domain has its own axes, at right angles to those of the other, and
    no row of one is near any row of the other. Parameters as in :func:`plot_common_space`.

    Returns
    -------
    matplotlib Figure
    """
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(13.5, 6.0), layout="constrained")
    S, T = as_dense(matrix(X_source, "X_source")), as_dense(matrix(X_target, "X_target"))
    apart = np.pad(S, ((0, 0), (0, T.shape[1]))), y_source, np.pad(T, ((0, 0), (S.shape[1], 0))), y_target
    _panel(left, *apart, truth, "Before: the identity metric", legend=False)
    rows = (X_source, y_source, X_target, y_target)
    plot_common_space(space, *rows, truth=truth, ax=right, title="After: the learned metric")
    if title is not None:
        figure.suptitle(title)
    return figure


def principal_plane(source: Any, target: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points of both domains in their common plane of largest variance, each domain counting one half.

    Parameters
    ----------
    source, target : array (n_s, d), array (n_t, d)
        Points of one common space.

    Returns
    -------
    source, target : array (n_s, 2), array (n_t, 2)
        The same points along the two directions, around the middle between the two means.
    share : array (2,)
        What part of the whole variance lies along each.

    Examples
    --------
    >>> import numpy as np
    >>> S, T, share = principal_plane(np.diag([3.0, 1.0, 0.0]), -np.diag([3.0, 1.0, 0.0]))
    >>> S.shape, T.shape, share.round(2).tolist()
    ((3, 2), (3, 2), [0.9, 0.1])
    """
    S, T = matrix(source, "source"), matrix(target, "target")
    if S.shape[1] != T.shape[1]:
        raise InputError(f"space: expected one space for both domains, got {S.shape[1]} and {T.shape[1]} columns.")
    halves = np.repeat([1.0 / S.shape[0], 1.0 / T.shape[0]], [S.shape[0], T.shape[0]])
    found = principal_axes(np.vstack([as_dense(S), as_dense(T)]), weights=halves)
    plane = found.leading(2)
    share = plane.deviations**2 / (np.sum(found.deviations**2) or 1.0)
    return plane.coordinates(S), plane.coordinates(T), share


def _panel(
    ax: Any, source: Any, y_source: Any, target: Any, y_target: Any, truth: Any, title: str | None, legend: bool
) -> Any:
    """Points of both domains in their plane, with axes that say how much it shows."""
    length(y_source, len(source), "y_source", "X_source")
    length(y_target, len(target), "y_target", "X_target")
    length(y_target if truth is None else truth, len(target), "truth", "X_target")
    y_s, y_t, shown = np.asarray(y_source), np.asarray(y_target), np.asarray(y_target if truth is None else truth)
    S, T, share = principal_plane(source, target)
    colours = class_colours(np.unique(np.concatenate([y_s, shown[shown != UNLABELLED]])))
    _draw(ax, S, y_s, T, y_t, shown, colours)
    ax.set_xlabel(f"first direction ({share[0]:.0%} of the variance)")
    ax.set_ylabel(f"second direction ({share[1]:.0%})")
    ax.set_aspect("equal", adjustable="datalim")
    ax.spines[["top", "right"]].set_visible(False)
    if title is not None:
        ax.set_title(title, loc="left")
    if legend:
        _legend(ax, colours, y_t, truth is not None)
    return ax


def _draw(
    ax: Any, S: FloatArray, y_s: IntArray, T: FloatArray, y_t: IntArray, shown: IntArray, colours: dict[Any, Any]
) -> None:
    """Unlabelled rows lowest, then the source, then labelled rows and the names of the classes."""
    from matplotlib.patheffects import withStroke

    hidden = y_t == UNLABELLED
    edges = [colours.get(label, FAINT) for label in shown[hidden].tolist()]
    hollow = {"facecolors": "none", "edgecolors": edges, "linewidths": 0.7, "alpha": 0.75}
    ax.scatter(*T[hidden].T, marker=TARGET_MARKER, s=16, **hollow)
    dots, stars = ([colours[label] for label in y.tolist()] for y in (y_s, y_t[~hidden]))
    ax.scatter(*S.T, marker=SOURCE_MARKER, s=14, c=dots, linewidths=0, alpha=0.8)
    ax.scatter(*T[~hidden].T, marker="*", s=170, c=stars, edgecolors=INK, linewidths=0.9, zorder=3)
    style = {"ha": "center", "va": "center", "fontsize": 13, "fontweight": "bold", "color": INK, "zorder": 4}
    halo = [withStroke(linewidth=3, foreground="white")]
    for label in np.unique(y_s).tolist():
        ax.annotate(str(label), S[y_s == label].mean(axis=0), path_effects=halo, **style)


def _legend(ax: Any, colours: dict[Any, Any], y_t: IntArray, coloured: bool) -> None:
    hidden = int(np.count_nonzero(y_t == UNLABELLED))
    keys = [key("source row", SOURCE_MARKER, 5, INK, INK)]
    if hidden < len(y_t):
        keys.append(key("target row, labelled", "*", 12, "white", INK))
    if hidden:
        known = "target row, unlabelled\n(coloured by the truth)" if coloured else "target row, unlabelled"
        keys.append(key(known, TARGET_MARKER, 5, "none", INK if coloured else FAINT))
    keys += [key(f"class {label}", "s", 7, colour, colour) for label, colour in colours.items()]
    ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, borderaxespad=0)
