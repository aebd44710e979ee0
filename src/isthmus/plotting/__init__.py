"""Pictures. They need matplotlib, which is imported only when something is drawn.

:func:`plot_common_space` and :func:`plot_before_after` draw a fitted estimator, :func:`plot_convergence` the work of
its solver, :func:`plot_matches` and :func:`plot_confidence` what a matching found, :func:`plot_recall` what an
adapter finds, :func:`plot_verdict` and :func:`plot_labels_curve` what a source is worth; :func:`save_figure` writes
any figure, twice the same bytes for the same picture. No figure is kept, or shown, by pyplot.
"""

from isthmus.plotting.before_after import plot_before_after
from isthmus.plotting.canvas import FAINT, OKABE_ITO, TEN_COLOURS, save_figure
from isthmus.plotting.common_space import plot_common_space, principal_plane
from isthmus.plotting.convergence import plot_convergence
from isthmus.plotting.matches import plot_confidence, plot_matches
from isthmus.plotting.recall import plot_recall
from isthmus.plotting.verdict import plot_labels_curve, plot_verdict

__all__ = [
    "FAINT",
    "OKABE_ITO",
    "TEN_COLOURS",
    "plot_before_after",
    "plot_common_space",
    "plot_confidence",
    "plot_convergence",
    "plot_labels_curve",
    "plot_matches",
    "plot_recall",
    "plot_verdict",
    "principal_plane",
    "save_figure",
]
