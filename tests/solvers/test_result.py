"""A certificate for the matrix that is handed over, in a value that is small where it is kept."""

import pickle
import re
import warnings
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from isthmus import ConvergenceWarning
from isthmus.solvers.logdet import LogDetProblem
from isthmus.solvers.newton import DualNewton
from isthmus.solvers.result import IterativeSolver, Status, relative_gap
from problems import ALIGNMENTS, random_problem


@pytest.mark.filterwarnings("ignore::isthmus.ConvergenceWarning")
@pytest.mark.parametrize(
    ("offset", "alignment", "shape"),
    [
        (offset, alignment, [(6, 3, 4, 3), (3, 2, 8, 9)][(i + j) % 2])
        for i, offset in enumerate([1e5, 1e7, 1e8])
        for j, alignment in enumerate(ALIGNMENTS)
    ],
)
@pytest.mark.slow
def test_far_from_the_origin_the_certificate_is_still_that_of_the_matrix(offset, alignment, shape):
    problem = random_problem(0, *shape, alignment=alignment, offset=offset)
    result = DualNewton(max_iter=10).solve(problem)
    value = problem.primal(result.matrix())
    assert result.primal == value, "which may be infinite, and then nothing is certified"
    if result.status is Status.OPTIMAL:
        assert abs(value - problem.dual(result.multipliers)) <= 1e-6 * max(1.0, abs(value))


@pytest.mark.slow
def test_a_matrix_that_is_worse_than_its_iterate_is_not_optimal():
    # At which of these offsets the iterate, but not the matrix made of it, is optimal depends on the rounding of BLAS.
    worse = 0
    for seed, offset in product(range(6), np.geomspace(6e5, 3e6, 8)):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", ConvergenceWarning)
            result = DualNewton().solve(random_problem(seed, 3, 2, 8, 9, offset=offset))
        assert (result.status is Status.OPTIMAL) == (abs(result.relative_gap) <= 1e-6)
        if abs(result.trace[-1].relative_gap) <= 1e-6 < abs(result.relative_gap):
            worse += 1
            assert result.status is Status.INEXACT
            assert "inexact after" in str(result)
            message = str(warned[0].message)
            assert "too nearly singular" in message
            assert re.search(r"certified to \d.*, not to 1e-06", message)
    assert worse


def test_a_matrix_that_is_not_definite_in_doubles_is_not_optimal():
    shift = replace(random_problem().alignment, rows=1e10 * np.ones((1, 7)))
    with pytest.warns(ConvergenceWarning, match="certified to inf"):
        result = DualNewton().solve(LogDetProblem(np.eye(7), (), shift))
    assert result.status is not Status.OPTIMAL
    assert result.primal == np.inf
    assert "no finite gap" in str(result)


@pytest.mark.parametrize(
    ("alignment", "weight", "u"),
    [
        (alignment, weight, [0.5, 0.1][(i + j) % 2])
        for i, alignment in enumerate(ALIGNMENTS)
        for j, weight in enumerate([1.0, 10.0, 100.0, 1e3])
    ],
)
def test_ordinary_and_hard_problems_are_certified(alignment, weight, u):
    problem = random_problem(3, 40, 6, 30, 20, weight=weight, u=u, alignment=alignment)
    result = DualNewton().solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.primal == problem.primal(result.matrix())
    assert result.primal == pytest.approx(result.point.primal, rel=1e-11)


@pytest.mark.parametrize("u", [0.5, 0.01])
def test_the_relative_gap_is_in_units_of_the_objective_or_of_one(u):
    for weight in (0.01, 100.0):
        result = DualNewton().solve(random_problem(1, weight=weight, u=u))
        unit = max(1.0, abs(result.primal), abs(result.dual))
        assert result.relative_gap == pytest.approx(result.duality_gap / unit, rel=1e-6)
        for point in result.trace:
            unit = max(1.0, abs(point.primal), abs(point.dual))
            assert point.relative_gap == (point.primal - point.dual) / unit


def test_a_gap_that_is_no_number_is_infinite():
    assert relative_gap(np.nan, 1.0) == relative_gap(1.0, np.inf) == relative_gap(np.inf, 1.0) == np.inf
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(1e-3, 0.5) == 2e-3


def test_it_is_small_in_memory_and_in_a_pickle():
    problem = random_problem(0, 8, 4, 150, 150)
    result = DualNewton().solve(problem)
    line = str(result)
    result.matrix(), result.distances, result.duality_gap
    arrays = [value for value in vars(result.point).values() if isinstance(value, np.ndarray)]
    assert sum(array.nbytes for array in arrays) == 8 * problem.n_pairs
    frozen = pickle.dumps(result)
    assert len(frozen) < 3 * problem.rows.nbytes < result.matrix().nbytes
    thawed = pickle.loads(frozen)
    assert str(thawed) == line
    np.testing.assert_array_equal(thawed.matrix(), result.matrix())
    np.testing.assert_array_equal(thawed.multipliers, result.multipliers)


def test_it_is_one_line_in_print_and_at_the_prompt():
    result = DualNewton().solve(random_problem())
    assert str(result).startswith("DualNewton: optimal after ")
    assert repr(result) == f"Result({result})"
    assert "\n" not in repr(result)


@dataclass(frozen=True)
class Root:
    """The least x² − 2ax by Newton's method for roots: a problem, and points that keep no multipliers."""

    a: float
    n_pairs = 0

    def start(self, given=None):
        return At(self, 0.0 if given is None else float(given))

    def value(self, x):
        return x**2 - 2 * self.a * x


@dataclass(frozen=True)
class At:
    problem: Root
    x: float

    gap = property(lambda self: (self.x - self.problem.a) ** 2)
    primal = property(lambda self: self.problem.value(self.x))
    dual = property(lambda self: self.primal - self.gap)
    scale = 1.0

    def components(self):
        return self.x


class Halving(IterativeSolver):
    def iterates(self, start):
        while True:
            yield start
            start = At(start.problem, (start.x + start.problem.a) / 2)


def test_the_loop_asks_for_two_values_a_unit_and_what_to_hand_over_and_no_more():
    result = Halving().solve(Root(3.0))
    assert result.status is Status.OPTIMAL
    assert result.components() == pytest.approx(3.0, abs=1e-3)
    assert result.n_iter == 12
    assert Halving().solve(Root(3.0), start=2.9).n_iter < result.n_iter
    assert "0 pairs" in str(result)
