"""CCA and KCCA: what must hold of canonical variates, and that others find the same ones."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.cross_decomposition import CCA as SklearnCCA
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from conftest import CANNOT_HOLD, make_domains
from isthmus import CCA, KCCA, RBF, KnownPairs, Linear
from isthmus.data.splits import SemiSupervisedSplit
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.spaces import FeatureSpace
from isthmus.maps.canonical import CanonicalDirections, PairedRows

KERNELS = [("linear", "linear"), ("rbf", "rbf"), ("cosine", "polynomial"), ("laplacian", "linear")]


def paired(seed=0, n=80, d_source=5, d_target=4):
    """Two views of three shared signals: truly paired rows, far from the origin."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3))
    X = Z @ rng.normal(size=(3, d_source)) + rng.normal(size=(n, d_source)) + 4.0
    return X, Z @ rng.normal(size=(3, d_target)) + rng.normal(size=(n, d_target)) - 7.0


def fitted_to_pairs(estimator, X, Y, pairs=None):
    """With variates of unit variance, as textbooks have them."""
    pairs = np.c_[np.arange(len(X)), np.arange(len(Y))] if pairs is None else pairs
    return estimator.set_params(variates="unit").fit(X, np.arange(len(X)) % 2, Y, np.arange(len(Y)) % 2, pairs=pairs)


def label_pairs(y_source, y_target):
    """The list that the estimator never writes."""
    return np.argwhere((y_source[:, None] == y_target[None]) & (y_target >= 0)[None])


def up_to_sign(A, B):
    return A * np.sign(np.sum(A * B, axis=0))


def ridge(C, gamma):
    return gamma * np.trace(C @ C) / np.trace(C) * np.eye(len(C))


def test_on_paired_rows_it_finds_the_variates_of_scikit_learn():
    X, Y = paired()
    cca = fitted_to_pairs(CCA(regularization=0.0), X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it iterates
        U, V = SklearnCCA(n_components=4, max_iter=100_000, tol=1e-14).fit(X, Y).transform(X, Y)
    correlations = [np.corrcoef(u, v)[0, 1] for u, v in zip(U.T, V.T, strict=True)]
    np.testing.assert_allclose(cca.correlations_, correlations, atol=1e-6)
    for ours, theirs in ((cca.transform(X, "source"), U), (cca.transform(Y), V)):
        np.testing.assert_allclose(ours, up_to_sign(theirs / theirs.std(axis=0), ours), atol=1e-4)


@pytest.mark.parametrize("gamma", [0.0, 0.1, 3.0])
def test_a_dense_generalised_eigenproblem_has_the_same_solution(gamma):
    X, Y = paired()
    cca = fitted_to_pairs(CCA(regularization=gamma), X, Y)
    C = np.cov(np.hstack([X, Y]).T, bias=True)
    Cxx, Cyy = C[:5, :5] + ridge(C[:5, :5], gamma), C[5:, 5:] + ridge(C[5:, 5:], gamma)
    Z = np.zeros((5, 4))
    values, vectors = sla.eigh(np.block([[Z @ Z.T, C[:5, 5:]], [C[5:, :5], Z.T @ Z]]), sla.block_diag(Cxx, Cyy))
    np.testing.assert_allclose(cca.correlations_, values[::-1][:4], atol=1e-10)
    for ours, rows, w in (
        (cca.transform(X, "source"), X, vectors[:5, ::-1][:, :4]),
        (cca.transform(Y), Y, vectors[5:, ::-1][:, :4]),
    ):
        theirs = (rows - rows.mean(axis=0)) @ w
        np.testing.assert_allclose(ours, up_to_sign(theirs / theirs.std(axis=0), ours), atol=1e-8)


@pytest.mark.parametrize("gamma", [0.0, 0.1])
@pytest.mark.parametrize("variates", ["unit", "weighted"])
@pytest.mark.parametrize("kernels", KERNELS[:2])
def test_the_residual_is_earned_from_the_rows(gamma, variates, kernels):
    X, Y = paired()
    rows = np.arange(80)
    model = KCCA(*kernels, regularization=gamma, variates=variates, n_components=2)
    assert model.fit(X, None, Y, None, pairs=np.c_[rows, rows]).residual_ <= 1e-8
    assert KCCA(*kernels, regularization=gamma, variates=variates).fit(*make_domains().args).residual_ <= 1e-8


def test_wrong_directions_have_a_residual():
    X, Y = paired()
    each = sp.csr_array(sp.identity(80))
    pairs = PairedRows.of(X, Y, each, each)
    found = pairs.directions(0.1)
    wrong = CanonicalDirections(found.source + 1e-3, found.target, found.offsets, found.correlations)
    assert pairs.residual(found, 0.1) < 1e-12
    assert pairs.residual(wrong, 0.1) > 1e-5


def test_cca_zoo_finds_the_same_variates():
    linear, nonparametric = (pytest.importorskip(f"cca_zoo.{name}") for name in ("linear", "nonparametric"))
    X, Y = paired()
    J = np.eye(80) - 1 / 80
    for gamma, kernel in ((0.0, Linear()), (0.1, Linear()), (2.0, Linear()), (0.1, RBF(3.0)), (2.0, RBF(3.0))):
        grams = [J @ kernel.gram(V, V) @ J / 79 for V in (X, Y)]
        ridges = [gamma * np.trace(G @ G) / np.trace(G) for G in grams]
        shrinkage = [rho / (1 + rho) for rho in ridges]  # (1 - c) C + c I is C + ρI but for its scale
        if isinstance(kernel, Linear):
            other = linear.RidgeCCA(4, shrinkage=shrinkage)
        else:
            other = nonparametric.KCCA(4, shrinkage=shrinkage, kernel="rbf", gamma=0.5 / kernel.bandwidth**2)
        kcca = fitted_to_pairs(KCCA(kernel, kernel, regularization=gamma, n_components=4), X, Y)
        variates = other.fit([X, Y]).transform([X, Y])
        for ours, theirs in zip((kcca.transform(X, "source"), kcca.transform(Y)), variates, strict=True):
            np.testing.assert_allclose(ours, up_to_sign(theirs / theirs.std(axis=0), ours), atol=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 0.1, 10.0])
