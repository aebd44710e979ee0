"""ARC = CVXPY; a similarity that is the same however the rows are written, and that never poses as a metric."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from conftest import make_domains
from isthmus import ARC, ConvergenceWarning, InputError
from isthmus.solvers.hinge import HingeNewton, HingeProblem
from isthmus.solvers.result import Status

KERNELS = [("linear", "linear"), ("rbf", "rbf"), ("cosine", "polynomial"), ("laplacian", "linear")]
TIGHT = {"tol": 1e-18}


def objective(W, data, weight, bounds):
    """The paper's formula over features, pair by pair."""
    u, l = bounds  # noqa: E741
    total = (W**2).sum()
    for x, a in zip(data.X_source, data.y_source, strict=True):
        for y, b in zip(data.X_target, data.y_target, strict=True):
            if b >= 0:
                total += weight * max(0.0, l - x @ W @ y if a == b else x @ W @ y - u) ** 2
    return total


def cvxpy_optimum(A, B, same, weight, bounds):
    cp = pytest.importorskip("cvxpy")
    W, (u, l) = cp.Variable((A.shape[1], B.shape[1])), bounds  # noqa: E741
    S = A @ W @ B.T
    loss = cp.sum_squares(cp.multiply(same, cp.pos(l - S))) + cp.sum_squares(cp.multiply(1 - same, cp.pos(S - u)))
    model = cp.Problem(cp.Minimize(cp.sum_squares(W) + weight * loss))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return model.value, W.value


@pytest.mark.parametrize(
    ("seed", "bounds", "weight"),
    [
        ((i + j) % 3, bounds, weight)
        for i, bounds in enumerate([(0.0, 1.0), (-1.0, 1.0), (0.2, 3.0), (-2.0, -0.5)])
        for j, weight in enumerate(["auto", 0.01, 1.0])
    ],
)
def test_it_finds_the_optimum_of_an_independent_solver(seed, bounds, weight):
    data = make_domains(seed, n_source=12, n_target=8, d_source=3, d_target=4)
    arc = ARC(pair_weight=weight, bounds=bounds).fit(*data.args)
    same = (data.y_source[:, None] == data.y_target[None, :6]).astype(float)
    value, W = cvxpy_optimum(data.X_source, data.X_target[:6], same, arc.pair_weight_, bounds)
    assert arc.objective_ == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(arc.get_similarity_matrix(), W, atol=1e-3 * np.abs(W).max())


@pytest.mark.parametrize("kernels", KERNELS[1:])
@pytest.mark.slow
def test_the_kernel_form_is_the_papers(kernels):
    """W = Φ_sᵀ K_s^(-1/2) W̃ K_t^(-1/2) Φ_t, so that similarities are K_s^(1/2) W̃ K_t^(1/2) between the rows."""

    def root(K):
        values, vectors = np.linalg.eigh(K)
        return vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T

    domains = make_domains(n_source=15, n_target=10)
    arc = ARC(*kernels).fit(*domains.args)
    grams = [k.gram(X, X) for k, X in zip(arc.kernels_, (domains.X_source, domains.X_target), strict=True)]
    R = [root(K) for K in grams]
    same = (domains.y_source[:, None] == domains.y_target[None, :6]).astype(float)
    value, W = cvxpy_optimum(R[0], R[1][:6], same, arc.pair_weight_, arc.bounds_)
    assert arc.objective_ == pytest.approx(value, rel=1e-5)
    S = arc.pairwise_similarities(domains.X_source, domains.X_target)
    np.testing.assert_allclose(S, R[0] @ W @ R[1], atol=1e-3 * np.abs(S).max())


def test_the_objective_is_the_formula_and_flat_at_the_optimum(domains):
    arc = ARC(**TIGHT).fit(*domains.args)
    W, step, rng = arc.get_similarity_matrix(), 1e-5, np.random.default_rng(0)

    def f(W):
        return objective(W, domains, arc.pair_weight_, arc.bounds_)

    assert arc.objective_ == pytest.approx(f(W), rel=1e-10)
    for _ in range(5):
        V = rng.normal(size=W.shape)
        slope = (f(W + step * V) - f(W - step * V)) / (2 * step)
        assert abs(slope) <= 1e-6 * (f(W + V) - f(W))
        assert f(W + 0.01 * V) > f(W)


