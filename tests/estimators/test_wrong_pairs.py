"""Wrong pairs: the same rows as often as before, and no right pair left among them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import one_sentence
from isthmus.estimators.controls import shuffle_pairs
from isthmus.exceptions import InputError


def known(n, seed):
    """One-to-one pairs among a hundred rows of either side."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(100)[:n], rng.permutation(100)[:n]], axis=1)


@given(st.integers(2, 60), st.integers(0, 10**6))
def test_every_row_stays_and_no_pair_does(n, seed):
    pairs = known(n, seed)
    found = shuffle_pairs(pairs, np.random.default_rng(seed))
    np.testing.assert_array_equal(found[:, 0], pairs[:, 0])
    np.testing.assert_array_equal(np.sort(found[:, 1]), np.sort(pairs[:, 1]))
    assert (found[:, 1] != pairs[:, 1]).all()


@given(st.lists(st.integers(0, 4), min_size=2, max_size=60), st.integers(0, 10**6))
def test_within_classes_only_a_pair_that_is_alone_stays(classes, seed):
    pairs = known(len(classes), seed)
    found = shuffle_pairs(pairs, np.random.default_rng(seed), classes)
    of_target = dict(zip(pairs[:, 1].tolist(), classes, strict=True))
    assert [of_target[j] for j in found[:, 1].tolist()] == classes
    alone = np.array([classes.count(c) == 1 for c in classes])
    np.testing.assert_array_equal(found[:, 1] == pairs[:, 1], alone)


def test_the_argument_is_not_changed_and_the_seed_decides():
    pairs = known(20, 0)
    before = pairs.copy()
    first, second = (shuffle_pairs(pairs, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(pairs, before)
    assert not np.array_equal(first, shuffle_pairs(pairs, np.random.default_rng(2)))


@pytest.mark.parametrize(
    ("pairs", "classes"),
    [([[0, 0]], None), ([0, 1], None), ([[0.5, 1.0]] * 2, None), ([[0, 0], [1, 1]], ["a"]), ([], None)],
)
def test_what_can_not_be_shuffled_is_refused_in_one_sentence(pairs, classes):
    with pytest.raises(InputError) as caught:
        shuffle_pairs(pairs, np.random.default_rng(0), classes)
    assert one_sentence(caught)