def test_variates_are_centred_of_unit_variance_and_textbook_ones_uncorrelated(gamma):
    X, Y = paired()
    cca = fitted_to_pairs(CCA(regularization=gamma), X, Y)
    points = np.hstack([cca.transform(X, "source"), cca.transform(Y)])
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(points.var(axis=0), 1.0)
    assert (np.diff(cca.correlations_) <= 0).all()
    if gamma == 0.0:
        rho = np.diag(cca.correlations_)
        np.testing.assert_allclose(
            points.T @ points / len(X), np.block([[np.eye(4), rho], [rho, np.eye(4)]]), atol=1e-8
        )


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("gamma", ["auto", 1.0])
def test_sums_over_classes_are_the_pairs_they_stand_for(domains, kernels, gamma):
    Xs, ys, Xt, yt = domains.args
    ys = np.where(np.arange(30) < 9, 0, ys)  # classes of unequal size
    by_labels = KCCA(*kernels, regularization=gamma).fit(Xs, ys, Xt, yt)
    by_pairs = KCCA(*kernels, regularization=gamma, variates="unit").fit(Xs, ys, Xt, yt, pairs=label_pairs(ys, yt))
    np.testing.assert_allclose(by_labels.correlations_, by_pairs.correlations_, atol=1e-8)
    for X, domain in ((Xs, "source"), (Xt, "target")):
        ours, theirs = by_labels.transform(X, domain), by_pairs.transform(X, domain)
        np.testing.assert_allclose(ours, up_to_sign(theirs, ours), atol=1e-6)
    i, j = label_pairs(ys, yt).T
    for points in (by_labels.transform(Xs, "source")[i], by_labels.transform(Xt)[j]):
        np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-8)
        np.testing.assert_allclose(points.var(axis=0), 1.0)


def test_labels_cost_no_memory_quadratic_in_a_class():
    data = make_domains(n_classes=2, n_source=6000, n_target=6000, n_labelled=6000)  # eighteen million pairs
    tracemalloc.start()
    CCA().fit(*data.args)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6  # one byte a pair would be 18e6, a number a pair 144e6


def test_labels_give_one_component_fewer_than_classes(domains):
    Xs, ys, Xt, yt = domains.args
    assert CCA().fit(*domains.args).transform(Xt).shape == (20, 2)
    assert CCA(n_components=1).fit(*domains.args).transform(Xt).shape == (20, 1)
    assert CCA().fit(Xs, ys, Xt, np.where(yt == 2, -1, yt)).common_space_.dimension == 1
    with pytest.raises(ValueError, match="n_components: expected at most 2 with these rows, got 3"):
        CCA(n_components=3).fit(*domains.args)
    names = [list(model.fit(*domains.args).get_feature_names_out()) for model in (CCA(), KCCA())]
    assert names == [["cca0", "cca1"], ["kcca0", "kcca1"]]


