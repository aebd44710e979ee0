"""One loop: when it stops, what it keeps, what it says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus import ConvergenceWarning, InputError, NotConvergedError
from isthmus.solvers.bregman import BregmanProjections
from isthmus.solvers.newton import DualNewton
from isthmus.solvers.result import Status
from problems import ALIGNMENTS, TIGHT, random_problem


@given(seed=st.integers(0, 10_000), alignment=st.sampled_from(ALIGNMENTS))
@settings(max_examples=20)
def test_every_iterate_carries_a_true_gap(seed, alignment):
    problem = random_problem(seed, weight=20.0, alignment=alignment)
    result = TIGHT.solve(problem)
    assert all(point.primal >= result.dual - 1e-9 for point in result.trace), "no value is below the optimum"
    assert all(point.dual <= result.primal + 1e-9 for point in result.trace), "no bound is above the optimum"
    assert result.status is Status.OPTIMAL
    assert 0 <= result.relative_gap + 1e-12 <= 1e-9 + 2e-12
    assert problem.primal(result.matrix()) == pytest.approx(result.primal, rel=1e-9)


@pytest.mark.parametrize("solver", [DualNewton(), BregmanProjections(max_iter=2000, tol=1e-4)])
def test_an_infeasible_start_is_shrunk_until_it_is_feasible(solver):
    problem = random_problem(9)
    result = solver.solve(problem, start=np.where(problem.graph.sign > 0, 1e9, -1e9))
    assert result.status is Status.OPTIMAL


def test_reaching_the_limit_warns_with_the_gap_and_can_be_made_an_error():
    problem = random_problem(1, n_left=30, n_right=5, weight=100.0)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 reached.*certified to .*not to 1e-06"):
        result = DualNewton(max_iter=2).solve(problem)
    assert result.status is Status.ITERATION_LIMIT
    assert result.n_iter == 2
    with pytest.raises(NotConvergedError, match="iteration limit after 2 iterations"):
        result.raise_for_status()
    DualNewton().solve(problem).raise_for_status()


def test_a_callback_sees_every_point_of_the_trace():
    seen = []
    result = DualNewton().solve(random_problem(0), callback=seen.append)
    assert tuple(seen) == result.trace
    assert [point.iteration for point in seen] == list(range(result.n_iter + 1))


def test_a_solver_object_checks_itself():
    with pytest.raises(InputError, match="tol: expected a number above 0, got 0"):
        DualNewton(tol=0)
    with pytest.raises(InputError, match=r"max_iter: expected a whole number of at least 1, got 2\.5"):
        BregmanProjections(max_iter=2.5)
    with pytest.raises(InputError, match=r"start: expected shape \(18,\), got \(3,\)"):
        DualNewton().solve(random_problem(), start=np.zeros(3))


def test_stopped_early_it_returns_the_best_point_of_its_trace():
    problem = random_problem(
        1, n_left=40, n_right=6, d_left=30, d_right=20, weight=1e3, u=0.01, l=10.0, alignment="none"
    )
    for max_iter in (3, 8, 15, 20):
        with pytest.warns(ConvergenceWarning):
            result = DualNewton(max_iter=max_iter).solve(problem)
        assert result.relative_gap == pytest.approx(min(point.relative_gap for point in result.trace))


def test_a_gap_below_zero_by_more_than_the_tolerance_is_not_an_optimum(monkeypatch):
    monkeypatch.setattr("isthmus.solvers.logdet.DualPoint.dual", property(lambda self: self.primal + 1.0))
    with pytest.warns(ConvergenceWarning):
        assert DualNewton(max_iter=3).solve(random_problem()).status is not Status.OPTIMAL
