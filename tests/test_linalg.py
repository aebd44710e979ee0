"""Principal axes against numpy's singular values; the pivoted Cholesky factor against its matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from isthmus.linalg import principal_axes


def rows_of_rank(rank, shape, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1])) + offset * rng.normal(size=shape[1])


@pytest.mark.parametrize("shape", [(30, 5), (5, 30), (7, 7), (1, 4)], ids=str)
@pytest.mark.parametrize("centre", [True, False])
def test_principal_axes_are_the_singular_vectors_of_the_rows(shape, centre):
    X = np.random.default_rng(1).normal(size=shape) + 3.0
    found = principal_axes(X, centre=centre)
    rows = X - X.mean(axis=0) if centre else X
    _, s, Vt = np.linalg.svd(rows / np.sqrt(len(X)), full_matrices=False)
    r = np.linalg.matrix_rank(rows)
    assert found.axes.shape == (shape[1], r)
    np.testing.assert_allclose(found.mean, X.mean(axis=0) if centre else np.zeros(shape[1]), atol=1e-14)
    np.testing.assert_allclose(found.deviations, s[:r], rtol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(found.axes * Vt[:r].T, axis=0)), 1.0, rtol=1e-10)
    np.testing.assert_allclose(found.coordinates(X) @ found.axes.T, rows, atol=1e-12)


@pytest.mark.parametrize("rank", [0, 1, 3])
@pytest.mark.parametrize("shape", [(40, 6), (6, 40)], ids=str)
@pytest.mark.parametrize("offset", [0.0, 1e6], ids=["around zero", "far from zero"])
@pytest.mark.parametrize("sparse", [False, True])
def test_there_are_as_many_axes_as_the_rows_span(rank, shape, offset, sparse):
    X = rows_of_rank(rank, shape, offset=offset)
    if sparse and offset:
        offset, X = 1e3, X / 1e3  # inner products know half the digits
    found = principal_axes(sp.csr_array(X) if sparse else X)
    assert len(found.deviations) == rank
    uncentred = principal_axes(X, centre=False)
    assert len(uncentred.deviations) == min(rank + bool(offset), *shape)


def test_equal_rows_vary_in_no_direction_however_many_they_are():
    for offset in (0.1, 1e-150, 1e150):
        assert principal_axes(np.full((20_000, 3), offset)).axes.shape == (3, 0)


@given(seed=st.integers(0, 1000), n=st.integers(2, 10), centre=st.booleans())
def test_sparse_rows_have_the_axes_of_dense_ones(seed, n, centre):
    rng = np.random.default_rng(seed)
    X, w = sp.random_array((n, 25), density=0.4, rng=rng, format="csr") * 5.0, rng.uniform(0.1, 1.0, n)
    wide, dense = principal_axes(X, weights=w, centre=centre), principal_axes(X.toarray(), weights=w, centre=centre)
    r = len(wide.deviations)
    np.testing.assert_allclose(wide.deviations, dense.deviations[:r], rtol=1e-7)
    np.testing.assert_allclose(wide.axes.T @ wide.axes, np.eye(r), atol=1e-6)
    np.testing.assert_allclose(wide.coordinates(X) @ wide.axes.T, X.toarray() - dense.mean, atol=1e-6)


@given(seed=st.integers(0, 1000))
def test_weights_count_how_often_a_row_is_there(seed):
    rng = np.random.default_rng(seed)
    X, counts = rng.normal(size=(8, 3)) + 5.0, np.append(rng.integers(0, 4, 6), [1, 2])
    weighed, repeated = principal_axes(X, weights=7.0 * counts), principal_axes(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighed.mean, repeated.mean, rtol=1e-12)
    np.testing.assert_allclose(weighed.deviations, repeated.deviations, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weighed.coordinates(X), repeated.coordinates(X), atol=1e-7)


def test_the_largest_entry_of_an_axis_is_positive_and_of_equally_large_ones_the_first():
    X = rows_of_rank(4, (12, 6), seed=3)
    axes = principal_axes(X).axes
    assert (np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0) > 0).all()
    np.testing.assert_allclose(principal_axes(-X[::-1]).axes, axes, atol=1e-10)
    tied = principal_axes(np.array([[1.0, -1.0], [-1.0, 1.0], [3.0, -3.0]])).axes
    np.testing.assert_allclose(tied.ravel(), [np.sqrt(0.5), -np.sqrt(0.5)])


def test_axes_can_be_cut_by_their_deviation_and_counted_out():
    X = np.diag([1.0, 1e-3, 1e-8])
    assert [len(principal_axes(X, centre=False, tolerance=t).deviations) for t in (0.0, 1e-6, 0.1)] == [3, 2, 1]
    two = principal_axes(X, centre=False, tolerance=0.1).leading(2)
    np.testing.assert_array_equal(two.axes, [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    assert two.deviations.shape == (2,)
    assert principal_axes(np.ones((4, 3))).leading(1).coordinates(np.eye(3)).tolist() == [[0.0]] * 3
