"""random_state means the same wherever an estimator draws."""

import numpy as np
import pytest
from numpy.random import RandomState, default_rng
from sklearn.utils import check_random_state

from conftest import make_domains
from isthmus import ITML, MLHD, InputError
from isthmus.estimators.controls import Corrupted
from isthmus.estimators.logdet_base import draw_pairs

D = make_domains(n_source=45)


def itml(random_state):
    return ITML(n_constraints=20, random_state=random_state).fit(D.X_source, D.y_source).components_


def corrupted(random_state):
    return Corrupted(MLHD(tol=1e-2), "permuted", random_state=random_state).fit(*D.args).transform(D.X_target)


@pytest.mark.parametrize("fitted", [itml, corrupted])
def test_a_number_draws_the_same_and_a_generator_moves_on(fitted):
    np.testing.assert_array_equal(fitted(3), fitted(3))
    assert not np.allclose(fitted(3), fitted(4))
    for make in (default_rng, RandomState):
        generator = make(3)
        first = fitted(generator)
        assert not np.allclose(first, fitted(generator))
        np.testing.assert_array_equal(first, fitted(make(3)))
    with pytest.raises(InputError, match="random_state: expected None, a whole number of at least 0, a Generator or"):
        fitted("today")


def test_the_pairs_that_itml_draws_for_a_number_are_those_it_always_drew():
    left, right, _ = draw_pairs(D.y_source, 20, check_random_state(3))
    pairs = np.sort(D.X_source[left] - D.X_source[right], axis=0)
    learned = ITML(n_constraints=20, random_state=3).fit(D.X_source, D.y_source)
    np.testing.assert_allclose(np.sort(learned.result_.problem.rows[:-1], axis=0), pairs)
