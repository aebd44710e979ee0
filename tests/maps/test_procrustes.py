"""The orthogonal map, against SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes

from isthmus.maps.regression import fit_procrustes


def rows(seed, n, d, e):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=(d, e)) + rng.normal(size=(n, e)) + 2.0, rng


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(2, 40))
@settings(max_examples=60, deadline=None)
def test_it_is_the_rotation_of_scipy(seed, d, extra):
    X, Y, rng = rows(seed, d + extra, d, d)
    w = rng.uniform(0.2, 2.0, size=len(X))
    fit = fit_procrustes(X, Y, weights=w)
    A, B = (M - np.average(M, axis=0, weights=w) for M in (X, Y))
    R, total = orthogonal_procrustes(A * np.sqrt(w)[:, None], B * np.sqrt(w)[:, None])
    if fit.values[-1] > 1e-6 * fit.values[0]:
        np.testing.assert_allclose(fit.map.W, R, atol=1e-6)
    assert fit.values.sum() == pytest.approx(total)
    means = [np.average(M, axis=0, weights=w)[None] for M in (X, Y)]
    np.testing.assert_allclose(fit.map(means[0]), means[1], atol=1e-9)


@given(st.integers(0, 10_000), st.integers(3, 9), st.integers(1, 14), st.integers(1, 14))
@settings(max_examples=60, deadline=None)
def test_swapping_the_sides_transposes_the_map(seed, n, d, e):
    X, Y, _ = rows(seed, n, d, e)
    forth, back = fit_procrustes(X, Y), fit_procrustes(Y, X)
    np.testing.assert_allclose(forth.map.W, back.map.W.T, atol=1e-6)
    np.testing.assert_allclose(forth.U.T @ forth.U, np.eye(len(forth.values)), atol=1e-9)


@pytest.mark.parametrize(("n", "d", "e"), [(6, 9, 9), (5, 20, 11), (30, 4, 7)])
def test_no_isometry_of_the_inputs_comes_nearer(n, d, e):
    """As SciPy's for square maps, padded with zeros where the columns differ in number."""
    X, Y, _ = rows(3, n, d, e)
    wide = max(d, e)
    A, B = (np.pad(M - M.mean(axis=0), ((0, 0), (0, wide - M.shape[1]))) for M in (X, Y))
    R, _ = orthogonal_procrustes(A, B)
    ours = np.pad(fit_procrustes(X, Y).map.W, ((0, wide - d), (0, wide - e)))
    assert np.trace(ours.T @ A.T @ B) == pytest.approx(np.trace(R.T @ A.T @ B))


@pytest.mark.parametrize("e", [5, 8])
def test_a_scaled_rotation_is_found_again(e):
    X, _, rng = rows(4, 40, 5, 5)
    Q = np.linalg.qr(rng.normal(size=(e, 5)))[0].T
    fit = fit_procrustes(X, 3.0 * X @ Q - 1.0, scale=True)
    assert fit.scale == pytest.approx(3.0)
    new = rng.normal(size=(4, 5))
    np.testing.assert_allclose(fit.map(new), 3.0 * new @ Q - 1.0, atol=1e-9)
    assert fit_procrustes(X, 3.0 * X @ Q - 1.0).scale == 1.0


def test_directions_without_a_say_are_left_out():
    X, Y, _ = rows(5, 6, 10, 12)
    assert len(fit_procrustes(X, Y).values) == 5  # six rows less their mean
    X, Y, _ = rows(5, 60, 4, 4)
    X[:, 2] = 7.0
    np.testing.assert_array_equal(fit_procrustes(X, Y).map.W[2].round(12), 0.0)


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1e7 / 3])
@pytest.mark.parametrize("n", [3, 30, 1000])
def test_constant_rows_are_mapped_to_the_mean(n, value):
    _, Y, _ = rows(6, n, 4, 5)
    fit = fit_procrustes(np.full((n, 4), value), Y, scale=True)
    np.testing.assert_allclose(fit.map(np.zeros((1, 4))), Y.mean(axis=0)[None])


def test_single_precision_stays_single():
    X, Y, _ = rows(7, 30, 5, 6)
    fit = fit_procrustes(X.astype(np.float32), Y.astype(np.float32), scale=True)
    assert fit.map(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(fit.map.W, fit_procrustes(X, Y, scale=True).map.W, atol=1e-4)