def test_fewer_components_are_the_first_ones(domains):
    few, all_of_them = CCA(n_components=1).fit(*domains.args), CCA().fit(*domains.args)
    np.testing.assert_allclose(few.transform(domains.X_target), all_of_them.transform(domains.X_target)[:, :1])
    np.testing.assert_array_equal(few.correlations_, all_of_them.correlations_[:1])


@pytest.mark.parametrize("gamma", [0.0, 0.1])
@pytest.mark.parametrize("shape", [{}, {"d_source": 50, "d_target": 60}])
def test_a_linear_kernel_is_no_kernel_dense_or_sparse_or_precomputed(gamma, shape):
    Xs, ys, Xt, yt = make_domains(**shape).args
    cca = CCA(regularization=gamma).fit(Xs, ys, Xt, yt)
    new_s, new_t = (np.random.default_rng(0).normal(size=(7, X.shape[1])) for X in (Xs, Xt))
    others = [
        (KCCA("linear", "linear", regularization=gamma).fit(Xs, ys, Xt, yt), new_s, new_t),
        (CCA(regularization=gamma).fit(sp.csr_array(Xs), ys, sp.csr_array(Xt), yt), new_s, new_t),
        (
            KCCA("precomputed", "precomputed", regularization=gamma).fit(Xs @ Xs.T, ys, Xt @ Xt.T, yt),
            new_s @ Xs.T,
            new_t @ Xt.T,
        ),
    ]
    for other, rows_s, rows_t in others:
        np.testing.assert_allclose(other.correlations_, cca.correlations_, atol=1e-8)
        # Equal correlations (all are one, without regularization in a wide space) leave their directions free to turn.
        np.testing.assert_allclose(
            other.pairwise_distances(rows_s, rows_t), cca.pairwise_distances(new_s, new_t), atol=1e-6
        )
        if gamma > 0.0:
            np.testing.assert_allclose(other.transform(rows_t), cca.transform(new_t), atol=1e-6)


def test_kernel_variates_solve_the_textbooks_dual_problem():
    # Hardoon et al. 2004: coefficients over rows, centred Gram matrices; K² + n ρ K in place of K².
    X, Y = paired(n=25)
    kcca = fitted_to_pairs(KCCA(RBF(3.0), RBF(3.0), regularization=0.5), X, Y)
    J = np.eye(25) - 1 / 25
    K, N = (J @ RBF(3.0).gram(V, V) @ J for V in (X, Y))
    rho_s, rho_t = (0.5 * np.trace(G @ G) / np.trace(G) / 25 for G in (K, N))
    # With K² + nρK = K (K + nρI): the product of two smoothers has the squared correlations as eigenvalues.
    smooth = [np.linalg.solve(G + 25 * rho * np.eye(25), G) for G, rho in ((K, rho_s), (N, rho_t))]
    squared = np.sort(np.linalg.eigvals(smooth[0] @ smooth[1]).real)[::-1][:10]
    np.testing.assert_allclose(kcca.correlations_[:10] ** 2, squared, atol=1e-8)


@pytest.mark.parametrize("estimator", [CCA(), CCA(regularization=0.0), KCCA()])
def test_swapping_the_domains_swaps_the_variates(estimator):
    Xs, ys, Xt, yt = make_domains(n_labelled=20).args
    there, back = clone(estimator).fit(Xs, ys, Xt, yt), clone(estimator).fit(Xt, yt, Xs, ys)
    np.testing.assert_allclose(there.correlations_, back.correlations_, atol=1e-8)
    np.testing.assert_allclose(there.transform(Xs, "source"), back.transform(Xs, "target"), atol=1e-6)
    np.testing.assert_allclose(there.transform(Xt, "target"), back.transform(Xt, "source"), atol=1e-6)
    np.testing.assert_allclose(there.pairwise_distances(Xs, Xt), back.pairwise_distances(Xt, Xs).T, atol=1e-6)


def test_without_regularization_affine_maps_of_a_domain_change_nothing():
    X, Y = paired()
    T = np.random.default_rng(3).normal(size=(4, 4)) * [1.0, 10.0, 1e-4, 1e6]
    plain = fitted_to_pairs(CCA(regularization=0.0), X, Y)
    mapped = fitted_to_pairs(CCA(regularization=0.0), X, Y @ T + 50.0)
    np.testing.assert_allclose(plain.correlations_, mapped.correlations_, atol=1e-8)
    np.testing.assert_allclose(plain.transform(Y), mapped.transform(Y @ T + 50.0), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-5, 1e4])
