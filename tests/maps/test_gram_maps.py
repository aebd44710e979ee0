"""Maps from one Gram matrix: what plain formulas over all rows give."""

import numpy as np
import pytest
import scipy.linalg as sla
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes
from sklearn.linear_model import Ridge

from isthmus import CCA, KnownPairs, Procrustes, RidgeMap
from isthmus._core.linalg import principal_axes
from isthmus.maps import regression
from isthmus.maps.canonical import centre_rows, gram_axes
from isthmus.maps.regression import PENALTIES, fit_ridge


def views(seed, n, d_source, d_target, noise=0.5):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, 4))
    X, Y = (H @ rng.normal(size=(4, d)) + noise * rng.normal(size=(n, d)) + 3.0 for d in (d_source, d_target))
    return X, Y, rng


def exact_errors(X, Y, w, penalties):
    """The error of each penalty from the hat matrix of all rows."""
    root = np.sqrt(w)[:, None]
    A, B = ((M - np.average(M, axis=0, weights=w)) * root for M in (X, Y))
    values, V = np.linalg.eigh(A.T @ A)
    errors = []
    for penalty in penalties * values.mean():
        hat = A @ (V / (values + penalty)) @ V.T
        leverage = np.einsum("ij,ij->i", hat, A) + w / w.sum()
        errors.append(np.sum((B - hat @ (A.T @ B)) ** 2 / (1.0 - leverage)[:, None] ** 2))
    return np.array(errors)


@given(st.integers(0, 10_000), st.integers(1100, 6000), st.integers(1, 12), st.integers(1, 8), st.floats(0.05, 20.0))
@settings(max_examples=25, deadline=None)
def test_a_sample_of_rows_chooses_the_penalty_that_all_rows_choose(seed, n, d, e, noise):
    X, Y, rng = views(seed, n, d, e, noise)
    w = rng.uniform(0.2, 2.0, size=n)
    fit = fit_ridge(X, Y, weights=w)
    errors = exact_errors(X, Y, w, PENALTIES)
    near = errors[max(0, fit.place - 1) : fit.place + 2]
    assert errors[fit.place] <= near.min() * (1.0 + 1e-12)
    assert fit.error == pytest.approx(errors[fit.place], rel=0.02)


@pytest.mark.parametrize("seed", range(12))
def test_few_rows_with_large_errors_have_their_say(seed):
    """The residuals of all rows are known: a sample without the outliers does not decide by itself."""
    X, Y, rng = views(seed, 5000, 6, 3)
    Y[rng.choice(5000, size=5, replace=False)] += 300.0 * rng.normal(size=(5, 3))
    errors = exact_errors(X, Y, np.ones(5000), PENALTIES)
    place = fit_ridge(X, Y).place
    assert errors[place] <= errors[max(0, place - 1) : place + 2].min() * (1.0 + 1e-6)


def test_a_sample_that_does_not_decide_becomes_more(monkeypatch):
    X, Y, _ = views(0, 3000, 5, 4)
    plain = fit_ridge(X, Y)
    monkeypatch.setattr(regression, "SURE", np.inf)
    exact = fit_ridge(X, Y)
    assert (plain.place, plain.penalty) == (exact.place, exact.penalty)
    assert exact.error == pytest.approx(exact_errors(X, Y, np.ones(3000), PENALTIES)[exact.place], rel=1e-10)


@given(st.integers(0, 10_000), st.integers(20, 60), st.integers(1, 12), st.booleans())
@settings(max_examples=40, deadline=None)
def test_axes_of_the_gram_matrix_are_those_of_the_rows(seed, n, d, weighted):
    X, _, rng = views(seed, n, d, 2)
    w = rng.uniform(0.2, 2.0, size=n) if weighted else np.ones(n)
    centred, found, C = centre_rows(X, w)
    exact = principal_axes(X, weights=w)
    assert C is not None
    np.testing.assert_allclose(found.deviations, exact.deviations, rtol=1e-9)
    np.testing.assert_allclose(found.axes * found.deviations @ found.axes.T, exact.axes * exact.deviations @ exact.axes.T, atol=1e-9)  # fmt: skip
    np.testing.assert_allclose(centred, X - np.average(X, axis=0, weights=w), atol=1e-12)


def test_rows_that_a_gram_matrix_does_not_tell_from_rounding_are_decomposed_themselves():
    X, _, _ = views(0, 50, 4, 2)
    X[:, 3] = X[:, 0] + 1e-6 * X[:, 3]
    assert gram_axes(np.cov(X.T, bias=True), X.mean(axis=0)) is None
    _, found, C = centre_rows(X, np.ones(50))
    assert C is None
    np.testing.assert_array_equal(found.axes, principal_axes(X, weights=np.ones(50)).axes)


@given(st.integers(0, 10_000), st.integers(15, 60), st.integers(1, 9), st.integers(1, 9), st.booleans())
@settings(max_examples=30, deadline=None)
def test_ridge_maps_are_those_of_scikit_learn(seed, n, d_source, d_target, weighted):
    X, Y, rng = views(seed, n, d_source, d_target)
    known = KnownPairs(np.c_[np.arange(n), np.arange(n)], rng.uniform(0.5, 2.0, size=n) if weighted else None)
    model = RidgeMap().fit(X, None, Y, None, pairs=known)
    w, halves = known.weights, []
    new = rng.normal(size=(7, d_source)) + 3.0, rng.normal(size=(6, d_target)) + 3.0
    means = [np.average(M, axis=0, weights=w) for M in (X, Y)]
    f = Ridge(alpha=model.penalties_[0]).fit(X, Y, sample_weight=w)
    g = Ridge(alpha=model.penalties_[1]).fit(Y, X, sample_weight=w)
    forth, back = f.predict(new[0]).reshape(7, -1), g.predict(new[1]).reshape(6, -1)
    for A, B in ((forth - means[1], new[1] - means[1]), (new[0] - means[0], back - means[0])):
        A, B = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
        halves.append(A @ B.T)
    squared = model.pairwise_distances(*new) ** 2
    np.testing.assert_allclose(squared, np.maximum(4.0 - 2.0 * sum(halves), 0.0), atol=1e-7)


@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(5, 40))
@settings(max_examples=30, deadline=None)
def test_procrustes_turns_as_scipy_does(seed, d, extra):
    X, Y, _ = views(seed, 2 * d + extra, d, d)
    model = Procrustes().fit(X, None, Y, None, pairs="rows")
    A, B = X - X.mean(axis=0), Y - Y.mean(axis=0)
    R, _ = orthogonal_procrustes(A, B)
    a, b = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A @ R, B))
    np.testing.assert_allclose(model.pairwise_distances(X, Y) ** 2, np.maximum(2.0 - 2.0 * a @ b.T, 0.0), atol=1e-7)


@given(st.integers(0, 10_000), st.integers(20, 60), st.integers(1, 7), st.integers(1, 7))
@settings(max_examples=30, deadline=None)
def test_canonical_correlations_are_those_of_the_eigenproblem(seed, n, d_source, d_target):
    X, Y, _ = views(seed, n, d_source, d_target)
    model = CCA(regularization=0.0).fit(X, None, Y, None, pairs="rows")
    S = np.atleast_2d(np.cov(np.c_[X, Y].T, bias=True))
    within = sla.block_diag(S[:d_source, :d_source], S[d_source:, d_source:])
    values = sla.eigh(S, within, eigvals_only=True)[::-1] - 1.0
    np.testing.assert_allclose(model.correlations_, values[: min(d_source, d_target)], atol=1e-8)
    assert model.residual_ < 1e-10
