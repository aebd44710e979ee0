"""Pictures. They need matplotlib, which is imported only when something is drawn.

:func:`plot_common_space` and :func:`plot_before_after` draw a fitted estimator, :func:`plot_recall` what an adapter
finds, :func:`plot_verdict` what a source is worth; :func:`save_figure` writes any figure, twice the same bytes for
the same picture.
"""

from isthmus.plotting.canvas import FAINT, OKABE_ITO, TEN_COLOURS, save_figure
from isthmus.plotting.common_space import plot_before_after, plot_common_space, principal_plane
from isthmus.plotting.recall import plot_recall
from isthmus.plotting.verdict import plot_verdict

__all__ = [
    "FAINT",
    "OKABE_ITO",
    "TEN_COLOURS",
    "plot_before_after",
    "plot_common_space",
    "plot_recall",
    "plot_verdict",
    "principal_plane",
    "save_figure",
]
