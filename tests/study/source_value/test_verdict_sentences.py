"""One sentence for every case, and the picture."""

import builtins
import json

import matplotlib as mpl
import numpy as np
import pytest

from isthmus import InputError, MissingDependencyError, Verdict
from isthmus.evidence.comparison import Estimate
from isthmus.evidence.held_out import Answer
from isthmus.study.source_value.engine import SYSTEM
from isthmus.study.source_value.evidence import HeldOutLabels, Names, TrialGroup
from isthmus.study.source_value.result import (
    CurvePoint,
    Row,
    labels_for,
    write_untested_sentence,
    write_verdict_sentence,
)
from isthmus.view.plots import plot_labels_curve

mpl.use("Agg")
GAIN = Estimate(0.062, 0.039, 0.084)
NOTHING = Estimate(0.001, -0.012, 0.005)
UNSURE = Estimate(0.02, -0.01, 0.05)


def trials(group="1", over=GAIN, corrupted=GAIN, without=0.4, used=None, **more):
    return TrialGroup(group, 120, {SYSTEM: without + over.mean}, over, 40, used, corrupted, **more)


def test_the_sentence_of_the_issue():
    first, third = trials(), trials("3", without=0.462)
    assert write_verdict_sentence(first, [first, third], 0, None) == (
        "The source is worth +6.2 points [+3.9, +8.4] with 1 label per class; "
        "without it, target-only needs about 3 labels per class for the same."
    )


@pytest.mark.parametrize(
    ("over", "corrupted", "helps", "words"),
    [
        (GAIN, GAIN, True, "The source is worth +6.2"),
        (NOTHING, GAIN, False, "The source is not worth having: +0.1 points [−1.2, +0.5] with 1 label per class"),
        (GAIN, NOTHING, False, "no better with it than with corrupted ones (+0.1 points [−1.2, +0.5])"),
        (UNSURE, GAIN, None, "Can't tell: +2.0 points [−1.0, +5.0] with 1 label per class, from 120 tested rows"),
        (GAIN, UNSURE, None, "Can't tell whether it is the source: +6.2 points [+3.9, +8.4]"),
        (UNSURE, NOTHING, False, "The source does not help"),
    ],
)
def test_yes_no_and_open(over, corrupted, helps, words):
    s = trials(over=over, corrupted=corrupted)
    assert s.helps is helps
    assert words in write_verdict_sentence(s, [s], 0, None)


@pytest.mark.parametrize(
    ("used", "helps", "words"),
    [
        (40, True, "The source is worth +6.2"),
        (20, True, "The source is worth +6.2"),
        (17, None, "Can't tell whether it is the source: +6.2 points [+3.9, +8.4] with 1 label per class, but the"),
        (5, False, "The source does not help: with 1 label per class the system uses it in 5 of 40 splits"),
    ],
)
def test_a_system_that_says_so_has_to_use_the_source(used, helps, words):
    s = trials(used=used, corrupted=UNSURE)
    assert s.helps is helps
    assert words in write_verdict_sentence(s, [s], 0, None)


def test_the_sentence_says_where_the_gain_ends():
    first, tenth = trials(), trials("10", over=UNSURE, without=0.45)
    said = write_verdict_sentence(first, [first, tenth], 0, None)
    assert said.endswith(
        "without it, target-only does not reach that with 10 labels per class; "
        "with 10 labels per class, +2.0 points [−1.0, +5.0] is left."
    )


def test_columns_that_both_share_are_told_where_they_do_as_well():
    as_good, worse = trials(over_shared=UNSURE), trials(over_shared=GAIN)
    said = write_verdict_sentence(as_good, [as_good], 0, None)
    assert said.endswith("columns that both share does as well (+2.0 points [−1.0, +5.0] between them).")
    assert "share" not in write_verdict_sentence(worse, [worse], 0, None)


