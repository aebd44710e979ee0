"""Squared hinges: the unit of the gap, what can be started from, and scales that doubles can't hold."""

import numpy as np
import pytest

from isthmus import InputError
from isthmus.solvers.hinge import HingeProblem

SIGN = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])


def hinges(source=1.0, target=1.0, bound=1.0, weight=1.0):
    rng = np.random.default_rng(0)
    X, Y = source * rng.normal(size=(3, 4)), target * rng.normal(size=(2, 3))
    return HingeProblem(X, Y, SIGN, np.where(SIGN > 0, bound, 0.0), weight)


@pytest.mark.parametrize("bound", [1e-3, 1.0, 1e3])
def test_the_unit_of_a_gap_is_the_objective_itself(bound):
    point = hinges(bound=bound).start()
    assert point.primal == pytest.approx(4 * bound**2)
    assert point.scale == point.primal
    assert point.dual == point.primal - point.gap


def test_it_starts_at_zero_or_where_it_is_told():
    problem, W = hinges(), np.ones((4, 3))
    assert not problem.start().W.any()
    np.testing.assert_array_equal(problem.start(W).components(), W)
    assert problem.value(W) == problem.at(W).primal
    with pytest.raises(InputError, match=r"start: expected shape \(4, 3\), got \(3, 4\)"):
        problem.start(W.T)


@pytest.mark.parametrize("size", [1e-150, 1e150])
@pytest.mark.parametrize("name", ["source", "target", "bound"])
def test_scales_that_doubles_cannot_hold_are_refused_in_one_sentence(name, size):
    with pytest.raises(InputError, match=rf"^{name}: expected sizes from \S+ to \S+, got \S+e.150\.$"):
        hinges(**{name: size})
