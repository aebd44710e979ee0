"""A point of the dual: its unit of a gap, and how little of it is kept."""

from copy import copy
from types import SimpleNamespace

import numpy as np
import pytest

from isthmus.solvers.logdet import DualPoint
from problems import random_multipliers, random_problem


@pytest.mark.parametrize(
    ("primal", "dual", "unit"),
    [(0.5, 0.25, 1.0), (-0.1, -0.3, 1.0), (20.0, 3.0, 20.0), (0.2, -30.0, 30.0), (-7.0, -9.0, 9.0)],
)
def test_the_unit_of_a_gap_is_the_objective_or_one(primal, dual, unit):
    assert DualPoint.scale.fget(SimpleNamespace(primal=primal, dual=dual, gap=primal - dual)) == unit


def test_a_copied_point_is_its_multipliers_and_two_numbers():
    problem = random_problem(1)
    point = problem.at(random_multipliers(problem))
    values = point.primal, point.dual
    kept = copy(point)
    assert {name for name, value in vars(kept).items() if isinstance(value, np.ndarray)} == {"multipliers"}
    assert {name for name, value in vars(kept).items() if isinstance(value, float)} >= {"primal", "dual"}
    assert (kept.primal, kept.dual) == values
    np.testing.assert_array_equal(
        (kept.components() @ kept.components().T), (point.components() @ point.components().T)
    )
