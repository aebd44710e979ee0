"""The demo's verdicts say what the numbers say, whichever way they fall, and the demo runs from end to end."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

from isthmus.study.records import Record
from isthmus.study.trial_rows import Trial

DEMO = Path(__file__).parents[1] / "examples" / "digits_demo.py"


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("digits_demo", DEMO)
    module = importlib.util.module_from_spec(spec)
    sys.modules["digits_demo"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["digits_demo"]


def board(study, means):
    """Ten splits of known means, each column with its own small scatter."""
    scatter = 0.01 * np.random.default_rng(0).normal(size=(len(study.columns), 10))
    records = [
        Record(study.name, "", "", k, name, "default", {}, means.get(name, 0.4) + x, 0.0, "done", None, "isthmus 0")
        for name, row in zip(study.columns, scatter - scatter.mean(axis=1, keepdims=True), strict=True)
        for k, x in enumerate(row)
    ]
    return study.board(records, range(10))


@pytest.mark.parametrize(
    ("transfer", "bounded", "renamed", "says"),
    [
        (0.9, 0.4, 0.5, "The source named the digits that nobody labelled."),
        (0.9, 0.4, 0.9, "LabelTransfer won, but NOT by what the source knows."),
        (0.4, 0.4, 0.4, "The source did NOT name the digits"),
        (0.3, 0.4, 0.2, "The source did NOT name the digits"),
    ],
)
def test_naming_verdict(demo, transfer, bounded, renamed, says):
    means = {demo.TRANSFER: transfer, demo.BOUNDED: bounded, demo.CORRUPTED["renamed"]: renamed}
    assert demo.naming_verdict(board(demo.naming(3), means)).startswith(says)


@pytest.mark.parametrize(
    ("transfer", "control", "says"),
    [(0.9, 0.8, "The source helped."), (0.8, 0.8, "There is NO proof"), (0.7, 0.8, "The source did NOT help.")],
)
def test_worth_verdict_is_against_the_best_control(demo, transfer, control, says):
    means = {demo.TRANSFER: transfer, "target label spreading": control}
    said = demo.worth_verdict(board(demo.every_digit(3), means))
    assert said.startswith(says)
    assert "LabelTransfer > target label spreading" in said


def test_half_of_the_digits_lose_their_labels_and_no_others(demo):
    rows = demo.naming(3).rows(Trial("", "", 100))
    half = demo.HalfTheDigits()(rows, 100)
    hidden = demo.hidden_digits(half)
    assert len(hidden) == 5
    assert (half.y_target == np.where(np.isin(rows.y_target, hidden), -1, rows.y_target)).all()
    renamed = demo.HalfTheDigits("renamed")(rows, 100)
    assert (renamed.y_target == half.y_target).all()
    assert (renamed.y_source != half.y_source).all()


def test_a_picture_that_can_not_be_written_ends_the_demo_before_its_work(demo, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert demo.main(["--output", str(tmp_path / "file" / "below")]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_the_demo_runs_from_end_to_end(demo, tmp_path, capsys):
    assert demo.main(["--splits", "2", "--jobs", "1", "--output", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "LabelTransfer, renamed source" in said
    assert "All ten digits labelled" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["names.png", "names.svg"]
    # The README's picture is of eight splits, so its bars are others; the images and their names are of the first.
    new, shown = (image.imread(folder / "names.png")[:, :1480, :3] for folder in (tmp_path, DEMO.parents[1] / "docs"))
    assert new.shape == shown.shape
    assert np.abs(new - shown).mean() < 0.02
