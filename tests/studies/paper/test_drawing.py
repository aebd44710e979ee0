"""Figures of the experiments: every number is drawn once, where it belongs, and the same data give the same bytes."""

from __future__ import annotations

import builtins
from functools import cache

import numpy as np
import pytest
from matplotlib.colors import same_color, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.view.canvas import FAINT, OKABE_ITO, save_figure
from studies.paper.drawing import Panel, plot_differences, plot_heat_map, plot_table, plot_toy

N_SOURCE, N_TARGET, N_LABELLED = 20, 30, 4
GRID = {"row_name": "λ1", "column_name": "λ2"}
SYSTEMS = ["CCA", "ARC", "MLHD", "target-only", "noise source"]


def points(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def panel(d=2, **changes):
    truth = np.arange(N_TARGET) % 2
    values = {
        "title": "MLHD",
        "source": points(N_SOURCE, d),
        "source_labels": np.arange(N_SOURCE) % 2,
        "target": points(N_TARGET, d, seed=1),
        "target_labels": np.where(np.arange(N_TARGET) < N_LABELLED, truth, -1),
        "target_classes": truth,
        "caption": "MMD² 0.12 · accuracy 87 %",
    }
    return Panel(**values | changes)


def toy():
    alone = {"source": None, "source_labels": None}
    return plot_toy([panel(3, title="Target", **alone), panel(), panel()], title="Toy")


def heat_map(**changes):
    values = {"default": (1, 0), "spread": np.ones((2, 3)), "marked": [[0, 0, 1], [0, 0, 0]], "title": "λ1 × λ2"}
    return plot_heat_map(points(2, 3) + 40, [0.1, 1], [0.01, 5, 1000], **GRID | values | changes)


def table(n=4, **changes):
    paper = np.where(np.arange(5) < 3, points(n, 5, seed=2) + 40, np.nan)
    values = {"ours": points(n, 5) + 40, "ours_sd": np.ones((n, 5)), "paper": paper, "controls": [3, 4], "title": "T"}
    return plot_table([f"row {k}" for k in range(n)], SYSTEMS, **values | changes)


def differences(**changes):
    values = {"means": [2.0, -2.0, 0.5], "lows": [1.0, -3.0, -1.0], "highs": [3.0, -1.0, 2.0], "title": "D"}
    return plot_differences(["a - b", "a - c", "a - d"], **values | changes)


FIGURES = {"toy": toy, "heat_map": heat_map, "table": table, "differences": differences}


def texts(artist):
    return [text.get_text() for text in artist.get_texts()]


def texts_of(figure):
    """Everything that is written in a figure."""
    from matplotlib.text import Text

    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


@pytest.fixture(params=FIGURES)
def make(request):
    return FIGURES[request.param]


@cache
def drawn(make):
    """A figure that tests only look at."""
    figure = make()
    figure.draw_without_rendering()
    return figure


# Every figure


def test_figures_leave_no_trace_in_pyplot(make):
    from matplotlib import pyplot as plt

    before = plt.get_fignums()
    assert type(make()) is Figure
    assert plt.get_fignums() == before


def inside(box, page):
    return page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1


def test_all_type_is_large_enough_and_inside_the_page(make):
    figure = drawn(make)
    for text in texts_of(figure):
        assert text.get_fontsize() >= 7, text
    written = [part for ax in figure.axes for part in (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts)]
    labels = [label for ax in figure.axes for label in ax.get_yticklabels() if ax.name != "3d"]
    parts = [text for text in (*written, *labels, *figure.texts) if text.get_text()]
    for part in (*parts, *figure.legends):
        assert inside(part.get_window_extent(), figure.bbox), part


def test_legends_do_not_cover_one_another(make):
    figure = drawn(make)
    boxes = [legend.get_window_extent() for legend in figure.legends]
    boxes += [ax.get_window_extent() for ax in figure.axes]
    legends = range(len(figure.legends))
    assert not any(boxes[i].overlaps(boxes[j]) for i in legends for j in range(i + 1, len(boxes)))


@pytest.mark.slow
def test_the_same_data_give_the_same_bytes(make, tmp_path):
    figure = drawn(make)
    first = [path.read_bytes() for path in save_figure(figure, tmp_path / "first")]
    again = [path.read_bytes() for path in save_figure(figure, tmp_path / "again")]
    other = [path.read_bytes() for path in save_figure(make(), tmp_path / "other")]
    assert first == again == other


def test_without_matplotlib_the_command_that_installs_it_is_given(make, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r'pip install "isthmus\[plot\]"'):
        make()


# The toy problem


def groups(ax):
    """Unlabelled target rows, source rows, labelled target rows."""
    return ax.collections


def test_every_row_is_drawn_once_and_where_it_is():
    ax = plot_toy([panel()]).axes[0]
    unlabelled, source, labelled = (np.asarray(group.get_offsets()) for group in groups(ax))
    np.testing.assert_array_equal(source, panel().source)
    np.testing.assert_array_equal(np.vstack([labelled, unlabelled]), panel().target)
    assert len(labelled) == N_LABELLED


def test_the_marker_is_the_domain():
    from matplotlib.markers import MarkerStyle

    def shape(marker):
        style = MarkerStyle(marker)
        return style.get_path().transformed(style.get_transform()).vertices

    unlabelled, source, labelled = (group.get_paths()[0].vertices for group in groups(plot_toy([panel()]).axes[0]))
    np.testing.assert_array_equal(source, shape("o"))
    np.testing.assert_array_equal(unlabelled, shape("^"))
    np.testing.assert_array_equal(labelled, shape("^"))


def test_the_colour_is_the_class_and_unlabelled_rows_are_hollow():
    unlabelled, source, labelled = groups(plot_toy([panel()]).axes[0])
    assert [to_hex(c) for c in source.get_facecolors()] == [OKABE_ITO[k % 2] for k in range(N_SOURCE)]
    assert [to_hex(c) for c in labelled.get_facecolors()] == [OKABE_ITO[k % 2] for k in range(N_LABELLED)]
    assert [to_hex(c) for c in unlabelled.get_edgecolors()] == [OKABE_ITO[k % 2] for k in range(N_LABELLED, N_TARGET)]
    assert len(unlabelled.get_facecolors()) == 0
    assert labelled.get_sizes()[0] > 3 * unlabelled.get_sizes()[0]


def test_without_true_classes_unlabelled_rows_are_grey_and_the_legend_does_not_promise_more():
    figure = plot_toy([panel(target_classes=None)])
    assert all(same_color(c[:3], FAINT) for c in groups(figure.axes[0])[0].get_edgecolors())
    assert texts(figure.legends[0])[-1] == "target row, unlabelled"


def test_a_class_has_one_colour_in_all_panels():
    one = panel(source_labels=np.full(N_SOURCE, 1), target=None, target_labels=None, target_classes=None)
    first, second = plot_toy([one, panel()]).axes
    assert {to_hex(c) for c in groups(first)[0].get_facecolors()} == {OKABE_ITO[1]}
    assert to_hex(groups(second)[1].get_facecolors()[1]) == OKABE_ITO[1]


def test_unlabelled_source_rows_are_grey():
    source = groups(plot_toy([Panel("Source", points(3, 2), [0, 1, -1])]).axes[0])[0]
    assert [to_hex(c) for c in source.get_facecolors()] == [*OKABE_ITO[:2], FAINT]


def test_classes_may_be_words_and_many():
    names = np.array([f"class{k:02d}" for k in range(12)])
    one = Panel("Many", points(12, 2), names)
    assert len({to_hex(c) for c in groups(plot_toy([one]).axes[0])[0].get_facecolors()}) == 12


def test_the_legend_explains_what_is_there():
    markers, classes = drawn(toy).legends
    assert texts(markers) == [
        "source row (labelled)",
        "target row, labelled",
        "target row, unlabelled (colour: its true class)",
    ]
    assert texts(classes) == ["class 0", "class 1"]


def test_three_columns_get_three_axes_with_caption_and_title():
    space, plane, _ = drawn(toy).axes
    assert (space.name, plane.name) == ("3d", "rectilinear")
    for ax in (space, plane):
        assert panel().caption in [text.get_text() for text in ax.texts]
    assert (space.get_title(), plane.get_title()) == ("Target", "MLHD")


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 6, 7])
def test_panels_and_what_is_written_do_not_cover_one_another(n):
    figure = plot_toy([panel(caption="two\nlines")] * n, title="All")
    figure.draw_without_rendering()
    boxes = [part.get_window_extent() for ax in figure.axes for part in (ax, ax.title, *ax.texts)]
    boxes += [legend.get_window_extent() for legend in figure.legends]
    boxes += [text.get_window_extent() for text in texts_of(figure) if text.get_text() == "All"]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_a_line_is_drawn_in_two_bands_and_says_so():
    flat = panel(source=points(N_SOURCE, 2) * [1, 0], target=points(N_TARGET, 2) * [1, 0])
    ax = plot_toy([flat]).axes[0]
    unlabelled, source, labelled = (np.asarray(group.get_offsets()) for group in groups(ax))
    np.testing.assert_array_equal(source[:, 0], flat.source[:, 0])
    assert source[:, 1].min() > max(unlabelled[:, 1].max(), labelled[:, 1].max())
    assert any("one dimension" in text.get_text() for text in ax.texts)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": points(N_SOURCE, 4)}, r"source: expected 2 or 3 columns, got 4\."),
        ({"target": points(N_TARGET, 3)}, r"target: expected as many columns as source has, got 2 and 3 columns\."),
        ({"source_labels": [0, 1]}, r"source_labels: expected shape \(20,\) to match source, got \(2,\)\."),
        ({"target_classes": [0]}, r"target_classes: expected shape \(30,\) to match target, got \(1,\)\."),
        ({"target_labels": None}, r"target_labels: expected shape \(30,\) to match target, got \(\)\."),
        (
            {"source": np.full((N_SOURCE, 2), np.nan)},
            r"source: expected finite numbers without NaN or inf, got NaN\.",
        ),
        ({"source": None}, r"source_labels: expected None where source is None, got labels\."),
    ],
)
def test_bad_panels_are_refused_in_one_sentence(changes, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        panel(**changes)


def test_a_panel_of_nothing_is_refused_and_so_is_a_figure_of_none():
    with pytest.raises(InputError, match="at least, got None and None"):
        Panel("Empty")
    with pytest.raises(InputError, match="panels: expected at least one Panel and nothing else, got none"):
        plot_toy([])
    with pytest.raises(InputError, match="got str"):
        plot_toy(["MLHD"])


def test_a_panel_keeps_its_own_points():
    mine = points(N_SOURCE, 2)
    made = panel(source=mine)
    mine[:] = 0
    np.testing.assert_array_equal(made.source, points(N_SOURCE, 2))


# The heat map


def test_every_cell_has_its_number_at_its_place():
    V = points(2, 3) + 40
    ax = heat_map(spread=None).axes[0]
    assert {text.get_position(): text.get_text() for text in ax.texts} == {
        (j, i): f"{V[i, j]:.1f}" for i in range(2) for j in range(3)
    }
    low, high = ax.get_ylim()
    assert low < high


def test_powers_of_ten_are_named_as_such_and_the_bar_has_its_unit():
    figure = drawn(heat_map)
    ax, bar = figure.axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["$10^{-2}$", "5", "$10^{3}$"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["$10^{-1}$", "$10^{0}$"]
    assert bar.get_ylabel() == "accuracy, %"


def test_numbers_can_be_read_on_their_cells():
    figure = plot_heat_map(np.arange(40.0, 60.0)[None], [1], range(1, 21), **GRID)
    ax = figure.axes[0]
    image = ax.images[0]

    def luminance(rgb):
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ (0.2126, 0.7152, 0.0722)

    for text in ax.texts:
        column = int(text.get_position()[0])
        cell = luminance(np.array(image.cmap(image.norm(40.0 + column))[:3]))
        ink = 1.0 if text.get_color() == "white" else 0.0
        assert (max(cell, ink) + 0.05) / (min(cell, ink) + 0.05) >= 4.5


def test_the_default_is_outlined_and_marked_cells_have_a_corner():
    figure = drawn(heat_map)
    outlines = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    (corner,) = [patch for patch in figure.axes[0].patches if isinstance(patch, Polygon)]
    assert all(np.allclose(outline.get_center(), (0, 1)) for outline in outlines)
    assert outlines
    assert np.all(np.abs(corner.get_xy() - (2, 0)) <= 0.5)
    assert texts(figure.legends[0]) == ["the default setting", "a run here did not converge"]
    assert not heat_map(default=None, marked=None).legends


def test_a_missing_value_is_a_dash_and_spreads_stand_below():
    V = points(2, 3) + 40
    V[0, 0] = np.nan
    figure = plot_heat_map(V, [1, 2], [1, 2, 3], **GRID, spread=np.full((2, 3), 2.5))
    written = [text.get_text() for text in figure.axes[0].texts]
    assert written[0] == "–"
    assert all(text.endswith("\n±2.5") for text in written[1:])


def test_equal_values_do_not_get_the_colours_of_a_slope():
    assert np.ptp(plot_heat_map([[40.0, 40.01]], [1], [1, 2], **GRID).axes[0].images[0].get_clim()) == pytest.approx(
        1
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"spread": np.ones((3, 2))}, r"spread: expected shape \(2, 3\) to match values, got \(3, 2\)\."),
        ({"marked": [True]}, r"marked: expected shape \(2, 3\) to match values, got \(1,\)\."),
        ({"default": (2, 0)}, r"default: expected a row below 2 and a column below 3, got \(2, 0\)\."),
    ],
)
def test_bad_maps_are_refused_in_one_sentence(changes, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        heat_map(**changes)


def test_a_map_must_fit_its_parameters():
    with pytest.raises(InputError, match=r"values: expected shape \(1, 2\) to match rows and columns, got \(2, 2\)"):
        plot_heat_map(np.ones((2, 2)), [1], [1, 2], **GRID)


# The table


def lines(ax, marker):
    return [line for line in ax.lines if line.get_marker() == marker]


def markers(ax):
    return [line for line in ax.lines if line.get_marker() not in ("|", "None", "")]


def test_systems_are_on_the_left_controls_on_the_right_and_the_best_on_both():
    ours = points(4, 5) + 40 + np.array([0, 9, 0, 0, 20])
    left, right = table(ours=ours).axes
    np.testing.assert_array_equal([line.get_xdata()[:-1] for line in markers(left)], ours[:, :3].T)
    np.testing.assert_array_equal([line.get_xdata()[:-1] for line in markers(right)], ours[:, [1, 3, 4]].T)
    assert right.get_title() == "ARC beside the controls"


def test_systems_are_filled_and_controls_hollow_and_told_apart_by_marker_and_colour():
    left, right = table(focus=2).axes
    assert all(line.get_markerfacecolor() == line.get_markeredgecolor() for line in markers(left))
    best, *controls = markers(right)
    assert best.get_markerfacecolor() == markers(left)[2].get_markerfacecolor()
    assert all(line.get_markerfacecolor() == "white" for line in controls)
    for ax in (left, right):
        assert len({line.get_markeredgecolor() for line in markers(ax)}) == len(markers(ax))
    assert len({line.get_marker() for line in markers(left)}) == 3


def test_the_papers_numbers_are_ticks_in_the_lane_and_colour_of_their_system():
    paper = np.where(np.arange(5) < 3, points(4, 5, seed=2) + 40, np.nan)
    left, right = table(paper=paper).axes
    for tick, mark, numbers in zip(lines(left, "|"), markers(left), paper[:, :3].T, strict=True):
        np.testing.assert_array_equal(tick.get_xdata()[:-1], numbers)
        np.testing.assert_array_equal(tick.get_ydata(), mark.get_ydata())
        assert tick.get_color() == mark.get_markerfacecolor()
    assert all(np.isnan(tick.get_xdata()).all() for tick in lines(right, "|"))


def test_no_two_systems_share_a_lane_and_no_lane_leaves_its_row():
    for ax in drawn(table).axes:
        lanes = np.array([line.get_ydata() for line in markers(ax)])
        assert len(np.unique(lanes.round(6))) == lanes.size
        assert np.abs(lanes - np.arange(5)).max() < 0.5


def test_the_last_row_is_the_mean_of_those_who_have_all_rows():
    ours = points(4, 5) + 40
    ours[2, 0] = np.nan
    means = [line.get_xdata()[-1] for line in markers(table(ours=ours).axes[0])]
    np.testing.assert_allclose(means, [np.nan, ours[:, 1].mean(), ours[:, 2].mean()])


def test_a_table_without_controls_or_paper_or_deviations():
    figure = table(controls=[], paper=None, ours_sd=None)
    assert len(figure.axes) == 1
    assert [texts(legend) for legend in figure.legends] == [SYSTEMS]


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 20])
def test_tables_of_any_length_have_room_for_their_legends(n):
    figure = table(n)
    figure.draw_without_rendering()
    ticks = [label.get_window_extent() for ax in figure.axes for label in (*ax.get_xticklabels(), ax.xaxis.label)]
    for legend in figure.legends:
        assert legend.get_window_extent().y0 >= 0
        assert not any(legend.get_window_extent().overlaps(tick) for tick in ticks)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ours": np.ones((4, 4))}, r"ours: expected shape \(4, 5\) to match rows and systems, got \(4, 4\)\."),
        ({"ours_sd": np.ones(4)}, r"ours_sd: expected shape \(4, 5\) to match ours, got \(4,\)\."),
        ({"paper": "none"}, r"paper: expected numbers in shape \(4, 5\) to match ours, got something else\."),
        ({"ours": np.full((4, 5), np.inf)}, r"ours: expected finite numbers, or NaN where there is none, got inf\."),
        ({"controls": [5]}, r"controls: expected positions from 0 to 4, got \[5\]\."),
        ({"controls": range(5)}, r"controls: expected at least one system that is not a control, got none\."),
        ({"focus": 3}, r"focus: expected the position of a system that is not a control, got 3\."),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(changes, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        table(**changes)


def test_a_table_of_no_rows_is_refused():
    with pytest.raises(InputError, match="rows: expected a sequence of at least one name"):
        plot_table([], ["a"], np.ones((0, 1)))


# Arguments


def test_arguments_are_not_written_to():
    def frozen(array):
        array = np.array(array, dtype=float)
        array.setflags(write=False)
        return array

    given = [frozen(points(4, 5) + 40) for _ in range(3)]
    table(ours=given[0], ours_sd=given[1], paper=given[2])
    heat_map(spread=frozen(np.ones((2, 3))), marked=frozen(np.zeros((2, 3))))
    differences(means=frozen([2, -2, 0.5]), lows=frozen([1, -3, -1]), highs=frozen([3, -1, 2]))
    plot_toy([panel(source=frozen(points(N_SOURCE, 2)), target=frozen(points(N_TARGET, 2)))])
    for array in given:
        np.testing.assert_array_equal(array, points(4, 5) + 40)
