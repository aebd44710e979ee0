"""Tables known by their factors are what the written-out tables are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isthmus.geometry import similarity as module
from isthmus.geometry.similarity import Scores


def drawn(seed, n=7, m=5, q=3):
    rng = np.random.default_rng(seed)
    return Scores(rng.normal(size=(n, q)), rng.normal(size=(m, q)))


@given(st.integers(0, 10**6), st.floats(-3, 3))
def test_sums_multiples_and_shifts_are_those_of_the_tables(seed, factor):
    S, T, rng = drawn(seed), drawn(seed + 1, q=2), np.random.default_rng(seed)
    rows, columns = rng.normal(size=7), rng.normal(size=5)
    made = (factor * S + T).shift(rows, columns).table()
    np.testing.assert_allclose(made, factor * S.table() + T.table() + rows[:, None] + columns, atol=1e-12)


@given(st.integers(0, 10**6), st.floats(-50, 50))
def test_a_standardised_table_has_mean_zero_and_deviation_one(seed, shift):
    made = drawn(seed).shift(rows=shift).standardize().table()
    assert abs(made.mean()) < 1e-9
    assert abs(made.std() - 1.0) < 1e-9


def test_a_constant_table_becomes_zero():
    S = Scores(np.ones((4, 1)), np.full((3, 1), 2.5))
    np.testing.assert_array_equal(S.standardize().table(), np.zeros((4, 3)))


def test_blocks_make_up_the_table_and_none_is_larger_than_allowed(monkeypatch):
    S = drawn(0)
    monkeypatch.setattr(module, "CELLS_PER_BLOCK", 12)
    blocks = list(S.blocks())
    assert max(block.size for _, block in blocks) <= 12
    np.testing.assert_allclose(np.vstack([block for _, block in blocks]), S.table(), rtol=1e-12)


def test_parts_of_a_table_and_single_cells():
    S = drawn(3)
    i, j = np.array([0, 4, 6]), np.array([2, 2, 0])
    np.testing.assert_allclose(S.at(i, j), S.table()[i, j])
    np.testing.assert_allclose(S.among(i, j).table(), S.table()[np.ix_(i, j)])
