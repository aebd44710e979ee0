"""Paired differences drawn from plain numbers: every number once, coloured by what is known of its sign."""

import numpy as np
import pytest

from isthmus.exceptions import InputError
from studies.paper.drawing import plot_differences
from studies.paper.drawing.canvas import DOUBT, GAIN, LOSS


def lines(ax, marker):
    return [line for line in ax.lines if line.get_marker() == marker]


def differences(**changes):
    values = {"means": [2.0, -2.0, 0.5], "lows": [1.0, -3.0, -1.0], "highs": [3.0, -1.0, 2.0], "title": "D"}
    return plot_differences(["a - b", "a - c", "a - d"], **values | changes)


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
        ({"groups": ["one"]}, r"groups: expected shape \(3,\) to match names, got \(1,\)\."),
    ],
)
def test_bad_differences_are_refused_in_one_sentence(changes, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        differences(**changes)