@given(seed=st.integers(0, 10_000), weight=st.sampled_from([0.0, 0.01, 1.0, 50.0]))
def test_gradient_and_curvature_are_derivatives_and_the_gap_is_never_too_small(seed, weight):
    rng = np.random.default_rng(seed)
    A, B, sign = rng.normal(size=(7, 3)), rng.normal(size=(4, 2)), rng.choice([-1.0, 1.0], size=(7, 4))
    problem = HingeProblem(A, B, sign, np.where(sign > 0, 1.0, -0.3), weight)
    W, V, h = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), 1e-6
    point, ahead, behind = (problem.at(W + t * V) for t in (0.0, h, -h))
    assert (ahead.primal - behind.primal) / (2 * h) == pytest.approx(np.vdot(point.gradient, V), rel=1e-5, abs=1e-5)
    if ((ahead.violations > 0) == (behind.violations > 0)).all():
        np.testing.assert_allclose((ahead.gradient - behind.gradient) / (2 * h), point.curvature(V), atol=1e-4)
    best = HingeNewton(tol=1e-12).solve(problem).primal
    assert point.dual <= best + 1e-9 * max(1.0, best)


@pytest.mark.parametrize("wide", [False, True])
def test_one_matrix_over_features_dense_or_sparse(wide):
    data = make_domains(d_source=40, d_target=50) if wide else make_domains()
    Xs, ys, Xt, yt = data.args
    dense = ARC(**TIGHT).fit(*data.args)
    sparse = ARC(**TIGHT).fit(sp.csr_matrix(Xs), ys, sp.csr_array(Xt), yt)
    new = np.random.default_rng(5).normal(size=(7, Xt.shape[1]))
    expected = Xs @ dense.get_similarity_matrix() @ new.T
    np.testing.assert_allclose(dense.pairwise_similarities(Xs, new), expected, atol=1e-9)
    np.testing.assert_allclose(sparse.pairwise_similarities(Xs, sp.csr_matrix(new)), expected, atol=1e-6)
    np.testing.assert_allclose(sparse.get_similarity_matrix(), dense.get_similarity_matrix(), atol=1e-6)
    np.testing.assert_allclose(dense.pairwise_similarities(new, Xs, ("target", "source")), expected.T, atol=1e-9)
    np.testing.assert_array_equal(sparse.predict(sp.csr_matrix(Xt)), dense.predict(Xt))


def test_the_kernel_form_of_a_linear_kernel_is_the_linear_form(domains):
    Xs, ys, Xt, yt = domains.args
    linear = ARC(**TIGHT).fit(*domains.args)
    kernel = ARC("precomputed", "precomputed", **TIGHT).fit(Xs @ Xs.T, ys, Xt @ Xt.T, yt)
    S = linear.pairwise_similarities(Xs, Xt)
    np.testing.assert_allclose(kernel.pairwise_similarities(Xs @ Xs.T, Xt @ Xt.T), S, atol=1e-6)
    assert kernel.objective_ == pytest.approx(linear.objective_, rel=1e-8)


def test_swapping_the_domains_transposes_the_similarities():
    Xs, ys, Xt, yt = make_domains(n_labelled=20).args
    there = ARC(**TIGHT).fit(Xs, ys, Xt, yt).pairwise_similarities(Xs, Xt)
    back = ARC(**TIGHT).fit(Xt, yt, Xs, ys).pairwise_similarities(Xt, Xs)
    np.testing.assert_allclose(there, back.T, atol=1e-7)


