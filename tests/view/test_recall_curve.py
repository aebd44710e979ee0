"""The picture of an adapter's recall."""

import matplotlib as mpl
import numpy as np
import pytest

from isthmus.evidence.held_out import Proportion
from isthmus.tasks.migration.evidence import Figures, Recall
from isthmus.view.plots import plot_recall

mpl.use("Agg")


@pytest.mark.parametrize("known", [True, False])
def test_the_curves_are_the_figures(known):
    from matplotlib.figure import Figure

    shares = [Proportion(0.2, 0.1, 0.3), Proportion(0.6, 0.5, 0.7)]
    figures = tuple(Figures(share, shares[1], share if known else None, 0.5) for share in shares)
    recall = Recall((30, 90), figures)
    axes = plot_recall(recall, ax=Figure().subplots())
    assert len(axes.lines) == 2 + known
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[30, 0.2], [90, 0.6]])
    assert [text.get_text() for text in axes.get_legend().get_texts()][:2] == ["recall@1", "recall@10"]


def test_a_figure_is_made_where_none_is_given():
    from matplotlib import pyplot

    share = Proportion(0.2, 0.1, 0.3)
    axes = plot_recall(Recall((30,), (Figures(share, share, None, 0.2),)))
    assert axes.get_xscale() == "log"
    pyplot.close(axes.figure)
