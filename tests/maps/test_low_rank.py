"""Regression of low rank."""

import numpy as np
import pytest
from scipy.optimize import minimize

from isthmus.maps.regression import fit_low_rank, fit_ridge


def problem(seed, n=60, d=6, e=5, rank=2, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=(d, rank)) @ rng.normal(size=(rank, e)) + noise * rng.normal(size=(n, e)) + 1.0, rng


def test_full_rank_is_ridge():
    X, Y, _ = problem(0)
    np.testing.assert_allclose(fit_low_rank(X, Y, rank=5).W, fit_ridge(X, Y).map.W, atol=1e-10)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_no_product_of_two_thin_matrices_is_better(rank):
    """A local search, from the solution and from elsewhere, of the problem that it solves in closed form."""
    X, Y, rng = problem(1, noise=1.0)
    w = rng.uniform(0.5, 2.0, size=len(X))
    found, penalty = fit_low_rank(X, Y, weights=w, rank=rank), fit_ridge(X, Y, weights=w).penalty
    A, B = ((M - np.average(M, axis=0, weights=w)) * np.sqrt(w)[:, None] for M in (X, Y))

    def value(W):
        return np.sum((B - A @ W) ** 2) + penalty * np.sum(W**2)

    def of_factors(v):
        U, V = v[: 6 * rank].reshape(6, rank), v[6 * rank :].reshape(rank, 5)
        slope = 2 * A.T @ (A @ U @ V - B) + 2 * penalty * U @ V
        return value(U @ V), np.concatenate([(slope @ V.T).ravel(), (U.T @ slope).ravel()])

    best = min(minimize(of_factors, rng.normal(size=11 * rank), jac=True, tol=1e-12).fun for _ in range(3))
    assert np.linalg.matrix_rank(found.W) == rank
    assert value(found.W) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_rank_is_found(seed):
    X, Y, _ = problem(seed, n=400, d=20, e=18, rank=4, noise=3.0)
    assert np.linalg.matrix_rank(fit_low_rank(X, Y).W) == 4


def test_two_rows_are_enough_for_a_rank():
    X, Y, _ = problem(5, n=5)
    assert np.isfinite(fit_low_rank(X, Y)(X)).all()
