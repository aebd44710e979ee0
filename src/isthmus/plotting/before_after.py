"""Two domains before anything is learned, each on its own, and after, in one space."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._arrays import FloatArray
from isthmus._threads import cap_threads
from isthmus._validation import matrix
from isthmus.linalg import principal_axes
from isthmus.plotting.canvas import beside, name_clouds, new_figure
from isthmus.plotting.common_space import plot_common_space
from isthmus.plotting.rows import Rows
from isthmus.spaces.transformed import transformed

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
    rows = Rows.of(X_source, y_source, X_target, y_target, truth)
    own = getattr(space, "transformers_", {})
    S, T = _own_plane(X_source, own.get("source"), "X_source"), _own_plane(X_target, own.get("target"), "X_target")
    T = beside(S, T, GAP)
    rows.draw(left, S, T)
    left.set(xticks=[], yticks=[])
    left.spines[:].set_visible(False)
    left.set_title("Before: each domain along its own two directions", loc="left")
    name_clouds(left, {"source": S, "target": T})
    after = "After: one space for both"
    plot_common_space(space, X_source, y_source, X_target, y_target, truth=truth, ax=right, title=after)
    figure = left.figure
    if title is not None:
        figure.suptitle(title)
    return figure


def _own_plane(X: Any, transformer: Any, name: str) -> FloatArray:
    """Rows along their two principal directions, in units of the spread of both."""
    table = matrix(transformed(transformer, X, name), name)
    plane = principal_axes(table).leading(2)
    return plane.coordinates(table) / (np.linalg.norm(plane.deviations) or 1.0)
