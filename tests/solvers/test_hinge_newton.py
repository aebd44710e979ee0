"""Newton's method on squared hinges: the common loop and the common result, in units of f."""

import pickle

import numpy as np
import pytest

from isthmus import ConvergenceWarning, NotConvergedError
from isthmus.solvers.hinge import HingeNewton, HingeProblem
from isthmus.solvers.result import IterativeSolver, Result, Status


def hinges(seed=0, bound=1.0, weight=1.0):
    rng = np.random.default_rng(seed)
    X, Y, sign = rng.normal(size=(17, 5)), rng.normal(size=(6, 4)), rng.choice([-1.0, 1.0], size=(17, 6))
    return HingeProblem(X, Y, sign, np.where(sign > 0, bound, 0.0), weight)


@pytest.mark.parametrize("bound", [1e-6, 1.0, 1e6])
def test_the_gap_is_relative_to_the_objective_of_any_size(bound):
    solver = HingeNewton()
    result = solver.solve(hinges(bound=bound))
    assert isinstance(solver, IterativeSolver)
    assert isinstance(result, Result)
    assert result.status is Status.OPTIMAL
    norm = np.linalg.norm(result.point.gradient)
    assert result.relative_gap == pytest.approx(0.25 * norm**2 / result.primal)
    assert [point.relative_gap <= 1e-10 for point in result.trace] == [False] * result.n_iter + [True]
    assert result.trace[0].relative_gap == pytest.approx(HingeNewton().solve(hinges()).trace[0].relative_gap)


def test_a_gap_far_below_the_rounding_of_the_objective_can_be_asked_for():
    problem = hinges(1, weight=100.0)
    loose, tight = HingeNewton().solve(problem), HingeNewton(tol=1e-18).solve(problem)
    assert 0 < tight.relative_gap <= 1e-18 < loose.relative_gap < np.finfo(float).eps
    assert tight.n_iter > loose.n_iter


def test_what_is_handed_over_is_what_was_measured():
    result = HingeNewton().solve(hinges())
    assert result.primal == result.problem.value(result.components())
    assert result.components() is result.point.W
    assert not hasattr(result, "multipliers"), "and the result does not need any"
    thawed = pickle.loads(pickle.dumps(result))
    assert (str(thawed), thawed.dual) == (str(result), result.dual)


def test_a_limit_is_told_in_the_words_of_all_solvers():
    with pytest.warns(ConvergenceWarning, match=r"HingeNewton: max_iter=1 reached; .*certified to .*not to 1e-10\.$"):
        result = HingeNewton(max_iter=1).solve(hinges(weight=1e4))
    assert result.status is Status.ITERATION_LIMIT
    assert result.relative_gap == min(point.relative_gap for point in result.trace)
    with pytest.raises(NotConvergedError, match=r"iteration limit after 1 iterations.*102 pairs"):
        result.raise_for_status()


def test_a_warm_start_saves_iterations():
    cold = HingeNewton().solve(hinges())
    warm = HingeNewton().solve(hinges(weight=1.01), start=cold.components())
    assert warm.n_iter < HingeNewton().solve(hinges(weight=1.01)).n_iter
