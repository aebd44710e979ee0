"""Both domains as points of one learned space, seen along its two principal directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, as_dense
from isthmus._threads import cap_threads
from isthmus._validation import matrix
from isthmus.exceptions import InputError
from isthmus.linalg import principal_axes
from isthmus.plotting.canvas import given_or_new
from isthmus.plotting.rows import Rows

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
    own, ax = ax is None, given_or_new(ax, WIDTH, HEIGHT)
    rows = Rows.of(X_source, y_source, X_target, y_target, truth)
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
    S, T = matrix(source, "source"), matrix(target, "target")
    if S.shape[1] != T.shape[1]:
        raise InputError(f"space: expected one space for both domains, got {S.shape[1]} and {T.shape[1]} columns.")
    halves = np.repeat([1.0 / S.shape[0], 1.0 / T.shape[0]], [S.shape[0], T.shape[0]])
    found = principal_axes(np.vstack([as_dense(S), as_dense(T)]), weights=halves)
    plane = found.leading(2)
    share = plane.deviations**2 / (np.sum(found.deviations**2) or 1.0)
    return plane.coordinates(S), plane.coordinates(T), share