def test_regularization_follows_the_unit_the_origin_and_rotations_of_the_features(domains, scale):
    Xs, ys, Xt, yt = domains.args
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 7)))[0]
    plain, moved = CCA().fit(*domains.args), CCA().fit(scale * Xs, ys, scale * Xt @ Q + 100.0 * scale, yt)
    np.testing.assert_allclose(plain.correlations_, moved.correlations_, atol=1e-8)
    np.testing.assert_allclose(plain.transform(Xt), moved.transform(scale * Xt @ Q + 100.0 * scale), atol=1e-6)


def test_more_regularization_means_smaller_correlations(domains):
    fits = [CCA(regularization=gamma).fit(*domains.args) for gamma in (0.0, 0.01, 0.1, 1.0, 1e6, 1e12)]
    firsts = [cca.correlations_[0] for cca in fits]
    assert firsts == sorted(firsts, reverse=True)
    assert [len(cca.correlations_) for cca in fits] == [2] * 6


@pytest.mark.parametrize("kernels", KERNELS)
def test_the_order_of_rows_does_not_matter(domains, kernels):
    Xs, ys, Xt, yt = domains.args
    s, t = np.random.default_rng(0).permutation(30), np.random.default_rng(1).permutation(20)
    plain, shuffled = (KCCA(*kernels).fit(*args) for args in (domains.args, (Xs[s], ys[s], Xt[t], yt[t])))
    np.testing.assert_allclose(plain.transform(Xt), shuffled.transform(Xt), atol=1e-6)
    np.testing.assert_allclose(plain.transform(Xs, "source"), shuffled.transform(Xs, "source"), atol=1e-6)
    i, j = np.argsort(s), np.argsort(t)
    pairs = np.array([[0, 3], [7, 1], [7, 2], [9, 9], [12, 15], [4, 0], [5, 3]])
    plain.fit(*domains.args, pairs=pairs)
    shuffled.fit(Xs[s], ys[s], Xt[t], yt[t], pairs=np.c_[i[pairs[:, 0]], j[pairs[:, 1]]][::-1])
    np.testing.assert_allclose(plain.pairwise_distances(Xs, Xt), shuffled.pairwise_distances(Xs, Xt), atol=1e-6)


def test_a_pair_of_weight_two_is_a_pair_of_rows_given_twice():
    X, Y = paired(n=20)
    weights = np.where(np.arange(20) < 5, 2.0, 1.0)
    twice = fitted_to_pairs(CCA(), X, Y, KnownPairs(np.c_[np.arange(20), np.arange(20)], weights))
    copies = fitted_to_pairs(CCA(), np.vstack([X, X[:5]]), np.vstack([Y, Y[:5]]))
    np.testing.assert_allclose(twice.correlations_, copies.correlations_)
    np.testing.assert_allclose(twice.pairwise_distances(X, Y), copies.pairwise_distances(X, Y), atol=1e-8)


def test_one_matrix_measures_within_a_domain_and_the_offsets_count_across(domains):
    cca = CCA().fit(*domains.args)
    M, Xt = cca.get_mahalanobis_matrix(), domains.X_target
    Z = np.hstack([np.zeros((20, 5)), Xt])
    expected = cdist(Z, Z, lambda a, b: np.sqrt((a - b) @ M @ (a - b)))
    np.testing.assert_allclose(cca.pairwise_distances(Xt, Xt, ("target", "target")), expected, atol=1e-6)
    across = cdist(cca.transform(domains.X_source, "source"), cca.transform(Xt))
    np.testing.assert_allclose(cca.pairwise_distances(domains.X_source, Xt), across, atol=1e-6)
    assert cca.transform(Xt.astype(np.float32)).dtype == np.float32


