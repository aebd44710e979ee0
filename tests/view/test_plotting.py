"""Pictures: every row is drawn once, where the metric puts it, and is explained."""

from __future__ import annotations

import builtins

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import same_color, to_hex

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.view.canvas import FAINT, TEN_COLOURS
from isthmus.view.plots import plot_common_space

N_SOURCE, N_TARGET, N_LABELLED = 30, 40, 6


class Maps:
    """A common space given by its two linear maps."""

    def __init__(self, source, target):
        self.maps = {"source": source, "target": target}

    def transform(self, X, domain="target"):
        return np.asarray(X) @ self.maps[domain]


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def rows(rng):
    truth = np.arange(N_TARGET) % 3
    y_target = np.where(np.arange(N_TARGET) < N_LABELLED, truth, -1)
    return (
        rng.normal(size=(N_SOURCE, 4)),
        np.arange(N_SOURCE) % 3,
        rng.normal(size=(N_TARGET, 3)),
        y_target,
    ), truth


@pytest.fixture
def space(rng):
    return Maps(rng.normal(size=(4, 5)), rng.normal(size=(3, 5)))


def groups(ax):
    """Unlabelled target rows, source rows, labelled target rows."""
    return ax.collections


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_every_row_is_drawn_once(space, rows):
    ax = plot_common_space(space, *rows[0])
    counts = [len(group.get_offsets()) for group in groups(ax)]
    assert counts == [N_TARGET - N_LABELLED, N_SOURCE, N_LABELLED]


def test_the_plane_is_the_metrics_own_when_the_space_has_two_dimensions(rng, rows):
    flat = Maps(rng.normal(size=(4, 2)), rng.normal(size=(3, 2)))
    (X_s, _, X_t, y_t), _ = rows
    unlabelled, source, labelled = (np.asarray(g.get_offsets()) for g in groups(plot_common_space(flat, *rows[0])))
    drawn = np.linalg.norm(source[:, None] - np.vstack([labelled, unlabelled]), axis=2)
    T = flat.transform(np.vstack([X_t[y_t != -1], X_t[y_t == -1]]))
    meant = np.linalg.norm(flat.transform(X_s, "source")[:, None] - T, axis=2)
    np.testing.assert_allclose(drawn, meant)


def test_the_plane_does_not_depend_on_how_many_rows_a_domain_has(space, rows):
    (X_s, y_s, X_t, y_t), _ = rows
    once = groups(plot_common_space(space, X_s, y_s, X_t, y_t))[1].get_offsets()
    tripled = np.tile(X_t, (3, 1)), np.tile(y_t, 3)
    again = groups(plot_common_space(space, X_s, y_s, *tripled))[1].get_offsets()
    np.testing.assert_allclose(again, once, atol=1e-10)


def test_labels_do_not_move_points(space, rows):
    (X_s, y_s, X_t, y_t), _ = rows
    one = groups(plot_common_space(space, X_s, y_s, X_t, y_t))[1].get_offsets()
    other = groups(plot_common_space(space, X_s, y_s[::-1], X_t, y_t))[1].get_offsets()
    np.testing.assert_array_equal(one, other)


def test_colours_are_the_classes_and_grey_is_unknown(space, rows):
    unlabelled, source, labelled = groups(plot_common_space(space, *rows[0]))
    assert [to_hex(c) for c in source.get_facecolors()] == [TEN_COLOURS[k % 3] for k in range(N_SOURCE)]
    assert [to_hex(c) for c in labelled.get_facecolors()] == [TEN_COLOURS[k % 3] for k in range(N_LABELLED)]
    assert all(same_color(c[:3], FAINT) for c in unlabelled.get_edgecolors())
    assert len(unlabelled.get_facecolors()) == 0


def test_truth_colours_the_unlabelled_rows(space, rows):
    data, truth = rows
    edges = groups(plot_common_space(space, *data, truth=truth))[0].get_edgecolors()
    assert [to_hex(c) for c in edges] == [TEN_COLOURS[k] for k in truth[N_LABELLED:]]


def test_the_legend_names_kinds_and_classes(space, rows):
    data, truth = rows
    kinds = ["source row", "target row, labelled", "target row, unlabelled"]
    classes = ["class 0", "class 1", "class 2"]
    assert legend_texts(plot_common_space(space, *data)) == kinds + classes
    assert "coloured by the truth" in legend_texts(plot_common_space(space, *data, truth=truth))[2]


def test_a_fully_labelled_target_has_no_unlabelled_entry(space, rows):
    (X_s, y_s, X_t, _), truth = rows
    assert legend_texts(plot_common_space(space, X_s, y_s, X_t, truth))[:3] == [
        "source row",
        "target row, labelled",
        "class 0",
    ]


def test_class_names_stand_at_the_means_of_the_source(space, rows):
    ax = plot_common_space(space, *rows[0])
    source, y_s = np.asarray(groups(ax)[1].get_offsets()), rows[0][1]
    names = {text.get_text(): text.xy for text in ax.texts}
    assert sorted(names) == ["0", "1", "2"]
    np.testing.assert_allclose(names["1"], source[y_s == 1].mean(axis=0))


def test_words_and_many_classes_have_distinct_colours(space, rng):
    words = np.array([f"class{k:02d}" for k in range(15)])
    data = (rng.normal(size=(30, 4)), np.repeat(words, 2), rng.normal(size=(15, 3)), words)
    source = groups(plot_common_space(space, *data))[1]
    assert len({to_hex(c) for c in source.get_facecolors()}) == 15


def test_inputs_are_not_written_to(space, rows):
    data, truth = rows
    for array in (*data, truth):
        array.setflags(write=False)
    copies = [array.copy() for array in data]
    plot_common_space(space, *data, truth=truth)
    for array, copy in zip(data, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_it_draws_into_given_axes(space, rows):
    _, ax = plt.subplots()
    assert plot_common_space(space, *rows[0], ax=ax, title="Here") is ax
    assert ax.get_title(loc="left") == "Here"


def test_a_space_of_one_dimension_is_a_line(rows):
    ax = plot_common_space(Maps(np.ones((4, 1)), np.ones((3, 1))), *rows[0])
    assert not np.asarray(groups(ax)[1].get_offsets())[:, 1].any()


def test_wrong_lengths_are_named(space, rows):
    (X_s, y_s, X_t, y_t), truth = rows
    with pytest.raises(InputError, match=r"y_source: expected shape \(30,\) to match X_source, got \(29,\)"):
        plot_common_space(space, X_s, y_s[1:], X_t, y_t)
    with pytest.raises(InputError, match=r"truth: expected shape \(40,\) to match X_target"):
        plot_common_space(space, X_s, y_s, X_t, y_t, truth=truth[1:])


def test_two_spaces_are_not_one(rows):
    with pytest.raises(InputError, match="one space for both domains, got 2 and 3 columns"):
        plot_common_space(Maps(np.ones((4, 2)), np.ones((3, 3))), *rows[0])


def test_without_matplotlib_the_command_that_installs_it_is_given(space, rows, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r'pip install "isthmus\[plot\]"'):
        plot_common_space(space, *rows[0])
