"""Principal axes against numpy's singular values; the pivoted Cholesky factor against its matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from isthmus import InputError
from isthmus._core.linalg import pivoted_cholesky, principal_axes


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


@given(seed=st.integers(0, 1000), n=st.integers(1, 12), rank=st.integers(0, 12), log_scale=st.floats(-6, 6))
def test_pivoted_cholesky_finds_factor_and_rank_at_any_scale(seed, n, rank, log_scale):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, rank)) * 10.0 ** rng.uniform(-3, 3, size=(n, 1)) * 10.0**log_scale
    K = rows @ rows.T
    F, pivots = pivoted_cholesky(K)
    assert F.shape[1] == len(pivots) == min(n, rank)
    lengths = np.sqrt(np.maximum(np.diag(K), 1e-300))
    assert np.abs((F @ F.T - K) / lengths / lengths[:, None]).max(initial=0.0) < 1e-10
    np.testing.assert_array_equal(F[pivots], np.tril(F[pivots]))


INDEFINITE = {
    "two rows": np.array([[1.0, 2.0], [2.0, 1.0]]),
    "a negative diagonal": np.diag([1.0, -1e-3]),
    "negative altogether": -np.eye(3),
    "a row of length zero": np.array([[0.0, 1.0], [1.0, 1.0]]),
    "nothing but such rows": np.array([[0.0, 1e-9], [1e-9, 0.0]]),
    "a distance": np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0))),
    "a sigmoid": np.tanh(np.outer(np.arange(-3.0, 4.0), np.arange(-3.0, 4.0)) - 1.0),
}


@pytest.mark.parametrize("K", INDEFINITE.values(), ids=INDEFINITE)
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_an_indefinite_matrix_is_refused_at_any_scale(K, scale):
    with pytest.raises(InputError, match="K: expected a positive semi-definite matrix, got an eigenv"):
        pivoted_cholesky(scale * K, "K")


def test_an_overflow_is_told_in_one_sentence():
    with pytest.raises(InputError, match="X: expected a Gram matrix of finite numbers, got NaN or inf"):
        pivoted_cholesky(np.diag([1.0, np.inf]), "X")


@pytest.mark.parametrize("n", [10, 100, 300])
@pytest.mark.parametrize("offset", [0.0, 10.0])
def test_rounding_below_zero_is_no_indefinite_matrix(n, offset):
    X = rows_of_rank(4, (n, 8)).astype(np.float32) + np.float32(offset)
    double = np.vstack([X, X, np.zeros((2, 8))]).astype(np.float64)
    squared = ((double[:, None] - double) ** 2).sum(axis=2)
    centred = double - double.mean(axis=0)
    for K in (X @ X.T, double @ double.T, np.exp(-squared / 100), np.exp(-squared / 1e6), centred @ centred.T):
        F, _ = pivoted_cholesky(np.asarray(K, dtype=np.float64))
        assert np.abs(F @ F.T - K).max() <= 1e-4 * np.abs(K).max()
