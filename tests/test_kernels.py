"""Kernels against their formulas; spaces against the Gram matrices they stand for."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist

from isthmus import MLHD, RBF, Cosine, InputError, Kernel, Laplacian, Linear, Polynomial, Precomputed
from isthmus.kernels import as_kernel
from isthmus.spaces import FeatureSpace, KernelSpace, fitted_space

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(6, 4)), RNG.normal(size=(5, 4))
FORMULAS = [
    (Linear(), lambda a, b: a @ b),
    (RBF(1.7), lambda a, b: np.exp(-np.sum((a - b) ** 2) / (2 * 1.7**2))),
    (Laplacian(2.5), lambda a, b: np.exp(-np.abs(a - b).sum() / 2.5)),
    (Polynomial(3, 0.5, 2.0), lambda a, b: (a @ b / 2.0 + 0.5) ** 3),
    (Cosine(), lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b)),
]
KERNELS = [kernel for kernel, _ in FORMULAS]


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS, ids=lambda x: type(x).__name__)
def test_a_kernel_is_its_formula(kernel, formula):
    expected = np.array([[formula(a, b) for b in B] for a in A])
    np.testing.assert_allclose(kernel.gram(A, B), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(A), [formula(a, a) for a in A], rtol=1e-10)
    np.testing.assert_allclose(kernel.gram(sp.csr_matrix(A), sp.csr_matrix(B)), expected, rtol=1e-10, atol=1e-12)
    assert kernel.gram(A.astype(np.float32), B.astype(np.float32)).dtype == np.float64


def test_words_are_resolved_from_the_rows_and_follow_their_unit():
    assert RBF().resolved(A).bandwidth == pytest.approx(np.median(pdist(A)))
    assert Laplacian().resolved(A).bandwidth == pytest.approx(np.median(pdist(A, "cityblock")))
    assert Polynomial().resolved(A).scale == pytest.approx((A**2).sum(1).mean())
    for kernel in (RBF(), Laplacian(), Polynomial()):
        scaled = kernel.resolved(1000 * A).gram(1000 * A, 1000 * A)
        np.testing.assert_allclose(kernel.resolved(A).gram(A, A), scaled, rtol=1e-8)


def test_the_median_survives_coinciding_rows():
    assert RBF().resolved(np.zeros((4, 2))).bandwidth == 1.0
    mostly = np.vstack([np.zeros((9, 1)), [[3.0]]])
    assert RBF().resolved(mostly).bandwidth == 3.0
    assert RBF().resolved(np.ones((1, 2))).bandwidth == 1.0


def test_kernels_are_values():
    assert RBF(2.0) == RBF(2.0) != RBF(3.0)
    assert hash(RBF(2.0)) == hash(RBF(2.0))
    assert as_kernel("rbf") == RBF("median")
    assert repr(Polynomial(2)) == "Polynomial(degree=2, offset=1.0, scale='mean')"


def test_bad_kernels_are_refused():
    for build, message in [
        (lambda: as_kernel("gauss", "source_kernel"), "source_kernel: expected one of 'linear', 'rbf'.* got 'gauss'"),
        (lambda: RBF(0.0), "bandwidth: expected a number above 0, got 0.0"),
        (lambda: RBF("mean"), "bandwidth: expected a positive number or 'median', got 'mean'"),
        (lambda: Polynomial(0), "degree: expected a whole number of at least 1, got 0"),
        (lambda: RBF().gram(A, A), "bandwidth: expected a number by now"),
    ]:
        with pytest.raises(InputError, match=message):
            build()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("outside", ["identity", "zero"])
def test_coordinates_reproduce_the_gram_matrix_of_the_rows_of_fit(kernel, outside):
    space, C = fitted_space(A, kernel, outside=outside, name="X")
    np.testing.assert_allclose(C @ C.T, kernel.gram(A, A), atol=1e-10)
    np.testing.assert_allclose(space.coordinates(A), C, atol=1e-7)
    np.testing.assert_allclose(space.outside(A, C), 0.0, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_inside_and_outside_of_a_new_row_make_up_its_length(kernel):
    space, _ = fitted_space(
        sp.csr_matrix(A[:3]) if isinstance(kernel, Linear) else A[:3], kernel, outside="identity", name="X"
    )
    C = space.coordinates(B)
    np.testing.assert_allclose((C**2).sum(1) + space.outside(B, C), kernel.diagonal(B), rtol=1e-8)
    products = C @ C.T + space.outside_products(B, B, C, C)
    np.testing.assert_allclose(products, kernel.gram(B, B), atol=1e-10)


def test_a_linear_kernel_is_no_kernel():
    wide, new = RNG.normal(size=(4, 6)), RNG.normal(size=(5, 6))
    features, F = fitted_space(wide, Linear(), outside="identity", name="X")
    spanned, C = fitted_space(sp.csr_matrix(wide), Linear(), outside="identity", name="X")
    assert isinstance(features, FeatureSpace)
    assert isinstance(spanned, KernelSpace)
    np.testing.assert_allclose(cdist(F, F), cdist(C, C), atol=1e-7)
    np.testing.assert_allclose(new @ spanned.basis(), spanned.coordinates(sp.csr_matrix(new)), atol=1e-10)
    np.testing.assert_allclose(spanned.basis().T @ spanned.basis(), np.eye(spanned.dimension), atol=1e-9)


def test_a_precomputed_gram_matrix_is_its_kernel():
    kernel = RBF(1.3)
    direct, _ = fitted_space(A, kernel, outside="zero", name="X")
    given_gram, _ = fitted_space(kernel.gram(A, A), Precomputed(), outside="identity", name="X")
    np.testing.assert_allclose(direct.coordinates(B), given_gram.coordinates(kernel.gram(B, A)), atol=1e-9)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((2, 3)), r"expected a square Gram matrix.*got \(2, 3\)"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "positive semi-definite"),
    ],
)
def test_a_bad_gram_matrix_is_refused(K, message):
    with pytest.raises(InputError, match=message):
        fitted_space(K, Precomputed(), outside="identity", name="X_source")


def test_a_users_kernel_that_is_not_positive_semi_definite_is_refused():
    class Sigmoid(Kernel):
        def gram(self, A, B):
            return np.tanh(A @ B.T - 1.0)

    with pytest.raises(
        InputError, match=r"expected a positive semi-definite Gram matrix, got one with an eigenvalue"
    ):
        MLHD(Sigmoid(), "linear").fit(A, [0, 0, 0, 1, 1, 1], B, [0, 1, -1, -1, -1])


class Square(Kernel):
    """A user's own, with the one method that the base asks for: the polynomial kernel without its diagonal."""

    def gram(self, A, B):
        return np.asarray((A @ B.T + 1.0) ** 2)


def test_a_users_kernel_needs_its_gram_matrix_only():
    known, own, many = Polynomial(2, 1.0, 1.0), Square(), RNG.normal(size=(200, 4))
    np.testing.assert_allclose(own.diagonal(many), known.diagonal(many), rtol=1e-12)
    fits = [MLHD(kernel, "linear").fit(A, [0, 0, 0, 1, 1, 1], B, [0, 1, -1, -1, -1]) for kernel in (own, known)]
    distances = [fit.pairwise_distances(many, B) for fit in fits]
    np.testing.assert_allclose(distances[0], distances[1], rtol=1e-6)