def test_a_metric_carries_its_offsets_through_maps_and_projections():
    rng = np.random.default_rng(0)
    W, offsets = rng.normal(size=(5, 3)), rng.normal(size=(2, 3))
    plain = CommonSpace(FeatureSpace(3), FeatureSpace(2), W)
    moved = CommonSpace(FeatureSpace(3), FeatureSpace(2), W, offsets=offsets)
    X, Y = rng.normal(size=(6, 3)), rng.normal(size=(4, 2))
    np.testing.assert_allclose(moved.embed(X, "source"), plain.embed(X, "source") + offsets[0])
    np.testing.assert_allclose(moved.embed(Y, "target"), plain.embed(Y, "target") + offsets[1])
    A = rng.normal(size=(3, 2))
    np.testing.assert_allclose(moved.compose(A).embed(Y, "target"), moved.embed(Y, "target") @ A)
    whole = moved.compose(np.linalg.qr(rng.normal(size=(3, 3)))[0], projected=True)
    D = moved.squared_distances(X, Y, ("source", "target"))
    np.testing.assert_allclose(whole.squared_distances(X, Y, ("source", "target")), D)


DEGENERATE = {
    "duplicate rows": lambda d: (np.repeat(d.X_source[:10], 3, 0), np.repeat(d.y_source[:10], 3), d.X_target, d.y_target),
    "zero rows": lambda d: (np.vstack([d.X_source, np.zeros((2, 5))]), np.append(d.y_source, [0, 1]), d.X_target, d.y_target),
    "constant column": lambda d: (np.hstack([d.X_source, np.ones((30, 2))]), d.y_source, d.X_target, d.y_target),
    "same rows in both domains": lambda d: (d.X_source, d.y_source, d.X_source[:20], d.y_target),
    "one labelled row a class": lambda d: (d.X_source, d.y_source, d.X_target, np.where(np.arange(20) < 3, d.y_true, -1)),
    "more labelled target than source": lambda d: (d.X_source[:4], d.y_source[:4], d.X_target, d.y_true),
    "one column": lambda d: (d.X_source[:, :1], d.y_source, d.X_target[:, :1], d.y_target),
    "far from the origin": lambda d: (d.X_source + 1e5, d.y_source, d.X_target - 1e5, d.y_target),
    "domains of very different scale": lambda d: (1e-6 * d.X_source, d.y_source, 1e6 * d.X_target, d.y_target),
    "fewer rows than columns": lambda d: make_domains(d_source=300, d_target=200).args,
}  # fmt: skip


@pytest.mark.parametrize("case", DEGENERATE)
def test_singular_covariances_give_finite_variates_of_unit_variance(domains, case):
    Xs, ys, Xt, yt = DEGENERATE[case](domains)
    i, j = label_pairs(ys, yt).T
    for setting in (("linear", 0.0), ("linear", 1e-14), ("linear", "auto"), ("rbf", 0.0), ("laplacian", 1e-14)):
        kcca = KCCA(setting[0], setting[0], regularization=setting[1]).fit(Xs, ys, Xt, yt)
        for points in (kcca.transform(Xs, "source")[i], kcca.transform(Xt)[j]):
            np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-3, err_msg=str(setting))
            np.testing.assert_allclose(points.var(axis=0), 1.0, rtol=1e-3, err_msg=str(setting))
        assert (kcca.correlations_ > 0).all(), setting
        assert (kcca.correlations_ < 1 + 1e-9).all(), setting


NOTHING_VARIES = {
    "one class": lambda d: (d.X_source, 0 * d.y_source, d.X_target, np.where(d.y_target < 0, -1, 0)),
    "one labelled row": lambda d: (d.X_source, d.y_source, d.X_target, np.where(np.arange(20) < 1, 0, -1)),
    "all rows zero": lambda d: (0 * d.X_source, d.y_source, d.X_target, d.y_target),
    "constant domains": lambda d: (np.full((30, 5), 0.1), d.y_source, np.full((20, 7), 0.3), d.y_target),
}


