"""Samples of rows in partitions: of each code its share, none twice."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isthmus.scale.drawing import drawn, shares

tables = st.integers(1, 6).flatmap(
    lambda C: st.lists(st.lists(st.integers(0, 40), min_size=C, max_size=C), min_size=1, max_size=7)
)


@given(tables, st.integers(1, 300), st.integers(0, 2**32))
def test_each_code_has_its_share_and_no_partition_gives_more_than_it_has(table, n, seed):
    counts = np.array(table)
    wanted = shares(counts, n, np.random.default_rng(seed))
    of_code, N = counts.sum(axis=0), max(1, counts.sum())
    assert (wanted >= 0).all()
    assert (wanted <= counts).all()
    assert (wanted.sum(axis=0)[of_code > 0] >= 1).all()
    assert (
        np.abs(wanted.sum(axis=0) - np.minimum(of_code, np.maximum(1, n * of_code / N)))[of_code > 0] <= 1.5
    ).all()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(0, 2**32), st.data())
def test_rows_are_drawn_without_repetition_and_with_their_codes(codes, seed, data):
    codes = np.array(codes)
    counts = np.bincount(codes, minlength=4)
    wanted = np.array([data.draw(st.integers(0, int(count))) for count in counts])
    X = np.arange(len(codes))[:, None] + 0.5
    rows, found = drawn(X, codes, wanted, seed)
    numbers = (rows[:, 0] - 0.5).astype(int)
    assert (np.bincount(found, minlength=4) == wanted).all()
    assert len(set(numbers)) == len(numbers)
    assert (codes[numbers] == found).all()
    assert (np.diff(numbers) > 0).all()


def test_every_row_is_drawn_about_as_often():
    counts, times = np.array([[10], [30], [5]]), np.zeros(3)
    for seed in range(400):
        times += shares(counts, 9, np.random.default_rng(seed))[:, 0]
    np.testing.assert_allclose(times / 400, [2.0, 6.0, 1.0], atol=0.05)
