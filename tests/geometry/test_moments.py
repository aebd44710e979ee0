"""Means and variances from sums over blocks."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isthmus._core.rows import ArrayRows
from isthmus._core.validation import check_magnitude
from isthmus.exceptions import InputError
from isthmus.geometry.row_blocks import compute_moments


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 30), st.integers(1, 4)),
        elements=st.integers(-(10**6), 10**6).map(lambda value: value / 999.0),
    ),
    st.booleans(),
)
def test_they_are_those_of_the_array(X, sparse):
    codes = np.arange(len(X)) % 3
    found = compute_moments(ArrayRows(sp.csr_array(X) if sparse else X, codes), 3)
    np.testing.assert_allclose(found.mean, X.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.variances, X.var(axis=0), atol=1e-7)
    np.testing.assert_allclose(found.squared, (X**2).sum(axis=1).mean(), rtol=1e-9, atol=1e-7)
    assert found.zeros == (~X.any(axis=1)).sum()
    assert found.sparse == sparse
    for c in np.unique(codes):
        np.testing.assert_allclose(found.means[c], X[codes == c].mean(axis=0), atol=1e-9)


def test_rows_far_from_zero_keep_their_digits():
    X = np.random.default_rng(100).normal(size=(5000, 2)) + 1e7
    found = compute_moments(ArrayRows(X, np.zeros(5000, dtype=int)), 1)
    np.testing.assert_allclose(found.variances, X.var(axis=0), rtol=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_told(bad):
    X = np.ones((10, 2))
    X[3, 1] = bad
    with pytest.raises(InputError, match="X_source: expected finite"):
        compute_moments(ArrayRows(X, np.zeros(10, dtype=int)), 1)


@pytest.mark.parametrize("size", [1e-170, 1e-62, 1e62, 1e100, 1e200])
@pytest.mark.parametrize("far", [0.0, 1.0])
def test_sizes_without_room_for_products_are_told_as_of_arrays(size, far):
    X = size * (np.array([[1.0, -1.0], [-1.0, 1.0], [0.5, 0.5], [-0.5, -0.4]]) + far)
    with pytest.raises(InputError) as plain:
        check_magnitude(X, "X_source")
    with pytest.raises(InputError) as caught:
        compute_moments(ArrayRows(X, np.zeros(4, dtype=int)), 1)
    assert str(caught.value).split(", got")[0] == str(plain.value).split(", got")[0]


@pytest.mark.parametrize("size", [0.0, 1e-59, 1e59])
def test_sizes_with_room_are_let_in(size):
    assert compute_moments(ArrayRows(size * np.eye(3), np.zeros(3, dtype=int)), 1).counts.tolist() == [3]


def test_codes_have_to_be_those_of_classes():
    with pytest.raises(InputError, match="codes: expected numbers from 0 to 1, one per class, got 2"):
        compute_moments(ArrayRows(np.ones((3, 1)), np.arange(3)), 2)


def test_there_have_to_be_rows():
    with pytest.raises(InputError, match="expected at least 1 row"):
        compute_moments(ArrayRows(np.empty((0, 1)), np.empty(0, dtype=int)), 2)
