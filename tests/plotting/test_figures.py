"""Figures from plain numbers, and figures as files: every number once, and the same data give the same bytes."""

import os
import subprocess
import sys

import numpy as np
import pytest

from isthmus import plotting
from isthmus.exceptions import InputError
from isthmus.plotting import plot_differences, principal_plane, save_figure
from isthmus.plotting.palette import DOUBT, GAIN, LOSS


def points(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def lines(ax, marker):
    return [line for line in ax.lines if line.get_marker() == marker]


def differences(**changes):
    values = {"means": [2.0, -2.0, 0.5], "lows": [1.0, -3.0, -1.0], "highs": [3.0, -1.0, 2.0], "title": "D"}
    return plot_differences(["a - b", "a - c", "a - d"], **values | changes)


def test_every_public_function_is_documented():
    for name in plotting.__all__:
        thing = getattr(plotting, name)
        assert not callable(thing) or "Parameters\n" in thing.__doc__ or "Parameters as in" in thing.__doc__, name


def test_the_principal_plane_keeps_distances_where_two_dimensions_are_all():
    S, T, share = principal_plane(points(9, 2), points(7, 2, seed=1))
    meant = np.linalg.norm(points(9, 2)[:, None] - points(7, 2, seed=1), axis=2)
    np.testing.assert_allclose(np.linalg.norm(S[:, None] - T, axis=2), meant)
    assert share.sum() == pytest.approx(1)


# Files


def test_another_process_writes_the_same_bytes_and_loads_matplotlib_only_to_draw(tmp_path):
    code = (
        "import sys; from isthmus.plotting import *; assert 'matplotlib' not in sys.modules\n"
        "save_figure(plot_differences(['a - b'], [1.], [0.], [2.], title='T'), sys.argv[1])"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "there")], check=True, env=environment)
    here = plot_differences(["a - b"], [1.0], [0.0], [2.0], title="T")
    for path in save_figure(here, tmp_path / "here"):
        assert path.read_bytes() == (tmp_path / f"there{path.suffix}").read_bytes()


def test_files_are_what_their_names_say_and_carry_no_date(tmp_path):
    png, svg = save_figure(differences(), tmp_path / "results.v1")
    assert (png.name, svg.name) == ("results.v1.png", "results.v1.svg")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert b"Software" not in png.read_bytes()
    assert svg.read_bytes().startswith(b"<?xml")
    assert b"dc:date" not in svg.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.v1.png", "results.v1.svg"]


def test_a_drawing_that_fails_leaves_the_old_files_and_no_other(tmp_path):
    paths = save_figure(differences(), tmp_path / "figure")
    old = [path.read_bytes() for path in paths]
    broken = differences()
    broken.axes[0].set_xlabel("$\\nonsense{$")
    with pytest.raises(ValueError, match="nonsense"):
        save_figure(broken, tmp_path / "figure")
    assert [path.read_bytes() for path in paths] == old
    assert len(list(tmp_path.iterdir())) == 2


def test_a_disk_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(self, target):
        raise OSError("No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(OSError, match="No space"):
        save_figure(differences(), tmp_path / "figure")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_must_exist(tmp_path):
    with pytest.raises(InputError, match="path: expected a file name in a folder that exists, got"):
        save_figure(differences(), tmp_path / "nowhere" / "figure")


# Differences


def test_colour_and_filling_tell_whether_zero_is_outside_the_interval():
    dots = lines(differences().axes[0], "o")
    assert [dot.get_markeredgecolor() for dot in dots] == [GAIN, LOSS, DOUBT]
    assert [dot.get_markerfacecolor() for dot in dots] == [GAIN, LOSS, "white"]


def test_an_interval_that_touches_zero_includes_it():
    dots = lines(differences(lows=[0.0, -3.0, -1.0], highs=[3.0, 0.0, 2.0]).axes[0], "o")
    assert {dot.get_markeredgecolor() for dot in dots} == {DOUBT}


def test_groups_have_headings_and_the_order_is_from_the_top():
    ax = differences(groups=["one", "two", "two"]).axes[0]
    ticks = {label.get_text(): label.get_position()[1] for label in ax.get_yticklabels()}
    assert list(ticks) == ["one", "a - b", "two", "a - c", "a - d"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    assert [dot.get_ydata()[0] for dot in lines(ax, "o")] == [ticks[name] for name in ("a - b", "a - c", "a - d")]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"means": [1.0]}, r"means: expected shape \(3,\) to match names, got \(1,\)\."),
        (
            {"lows": [1.0, 1.0, 1.0]},
            r"lows, highs: expected an interval around each mean, got one that leaves it out\.",
        ),
        ({"highs": [np.nan] * 3}, r"means, lows, highs: expected numbers, got NaN\."),
        ({"groups": ["one"]}, r"groups: expected 3 entries to match names, got 1\."),
    ],
)
def test_bad_differences_are_refused_in_one_sentence(changes, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        differences(**changes)
