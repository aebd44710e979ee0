"""Spaces against the Gram matrices they stand for; the joint space against both domains side by side."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from isthmus import RBF, Cosine, InputError, Laplacian, Linear, Polynomial, Precomputed
from isthmus.data.domains import Domain, TwoDomains
from isthmus.geometry.kernels import Kernel
from isthmus.geometry.spaces import FeatureSpace, JointSpace, KernelSpace, mean_products, mean_square, span_of_kernel

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(6, 4)), RNG.normal(size=(5, 4))
KERNELS = [Linear(), RBF(1.7), Laplacian(2.5), Polynomial(3, 0.5, 2.0), Cosine()]


def side(X, kernel, rows=None, *, outside="identity", every_row=False):
    n = X.shape[0]
    domain = Domain(X, np.zeros(n, dtype=np.intp))
    rows = np.arange(n) if rows is None else np.asarray(rows)
    return span_of_kernel(domain, rows, kernel, outside=outside, every_row=every_row, mean=True, name="X_source")


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("outside", ["identity", "zero"])
def test_coordinates_reproduce_the_gram_matrix_of_the_rows_of_fit(kernel, outside):
    made = side(A, kernel, outside=outside)
    C = made.points
    np.testing.assert_allclose(C @ C.T, kernel.gram(A, A), atol=1e-10)
    np.testing.assert_allclose(made.space.coordinates(A), C, atol=1e-7)
    if isinstance(made.space, KernelSpace):
        np.testing.assert_allclose(made.space.outside(A, C), 0.0, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("rows", [[0, 1, 2], [1]], ids=["three rows", "one row and the mean"])
def test_inside_and_outside_of_a_new_row_make_up_its_length(kernel, rows):
    X = sp.csr_matrix(A[:3]) if isinstance(kernel, Linear) else A[:3]
    space = side(X, kernel, rows).space
    C = space.coordinates(B)
    outside = (0.0, 0.0) if space.complete else (space.outside(B, C), space.outside_products(B, B, C, C))
    np.testing.assert_allclose((C**2).sum(1) + outside[0], kernel.diagonal(B), rtol=1e-8)
    products = C @ C.T + outside[1]
    np.testing.assert_allclose(products, kernel.gram(B, B), atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_a_few_rows_and_the_mean_carry_all_that_is_learned_from(kernel):
    """Mean, products with the mean and variance are those of the span of all rows, whatever the basis."""
    wide = RNG.normal(size=(6, 9))
    X, rows = (sp.csr_matrix(wide) if isinstance(kernel, Linear | Cosine) else wide), [4, 1]
    few, every = side(X, kernel, rows), side(X, kernel, rows, every_row=True)
    assert few.space.dimension == 3 < every.space.dimension
    for a, b in ((few.points, few.points), (few.points, few.mean), (few.mean, few.mean)):
        same = [every.points if part is few.points else every.mean for part in (a, b)]
        np.testing.assert_allclose(a @ b.T, same[0] @ same[1].T, atol=1e-10)
    assert few.variance == pytest.approx(every.variance)
    assert few.squared == pytest.approx(every.squared)
    np.testing.assert_allclose(few.space.coordinates(X).mean(axis=0), few.mean, atol=1e-10)


def test_means_of_kernel_values_are_summed_in_blocks(monkeypatch):
    kernel, X = RBF(1.0), RNG.normal(size=(50, 3))
    K = kernel.gram(X, X)
    for size in (2**25, 800, 8):  # many rows at once, a few, one
        monkeypatch.setattr("isthmus.geometry.spaces.BLOCK_BYTES", size)
        assert mean_square(kernel, X) == pytest.approx(K.mean(), rel=1e-12)
        np.testing.assert_allclose(mean_products(kernel, X[:4], X), K[:4].mean(axis=1), rtol=1e-12)


def test_a_linear_kernel_is_no_kernel():
    wide, new = RNG.normal(size=(4, 6)), RNG.normal(size=(5, 6))
    features, spanned = side(wide, Linear()), side(sp.csr_matrix(wide), Linear())
    assert isinstance(features.space, FeatureSpace)
    assert isinstance(spanned.space, KernelSpace)
    np.testing.assert_allclose(
        cdist(features.points, features.points), cdist(spanned.points, spanned.points), atol=1e-7
    )
    basis = spanned.space.basis()
    np.testing.assert_allclose(new @ basis, spanned.space.coordinates(sp.csr_matrix(new)), atol=1e-10)
    np.testing.assert_allclose(basis.T @ basis, np.eye(spanned.space.dimension), atol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_a_cosine_of_few_features_is_unit_rows_and_measures_as_the_kernel_does(make):
    tall = RNG.normal(size=(9, 4))
    tall[3] = 0.0
    features, spanned = (
        side(make(tall), Cosine()),
        side(sp.csr_matrix(np.hstack([tall, np.zeros((9, 20))])), Cosine()),
    )
    assert isinstance(features.space, FeatureSpace)
    assert isinstance(spanned.space, KernelSpace)
    np.testing.assert_allclose(features.points @ features.points.T, spanned.points @ spanned.points.T, atol=1e-12)
    assert (features.variance, features.squared) == pytest.approx((spanned.variance, spanned.squared))
    single = make(tall.astype(np.float32))
    assert features.space.coordinates(single).dtype == np.float32
    with pytest.raises(InputError, match="kernel: expected a linear one"):
        features.space.basis()


def test_sparse_features_are_measured_as_dense_ones_are():
    tall = RNG.normal(size=(9, 4)) * (RNG.random((9, 4)) < 0.5)
    dense, sparse = side(tall, Linear(), [2, 5]), side(sp.csr_matrix(tall), Linear(), [2, 5])
    assert isinstance(sparse.space, FeatureSpace)
    np.testing.assert_allclose(sparse.points, dense.points)
    np.testing.assert_allclose(sparse.mean, dense.mean)
    assert (sparse.variance, sparse.squared) == pytest.approx((dense.variance, dense.squared))


def test_sparse_rows_of_single_precision_are_measured_in_double():
    """Far from the origin, squares of single precision would be off in the third digit."""
    rows = (RNG.normal(size=(60, 5)) + 300.0).astype(np.float32)
    single, double = side(sp.csr_matrix(rows), Linear()), side(rows.astype(np.float64), Linear())
    assert single.variance == pytest.approx(double.variance, rel=1e-9)
    assert single.squared == pytest.approx(double.squared, rel=1e-12)


class Boxcar(Kernel):
    """Indefinite, though any two rows alone have a positive semi-definite Gram matrix."""

    def gram(self, A, B):
        return (np.abs(A - B.T) < 1.0).astype(float)


def test_an_indefinite_kernel_is_refused_when_a_row_shows_it():
    X = np.array([0.0, 0.6, 1.2, 1.8, 5.0, 10.0, 10.6, 11.2, 11.8, 15.0])[:, None]
    y = np.where(np.isin(np.arange(10), [1, 7]), np.arange(10) // 5, -1)
    from isthmus import MLHD

    model = MLHD(target_kernel=Boxcar()).fit(RNG.normal(size=(6, 2)), [0, 1] * 3, X, y)
    with pytest.raises(InputError, match="kernel: expected a positive semi-definite one, got a row shorter than"):
        model.pairwise_distances(X, X, ("target", "target"))


@pytest.mark.parametrize("system", ["kcca+nn", "arc-rbf"])
def test_who_learns_nothing_from_the_means_keeps_no_unlabelled_row(system):
    from isthmus import systems

    rng, y = np.random.default_rng(0), np.arange(300) % 3
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(300, 5))
    model = systems()[system].make().fit(X, y[:30], Y, np.where(np.arange(300) < 9, y, -1))
    space = model.common_space_.target
    assert space.averaged is None
    assert space.landmarks.shape[0] == 9


def test_a_precomputed_gram_matrix_is_its_kernel():
    kernel = RBF(1.3)
    direct = side(A, kernel, outside="zero").space
    given_gram = side(kernel.gram(A, A), Precomputed()).space
    np.testing.assert_allclose(
        cdist(direct.coordinates(B), direct.coordinates(B)),
        cdist(given_gram.coordinates(kernel.gram(B, A)), given_gram.coordinates(kernel.gram(B, A))),
        atol=1e-7,
    )


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((2, 3)), r"X_source: expected a square Gram matrix.*got \(2, 3\)"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "positive semi-definite"),
    ],
)
def test_a_bad_gram_matrix_is_refused(K, message):
    with pytest.raises(InputError, match=message):
        side(K, Precomputed())


class Sigmoid(Kernel):
    """Not positive semi-definite."""

    def gram(self, A, B):
        return np.tanh(A @ B.T - 1.0)


@pytest.mark.parametrize("rows", [None, [0, 3, 5]], ids=["all rows", "some rows"])
def test_a_kernel_that_is_not_positive_semi_definite_is_refused(rows):
    with pytest.raises(InputError, match="positive semi-definite"):
        side(3.0 * A, Sigmoid(), rows)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_far_from_the_origin_a_kernel_of_differences_sees_the_same(kernel):
    from isthmus import KCCA, MLHD

    rng = np.random.default_rng(1)
    y, X, Y = np.arange(30) % 3, rng.normal(size=(30, 5)), rng.normal(size=(30, 4))
    hidden = np.where(np.arange(30) < 9, y, -1)
    # Near hard bounds, the rounding of rows so far out would be seen.
    for system in (partial(MLHD, pair_weight=1.0), KCCA):
        near, far = (
            system(kernel, kernel).fit(X + shift, y, Y - shift, hidden).pairwise_distances(X + shift, Y - shift)
            for shift in (0.0, 1e8)
        )
        np.testing.assert_allclose(far, near, rtol=1e-5)


def test_the_joint_space_sets_both_domains_side_by_side():
    y, hidden = ["a", "b", "a", "b", "a", "b"], ["a", None, "b", None, None]
    domains = TwoDomains.of(A, y, B, hidden, pairs=[[1, 3], [0, 0]])
    joint = JointSpace.of(domains, (Linear(), RBF()))
    assert len(joint.target.points) == 3  # two with a label, one more in a pair
    np.testing.assert_array_equal(joint.target.y, [0, 1, -1])
    np.testing.assert_array_equal(joint.pairs.rows, [[1, 2], [0, 0]])
    source, target = joint.runs
    np.testing.assert_allclose(joint.rows[source, :4], A)
    assert not joint.rows[target, :4].any()
    kernel = joint.target.space.kernel
    expected = A.var(axis=0).sum() + 1.0 - kernel.gram(B, B).mean()
    assert joint.spread == pytest.approx(expected)
    np.testing.assert_allclose(joint.shift[:4], A.mean(axis=0))
    assert joint.shift[4:] @ joint.shift[4:] == pytest.approx(kernel.gram(B, B).mean())


def test_equal_rows_have_a_spread_all_the_same():
    domains = TwoDomains.of(np.ones((3, 2)), [0, 1, 0], np.full((4, 1), 2.0), [0, -1, -1, 1])
    assert JointSpace.of(domains, (Linear(), Linear())).spread == pytest.approx(2.0 + 4.0)
    assert JointSpace.of(domains, (RBF(), RBF())).spread == pytest.approx(2.0)
