"""Moments of pairs from sums over blocks, and the few pairs that stand for all."""

from functools import partial

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.estimators.from_blocks import MomentPairs
from isthmus.estimators.paired_maps import PairedSpan
from isthmus.exceptions import InputError
from isthmus.geometry.row_blocks import RowPairs, compute_pair_moments
from isthmus.geometry.spaces import FeatureSpace
from isthmus.maps.regression import fit_ridge


@pytest.fixture(scope="module", autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def rows(seed, n, d_source, d_target, far=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d_source)) * rng.uniform(0.1, 3.0, size=d_source) + far
    Y = X @ rng.normal(size=(d_source, d_target)) + rng.normal(size=(n, d_target))
    return X, Y, rng.uniform(0.1, 3.0, size=n)


def as_pairs(kind, X, Y, weights):
    if kind == "dask":
        return RowPairs.of(da.from_array(X, chunks=(7, 1)), da.from_array(Y, chunks=(11, -1)), weights)
    if kind == "half":
        return RowPairs.of(X, da.from_array(Y, chunks=(11, -1)), weights)
    if kind == "sparse":
        return RowPairs.of(sp.csr_array(X), sp.csr_matrix(Y), weights)
    if kind == "numbers":
        order = np.random.default_rng(0).permutation(len(X))
        return RowPairs.of(X[order], Y, weights, numbers=(np.argsort(order), np.arange(len(Y))))
    return RowPairs.of(X, Y, weights)


KINDS = ["array", "sparse", "dask", "half", "numbers"]
shapes = st.integers(0, 10_000), st.integers(3, 40), st.integers(1, 6), st.integers(1, 5)


@given(*shapes, st.booleans(), st.sampled_from(KINDS))
@settings(max_examples=25, deadline=None)
def test_moments_and_those_of_representative_pairs_are_those_of_the_pairs(
    seed, n, d_source, d_target, weighted, kind
):
    X, Y, w = rows(seed, n, d_source, d_target)
    found = compute_pair_moments(as_pairs(kind, X, Y, w if weighted else None))
    w, Z = w if weighted else np.ones(n), np.hstack([X, Y])
    expected = np.cov(Z.T, aweights=w, bias=True)
    np.testing.assert_allclose(found.mean, np.average(Z, axis=0, weights=w), atol=1e-12)
    np.testing.assert_allclose(found.scatter, w.sum() * expected, atol=1e-10)
    few = np.hstack(found.representative_pairs())
    assert len(few) <= 2 * Z.shape[1]
    np.testing.assert_allclose(few.mean(axis=0), found.mean, atol=1e-10)
    np.testing.assert_allclose(np.cov(few.T, bias=True), expected, atol=1e-9)


@given(*shapes, st.integers(1, 20))
@settings(max_examples=30, deadline=None)
def test_pairs_that_are_taken_off_leave_the_moments_of_the_others(seed, n, d_source, d_target, some):
    X, Y, w = rows(seed, n + some, d_source, d_target)
    found = compute_pair_moments(RowPairs.of(X, Y, w)).without(np.hstack([X, Y])[n:], w[n:])
    expected = compute_pair_moments(RowPairs.of(X[:n], Y[:n], w[:n]))
    assert found.weight == pytest.approx(expected.weight)
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-10)
    np.testing.assert_allclose(found.scatter, expected.scatter, atol=1e-9 * (1.0 + np.abs(expected.scatter).max()))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["array", "dask"])
def test_rows_far_from_zero_keep_their_digits(kind):
    X, Y, _ = rows(100, 1000, 3, 2, far=1e7)
    found = compute_pair_moments(as_pairs(kind, X, Y, None))
    Z = np.hstack([X, Y])
    D = Z - Z.mean(axis=0)
    np.testing.assert_allclose(found.scatter, D.T @ D, rtol=1e-9)


def test_single_precision_is_summed_in_double():
    X, Y, _ = rows(101, 5000, 3, 2, far=10.0)
    single = X.astype(np.float32), Y.astype(np.float32)
    exact = compute_pair_moments(RowPairs.of(*(each.astype(np.float64) for each in single)))
    np.testing.assert_allclose(compute_pair_moments(RowPairs.of(*single)).scatter, exact.scatter, rtol=1e-13)


@given(*shapes, st.booleans(), st.sampled_from(KINDS), st.booleans())
@settings(max_examples=25, deadline=None)
def test_ridge_over_blocks_is_ridge_over_rows(seed, n, d_source, d_target, weighted, kind, back):
    """The same map and the same exact error of leaving out each pair, for the same penalty."""
    X, Y, w = rows(seed, 8 + n, d_source, d_target)
    pairs, w = as_pairs(kind, X, Y, w if weighted else None), w if weighted else None
    joint = MomentPairs.of_pairs(pairs, (FeatureSpace(d_source), FeatureSpace(d_target)), 0)
    span = PairedSpan.of(joint)
    found = span.fit_ridge(10.0 ** np.arange(-4.0, 3.0), back=back)
    inputs, outputs = (Y, X) if back else (X, Y)
    exact = fit_ridge(inputs, outputs, weights=w, penalties=10.0 ** np.arange(-4.0, 3.0))
    if found.place == exact.place:  # not so where two penalties are equally good
        assert found.penalty == pytest.approx(exact.penalty, rel=1e-8)
        W = found.map.W @ span.axes[0 if back else 1].axes.T
        np.testing.assert_allclose(W, exact.map.W, atol=1e-8 * np.abs(exact.map.W).max())
    assert found.error == pytest.approx(exact.error, rel=1e-5)


@pytest.mark.parametrize(("side", "name"), [(0, "X_source"), (1, "X_target")])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_told(bad, side, name):
    both = rows(0, 20, 2, 2)[:2]
    both[side][3, 1] = bad
    with pytest.raises(InputError, match=f"{name}: expected finite numbers"):
        compute_pair_moments(RowPairs.of(*both))


@pytest.mark.parametrize(
    ("kind", "size"),
    [*(("array", s) for s in (1e-170, 1e-62, 1e62, 1e100, 1e200)), ("sparse", 1e-62), ("dask", 1e62)],
)
@pytest.mark.parametrize(("side", "name"), [(0, "X_source"), (1, "X_target")])
def test_sizes_without_room_for_products_are_told(side, name, size, kind):
    X, Y, w = rows(0, 20, 2, 2)
    both = [X, Y]
    both[side] = both[side] * size
    with pytest.raises(InputError, match=f"^{name}: expected features whose largest is between 1e-60 and 1e.60, got"):
        compute_pair_moments(as_pairs(kind, *both, w))


def test_a_share_travels():
    import pickle

    from isthmus.geometry.row_blocks import _scatter_pairs

    X, Y, w = rows(0, 20, 2, 2)
    pairs = RowPairs.of(X, Y, w)
    share = partial(_scatter_pairs, pairs.layout, np.zeros(4))
    for there, here in zip(pairs.rows.total(pickle.loads(pickle.dumps(share))), pairs.rows.total(share), strict=True):
        assert np.array_equal(there, here)
