"""Pictures. They need matplotlib, which is imported only when something is drawn.

Two draw a fitted estimator (:func:`plot_common_space`, :func:`plot_before_after`); the others draw the figures of
the experiments from plain arrays, as wide as a page. :func:`saved` writes any of them, twice the same bytes for the
same picture.
"""

from isthmus.plotting.common_space import plot_before_after, plot_common_space, principal_plane
from isthmus.plotting.differences import plot_differences
from isthmus.plotting.files import saved
from isthmus.plotting.heat_map import plot_heat_map
from isthmus.plotting.palette import FAINT, OKABE_ITO, TEN_COLOURS
from isthmus.plotting.panel import Panel
from isthmus.plotting.table import plot_table
from isthmus.plotting.toy import plot_toy

__all__ = [
    "FAINT",
    "OKABE_ITO",
    "TEN_COLOURS",
    "Panel",
    "plot_before_after",
    "plot_common_space",
    "plot_differences",
    "plot_heat_map",
    "plot_table",
    "plot_toy",
    "principal_plane",
    "saved",
]