def test_names():
    names = Names(0.88, 0.75, 1.0, 0.24, 5)
    hidden = trials("naming", names=names)
    said = "88 % [75, 100] of the rows of 5 hidden classes right, 24 % with corrupted sources"
    assert write_verdict_sentence(hidden, [], 2, hidden) == (
        f"The source names 2 classes without labels: {said}, in trials that hide classes."
    )
    first = trials(over=UNSURE)
    assert said in write_verdict_sentence(first, [first], 0, hidden)
    doubtful = trials("naming", over=UNSURE, names=names)
    assert write_verdict_sentence(doubtful, [], 1, doubtful).startswith(
        "Can't tell whether the source names 1 class without labels"
    )
    assert "its names for the 2 classes without labels can't be tested" in write_verdict_sentence(
        first, [first], 2, None
    )


def test_an_indication_is_no_test():
    assert write_untested_sentence(3, None).startswith("Can't tell: 3 labelled rows are left")
    said = write_untested_sentence(3, trials("naming", names=Names(0.88, 0.75, 1.0, 0.24, 5)))
    assert said.endswith("24 % with corrupted sources; an indication, not a test.")


def test_as_many_labels_by_the_curve_without_the_source():
    steps = [trials(str(k), without=accuracy) for k, accuracy in ((1, 0.4), (3, 0.5), (10, 0.48), (30, 0.7))]
    assert labels_for(0.35, steps) == 1
    assert labels_for(0.5, steps) == 3
    assert labels_for(0.6, steps) == round(np.sqrt(10 * 30))
    assert labels_for(0.71, steps) is None


def verdict(curve=2):
    points = (CurvePoint(1, 0.5, 0.4, 0.1, 0.05, 0.15), CurvePoint(3, 0.6, 0.58, 0.02, -0.01, 0.05))[:curve]
    rows = Row("1", "", 0.5, None, None, None), Row("1", "noise source", 0.4, 0.1, 0.05, 0.15)
    return Verdict(True, 0.1, (0.05, 0.15), "It does.", rows, points, "LabelTransfer", 10, 120)


@pytest.mark.parametrize("curve", [0, 1, 2])
def test_the_picture_shows_the_figures(curve):
    from matplotlib import pyplot

    ax = plot_labels_curve(verdict(curve))
    if curve:
        with_source, without = (line.get_ydata() for line in ax.lines)
        np.testing.assert_allclose(with_source, [50, 60][:curve])
        np.testing.assert_allclose(without, [40, 58][:curve])
    ax.figure.canvas.draw()
    pyplot.close(ax.figure)


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r'pip install "isthmus\[plot\]"'):
        plot_labels_curve(verdict())


def test_a_verdict_is_an_answer():
    found = verdict()
    assert isinstance(found, Answer)
    assert (found.ok, str(found), found.evidence) == (found.helps, found.sentence, found.rows)


def test_held_out_labels_in_words():
    plain = HeldOutLabels(12, 0, 3, 0.75, (0.47, 0.91))
    assert plain.sentence == (
        "Held-out labels: 75% [47%, 91%] of 12 are predicted correctly, half of them hidden at a time. "
        "Baseline: none, the domains share no words or columns."
    )
    both = HeldOutLabels(12, 2, 3, 0.75, (0.47, 0.91), 456, 0.5)
    assert (
        "at a time (2 more were never hidden). Baseline: the 456 shared words or columns alone predict 50%."
        in both.sentence
    )
    assert json.loads(json.dumps(both.to_dict()))["shared_accuracy"] == 0.5


def test_a_verdict_comes_back_from_json():
    rows = Row("1", "", 0.8, None, None, None), Row("naming", "noise source", 0.7, 0.1, 0.05, 0.15)
    curve = CurvePoint(1, 0.8, 0.7, 0.1, 0.05, 0.15), CurvePoint(3, 0.9, 0.85, 0.05, -0.01, 0.1)
    names = Names(0.5, 0.25, 0.75, 0.25, 3)
    for helps in (True, False, None):
        verdict = Verdict(helps, 0.1, (0.05, 0.15), "It may help.", rows, curve, "MLHD", 3, 60, names)
        assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict
    whole = verdict.to_dict()
    for wrong in ({}, whole | {"names": {"right": 0.5}}, whole | {"interval": [0.1]}, whole | {"difference": 1e10}):
        with pytest.raises(InputError, match=r"^verdict: expected all parts that `Verdict\.to_dict` writes"):
            Verdict.from_dict(wrong)
