"""What pictures share: colours and markers, matplotlib, asked for only when something is drawn, and files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isthmus._core.files import write_whole
from isthmus._core.linalg import principal_axes
from isthmus._core.threads import cap_threads
from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, as_dense, check_length, check_matrix
from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.geometry.spaces import apply_transformer

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
"""A domain is a marker, a class is a colour."""
DPI = 150
"""Dots per inch."""
# Neither the day nor the version of the drawing library belongs to the picture.
METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
FORMATS = tuple(METADATA)
"""Of files that a picture is written to."""


def load_figure_type() -> Any:
    """Matplotlib's type of figures, or one sentence on what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        message = 'Pictures need matplotlib, which is not installed: pip install "isthmus[plot]".'
        raise MissingDependencyError(message) from None
    return Figure


def new_figure(width: float, height: float, **options: Any) -> Any:
    """A figure that belongs to the caller alone: pyplot neither keeps nor shows it."""
    return load_figure_type()(figsize=(width, height), layout="constrained", **options)


def get_axes(ax: Any, width: float, height: float) -> Any:
    """The axes to draw in: those of the caller, or those of a new figure."""
    return new_figure(width, height).subplots() if ax is None else ax


def remove_frame(ax: Any) -> Any:
    """The same axes without a box around them."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def move_right_of(left: FloatArray, right: FloatArray, gap: float) -> FloatArray:
    """Points (m, 2), moved to the right of others (n, 2), with a gap in units of the width of these."""
    shift = left[:, 0].max() + gap * np.ptp(left[:, 0]) - right[:, 0].min()
    return np.column_stack([right[:, 0] + shift, right[:, 1]])


def label_clouds(ax: Any, clouds: Mapping[str, FloatArray]) -> None:
    """Write the name of each cloud of points above its middle, all at one height."""
    top = max(points[:, 1].max() for points in clouds.values())
    for name, points in clouds.items():
        middle = (points[:, 0].min() + points[:, 0].max()) / 2
        ax.annotate(name, (middle, top), (0, 8), textcoords="offset points", ha="center", va="bottom", color=INK)


def make_legend_entry(label: str, marker: Any, size: float, face: Any, edge: Any, **line: Any) -> Any:
    """An entry of a legend: a marker and its meaning."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"linestyle": "none"} | line, label=label, marker=marker, ms=size, mfc=face, mec=edge)


def choose_colours(classes: IntArray, colours: Sequence[str] = TEN_COLOURS) -> dict[Any, Any]:
    """A colour for each class: of these as far as they go, of a rainbow beyond."""
    if len(classes) <= len(colours):
        return dict(zip(classes.tolist(), colours, strict=False))
    from matplotlib import colormaps

    return dict(zip(classes.tolist(), colormaps["turbo"](np.linspace(0.05, 0.95, len(classes))), strict=True))


def save_figure(figure: Any, path: str | os.PathLike[str]) -> list[Path]:
    """Write a figure as PNG and as SVG, and return the two paths.

    Both are drawn before either is written, and no reader sees half a file. The figure stays the caller's.

    Parameters
    ----------
    figure : matplotlib Figure
    path : path
        Where, without a suffix: ``"results/table1"`` gives ``results/table1.png`` and ``results/table1.svg``. The
        folder must exist.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_figure(Figure(), f"{folder}/example")]
    ['example.png', 'example.svg']
    """
    from matplotlib import rc_context

    stem = Path(path)
    if not stem.name or not stem.parent.is_dir():
        raise InputError(f"path: expected a file name in a folder that exists, got {str(path)!r}.")
    drawn = {stem.with_name(f"{stem.name}.{kind}"): BytesIO() for kind in FORMATS}
    # The salt stands for the random one that would name the parts of an SVG file otherwise.
    with rc_context({"svg.hashsalt": "isthmus", "svg.fonttype": "path"}):
        for kind, content in zip(FORMATS, drawn.values(), strict=True):
            figure.savefig(content, format=kind, dpi=DPI, metadata=METADATA[kind])
    for destination, content in drawn.items():
        write_whole(destination, content.getvalue())
    return list(drawn)


@dataclass(frozen=True, eq=False)
class LabelledRows:
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
            check_length(y, _count(X), f"y_{name}", f"X_{name}")
        check_length(known, _count(X_target), "truth", "X_target")
        return cls(np.asarray(y_source), np.asarray(y_target), np.asarray(known), truth is not None)

    @cached_property
    def colours(self) -> dict[Any, Any]:
        """A colour for each class."""
        return choose_colours(np.unique(np.concatenate([self.y_source, self.shown[self.shown != UNLABELLED]])))

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
        remove_frame(ax)

    def explain(self, ax: Any) -> None:
        """Markers and colours, to the right of the picture."""
        hidden = int(np.count_nonzero(self.y_target == UNLABELLED))
        keys = [make_legend_entry("source row", SOURCE_MARKER, 5, INK, INK)]
        if hidden < len(self.y_target):
            keys.append(make_legend_entry("target row, labelled", "*", 12, "white", INK))
        if hidden:
            known = "target row, unlabelled\n(coloured by the truth)" if self.coloured else "target row, unlabelled"
            keys.append(make_legend_entry(known, TARGET_MARKER, 5, "none", INK if self.coloured else FAINT))
        keys += [make_legend_entry(f"class {label}", "s", 7, colour, colour) for label, colour in self.colours.items()]
        ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, borderaxespad=0)


def _count(X: Any) -> int:
    """How many rows: of arrays, of sparse matrices, and of lists of texts."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


WIDTH, HEIGHT = 7.5, 5.5


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
    own, ax = ax is None, get_axes(ax, WIDTH, HEIGHT)
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
    S, T = check_matrix(source, "source"), check_matrix(target, "target")
    if S.shape[1] != T.shape[1]:
        raise InputError(f"space: expected one space for both domains, got {S.shape[1]} and {T.shape[1]} columns.")
    halves = np.repeat([1.0 / S.shape[0], 1.0 / T.shape[0]], [S.shape[0], T.shape[0]])
    found = principal_axes(np.vstack([as_dense(S), as_dense(T)]), weights=halves)
    plane = found.leading(2)
    share = plane.deviations**2 / (np.sum(found.deviations**2) or 1.0)
    return plane.coordinates(S), plane.coordinates(T), share


GAP = 0.15
"""Between the two domains, in units of the width of the source."""


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
    """Two panels: the domains before anything is learned, and in the learned space.

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
    left, right = new_figure(13.5, 4.4).subplots(1, 2) if axes is None else axes
    rows = LabelledRows.of(X_source, y_source, X_target, y_target, truth)
    own = getattr(space, "transformers_", {})
    S, T = _own_plane(X_source, own.get("source"), "X_source"), _own_plane(X_target, own.get("target"), "X_target")
    T = move_right_of(S, T, GAP)
    rows.draw(left, S, T)
    left.set(xticks=[], yticks=[])
    left.spines[:].set_visible(False)
    left.set_title("Before: each domain along its own two directions", loc="left")
    label_clouds(left, {"source": S, "target": T})
    after = "After: one space for both"
    plot_common_space(space, X_source, y_source, X_target, y_target, truth=truth, ax=right, title=after)
    figure = left.figure
    if title is not None:
        figure.suptitle(title)
    return figure


def _own_plane(X: Any, transformer: Any, name: str) -> FloatArray:
    """Rows along their two principal directions, in units of the spread of both."""
    table = check_matrix(apply_transformer(transformer, X, name), name)
    plane = principal_axes(table).leading(2)
    return plane.coordinates(table) / (np.linalg.norm(plane.deviations) or 1.0)
