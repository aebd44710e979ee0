"""CDLS: sums over classes against all pairs of rows, the map and the weights against CVXPY."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.svm import LinearSVC

from conftest import make_domains, one_sentence
from isthmus import CDLS, ConvergenceWarning, InputError
from isthmus.estimators import cdls
from isthmus.estimators.cdls import LandmarkMatching, Shares, find_weights


def example(seed=0, share=0.5, n=(12, 5, 9), d=4, m=3, C=3):
    rng = np.random.default_rng(seed)
    codes = tuple(rng.permutation(np.arange(k) % C) for k in n)
    rows = rng.normal(size=(n[0], d)), rng.normal(size=(n[1], m)), rng.normal(size=(n[2], m))
    return LandmarkMatching(*rows, codes, C, share), rng


def by_pairs(matching, A, alpha, beta):
    """The objective of mapped source rows A, one pair of rows after the other."""
    L, U, (ys, yl, yu), d = matching.labelled, matching.free, matching.codes, matching.share
    total = ((alpha @ A) / (d * len(A)) - (L.sum(axis=0) + beta @ U) / (len(L) + d * len(U))) ** 2
    value = total.sum()
    for c in range(matching.n_classes):
        a, b = alpha[ys == c, None] * A[ys == c], beta[yu == c, None] * U[yu == c]
        own, n_s, n_l, n_u = L[yl == c], (ys == c).sum(), (yl == c).sum(), (yu == c).sum()
        if n_s and n_l + n_u:
            apart = a.sum(axis=0) / (d * n_s) - (own.sum(axis=0) + b.sum(axis=0)) / (n_l + d * n_u)
            value += (apart**2).sum()
        e = d * n_s * n_l + d * n_l * n_u + d**2 * n_u * n_s
        squares = [((p[:, None] - q[None]) ** 2).sum() for p, q in ((a, own), (own, b), (b, a))]
        value += sum(squares) / e if e else 0.0
    return value


@given(st.integers(0, 10_000))
def test_sums_over_classes_are_sums_over_all_pairs(seed):
    matching, rng = example(seed, share=rng_share(seed))
    A, z = matching.X @ rng.normal(size=(4, 3)), rng.uniform(size=21)
    value, gradient = matching.value_and_gradient(A, z)
    assert value == pytest.approx(by_pairs(matching, A, z[:12], z[12:]))
    numeric = approx_fprime(z, lambda z: matching.value_and_gradient(A, z)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, atol=1e-4)


def rng_share(seed):
    return 0.2 + 0.8 * ((seed % 17) / 16)


def test_classes_that_lack_rows_count_by_what_they_have():
    matching, rng = example(n=(12, 2, 1))
    A, z = matching.X @ rng.normal(size=(4, 3)), rng.uniform(size=13)
    assert matching.value_and_gradient(A, z)[0] == pytest.approx(by_pairs(matching, A, z[:12], z[12:]))


@pytest.mark.parametrize("seed", range(3))
def test_the_map_is_the_minimum(seed):
    """Of a convex quadratic: its gradient is zero there."""
    matching, rng = example(seed)
    alpha, beta = rng.uniform(size=12), rng.uniform(size=9)
    W = matching.best_map(alpha, beta, 0.3)

    def objective(w):
        V = w.reshape(W.shape)
        return by_pairs(matching, matching.X @ V, alpha, beta) + 0.3 * (V**2).sum()

    np.testing.assert_allclose(approx_fprime(W.ravel(), objective, 1e-6), 0.0, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_the_weights_are_those_of_cvxpy(seed):
    matching, rng = example(seed)
    A = matching.X @ rng.normal(size=(4, 3))
    groups = np.unique(np.concatenate([matching.codes[0], 3 + matching.codes[2]]), return_inverse=True)[1]

    def objective(z):
        return matching.value_and_gradient(A, z)

    zero = objective(np.zeros(21))
    Q = np.array([objective(e)[1] - zero[1] for e in np.eye(21)])
    assert np.linalg.eigvalsh(Q).min() > -1e-9, "a sum of squares is convex"
    z = cp.Variable(21)
    quadratic = 0.5 * cp.quad_form(z, cp.psd_wrap(0.5 * (Q + Q.T))) + zero[1] @ z + zero[0]
    limits = [z >= 0, z <= 1] + [cp.sum(z[groups == g]) == 0.5 * (groups == g).sum() for g in np.unique(groups)]
    best = cp.Problem(cp.Minimize(quadratic), limits).solve(solver="CLARABEL")
    found, value, gap = find_weights(objective, Shares(groups, 0.5), np.ones(21), 1e-8)
    assert objective(found)[0] == value == pytest.approx(best, rel=1e-6)
    assert 0.0 <= gap <= 1e-8 * best
    np.testing.assert_allclose(found, z.value, atol=1e-3)


@given(st.integers(0, 10_000))
def test_the_nearest_weights_are_feasible_and_no_others_are_nearer(seed):
    rng = np.random.default_rng(seed)
    shares = Shares(np.sort(rng.integers(0, 3, 12)) if seed % 2 else np.arange(12) % 3, rng.uniform(0.1, 1.0))
    shares = Shares(np.unique(shares.groups, return_inverse=True)[1], shares.share)
    z = rng.normal(size=12) * 2
    nearest = shares.nearest(z)
    np.testing.assert_allclose(np.bincount(shares.groups, nearest), shares.sums, atol=1e-9)
    assert (nearest >= 0).all()
    assert (nearest <= 1).all()
    g = nearest - z
    assert g @ nearest <= shares.least(g) + 1e-8, "the direction to it makes no feasible point better"


D = make_domains(seed=3, n_source=45, n_target=40, n_labelled=12, d_source=5, d_target=6, shift=3.0)


def test_landmarks_have_their_share_in_every_class_and_speak_in_the_rule():
    model = CDLS().fit(*D.args)
    alpha, beta = model.landmarks_["source"], model.landmarks_["target"]
    np.testing.assert_allclose([alpha[D.y_source == c].mean() for c in range(3)], 0.5, atol=1e-9)
    assert beta.shape == (28,)
    assert beta.mean() == pytest.approx(0.5)
    references = model.references_
    np.testing.assert_allclose(references.weights, np.concatenate([2.0 * alpha, np.full(12, 45 / 12)]))
    rule = LinearSVC().fit(references.points, references.y, sample_weight=references.weights)
    np.testing.assert_array_equal(model.predict(D.X_target), rule.predict(model.transform(D.X_target)))
    np.testing.assert_array_equal(
        model.set_params(rule="means").predict(D.X_target), CDLS(rule="means").fit(*D.args).predict(D.X_target)
    )


def test_weights_that_did_not_converge_are_told(monkeypatch):
    monkeypatch.setattr(cdls, "MOST_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="CDLS: weights stopped at a gap of"):
        CDLS(tol=1e-12).fit(*D.args)


def test_without_landmarks_every_row_counts_alike():
    model = CDLS(share=1.0).fit(*D.args)
    assert set(model.landmarks_["source"]) | set(model.landmarks_["target"]) == {1.0}


def test_all_rows_labelled_is_the_supervised_map():
    model = CDLS().fit(*D.args[:3], D.y_true)
    assert model.landmarks_["target"].shape == (0,)
    assert model.score(D.X_target, D.y_true) > 0.9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"share": 0.0}, "share: expected a number above 0 and at most 1, got 0.0"),
        ({"penalty": 0.0}, "penalty: expected a number above 0"),
        ({"n_components": 0}, "n_components: expected a whole number of at least 1"),
        ({"n_rounds": 2.5}, "n_rounds: expected a whole number of at least 1, got 2.5"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InputError, match=message) as caught:
        CDLS(**parameters).fit(*D.args)
    assert one_sentence(caught)


def test_rows_that_do_not_differ_are_refused():
    with pytest.raises(InputError, match="X_source: expected rows that differ from each other, got equal ones"):
        CDLS().fit(np.ones((45, 5)), *D.args[1:])
