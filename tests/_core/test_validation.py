"""One meaning of random_state, whichever of NumPy's generators draws."""

import numpy as np
import pytest
from numpy.random import RandomState, default_rng

from isthmus._core.validation import as_generator, as_random_state
from isthmus.exceptions import InputError


def test_a_number_draws_the_same_each_time_and_what_it_always_drew():
    for seed in (0, np.int64(7), 2**32 - 1):
        assert as_generator(seed).random(3).tolist() == default_rng(seed).random(3).tolist()
        assert as_random_state(seed).rand(3).tolist() == RandomState(seed).rand(3).tolist()
    assert as_random_state(2**40).rand() == as_random_state(2**40).rand() != as_random_state(2**40 + 1).rand()


@pytest.mark.parametrize("draw", [lambda r: as_generator(r).random(), lambda r: as_random_state(r).rand()])
@pytest.mark.parametrize("make", [default_rng, RandomState])
def test_a_generator_moves_on(draw, make):
    first, second = make(3), make(3)
    assert draw(first) == draw(second)
    assert draw(first) != draw(make(3))
    assert draw(first) == pytest.approx([draw(second) for _ in range(2)][-1])


@pytest.mark.parametrize("draw", [lambda r: as_generator(r).random(), lambda r: as_random_state(r).rand()])
def test_none_draws_afresh_whatever_the_global_seed(draw):
    np.random.seed(0)  # noqa: NPY002
    first = draw(None)
    np.random.seed(0)  # noqa: NPY002
    assert draw(None) != first


@pytest.mark.parametrize("bad", [-1, 1.0, True, "today", [1, 2], np.random, np.array([1])])
@pytest.mark.parametrize("checked", [as_generator, as_random_state])
def test_anything_else_is_one_sentence(checked, bad):
    message = "random_state: expected None, a whole number of at least 0, a Generator or a RandomState, got"
    with pytest.raises(InputError, match=message):
        checked(bad)
