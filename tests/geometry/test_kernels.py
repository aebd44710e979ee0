"""Kernels against their formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from isthmus import MLHD, RBF, Cosine, InputError, Kernel, Laplacian, Linear, Polynomial
from isthmus.geometry.kernels import as_kernel

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(6, 4)), RNG.normal(size=(5, 4))
FORMULAS = [
    (Linear(), lambda a, b: a @ b),
    (RBF(1.7), lambda a, b: np.exp(-np.sum((a - b) ** 2) / (2 * 1.7**2))),
    (Laplacian(2.5), lambda a, b: np.exp(-np.abs(a - b).sum() / 2.5)),
    (Polynomial(3, 0.5, 2.0), lambda a, b: (a @ b / 2.0 + 0.5) ** 3),
    (Cosine(), lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b)),
]


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS, ids=lambda x: type(x).__name__)
def test_a_kernel_is_its_formula(kernel, formula):
    expected = np.array([[formula(a, b) for b in B] for a in A])
    np.testing.assert_allclose(kernel.gram(A, B), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(A), [formula(a, a) for a in A], rtol=1e-10)
    np.testing.assert_allclose(kernel.gram(sp.csr_matrix(A), sp.csr_matrix(B)), expected, rtol=1e-10, atol=1e-12)
    assert kernel.gram(A.astype(np.float32), B.astype(np.float32)).dtype == np.float64


def test_words_are_resolved_from_the_rows_and_follow_their_unit():
    assert RBF().resolve(A).bandwidth == pytest.approx(np.median(pdist(A)))
    assert Laplacian().resolve(A).bandwidth == pytest.approx(np.median(pdist(A, "cityblock")))
    assert Polynomial().resolve(A).scale == pytest.approx((A**2).sum(1).mean())
    for kernel in (RBF(), Laplacian(), Polynomial()):
        scaled = kernel.resolve(1000 * A).gram(1000 * A, 1000 * A)
        np.testing.assert_allclose(kernel.resolve(A).gram(A, A), scaled, rtol=1e-8)


def test_the_median_survives_coinciding_rows():
    assert RBF().resolve(np.zeros((4, 2))).bandwidth == 1.0
    mostly = np.vstack([np.zeros((9, 1)), [[3.0]]])
    assert RBF().resolve(mostly).bandwidth == 3.0
    assert RBF().resolve(np.ones((1, 2))).bandwidth == 1.0


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