def test_rotating_the_features_of_a_domain_changes_nothing(domains):
    Xs, ys, Xt, yt = domains.args
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 7)))[0]
    plain = ARC(**TIGHT).fit(Xs, ys, Xt, yt).pairwise_similarities(Xs, Xt)
    turned = ARC(**TIGHT).fit(Xs, ys, Xt @ Q, yt).pairwise_similarities(Xs, Xt @ Q)
    np.testing.assert_allclose(plain, turned, atol=1e-7)


@pytest.mark.parametrize("kernels", KERNELS)
def test_the_order_of_rows_does_not_matter(domains, kernels):
    Xs, ys, Xt, yt = domains.args
    s, t = np.random.default_rng(0).permutation(len(Xs)), np.random.default_rng(1).permutation(len(Xt))
    plain = ARC(*kernels, **TIGHT).fit(Xs, ys, Xt, yt)
    shuffled = ARC(*kernels, **TIGHT).fit(Xs[s], ys[s], Xt[t], yt[t])
    S = plain.pairwise_similarities(Xs, Xt)
    np.testing.assert_allclose(shuffled.pairwise_similarities(Xs, Xt), S, atol=1e-6)
    np.testing.assert_array_equal(plain.predict(Xt), shuffled.predict(Xt))


@pytest.mark.parametrize("scales", [(1e-4, 1e-4), (1e5, 1e5), (1e-6, 1e6)])
def test_the_unit_of_the_features_does_not_matter_nor_does_that_of_the_bounds(domains, scales):
    Xs, ys, Xt, yt = domains.args
    a, b = scales
    S = ARC().fit(*domains.args).pairwise_similarities(Xs, Xt)
    np.testing.assert_allclose(ARC().fit(a * Xs, ys, b * Xt, yt).pairwise_similarities(a * Xs, b * Xt), S, atol=1e-4)
    bounded = ARC(bounds=(0.0, a)).fit(*domains.args)
    np.testing.assert_allclose(bounded.pairwise_similarities(Xs, Xt), a * S, atol=a * 1e-4)


def test_unlabelled_rows_do_not_act_with_linear_kernels(domains):
    Xs, ys, Xt, yt = domains.args
    W = ARC().fit(Xs, ys, Xt[:6], yt[:6]).get_similarity_matrix()
    np.testing.assert_allclose(ARC().fit(*domains.args).get_similarity_matrix(), W, atol=1e-10)


