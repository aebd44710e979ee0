"""CDSPP, DAMA and MTDA: dense Laplacians, scikit-learn and slow loops find the same."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as sla
from hypothesis import given
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import normalize
from sklearn.utils.estimator_checks import check_estimator

from conftest import CANNOT_HOLD, make_domains, one_sentence
from isthmus import CDSPP, DAMA, MTDA, DataWarning, HeMap, InputError, ManifoldAlignment
from isthmus.estimators.eigenmaps import LabelMoments, make_heat_graph, measure_roughness
from isthmus.geometry.kernels import Landmarks
from isthmus.maps.eigen import JointProblem

SYSTEMS = {
    "cdspp": CDSPP,
    "cdspp-self": lambda **options: CDSPP(n_rounds=5, **options),
    "dama": DAMA,
    "mtda": MTDA,
    "alignment": ManifoldAlignment,
    "hemap": lambda **options: HeMap(correspondence="labels", **options),
}
every_system = pytest.mark.parametrize("make", SYSTEMS.values(), ids=SYSTEMS)
D = make_domains(seed=4, n_source=36, n_target=30, n_labelled=12, shift=3.0)
Xs, ys, Xt, yt = D.args


def laplacian(W):
    return np.diag(W.sum(axis=1)) - W


def side_by_side(X, Y):
    return sla.block_diag(X, Y)


def dense_label_graphs(y):
    """Who is of one class, and of different classes, among labelled rows: n × n tables."""
    known = y >= 0
    both = known[:, None] & known[None]
    same = (y[:, None] == y[None]) & both
    return same.astype(float), (both & ~same).astype(float)


def dense_heat(X, k):
    D2 = pairwise_distances(X) ** 2
    np.fill_diagonal(D2, np.inf)
    nearest = np.argsort(D2, axis=1)[:, :k]
    mask = np.zeros_like(D2, dtype=bool)
    np.put_along_axis(mask, nearest, True, axis=1)
    W = np.where(mask, np.exp(-D2 / D2[mask].mean()), 0.0)
    return 0.5 * (W + W.T)


def ridged(A, epsilon):
    return A + epsilon * np.trace(A) / len(A) * np.eye(len(A))


def assert_solves(model, A, B, d_s):
    """The fitted maps are the leading solutions of a problem that somebody else wrote down."""
    W = model.common_space_.components
    k = W.shape[1]
    values, vectors = sla.eigh(B, A)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:k], rtol=1e-9)
    np.testing.assert_allclose(W.T @ A @ W, np.eye(k), atol=1e-8)
    residual = np.linalg.norm(B @ W - A @ W * model.eigenvalues_, axis=0)
    assert (residual <= 1e-8 * np.linalg.norm(B) * np.linalg.norm(W, axis=0)).all()
    assert model.residual_ <= 1e-8
    V = vectors[:, ::-1][:, :k]
    np.testing.assert_allclose(W, V * np.sign(np.sum(V * W, axis=0)), atol=1e-7 * np.abs(W).max())


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 30))
def test_class_sums_are_the_dense_label_laplacians(seed, C, n_target):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(25, 4)) + 2.0, rng.normal(size=(n_target, 3))
    y = rng.integers(0, C, size=25), rng.integers(-1, C, size=n_target)
    moments, Z, both = LabelMoments.of((X, Y), y, C), side_by_side(X, Y), np.concatenate(y)
    for found, W in zip((moments.together, moments.apart), dense_label_graphs(both), strict=True):
        expected = Z.T @ laplacian(W) @ Z
        np.testing.assert_allclose(found, expected, atol=1e-10 * max(1.0, np.abs(expected).max()))


def test_a_heat_graph_is_the_dense_one():
    X = np.random.default_rng(0).normal(size=(30, 4))
    graph, W = make_heat_graph(X, 5), dense_heat(X, 5)
    np.testing.assert_allclose(graph.toarray(), W, atol=1e-12)
    np.testing.assert_allclose(measure_roughness(graph, X), X.T @ laplacian(W) @ X, atol=1e-10)
    assert graph.nnz <= 2 * 5 * 30
    np.testing.assert_array_equal(make_heat_graph(X[:1], 5).toarray(), [[0.0]])
    np.testing.assert_allclose(make_heat_graph(np.ones((3, 2)), 5).toarray(), 1.0 - np.eye(3))


@pytest.mark.parametrize("mu", [0.0, 0.3, 10.0])
def test_dama_solves_the_problem_of_dense_laplacians(mu):
    model = DAMA(topology_weight=mu, graph_neighbors=6, points="plain").fit(*D.args)
    Z = side_by_side(Xs, Xt)
    same, other = dense_label_graphs(np.concatenate([ys, yt]))
    W = side_by_side(dense_heat(Xs, 6), dense_heat(Xt, 6))
    L = laplacian(same) + mu * same.sum() / W.sum() * laplacian(W)
    assert_solves(model, ridged(Z.T @ L @ Z, 1e-3), Z.T @ laplacian(other) @ Z, 5)


def test_without_topology_dama_is_lda_and_no_direction_beyond_carries_anything():
    balanced = make_domains(seed=1, n_source=30, n_target=12, n_labelled=12)
    dama = DAMA(topology_weight=0.0, regularization=1e-10).fit(*balanced.args)
    lda = MTDA(regularization=1e-10).fit(*balanced.args)
    np.testing.assert_allclose(dama.eigenvalues_, 3 * (1 + lda.eigenvalues_) - 1, rtol=1e-6)
    with pytest.raises(InputError, match="n_components: expected at most 2 with these rows, got 3"):
        DAMA(topology_weight=0.0, n_components=3).fit(*balanced.args)
    assert len(DAMA(n_components=3).fit(*balanced.args).eigenvalues_) == 3


def test_mtda_is_the_linear_discriminant_analysis_of_scikit_learn_on_rows_side_by_side():
    model = MTDA(regularization=1e-9, points="plain").fit(*D.args)
    known = yt >= 0
    Z, y = side_by_side(Xs, Xt[known]), np.concatenate([ys, yt[known]])
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(Z, y).transform(Z)
    ours = np.vstack([model.transform(Xs, "source"), model.transform(Xt[known])])
    for a, b in zip(ours.T, theirs.T, strict=True):
        assert abs(np.corrcoef(a, b)[0, 1]) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_cdspp_solves_the_problem_of_a_dense_correspondence(alpha):
    """Its release writes graphs of all rows: within a domain and across, one where the classes are the same."""
    model = CDSPP(regularization=alpha, points="plain").fit(*D.args)
    X, Y = normalize(Xs), normalize(Xt)
    same, _ = dense_label_graphs(np.concatenate([ys, yt]))
    n = len(X)
    W_s, W_t, W_st = same[:n, :n], same[n:, n:], same[:n, n:]
    L_s = np.diag(W_s.sum(1) + 0.5 * W_st.sum(1)) - W_s
    L_t = np.diag(W_t.sum(1) + 0.5 * W_st.sum(0)) - W_t
    A = side_by_side(X.T @ L_s @ X, Y.T @ L_t @ Y) + alpha * np.eye(12)
    B = np.zeros_like(A)
    B[:5, 5:] = X.T @ W_st @ Y
    assert_solves(model, A, B + B.T, 5)
    with pytest.raises(InputError, match="n_components: expected at most 3 with these rows, got 4"):
        CDSPP(n_components=4).fit(*D.args)


def test_cdspp_teaches_itself_as_a_slow_loop_does():
    model = CDSPP(n_rounds=4, points="plain").fit(*D.args)
    X, Y, y = normalize(Xs), normalize(Xt), yt.copy()
    for t in range(1, 5):
        known = y >= 0
        fit = CDSPP("linear", "linear", points="plain").fit(X, ys, Y, y)
        P, Q = fit.transform(X, "source"), fit.transform(Y)
        if t == 4:
            break
        Z, labels = np.vstack([P, Q[known]]), np.concatenate([ys, y[known]])
        U = normalize(Z - Z.mean(axis=0))
        means = normalize([U[labels == c].mean(axis=0) for c in range(3)])
        distances = pairwise_distances(normalize(Q - Z.mean(axis=0)), means)
        odds = np.exp(-distances) / np.exp(-distances).sum(axis=1, keepdims=True)
        y = yt.copy()
        for c in range(3):
            rows = [i for i in range(30) if yt[i] < 0 and odds[i].argmax() == c]
            surest = sorted(rows, key=lambda i: -odds[i, c])[: int(np.ceil(len(rows) * t / 4))]
            y[surest] = c
    np.testing.assert_allclose(model.transform(Xt), Q, atol=1e-9)
    assert model.n_guessed_ == np.sum((y >= 0) & (yt < 0)) > 0
    assert len(model.references_.y) == 36 + np.sum(y >= 0)
    assert CDSPP().fit(*D.args).n_guessed_ == 0


# --- what holds of all of them ----------------------------------------------------------------------------------------


@every_system
def test_points_and_signs_do_not_depend_on_the_order_of_rows(make):
    rng = np.random.default_rng(1)
    s, t = rng.permutation(len(Xs)), rng.permutation(len(Xt))
    once, again = make().fit(*D.args), make().fit(Xs[s], ys[s], Xt[t], yt[t])
    np.testing.assert_allclose(once.eigenvalues_, again.eigenvalues_, rtol=1e-8)
    for rows, domain in ((Xs, "source"), (Xt, "target")):
        np.testing.assert_allclose(once.transform(rows, domain), again.transform(rows, domain), atol=1e-7)


@every_system
@pytest.mark.parametrize("unit", [1e-50, 1e3, 1e50])
def test_the_unit_of_the_features_does_not_matter(make, unit):
    once, scaled = make().fit(*D.args), make().fit(unit * Xs, ys, unit * Xt, yt)
    np.testing.assert_allclose(scaled.transform(unit * Xt), once.transform(Xt), atol=1e-7)
    assert scaled.residual_ <= 1e-8


@every_system
def test_a_linear_kernel_is_no_kernel_and_others_have_a_certificate(make):
    """As Gram matrices, whose coordinates are other ones, the problem has the same solution."""
    linear = make(source_kernel="linear", target_kernel="linear").fit(*D.args)
    given_grams = make(source_kernel="precomputed", target_kernel="precomputed").fit(Xs @ Xs.T, ys, Xt @ Xt.T, yt)
    np.testing.assert_allclose(
        given_grams.pairwise_distances(Xs @ Xs.T, Xt @ Xt.T), linear.pairwise_distances(Xs, Xt), atol=1e-5
    )
    curved = make(source_kernel="rbf", target_kernel="rbf").fit(*D.args)
    assert curved.residual_ <= 1e-8
    assert curved.score(Xt, D.y_true) > 0.6


@every_system
def test_unit_points_are_seen_from_the_mean_and_plain_ones_are_linear(make):
    model, plain = make().fit(*D.args), make(points="plain").fit(*D.args)
    np.testing.assert_allclose(np.linalg.norm(model.transform(Xt), axis=1), 1.0)
    W = plain.common_space_.components
    rows = (normalize(Xs), normalize(Xt)) if isinstance(plain, CDSPP) else (Xs, Xt)
    np.testing.assert_allclose(plain.transform(Xt), rows[1] @ W[5:], atol=1e-10)
    known = np.vstack([rows[0] @ W[:5], plain.references_.points[36:]])
    np.testing.assert_allclose(model.transform(Xt), normalize(plain.transform(Xt) - known.mean(axis=0)), atol=1e-8)
    if not isinstance(plain, CDSPP):
        np.testing.assert_allclose(plain.get_mahalanobis_matrix(), W @ W.T, atol=1e-12)
    with pytest.raises(InputError, match=r"matrix: expected a linear map|kernel: expected a linear one"):
        model.get_mahalanobis_matrix()


@every_system
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"points": "round"}, "points: expected one of 'unit', 'plain', got 'round'"),
        ({"n_components": 0}, "n_components: expected a whole number of at least 1, got 0"),
        ({"n_components": 99}, "n_components: expected at most .* with these rows, got 99"),
        ({"rule": "best"}, "rule: expected 'nearest', 'means', 'linear' or a classifier"),
        ({"source_kernel": "gauss"}, "source_kernel: expected one of"),
    ],
)
def test_bad_parameters_of_all(make, parameters, message):
    model = make(**parameters)
    with pytest.raises(InputError, match=message) as caught:
        model.fit(*D.args)
    assert one_sentence(caught)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CDSPP(regularization=0.0), "regularization: expected a number above 0, got 0.0"),
        (CDSPP(n_rounds=1.5), "n_rounds: expected a whole number of at least 1, got 1.5"),
        (DAMA(topology_weight=-1.0), "topology_weight: expected a number of at least 0, got -1.0"),
        (DAMA(graph_neighbors=0), "graph_neighbors: expected a whole number of at least 1, got 0"),
        (MTDA(regularization="auto"), "regularization: expected a number above 0, got 'auto'"),
        (ManifoldAlignment(correspondence_weight=0.0), "correspondence_weight: expected a number above 0, got 0.0"),
        (HeMap(), "pairs: expected known pairs of rows, as HeMap learns from nothing else, got None"),
        (HeMap(correspondence="geometry"), "correspondence: expected one of 'pairs', 'labels', got 'geometry'"),
        (HeMap(correspondence="labels", similarity_weight=0), "similarity_weight: expected a number above 0, got 0"),
    ],
)  # fmt: skip
def test_bad_parameters_of_one(model, message):
    with pytest.raises(InputError, match=message) as caught:
        model.fit(*D.args)
    assert one_sentence(caught)


@pytest.mark.parametrize("model", [DAMA(), MTDA(), ManifoldAlignment()], ids=str)
def test_one_class_is_nothing_to_tell_apart(model):
    with pytest.raises(InputError, match=r"y_source: expected at least two classes to tell apart, got 1"):
        model.fit(Xs, np.zeros(36), Xt, np.zeros(30))


@pytest.mark.parametrize(
    "model", [CDSPP(), DAMA(), MTDA(), ManifoldAlignment(), HeMap(correspondence="labels")], ids=str
)
def test_rows_of_zeros_are_one_sentence(model):
    with pytest.raises(InputError, match=r"expected .*, got") as caught:
        model.fit(np.zeros((36, 5)), ys, np.zeros((30, 7)), yt)
    assert one_sentence(caught)


@pytest.mark.parametrize("model", [CDSPP(n_rounds=5), ManifoldAlignment()], ids=str)
def test_scikit_learns_own_checks_hold_with_the_source_held_fixed(model):
    rng, y = np.random.default_rng(0), np.arange(16) % 4
    over_target = model.given_source(rng.normal(size=(16, 6)) * 0.1 + 3 * np.eye(4, 6)[y], y)
    done = check_estimator(over_target, expected_failed_checks=CANNOT_HOLD, on_fail=None, on_skip=None)
    assert not {c["check_name"]: c["exception"] for c in done if c["status"] == "failed"}
    assert sum(c["status"] == "passed" for c in done) > 45


def test_sums_that_cancel_are_zeros():
    """0.1 + 0.2 − 0.3 is not zero in the last digit."""
    rows = np.array([[0.1], [0.2], [-0.3]])
    with pytest.raises(InputError, match="X_source: expected class sums that are not zero in either domain"):
        CDSPP("linear", "linear").fit(np.ones((3, 2)), [0, 0, 0], rows, [0, 0, 0])


def test_a_residual_that_proves_nothing_is_told(monkeypatch):
    solved = JointProblem.directions
    monkeypatch.setattr(JointProblem, "directions", lambda self, k: replace(solved(self, k), residual=1e-3))
    with pytest.warns(DataWarning, match=r"residual_: the directions have a relative residual of 1.0e-03"):
        DAMA().fit(*D.args)


def test_landmarks_take_the_place_of_all_rows():
    """Where they are all rows, nothing is lost."""
    by_landmarks = DAMA(Landmarks("rbf", 200), Landmarks("rbf", 200)).fit(*D.args)
    np.testing.assert_allclose(
        by_landmarks.pairwise_distances(Xs, Xt), DAMA("rbf", "rbf").fit(*D.args).pairwise_distances(Xs, Xt), atol=1e-5
    )
    assert DAMA(Landmarks("rbf", 9), Landmarks("rbf", 8)).fit(*D.args).common_space_.components.shape == (17, 2)


def test_a_direction_that_is_one_of_many_is_told():
    """Three classes at the corners of a triangle: both discriminants are worth the same."""
    corners = np.array([[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]])
    noise = 0.1 * np.vstack([corners, -corners])
    rows = np.vstack([corner + noise for corner in corners])
    y = np.repeat([0, 1, 2], 6)
    with pytest.warns(DataWarning, match="n_components: directions 1 and 2 have the same eigenvalue"):
        MTDA(n_components=1).fit(rows, y, rows, y)