@pytest.mark.parametrize("case", NOTHING_VARIES)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("gamma", [0.0, "auto", 1e9])
def test_where_nothing_varies_together_it_says_so(domains, case, kernel, gamma):
    with pytest.raises(ValueError, match=r"pairs: expected rows that vary together, got no correlation \(one class"):
        KCCA(kernel, kernel, regularization=gamma).fit(*NOTHING_VARIES[case](domains))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([0, 1], r"pairs: expected whole row numbers \(m, 2\), got int64 of shape \(2,\)"),
        ([[0, 1, 2]], r"got int64 of shape \(1, 3\)"),
        (np.empty((0, 2), dtype=int), "pairs: expected at least one pair, got none"),
        ([[0.0, 1.0]], r"got float64 of shape \(1, 2\)"),
        ([[30, 0]], "pairs: expected source rows from 0 to 29, got 30"),
        ([[0, 0], [0, -1]], "pairs: expected row numbers from 0, got -1"),
    ],
)
def test_bad_pairs(domains, pairs, message):
    with pytest.raises(ValueError, match=message):
        CCA().fit(*domains.args, pairs=pairs)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"regularization": -0.1}, "regularization: expected a number of at least 0, got -0.1"),
        ({"regularization": "much"}, "regularization: expected a number of at least 0, got 'much'"),
        ({"n_components": 0}, "n_components: expected a whole number of at least 1, got 0"),
        ({"metric": "cosine"}, 'metric: expected "euclidean" or an object with fit'),
        ({"metric": BaseEstimator}, 'metric: expected "euclidean" or an object with fit'),
        ({"references": "all"}, "references: expected one of"),
        ({"rule": "nearest", "n_neighbors": 31}, "n_neighbors: expected at most the 30 reference rows, got 31"),
        ({"source_kernel": "rfb"}, "source_kernel: expected one of"),
    ],
)
def test_bad_parameters_leave_nothing_behind(domains, parameters, message):
    kcca = KCCA(**parameters)
    with pytest.raises(ValueError, match=message):
        kcca.fit(*domains.args)
    assert not [name for name in vars(kcca) if name.endswith("_")]


def test_arguments_are_left_alone(domains):
    copies, pairs = [np.array(value) for value in domains.args], label_pairs(domains.y_source, domains.y_target)
    given = pairs.copy()
    KCCA().fit(*domains.args, pairs=pairs)
    for value, copy in zip((*domains.args, pairs), (*copies, given), strict=True):
        np.testing.assert_array_equal(value, copy)


@pytest.mark.parametrize("estimator", [CCA(), KCCA()])
def test_the_nearest_source_row_predicts_and_a_grid_search_tunes(estimator):
    data = make_domains(n_target=60, n_labelled=30)
    assert clone(estimator).fit(*data.args).score(data.X_target, data.y_true) > 0.8
    search = GridSearchCV(
        estimator.given_source(data.X_source, data.y_source),
        {"estimator__regularization": [0.01, 0.1, 1.0], "estimator__n_components": [1, 2]},
        cv=SemiSupervisedSplit(3),
    ).fit(data.X_target, data.y_target)
    assert search.best_params_["estimator__n_components"] == 2
    assert search.score(data.X_target, data.y_true) > 0.8


@pytest.mark.parametrize("estimator", [CCA(references="both"), KCCA(references="both")])
@pytest.mark.slow
def test_scikit_learns_own_checks_hold_with_the_source_held_fixed(estimator):
    rng, y = np.random.default_rng(0), np.arange(16) % 4
    over_target = estimator.given_source(rng.normal(size=(16, 6)) * 0.1 + 3 * np.eye(4, 6)[y], y)
    done = check_estimator(over_target, expected_failed_checks=CANNOT_HOLD, on_fail=None, on_skip=None)
    assert not {c["check_name"]: c["exception"] for c in done if c["status"] == "failed"}
    assert sum(c["status"] == "passed" for c in done) > 45


class Axes(BaseEstimator):
    """A learner of a metric: the first principal axes of the rows, stretched."""

    def __init__(self, stretch=2.0):
        self.stretch = stretch

    def fit(self, X, y):
        self.seen_ = X, y
        self.components_ = self.stretch * np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:1]
        return self


def test_a_learner_measures_the_common_space(domains):
    plain, learned = CCA().fit(*domains.args), CCA(metric=Axes(3.0)).fit(*domains.args)
    points = plain.transform(domains.X_source, "source"), plain.transform(domains.X_target)
    X, y = learned.learner_.seen_
    np.testing.assert_allclose(X, np.vstack([points[0], points[1][:6]]))
    np.testing.assert_array_equal(y, np.concatenate([domains.y_source, domains.y_target[:6]]))
    A = learned.learner_.components_.T
    np.testing.assert_allclose(learned.transform(domains.X_source, "source"), points[0] @ A, atol=1e-10)
    np.testing.assert_allclose(learned.transform(domains.X_target), points[1] @ A, atol=1e-10)
    np.testing.assert_array_equal(learned.correlations_, plain.correlations_)
    assert not hasattr(learned.metric, "components_")
    assert plain.learner_ is None
    assert clone(learned).set_params(metric__stretch=1.0).fit(*domains.args).learner_.stretch == 1.0


def test_cca_has_no_kernels_to_choose():
    assert "source_kernel" not in CCA().get_params()
