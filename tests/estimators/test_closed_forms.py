"""Each closed form against an independent solution, and ways to give wrong parameters."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from sklearn.cross_decomposition import CCA as SklearnCCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel

from isthmus import CCA, RBF, InputError, Procrustes, RelativeRepresentations, RidgeMap


def views(seed=0, n=30, d_source=5, d_target=7):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n + 12, 4))
    A, B = (H @ rng.normal(size=(4, d)) + 0.3 * rng.normal(size=(n + 12, d)) + 2.0 for d in (d_source, d_target))
    return A[:n], B[:n], A[n:], B[n:]


def similarities(model, QA, QB):
    """The sum of cosines that distances stand for."""
    return len(model.common_space_.parts) - 0.5 * model.pairwise_distances(QA, QB) ** 2


def test_ridge_maps_are_those_of_scikit_learn():
    A, B, QA, QB = views()
    model = RidgeMap().fit(A, None, B, None, pairs="rows")
    f, g = (Ridge(penalty).fit(X, Y) for penalty, X, Y in zip(model.penalties_, (A, B), (B, A), strict=True))
    to_target = cosine_similarity(f.predict(QA) - B.mean(0), QB - B.mean(0))
    to_source = cosine_similarity(QA - A.mean(0), g.predict(QB) - A.mean(0))
    np.testing.assert_allclose(similarities(model, QA, QB), to_target + to_source, atol=1e-6)


def test_kernel_ridge_is_that_of_scikit_learn():
    A, B, QA, QB = views(n=20)
    kernels = RBF(2.0), RBF(3.0)
    model = RidgeMap(*kernels, penalty=0.5).fit(A, None, B, None, pairs="rows")
    K, L = rbf_kernel(A, gamma=1 / 8), rbf_kernel(B, gamma=1 / 18)
    K_new, L_new = rbf_kernel(QA, A, gamma=1 / 8), rbf_kernel(QB, B, gamma=1 / 18)
    H = np.eye(20) - 1 / 20
    centred = [H @ G @ H for G in (K, L)]
    new = [(G_new - G.mean(0)) @ H for G_new, G in ((K_new, K), (L_new, L))]

    def one_way(k, new_in, out, new_out, penalty):
        """cos(f(φ(a)), ψ(b)) by the kernel trick, ψ(b) within the span of the paired rows."""
        weights = KernelRidge(alpha=penalty, kernel="precomputed").fit(k, np.eye(20) - 1 / 20).predict(new_in)
        products = weights @ new_out.T
        lengths = np.sqrt(np.einsum("ij,jk,ik->i", weights, out, weights))
        inside = np.sqrt(np.einsum("ij,jk,ik->i", new_out, np.linalg.pinv(out, rcond=1e-10), new_out))
        return products / lengths[:, None] / inside[None, :]

    expected = one_way(centred[0], new[0], centred[1], new[1], model.penalties_[0])
    expected = expected + one_way(centred[1], new[1], centred[0], new[0], model.penalties_[1]).T
    np.testing.assert_allclose(similarities(model, QA, QB), expected, atol=1e-6)


def test_procrustes_is_that_of_scipy():
    A, B, QA, QB = views(d_source=6, d_target=6)
    R, _ = orthogonal_procrustes(A - A.mean(0), B - B.mean(0))
    expected = cosine_similarity((QA - A.mean(0)) @ R, QB - B.mean(0))
    model = Procrustes().fit(A, None, B, None, pairs="rows")
    np.testing.assert_allclose(similarities(model, QA, QB), expected, atol=1e-6)


def test_relative_representations_are_cosines_to_the_anchors():
    A, B, QA, QB = views()
    model = RelativeRepresentations().fit(A, None, B, None, pairs="rows")
    a, b = A.mean(0), B.mean(0)
    expected = cosine_similarity(cosine_similarity(QA - a, A - a), cosine_similarity(QB - b, B - b))
    np.testing.assert_allclose(similarities(model, QA, QB), expected, atol=1e-6)


def test_weighted_variates_are_scikit_learns_times_the_square_of_their_correlation():
    A, B, QA, QB = views(n=60)
    model = CCA(regularization=0.0, n_components=3).fit(A, None, B, None, pairs="rows")
    peer = SklearnCCA(3, max_iter=100_000, tol=1e-20).fit(A, B)
    U, V = peer.transform(A, B)
    correlations = np.array([np.corrcoef(U[:, k], V[:, k])[0, 1] for k in range(3)])
    P, Q = peer.transform(QA, QB)
    P, Q = P / U.std(0) * correlations**2, Q / V.std(0) * correlations**2
    np.testing.assert_allclose(similarities(model, QA, QB), cosine_similarity(P, Q), atol=1e-6)
    np.testing.assert_allclose(model.correlations_, correlations, atol=1e-8)


def test_the_regularization_is_the_one_that_finds_held_out_pairs():
    rng = np.random.default_rng(0)
    H = rng.normal(size=(80, 3))
    A, B = (np.hstack([H @ rng.normal(size=(3, 3)), 3.0 * rng.normal(size=(80, 60))]) for _ in range(2))
    noisy = CCA().fit(A, None, B, None, pairs="rows")
    clean = CCA().fit(H, None, H @ rng.normal(size=(3, 3)), None, pairs="rows")
    assert noisy.regularization_ > clean.regularization_
    assert CCA(regularization=0.2).fit(A, None, B, None, pairs="rows").regularization_ == 0.2


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (RidgeMap(penalty=0.0), "penalty: expected a number above 0, got 0"),
        (CCA(variates="none"), "variates: expected one of 'auto', 'unit', 'weighted', got 'none'"),
        (Procrustes(n_neighbors=0), "n_neighbors: expected"),
    ],
)
def test_wrong_parameters_get_one_sentence(system, message):
    A, B, _, _ = views()
    with pytest.raises(InputError, match=message):
        system.fit(A, None, B, None, pairs="rows")
