"""The demo's verdict says what the numbers say, whichever way they fall, and the demo runs from end to end."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from isthmus.study import Record

DEMO = Path(__file__).parents[1] / "examples" / "digits_demo.py"


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("digits_demo", DEMO)
    module = importlib.util.module_from_spec(spec)
    sys.modules["digits_demo"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["digits_demo"]


def board(demo, true, control, corrupted):
    """Ten splits of known means, each column with its own small scatter."""
    study = demo.question(2)
    means = dict.fromkeys(study.columns, corrupted) | dict.fromkeys(demo.READINGS, true)
    means |= dict.fromkeys(demo.CONTROLS, 0.1) | {"target SVM": control}
    scatter = 0.01 * np.random.default_rng(0).normal(size=(len(means), 10))
    records = [
        Record("digits", "", "", k, name, "default", {}, means[name] + x, 0.0, "done", None, "isthmus 0")
        for name, row in zip(means, scatter - scatter.mean(axis=1, keepdims=True), strict=True)
        for k, x in enumerate(row)
    ]
    return study.board(records, range(10))


@pytest.mark.parametrize(
    ("true", "control", "corrupted", "says"),
    [
        (0.9, 0.8, 0.8, "The source helped.\n  mlhd > target SVM: holds, +10.0"),
        (0.9, 0.8, 0.9, "MLHD won, but NOT by what the source knows."),
        (0.8, 0.8, 0.7, "There is NO proof that the source helped; MLHD does learn from it."),
        (0.7, 0.8, 0.6, "The source did NOT help; MLHD does learn from it.\n  mlhd > target SVM: reversed, -10.0"),
        (0.7, 0.8, 0.7, "The source did NOT help; nor is it shown to matter"),
    ],
)
def test_verdict(demo, true, control, corrupted, says):
    assert demo.verdict(board(demo, true, control, corrupted)).startswith(says)


def test_a_picture_that_can_not_be_written_ends_the_demo_before_its_work(demo, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert demo.main(["--output", str(tmp_path / "file" / "below")]) == 2
    assert capsys.readouterr().out == ""


def test_the_demo_runs_and_nearest_of_both_is_what_a_fit_with_both_predicts(demo, tmp_path, capsys):
    assert demo.main(["--splits", "2", "--jobs", "1", "--output", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "optimal after" in said
    assert "mlhd by both, renamed" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["common_space.png", "common_space.svg"]
    rows = demo.question(2).rows(demo.Trial("", "", 0))
    fitted = [demo.MLHD(references=which).fit(*rows.fit) for which in ("source", "both")]
    np.testing.assert_array_equal(demo.by_both(fitted[0], rows, rows.X_test), fitted[1].predict(rows.X_test))
    assert fitted[0].references == "source"
