"""Figures as files: the same data give the same bytes; and the plane that pictures are seen in."""

import os
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from isthmus import view as plotting
from isthmus.exceptions import InputError
from isthmus.view.canvas import save_figure
from isthmus.view.plots import principal_plane


def points(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def figure(label="accuracy"):
    drawn = Figure()
    ax = drawn.add_subplot()
    ax.plot([0.0, 1.0], [1.0, 0.5], "o-", label="mlhd")
    ax.set_xlabel(label)
    ax.legend()
    return drawn


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


@pytest.mark.slow
def test_another_process_writes_the_same_bytes_and_loads_matplotlib_only_to_draw(tmp_path):
    code = (
        "import sys; from isthmus.view import *; assert 'matplotlib' not in sys.modules\n"
        "from matplotlib.figure import Figure; figure = Figure(); figure.add_subplot().plot([0., 1.], label='mlhd')\n"
        "figure.legend(); save_figure(figure, sys.argv[1])"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "there")], check=True, env=environment)
    here = Figure()
    here.add_subplot().plot([0.0, 1.0], label="mlhd")
    here.legend()
    for path in save_figure(here, tmp_path / "here"):
        assert path.read_bytes() == (tmp_path / f"there{path.suffix}").read_bytes()


def test_files_are_what_their_names_say_and_carry_no_date(tmp_path):
    png, svg = save_figure(figure(), tmp_path / "results.v1")
    assert (png.name, svg.name) == ("results.v1.png", "results.v1.svg")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert b"Software" not in png.read_bytes()
    assert svg.read_bytes().startswith(b"<?xml")
    assert b"dc:date" not in svg.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.v1.png", "results.v1.svg"]


def test_a_drawing_that_fails_leaves_the_old_files_and_no_other(tmp_path):
    paths = save_figure(figure(), tmp_path / "figure")
    old = [path.read_bytes() for path in paths]
    broken = figure("$\\nonsense{$")
    with pytest.raises(ValueError, match="nonsense"):
        save_figure(broken, tmp_path / "figure")
    assert [path.read_bytes() for path in paths] == old
    assert len(list(tmp_path.iterdir())) == 2


def test_a_disk_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(source, target):
        raise OSError("No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(InputError, match="No space"):
        save_figure(figure(), tmp_path / "figure")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_must_exist(tmp_path):
    with pytest.raises(InputError, match="path: expected a file name in a folder that exists, got"):
        save_figure(figure(), tmp_path / "nowhere" / "figure")
