"""Kernel ridge, against scikit-learn."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from isthmus.maps.regression import fit_kernel_ridge, fit_ridge, rbf_features


def rows(seed, n=60, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.c_[np.sin(X[:, 0]), X[:, 1] ** 2] + 0.05 * rng.normal(size=(n, 2)), rng


def test_the_kernel_is_that_of_scikit_learn():
    X, _, rng = rows(0)
    Z = rng.normal(size=(7, 3))
    np.testing.assert_allclose(rbf_features(X, Z, 2.0), rbf_kernel(X, Z, gamma=1 / 8.0), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_kernel_of_rows_far_away_is_zero(dtype):
    Z = np.random.default_rng(0).normal(size=(4, 3)).astype(dtype)
    X = np.full((2, 3), [[np.finfo(dtype).max], [-np.sqrt(np.finfo(dtype).max)]], dtype)
    np.testing.assert_array_equal(
        rbf_features(np.vstack([X, Z]), Z, 2.0), np.vstack([np.zeros((2, 4)), rbf_features(Z, Z, 2.0)])
    )
    np.testing.assert_array_equal(rbf_features(X, Z, 1e-30), 0.0)


def test_it_is_the_ridge_of_the_centred_kernel():
    """Scikit-learn's has no intercept: with a centred kernel and centred outputs it has none to learn."""
    X, Y, rng = rows(1)
    fit = fit_kernel_ridge(X, Y)
    K = rbf_features(X, X, fit.bandwidth)
    H = np.eye(len(X)) - 1.0 / len(X)
    values, E = np.linalg.eigh(K)
    penalty = fit_ridge(E * np.sqrt(np.maximum(values, 0.0)), Y).penalty
    peer = KernelRidge(alpha=penalty, kernel="precomputed").fit(H @ K @ H, Y - Y.mean(axis=0))
    new = rng.normal(size=(9, 3))
    k = rbf_features(new, X, fit.bandwidth)
    guess = peer.predict((k - K.mean(axis=0)) @ H) + Y.mean(axis=0)
    np.testing.assert_allclose(fit(new), guess, atol=1e-5)


def test_it_bends_where_ridge_cannot():
    X, Y, rng = rows(2, n=300)
    new = rng.normal(size=(200, 3))
    truth = np.c_[np.sin(new[:, 0]), new[:, 1] ** 2]
    assert np.mean((fit_kernel_ridge(X, Y)(new) - truth) ** 2) < 0.2 * np.mean(
        (fit_ridge(X, Y).map(new) - truth) ** 2
    )


def test_landmarks_are_bounded(monkeypatch):
    import sys

    monkeypatch.setattr(sys.modules["isthmus.maps.regression"], "MOST_LANDMARKS", 20)
    X, Y, _ = rows(3, n=200)
    fit = fit_kernel_ridge(X, Y)
    assert fit.landmarks.shape == (20, 3)
    assert np.mean((fit(X) - Y) ** 2) < 0.5 * Y.var()


@pytest.mark.parametrize("n", [2, 10])
def test_constant_inputs_predict_the_mean(n):
    Y = np.arange(2.0 * n).reshape(n, 2)
    np.testing.assert_allclose(fit_kernel_ridge(np.ones((n, 3)), Y)(np.ones((1, 3))), Y.mean(axis=0)[None])


def test_single_precision_stays_single():
    X, Y, _ = rows(4)
    fit = fit_kernel_ridge(X, Y)
    single = fit.astype(np.float32)(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, fit(X), atol=1e-3)
