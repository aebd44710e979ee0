"""Pictures of solvers, matchings and verdicts: the figures in them are those of the values, and pyplot is left alone."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib import image
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from conftest import make_domains, one_sentence
from isthmus import MLHD, InputError, Matching
from isthmus.view.plots import plot_convergence, plot_labels_curve, plot_matches

ROOT = Path(__file__).parents[2]
D = make_domains(seed=103)


@pytest.fixture(scope="module")
def model():
    return MLHD().fit(*D.args)


def matching(pairs, shape, confidence=None):
    pairs = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
    sure = np.linspace(0.5, 1.0, len(pairs)) if confidence is None else np.asarray(confidence)
    return Matching(pairs, sure, sure, np.zeros(shape[0], np.intp), shape, True, "matched: some.", None)


def test_the_curve_is_the_trace_and_the_star_the_certificate(model):
    result = model.result_
    ax = plot_convergence(model)
    curve, star, goal = ax.lines
    np.testing.assert_array_equal(curve.get_xdata(), [point.iteration for point in result.trace])
    np.testing.assert_array_equal(curve.get_ydata(), [point.relative_gap for point in result.trace])
    assert star.get_ydata()[0] == result.relative_gap
    assert goal.get_ydata()[0] == result.tolerance
    assert ax.get_yscale() == "log"
    assert "optimal" in ax.get_legend().get_texts()[0].get_text()


@pytest.mark.slow
def test_several_solvers_share_axes_and_one_goal(model):
    ax = Figure().subplots()
    assert plot_convergence(model.result_, ax) is ax
    plot_convergence(MLHD(solver="bregman", tol=1e-3).fit(*D.args), ax)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text.partition(":")[0] for text in texts] == ["DualNewton", "tolerance", "BregmanProjections"]
    assert ax.lines[0].get_color() != ax.lines[3].get_color()


@pytest.mark.parametrize("wrong", [3, None, MLHD()])
def test_what_has_no_result_is_refused(wrong):
    with pytest.raises(
        InputError, match="result: expected a Result, or an estimator fitted by an iterative solver"
    ) as caught:
        plot_convergence(wrong)
    assert one_sentence(caught)


def test_nothing_matched_is_a_picture_too():
    found, rng = matching([], (6, 5)), np.random.default_rng(100)
    lines = lines_of(plot_matches(found, rng.normal(size=(6, 3)), rng.normal(size=(5, 4))))
    assert len(lines.get_segments()) == 0


def lines_of(ax):
    (lines,) = (each for each in ax.collections if isinstance(each, LineCollection))
    return lines


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(100)
    A = rng.normal(size=(80, 5)) * [5, 4, 1, 1, 1]
    order = rng.permutation(80)
    return A, (A @ rng.normal(size=(5, 7)))[order], np.stack([order, np.arange(80)], axis=1)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_lines_go_from_row_to_row(views, form):
    A, B, pairs = views
    ax = plot_matches(matching(pairs, (80, 80)), form(A), form(B), most=10)
    left, right = (np.asarray(each.get_offsets()) for each in ax.collections if each is not lines_of(ax))
    segments = np.stack(lines_of(ax).get_segments())
    drawn = pairs[np.argsort(-np.linspace(0.5, 1.0, 80))][np.linspace(0, 79, 10).astype(int)]
    np.testing.assert_allclose(segments[:, 0], left[drawn[:, 0]])
    np.testing.assert_allclose(segments[:, 1], right[drawn[:, 1]])
    assert left[:, 0].max() < right[:, 0].min()
    assert (np.diff(lines_of(ax).get_array()) <= 0).all(), "surest first"


def test_right_matches_run_in_parallel_and_wrong_ones_cross(views):
    A, B, pairs = views
    rng = np.random.default_rng(100)
    wrong = np.stack([pairs[:, 0], rng.permutation(80)], axis=1)

    def slant(pairs):
        segments = np.stack(lines_of(plot_matches(matching(pairs, (80, 80)), A, B)).get_segments())
        return np.abs(segments[:, 0, 1] - segments[:, 1, 1]).mean()

    assert slant(pairs) < 0.1 * slant(wrong)


def test_other_rows_than_those_matched_are_refused(views):
    A, B, pairs = views
    with pytest.raises(InputError, match="B: expected the 80 rows that were matched, got 79") as caught:
        plot_matches(matching(pairs, (80, 80)), A, B[1:])
    assert one_sentence(caught)
    with pytest.raises(InputError, match="most: expected a whole number"):
        plot_matches(matching(pairs, (80, 80)), A, B, most=0)


def test_the_labels_curve_is_that_of_the_verdict():
    point = {"labels": 1, "with_source": 0.5, "without": 0.9, "low": -0.6, "high": 0.2}
    points = [SimpleNamespace(**point), SimpleNamespace(**point | {"labels": 3, "with_source": 0.95})]
    verdict = SimpleNamespace(sentence="It may.", curve=points, rows=[])
    ax = plot_labels_curve(verdict)
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (pytest.approx(30.0), 100.0), "no accuracy is above one"
    own = Figure().subplots()
    assert plot_labels_curve(verdict, own) is own


DRAWN = "common_space", "convergence", "matches"
"""Without those that take longer: a verdict, with its many fits, and an adapter."""


@pytest.mark.slow
def test_the_pictures_of_the_documentation_are_those_of_the_script_and_pyplot_sees_none(tmp_path):
    script = (
        f"import runpy, sys; sys.argv = ['pictures.py', '--out', {str(tmp_path)!r}, *{DRAWN!r}]\n"
        "runpy.run_path('examples/pictures.py', run_name='__main__')\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], cwd=ROOT, check=True, capture_output=True)
    for name in DRAWN:
        here, there = (image.imread(folder / f"{name}.png") for folder in (tmp_path, ROOT / "docs" / "pictures"))
        assert here.shape == there.shape, name
        assert np.abs(here - there).mean() < 0.01, name
