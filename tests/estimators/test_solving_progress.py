"""The line of progress of a solver: how far the gap is, and how long it will take if it goes on as it did."""

import math

from isthmus.estimators.solving import GapLine
from isthmus.solvers import TracePoint


def lines(capsys, *points):
    line = GapLine("MLHD", 1e-6)
    for iteration, (gap, seconds) in enumerate(points):
        line(TracePoint(iteration, 1.0, 0.0, gap, seconds))
    line.end()
    return capsys.readouterr().err.splitlines()


def test_the_time_left_is_told_once_the_gap_has_fallen(capsys):
    first, second, last = lines(capsys, (1e-2, 0.0), (1e-4, 10.0), (1e-7, 30.0))
    assert first.endswith("0.0 s")
    assert second.endswith("10.0 s, about 10 s left")  # two powers of ten in ten seconds, and two to go
    assert last.endswith("30.0 s")


def test_a_gap_that_is_infinite_or_rises_promises_nothing(capsys):
    said = lines(capsys, (math.inf, 0.0), (1e-2, 6.0), (1e-1, 12.0), (0.0, 18.0))
    assert len(said) == 4
    assert not any("left" in line for line in said)
