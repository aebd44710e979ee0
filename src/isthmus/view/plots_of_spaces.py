"""Plots of rows in the common space: both domains before and after learning, along principal directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isthmus._core.linalg import principal_axes
from isthmus._core.threads import cap_threads
from isthmus._core.validation import UNLABELLED, FloatArray, as_dense, check_length, check_matrix
from isthmus.exceptions import InputError
from isthmus.geometry.spaces import apply_transformer
from isthmus.view import canvas

WIDTH, HEIGHT = 7.5, 5.5
GAP = 0.15
"""Between the two domains, in units of the width of the source."""


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
    halves = np.repeat([1.0 / S.shape[0], 1.0 / T.shape[0]], [S.shape[0], T.shape[0]])
    found = principal_axes(np.vstack([as_dense(S), as_dense(T)]), weights=halves)
    plane = found.leading(2)
    share = plane.deviations**2 / (np.sum(found.deviations**2) or 1.0)
    return plane.coordinates(S), plane.coordinates(T), share


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Classes of the source rows, labels of the target rows (-1: none), and the classes that colour the target."""

    y_source: NDArray[Any]
    y_target: NDArray[Any]
    shown: NDArray[Any]
    coloured: bool
    """Whether unlabelled rows have the colours of their true classes."""

    @classmethod
    def of(cls, X_source: Any, y_source: Any, X_target: Any, y_target: Any, truth: Any) -> Self:
        """Return the classes, with their lengths checked against the rows."""
        known = y_target if truth is None else truth
        lengths = (y_source, X_source, "source"), (y_target, X_target, "target")
        for y, X, name in lengths:
            check_length(y, _count(X), f"y_{name}", f"X_{name}")
        check_length(known, _count(X_target), "truth", "X_target")
        return cls(np.asarray(y_source), np.asarray(y_target), np.asarray(known), truth is not None)

    @cached_property
    def colours(self) -> dict[Any, Any]:
        """A colour for each class."""
        classes = np.unique(np.concatenate([self.y_source, self.shown[self.shown != UNLABELLED]]))
        return canvas.choose_colours(classes.tolist())

    def draw(self, ax: Any, S: FloatArray, T: FloatArray) -> None:
        """Draw points (n_s, 2) and (n_t, 2): unlabelled rows lowest, then source, then labelled rows and names."""
        from matplotlib.patheffects import withStroke

        hidden = self.y_target == UNLABELLED
        edges = [self.colours.get(label, canvas.FAINT) for label in self.shown[hidden].tolist()]
        hollow = {"facecolors": "none", "edgecolors": edges, "linewidths": 0.7, "alpha": 0.75}
        ax.scatter(*T[hidden].T, marker=canvas.TARGET_MARKER, s=16, **hollow)
        dots, stars = ([self.colours[label] for label in y.tolist()] for y in (self.y_source, self.y_target[~hidden]))
        ax.scatter(*S.T, marker=canvas.SOURCE_MARKER, s=14, c=dots, linewidths=0, alpha=0.8)
        ax.scatter(*T[~hidden].T, marker="*", s=170, c=stars, edgecolors=canvas.INK, linewidths=0.9, zorder=3)
        style = {"ha": "center", "va": "center", "fontsize": 13, "fontweight": "bold", "color": canvas.INK}
        halo = {"path_effects": [withStroke(linewidth=3, foreground="white")], "zorder": 4}
        for label in np.unique(self.y_source).tolist():
            ax.annotate(str(label), S[self.y_source == label].mean(axis=0), **style, **halo)
        ax.set_aspect("equal", adjustable="datalim")
        canvas.remove_frame(ax)

    def explain(self, ax: Any) -> None:
        """Draw the legend of markers and colours, to the right of the plot."""
        hidden, key, ink = int(np.count_nonzero(self.y_target == UNLABELLED)), canvas.make_legend_entry, canvas.INK
        keys = [key("source row", canvas.SOURCE_MARKER, 5, ink, ink)]
        if hidden < len(self.y_target):
            keys.append(key("target row, labelled", "*", 12, "white", ink))
        if hidden:
            known = "target row, unlabelled\n(coloured by the truth)" if self.coloured else "target row, unlabelled"
            keys.append(key(known, canvas.TARGET_MARKER, 5, "none", ink if self.coloured else canvas.FAINT))
        keys += [key(f"class {name}", "s", 7, colour, colour) for name, colour in self.colours.items()]
        ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, borderaxespad=0)


def _count(X: Any) -> int:
    """Return the number of rows of an array, a sparse matrix or a list of texts."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


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
    legend: bool = True,
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
    legend : bool
        Whether to explain markers and colours, to the right of the plot.

    Returns
    -------
    matplotlib Axes
    """
    own, ax = ax is None, canvas.get_axes(ax, WIDTH, HEIGHT)
    rows = LabelledRows.of(X_source, y_source, X_target, y_target, truth)
    S, T = space.transform(X_source, domain="source"), space.transform(X_target, domain="target")
    S, T, share = principal_plane(S, T)
    rows.draw(ax, S, T)
    if own:  # a flat cloud gets a flat figure
        width, height = np.ptp(np.vstack([S, T]), axis=0)
        ax.figure.set_size_inches(WIDTH, np.clip(1.0 + 4.5 * height / (width or 1.0), 0.6 * HEIGHT, HEIGHT))
    ax.set_xlabel(f"first direction ({share[0]:.0%} of the variance)")
    ax.set_ylabel(f"second direction ({share[1]:.0%})")
    if title is not None:
        ax.set_title(title, loc="left")
    if legend:
        rows.explain(ax)
    return ax


@cap_threads
def plot_before_after(
    space: Any,
    X_source: Any,
    y_source: Any,
    X_target: Any,
    y_target: Any,
    *,
    truth: Any = None,
    axes: Any = None,
    title: str | None = None,
) -> Any:
    """Draw two panels: the domains before anything is learned, and in the learned space.

    Before, there is no space that has both: each domain is seen along its own two principal directions, in units of
    its own size, and they stand side by side.

    Parameters
    ----------
    space, X_source, y_source, X_target, y_target, truth
        As in :func:`plot_common_space`; before, rows are seen behind the transformers of the estimator.
    axes : two matplotlib Axes, optional
        Where to draw; a new figure if None.
    title : str, optional
        Above both.

    Returns
    -------
    matplotlib Figure
    """
    left, right = canvas.new_figure(13.5, 4.4).subplots(1, 2) if axes is None else axes
    rows = LabelledRows.of(X_source, y_source, X_target, y_target, truth)
    own = getattr(space, "transformers_", {})
    S, T = _own_plane(X_source, own.get("source"), "X_source"), _own_plane(X_target, own.get("target"), "X_target")
    T = canvas.move_right_of(S, T, GAP)
    rows.draw(left, S, T)
    left.set(xticks=[], yticks=[])
    left.spines[:].set_visible(False)
    left.set_title("Before: each domain along its own two directions", loc="left")
    canvas.label_clouds(left, {"source": S, "target": T})
    after = "After: one space for both"
    plot_common_space(space, X_source, y_source, X_target, y_target, truth=truth, ax=right, title=after)
    figure = left.figure
    if title is not None:
        figure.suptitle(title)
    return figure


def _own_plane(X: Any, transformer: Any, name: str) -> FloatArray:
    """Return rows along their two principal directions, in units of the spread of both."""
    table = check_matrix(apply_transformer(transformer, X, name), name)
    plane = principal_axes(table).leading(2)
    return plane.coordinates(table) / (np.linalg.norm(plane.deviations) or 1.0)
