"""What was learned, apart from who learned it: small, exact, and the same from either side."""

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from conftest import make_domains
from isthmus import ARC, MLHD, CommonSpace, InputError
from isthmus.geometry.common_space import top_k
from isthmus.geometry.spaces import FeatureSpace

RNG = np.random.default_rng(0)
W = RNG.normal(size=(5, 3))
X, Y = RNG.normal(size=(6, 3)), RNG.normal(size=(4, 2))
SPACES = FeatureSpace(3), FeatureSpace(2)


def test_distances_and_inner_products_are_those_of_the_points():
    distance = CommonSpace(*SPACES, W)
    product = CommonSpace(*SPACES, W, "inner product", projected=True)
    A, B = distance.embed(X, "source"), distance.embed(Y, "target")
    np.testing.assert_allclose(distance.squared_distances(X, Y, ("source", "target")), cdist(A, B) ** 2)
    np.testing.assert_allclose(product.similarities(X, Y, ("source", "target")), A @ B.T)
    np.testing.assert_allclose(distance.matrix(), W @ W.T)
    np.testing.assert_allclose(distance.feature_matrix(), W @ W.T)
    np.testing.assert_allclose(product.feature_matrix(), W[:3] @ W[3:].T)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_each_domain_has_its_own_map_and_offset(dtype):
    offsets = RNG.normal(size=(2, 3))
    space = CommonSpace(*SPACES, W, offsets=offsets)
    for rows, domain, part, offset in ((X, "source", W[:3], offsets[0]), (Y, "target", W[3:], offsets[1])):
        points = space.embed(rows.astype(dtype), domain)
        assert points.dtype == dtype
        np.testing.assert_allclose(points, rows @ part + offset, rtol=1e-4, atol=1e-5)


def test_the_best_come_first_by_either_kind():
    A, B = RNG.normal(size=(2500, 3)), RNG.normal(size=(9, 3))
    near, order = CommonSpace(*SPACES, W).rank(A, B, 4)
    np.testing.assert_allclose(near, np.sort(cdist(A, B), axis=1)[:, :4])
    np.testing.assert_array_equal(order, cdist(A, B).argsort(axis=1)[:, :4])
    similar, order = CommonSpace(*SPACES, W, "inner product").rank(A, B, 4)
    np.testing.assert_allclose(similar, -np.sort(-A @ B.T, axis=1)[:, :4])
    np.testing.assert_array_equal(order, (-A @ B.T).argsort(axis=1)[:, :4])


def test_a_similarity_is_not_defined_within_a_domain():
    product = CommonSpace(*SPACES, W, "inner product", projected=True)
    with pytest.raises(InputError, match=r"domains: expected one source and one target.*got .'target', 'target'."):
        product.similarities(Y, Y, ("target", "target"))


def test_it_knows_no_learner_and_no_labels():
    domains = make_domains()
    for system in (MLHD("rbf", "rbf"), ARC()):
        space = system.fit(*domains.args).common_space_
        thawed = pickle.loads(pickle.dumps(space))
        np.testing.assert_array_equal(
            thawed.embed(domains.X_target, "target"), space.embed(domains.X_target, "target")
        )
        for word in (b"MLHD", b"ARC", b"DualNewton", b"LogDetProblem", b"Precomputed"):
            assert word not in pickle.dumps(space)


def many_unlabelled(n):
    rng = np.random.default_rng(0)
    ys, yt = np.arange(60) % 3, np.arange(n) % 3
    X_source = rng.normal(size=(60, 6)) + 3 * rng.normal(size=(3, 6))[ys]
    X_target = rng.normal(size=(n, 5)) + 3 * rng.normal(size=(3, 5))[yt]
    return X_source, ys, X_target, np.where(np.arange(n) < 9, yt, -1)


def test_unlabelled_rows_cost_neither_a_gram_matrix_nor_its_factor():
    data = many_unlabelled(4000)  # whose Gram matrix has 128 MB
    tracemalloc.start()
    try:
        model = MLHD("rbf", "rbf").fit(*data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6
    assert len(pickle.dumps(model)) < 2e6
    assert model.common_space_.target.dimension == 10  # nine labelled rows and the mean


@pytest.mark.parametrize(
    ("kernels", "alignment", "outside"),
    [
        (kernels, alignment, ["identity", "zero"][(i + j) % 2])
        for i, kernels in enumerate([("rbf", "rbf"), ("linear", "laplacian"), ("cosine", "polynomial")])
        for j, alignment in enumerate(["penalty", "constraint"])
    ],
)
def test_the_span_of_labelled_rows_and_means_carries_the_same_metric(monkeypatch, kernels, alignment, outside):
    """Squared distances at training rows, unlabelled ones among them, and at new rows, to 1e-8 of their size."""
    import isthmus.geometry.spaces as side

    data, new = many_unlabelled(80), [part + 0.1 for part in many_unlabelled(40)[::2]]
    settings = {"alignment": alignment, "outside": outside, "pair_weight": 1.0, "tol": 1e-12, "max_iter": 500}
    few = MLHD(*kernels, **settings).fit(*data)
    ordinary = side.span_of_kernel
    monkeypatch.setattr(
        "isthmus.geometry.spaces.span_of_kernel", lambda *a, **k: ordinary(*a, **{**k, "every_row": True})
    )
    every = MLHD(*kernels, **settings).fit(*data)
    if outside == "identity":
        assert few.common_space_.target.dimension < every.common_space_.target.dimension
    rows = {"source": np.vstack([data[0], new[0]]), "target": np.vstack([data[2], new[1]])}
    for a in rows:
        for b in rows:
            D, E = (m.pairwise_distances(rows[a], rows[b], (a, b)) ** 2 for m in (few, every))
            np.testing.assert_allclose(D, E, atol=1e-8 * max(1.0, E.max()), rtol=0)


@given(arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 12)), elements=st.integers(-2, 2)), st.data())
def test_the_largest_of_a_row_are_those_of_a_stable_sort(S, data):
    k = data.draw(st.integers(1, S.shape[1]))
    values, places = top_k(S, k)
    np.testing.assert_array_equal(places, np.argsort(-S, axis=1, kind="stable")[:, :k])
    np.testing.assert_array_equal(values, np.take_along_axis(S, places, axis=1))
