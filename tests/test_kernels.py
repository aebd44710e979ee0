"""Kernels against their formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from isthmus import RBF, Cosine, InputError, Laplacian, Linear, Polynomial
from isthmus.kernels import as_kernel
from isthmus.linalg import pivoted_cholesky

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


@given(seed=st.integers(0, 1000), n=st.integers(1, 12), rank=st.integers(0, 12), log_scale=st.floats(-6, 6))
def test_pivoted_cholesky_finds_factor_and_rank_at_any_scale(seed, n, rank, log_scale):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, rank)) * 10.0 ** rng.uniform(-3, 3, size=(n, 1)) * 10.0**log_scale
    K = rows @ rows.T
    F, pivots = pivoted_cholesky(K)
    assert F.shape[1] == len(pivots) == min(n, rank)
    lengths = np.sqrt(np.maximum(np.diag(K), 1e-300))
    assert np.abs((F @ F.T - K) / lengths / lengths[:, None]).max(initial=0.0) < 1e-10
    np.testing.assert_array_equal(F[pivots], np.tril(F[pivots]))
