"""Plots (extra ``plot``) and reports (extra ``report``)."""

from isthmus.view.canvas import save_figure
from isthmus.view.plots import (
    plot_common_space,
    plot_convergence,
    plot_labels_curve,
    plot_matches,
    plot_recall,
    principal_plane,
)

__all__ = [
    "plot_common_space",
    "plot_convergence",
    "plot_labels_curve",
    "plot_matches",
    "plot_recall",
    "principal_plane",
    "save_figure",
]
