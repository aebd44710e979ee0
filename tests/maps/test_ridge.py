"""Ridge with its leave-one-out penalty, against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge, RidgeCV

from isthmus.maps.regression import PENALTIES, fit_ridge


def problem(seed, n, d, e, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 3.0, size=d)
    return X, X @ rng.normal(size=(d, e)) + noise * rng.normal(size=(n, e)) + 3.0, rng


@given(st.integers(0, 10_000), st.integers(3, 40), st.integers(1, 30), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_it_is_the_ridge_of_scikit_learn(seed, n, d, e):
    X, Y, rng = problem(seed, n, d, e)
    w = rng.uniform(0.2, 2.0, size=n)
    fit = fit_ridge(X, Y, weights=w)
    peer = Ridge(alpha=fit.penalty).fit(X, Y, sample_weight=w)
    new = rng.normal(size=(5, d))
    np.testing.assert_allclose(fit.map(new), peer.predict(new).reshape(5, e), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("noise", [0.5, 1e-4])
@pytest.mark.parametrize(("n", "d"), [(12, 4), (12, 9), (12, 30)])
def test_its_error_is_that_of_leaving_out_each_row(n, d, noise):
    X, Y, _ = problem(1, n, d, 3, noise)
    fit = fit_ridge(X, Y)
    total = 0.0
    for i in range(n):
        rest = np.arange(n) != i
        total += np.sum((Ridge(alpha=fit.penalty).fit(X[rest], Y[rest]).predict(X[i : i + 1]) - Y[i]) ** 2)
    assert fit.error == pytest.approx(total, rel=1e-6)


def test_a_row_of_weight_two_is_a_row_given_twice():
    X, Y, _ = problem(2, 15, 4, 2)
    w = np.ones(15)
    w[3] = 2.0
    once, twice = (
        fit_ridge(X, Y, weights=w, penalties=np.ones(1)),
        fit_ridge(np.vstack([X, X[3:4]]), np.vstack([Y, Y[3:4]]), penalties=np.ones(1)),
    )
    np.testing.assert_allclose(once.map.W, twice.map.W, rtol=1e-9)


@pytest.mark.parametrize("noise", [4.0, 0.0])
@pytest.mark.parametrize("d", [12, 20])
@pytest.mark.parametrize("seed", range(5))
def test_the_penalty_is_the_best_of_those_offered(seed, d, noise):
    X, Y, _ = problem(seed, 30, d, 4, noise)
    fit = fit_ridge(X, Y)
    peer = RidgeCV(alphas=PENALTIES * fit.penalty / PENALTIES[fit.place]).fit(X, Y)
    assert fit.penalty == pytest.approx(peer.alpha_)


def test_single_precision_stays_single():
    X, Y, _ = problem(0, 20, 5, 3)
    fit = fit_ridge(X.astype(np.float32), Y.astype(np.float32))
    assert fit.map(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(fit.map(X), fit_ridge(X, Y).map(X), rtol=1e-3, atol=1e-3)


def test_constant_inputs_predict_the_mean():
    Y = np.array([[1.0], [2.0], [6.0]])
    fit = fit_ridge(np.ones((3, 2)), Y)
    np.testing.assert_allclose(fit.map(np.zeros((1, 2))), [[3.0]])
    assert fit.error == pytest.approx(sum((Y[i] - np.delete(Y, i).mean()) ** 2 for i in range(3))[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weights", [[1.0], [1e6, 1e-6], [1e-6, 1e6, 1e-6]])
def test_one_pair_that_counts_predicts_its_own_output(dtype, weights):
    w = np.array(weights, dtype)
    X, Y = np.full((len(w), 2), 3.0, dtype), np.outer(w > 1e-3, [5.0, 7.0]).astype(dtype)
    fit = fit_ridge(X, Y, weights=w)
    np.testing.assert_allclose(fit.map(np.zeros((1, 2), dtype)), [[5.0, 7.0]] if len(w) > 1 else Y, rtol=1e-5)
    assert np.isfinite(fit.error)