@pytest.mark.parametrize("kernels", KERNELS)
def test_inner_products_of_the_common_space_are_the_similarities(domains, kernels):
    arc = ARC(*kernels).fit(*domains.args)
    E, F = arc.transform(domains.X_source, "source"), arc.transform(domains.X_target)
    np.testing.assert_allclose(E @ F.T, arc.pairwise_similarities(domains.X_source, domains.X_target), atol=1e-9)
    assert len(arc.get_feature_names_out()) == E.shape[1] == F.shape[1] <= 6
    assert arc.get_feature_names_out()[0] == "arc0"
    single = arc.transform(domains.X_target.astype(np.float32))
    assert (F.dtype, single.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(single, F, atol=1e-4)


def test_the_most_similar_source_row_gives_the_class(domains):
    arc = ARC().fit(*domains.args)
    S = arc.pairwise_similarities(domains.X_target, domains.X_source, ("target", "source"))
    np.testing.assert_array_equal(arc.predict(domains.X_target), domains.y_source[S.argmax(axis=1)])
    similarities, rows = arc.kneighbors(domains.X_target, 4)
    np.testing.assert_array_equal(rows, np.argsort(-S, axis=1)[:, :4])
    np.testing.assert_allclose(similarities, -np.sort(-S, axis=1)[:, :4], atol=1e-10)
    assert arc.score(domains.X_target, domains.y_true) > 0.6
    many = ARC(n_neighbors=5).fit(*domains.args)
    votes = domains.y_source[many.kneighbors(domains.X_target)[1]]
    np.testing.assert_array_equal(many.predict(domains.X_target), [np.bincount(v).argmax() for v in votes])
    assert many.kneighbors(np.repeat(domains.X_target, 100, axis=0))[0].shape == (2000, 5)


def test_pairs_reach_their_bounds_as_the_weight_grows(domains):
    same = domains.y_source[:, None] == domains.y_target[None, :6]
    losses = []
    for weight in (1e-4, 1e-2, 1.0):
        S = ARC(pair_weight=weight).fit(*domains.args).pairwise_similarities(domains.X_source, domains.X_target[:6])
        losses.append((np.maximum(1 - S[same], 0) ** 2).sum() + (np.maximum(S[~same], 0) ** 2).sum())
    assert losses[0] > losses[1] > losses[2]
    assert ARC(pair_weight=0.0).fit(*domains.args).objective_ == 0.0


def test_the_gradient_is_reported_and_a_limit_warns(domains):
    arc = ARC().fit(*domains.args)
    assert arc.result_.status is Status.OPTIMAL
    assert arc.gradient_norm_ <= 2 * np.sqrt(1e-10 * arc.objective_)
    assert 0 < arc.n_iter_ == arc.result_.n_iter < 20
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 reached; the relative gap is certified to \d") as caught:
        ARC(max_iter=1).fit(*domains.args)
    assert caught[0].filename == __file__


def test_it_does_not_pose_as_a_metric():
    for name in ("pairwise_distances", "pair_distance", "get_mahalanobis_matrix"):
        assert not hasattr(ARC(), name)


Xs, ys, Xt, yt = make_domains().args
BAD_PARAMETERS = {
    "u >= l": ({"bounds": (2.0, 1.0)}, "bounds: expected u < l, got u = 2 and l = 1"),
    "one bound": ({"bounds": 3.0}, r'bounds: expected "auto" or two similarities \(u, l\), got 3.0'),
    "word for bounds": ({"bounds": "best"}, 'bounds: expected "auto" or two'),
    "NaN bound": ({"bounds": (0.0, float("nan"))}, "bounds: expected a number, got nan"),
    "negative weight": ({"pair_weight": -1.0}, "weight: expected a number of at least 0, got -1.0"),
    "word for weight": ({"pair_weight": "best"}, 'weight: expected "auto" or a number of at least 0, got \'best\''),
    "kernel": ({"target_kernel": "gauss"}, "target_kernel: expected one of 'linear'.*got 'gauss'"),
    "tol": ({"tol": 0.0}, "tol: expected a number above 0, got 0.0"),
    "max_iter": ({"max_iter": 0}, "max_iter: expected a whole number of at least 1, got 0"),
    "n_neighbors": ({"n_neighbors": 0}, "n_neighbors: expected a whole number of at least 1, got 0"),
    "too many neighbours": ({"n_neighbors": 99}, "n_neighbors: expected at most the 30 reference rows, got 99"),
    "target neighbours": ({"references": "target"}, "references: expected 'source', as there is no similarity within"),
    "both neighbours": ({"references": "both"}, "references: expected 'source', .*, got 'both'"),
    "references": ({"references": "all"}, "references: expected one of 'source', 'target', 'both', got 'all'"),
    "progress": ({"progress": "yes"}, "progress: expected True, False or a function, got 'yes'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_bad_parameters(case):
    parameters, message = BAD_PARAMETERS[case]
    arc = ARC(**parameters)
    with pytest.raises(InputError, match=message) as caught:
        arc.fit(Xs, ys, Xt, yt)
    assert str(caught.value).endswith(".")
    assert not [name for name in vars(arc) if name.endswith("_")]


BAD_USES = {
    "within the source": (lambda arc: arc.pairwise_similarities(Xs, Xs, ("source", "source")), "domains: expected one source and one target"),
    "within the target": (lambda arc: arc.pairwise_similarities(Xt, Xt, ("target", "target")), "domains: expected one source and one target"),
    "one domain": (lambda arc: arc.pairwise_similarities(Xs, Xt, "source"), "domains: expected two names"),
    "unknown domain": (lambda arc: arc.transform(Xt, "middle"), "domain: expected one of"),
    "columns": (lambda arc: arc.transform(Xs), "X: expected 7 columns, as in fit, got 5"),
    "classes of source rows": (lambda arc: arc.predict(Xs, "source"), "domain: expected 'target', as there is no similarity"),
    "too many neighbours": (lambda arc: arc.kneighbors(Xt, 31), "n_neighbors: expected a whole number of at least 1 and at most 30"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_USES)
def test_bad_uses(case):
    use, message = BAD_USES[case]
    with pytest.raises(InputError, match=message):
        use(ARC().fit(Xs, ys, Xt, yt))


def test_not_fitted():
    for use in (lambda: ARC().predict(Xt), lambda: ARC().transform(Xt), lambda: ARC().get_similarity_matrix()):
        with pytest.raises(NotFittedError):
            use()
    with pytest.raises(InputError, match="kernel: expected a linear one"):
        ARC("rbf", "rbf").fit(Xs, ys, Xt, yt).get_similarity_matrix()


def test_progress_reports_a_certified_gap(domains, capsys):
    points = []
    arc = ARC(progress=points.append).fit(*domains.args)
    assert tuple(points) == arc.result_.trace
    assert all(point.dual <= arc.objective_ * (1 + 1e-9) for point in points)
    ARC(progress=True).fit(*domains.args)
    out, err = capsys.readouterr()
    assert out == ""
    assert "certified gap" in err.splitlines()[-1]


@pytest.mark.parametrize("weight", [1e2, 1e4, 1e6])
def test_nearly_hard_bounds_are_reached_through_softer_ones(weight):
    data = make_domains(n_classes=5, n_source=100, n_target=10, n_labelled=10, d_source=60, d_target=50)
    arc = ARC("rbf", "rbf", pair_weight=weight).fit(*data.args)
    assert arc.result_.relative_gap <= 1e-10
    S = arc.pairwise_similarities(data.X_source, data.X_target)
    same = data.y_source[:, None] == data.y_target
    assert (S[same].min(), S[~same].max()) == pytest.approx((1.0, 0.0), abs=50 / weight)


DEGENERATE = {
    "duplicate rows": lambda d: (np.repeat(d.X_source[:10], 3, 0), np.repeat(d.y_source[:10], 3), d.X_target, d.y_target),
    "all rows zero": lambda d: (0 * d.X_source, d.y_source, d.X_target, d.y_target),
    "constant domains": lambda d: (np.full((30, 5), 0.1), d.y_source, np.full((20, 7), 0.3), d.y_target),
    "one class": lambda d: (d.X_source, 0 * d.y_source, d.X_target, np.where(d.y_target < 0, -1, 0)),
    "one labelled row": lambda d: (d.X_source, d.y_source, d.X_target, np.where(np.arange(20) < 1, d.y_true, -1)),
    "one source row": lambda d: (d.X_source[:1], d.y_source[:1], d.X_target, np.where(d.y_target == 0, 0, -1)),
    "one column": lambda d: (d.X_source[:, :1], d.y_source, d.X_target[:, :1], d.y_target),
    "far from the origin": lambda d: (d.X_source + 1e5, d.y_source, d.X_target - 1e5, d.y_target),
}  # fmt: skip


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "cosine"])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0)])
def test_degenerate_data_are_solved(domains, case, kernel, bounds):
    data = DEGENERATE[case](domains)
    arc = ARC(kernel, kernel, bounds=bounds).fit(*data)
    assert arc.result_.relative_gap <= 1e-10
    assert np.isfinite(arc.transform(data[2])).all()
    assert len(arc.predict(data[2])) == 20


@given(seed=st.integers(0, 10_000), labelled=st.integers(1, 12), weight=st.sampled_from(["auto", 1e-3, 10.0]))
def test_any_small_problem_is_solved(seed, labelled, weight):
    data = make_domains(seed, n_source=12, n_target=12, n_labelled=labelled)
    assert ARC("rbf", "linear", pair_weight=weight).fit(*data.args).result_.relative_gap <= 1e-10
