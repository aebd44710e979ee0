"""ITML and Saenko: the optimum of independent solvers, the words of metric-learn, the same problem in two forms."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from conftest import make_domains, one_sentence
from isthmus import ITML, ConvergenceWarning, InputError, Saenko
from isthmus.estimators.logdet_base import SAMPLE, draw_pairs, percentile_bounds
from isthmus.solvers.newton import DualNewton
from isthmus.solvers.result import Status
from problems import LONG, cvxpy_optimum, explicit_primal, itml

TIGHT = DualNewton(tol=1e-10)
IRIS = load_iris(return_X_y=True)

CANNOT_HOLD = {
    "check_n_features_in_after_fitting": "the number of columns is checked, but told in the words of this library",
    "check_estimators_empty_data_messages": "likewise for a table without columns",
    "check_dtype_object": "a dict among the numbers is refused, but with ValueError, not TypeError",
}


def random_pairs(seed=0, m=14, d=4):
    """Pairs of random points, of which a half is similar, and bounds between which most distances lie."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, 2, d)), np.where(np.arange(m) % 2, 1, -1), (0.4 * d, 3.0 * d)


def distances(learned, pairs):
    """The learned distance of each pair."""
    return np.linalg.norm(learned.transform(pairs[:, 0]) - learned.transform(pairs[:, 1]), axis=1)


def equal_domains(**sizes):
    return make_domains(d_source=5, d_target=5, **sizes)


def cross_pairs(data):
    """Every pair of a source row with a labelled target row, as ITML takes them."""
    rows = np.flatnonzero(data.y_target >= 0)
    pairs = np.array([[x, y] for x, y in itertools.product(data.X_source, data.X_target[rows])])
    same = data.y_source[:, None] == data.y_target[rows]
    return pairs, np.where(same.ravel(), 1, -1)


# The optimum


@pytest.mark.parametrize(("seed", "weight"), [(0, 0.1), (1, 1.0), (2, 30.0)])
def test_the_optimum_is_that_of_an_independent_solver(seed, weight):
    pairs, y, bounds = random_pairs(seed)
    learned = ITML(weight, bounds=bounds, solver=TIGHT).fit_pairs(pairs, y)
    value, M = cvxpy_optimum(learned.result_.problem)
    assert learned.result_.primal == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(learned.get_mahalanobis_matrix(), M, rtol=1e-3, atol=1e-3)


def test_it_is_the_algorithm_of_the_paper_carried_to_its_end():
    # Davis et al. print γ/(γ+1) as 1/2 with γ inside the bracket, which is exact for γ = 1.
    pairs, y, bounds = random_pairs(3)
    learned = ITML(1.0, bounds=bounds, tol=1e-12).fit_pairs(pairs, y)
    expected = itml(pairs[:, 0] - pairs[:, 1], y.astype(float), np.where(y > 0, *bounds), 1.0, 1000)
    np.testing.assert_allclose(learned.get_mahalanobis_matrix(), expected, rtol=1e-5, atol=1e-6)


def test_the_objective_is_the_one_of_the_docstring():
    pairs, y, bounds = random_pairs(4)
    learned = ITML(2.0, bounds=bounds).fit_pairs(pairs, y)
    M = learned.get_mahalanobis_matrix()
    value = np.trace(M) - np.linalg.slogdet(M)[1] - len(M)
    for (a, b), sign in zip(pairs, y, strict=True):
        ratio = (a - b) @ M @ (a - b) / bounds[0 if sign > 0 else 1]
        value += 2.0 * (ratio - np.log(ratio) - 1) * (sign * (ratio - 1) > 0)
    assert learned.result_.primal == pytest.approx(value, rel=1e-9)
    assert explicit_primal(learned.result_.problem, M) == pytest.approx(value, rel=1e-9)


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), weight=st.sampled_from([0.1, 1.0, 5.0]))
@settings(max_examples=15)
def test_both_solvers_agree(seed, weight):
    pairs, y, bounds = random_pairs(seed)
    newton = ITML(weight, bounds=bounds, solver=TIGHT).fit_pairs(pairs, y)
    bregman = ITML(weight, bounds=bounds, solver=LONG).fit_pairs(pairs, y)
    assert newton.result_.primal == pytest.approx(bregman.result_.primal, rel=1e-6, abs=1e-6)


def test_digits_with_the_default_number_of_pairs_are_certified():
    X, y = load_digits(n_class=5, return_X_y=True)
    learned = ITML(random_state=0).fit(X, y)
    assert learned.result_.problem.n_pairs == 2 * 20 * 5**2, "of either kind, as in metric-learn"
    assert learned.result_.status is Status.OPTIMAL
    assert learned.result_.relative_gap <= 1e-6


def test_a_limit_is_told():
    pairs, y, bounds = random_pairs(0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 reached"):
        ITML(100.0, bounds=bounds, max_iter=1).fit_pairs(pairs, y)


# What must not change it


@pytest.mark.slow
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8)
def test_invariances(seed):
    pairs, y, bounds = random_pairs(seed)
    rng = np.random.default_rng(seed)
    fit = ITML(bounds=bounds, solver=TIGHT).fit_pairs
    d = distances(fit(pairs, y), pairs)
    Q, order = np.linalg.qr(rng.normal(size=(4, 4)))[0], rng.permutation(len(y))
    np.testing.assert_allclose(distances(fit(pairs[:, ::-1], y), pairs), d, atol=1e-4)
    np.testing.assert_allclose(distances(fit(pairs[order], y[order]), pairs), d, atol=1e-4)
    np.testing.assert_allclose(distances(fit(pairs + 50.0, y), pairs), d, atol=1e-4)
    np.testing.assert_allclose(distances(fit(pairs @ Q, y), pairs @ Q), d, atol=1e-4)
    np.testing.assert_allclose(distances(fit(np.float32(pairs), y), pairs), d, atol=1e-4)
    wide = np.concatenate([pairs, np.zeros((len(y), 2, 20))], axis=2)  # more columns than pairs
    learned = fit(wide, y)
    np.testing.assert_allclose(learned.get_mahalanobis_matrix()[4:, 4:], np.eye(20), atol=1e-9)
    np.testing.assert_allclose(distances(learned, wide), d, atol=1e-4)


def test_automatic_bounds_follow_the_unit_and_a_lesser_weight_stays_nearer_to_the_identity():
    X, y = IRIS
    plain, scaled = (ITML(1.0, random_state=0).fit(rows, y) for rows in (X, X * 7))
    np.testing.assert_allclose(scaled.bounds_, np.multiply(plain.bounds_, 49))
    np.testing.assert_allclose(scaled.components_, plain.components_, rtol=1e-6, atol=1e-8)
    off = [
        np.linalg.norm(ITML(w, random_state=0).fit(X, y).get_mahalanobis_matrix() - np.eye(4)) for w in (0, 1e-3, 1)
    ]
    assert off[0] == 0
    assert off[0] < off[1] < off[2]


@pytest.mark.parametrize("mark", [-1, -7, None, np.nan])
def test_unlabelled_rows_are_ignored(mark):
    X, y = IRIS[0], IRIS[1].astype(object)
    y[::3] = mark
    kept = np.arange(150) % 3 != 0
    a = ITML(random_state=0).fit(X, y.tolist() if mark is None else np.array(y.tolist()))
    b = ITML(random_state=0).fit(X[kept], IRIS[1][kept])
    np.testing.assert_array_equal(a.components_, b.components_)
    assert a.bounds_ == b.bounds_


def test_names_of_classes_do_not_matter():
    words = np.array(["ant", "bee", "cat"])[IRIS[1]]
    np.testing.assert_array_equal(*(ITML(random_state=0).fit(IRIS[0], y).components_ for y in (words, IRIS[1])))


def test_nothing_given_is_changed():
    pairs, y, bounds = random_pairs()
    pairs.flags.writeable = y.flags.writeable = False
    bounds = np.array(bounds)
    learned = ITML(bounds=bounds).fit_pairs(pairs, y)
    assert learned.bounds is bounds
    np.testing.assert_array_equal(bounds, (1.6, 12.0))


# Pairs from labels, bounds from points


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12), st.integers(1, 40), st.integers(0, 99))
def test_drawn_pairs_agree_with_the_labels_and_are_all_different(labels, most, seed):
    y = np.array(labels)
    left, right, sign = draw_pairs(y, most, np.random.RandomState(seed))
    assert ((y[left] == y[right]) == (sign > 0)).all()
    drawn = {frozenset(pair) for pair in zip(left.tolist(), right.tolist(), strict=True)}
    assert len(drawn) == len(sign)
    assert all(len(pair) == 2 for pair in drawn)
    same = sum(a == b for a, b in itertools.combinations(labels, 2))
    there_are = same, len(y) * (len(y) - 1) // 2 - same
    assert ((sign > 0).sum(), (sign < 0).sum()) == tuple(min(most, n) for n in there_are)


def test_every_pair_is_as_likely_as_another():
    y, random = np.array([0, 1, 0, 1, 0, 2]), np.random.RandomState(0)
    counts = np.zeros((6, 6))
    for _ in range(2000):
        left, right, _ = draw_pairs(y, 1, random)
        counts[np.minimum(left, right), np.maximum(left, right)] += 1
    same = y[:, None] == y
    upper = np.triu(np.ones((6, 6), dtype=bool), 1)
    for kind in (same & upper, ~same & upper):
        expected = 2000 / kind.sum()
        assert np.abs(counts[kind] - expected).max() < 5 * np.sqrt(expected)


def test_bounds_are_percentiles_of_squared_distances():
    X = np.random.default_rng(0).normal(size=(60, 3))
    random = np.random.RandomState(0)
    np.testing.assert_allclose(percentile_bounds(X, random), np.percentile(pdist(X) ** 2, (20, 80)))
    many = np.random.default_rng(0).normal(size=(1000, 3))
    assert SAMPLE < 1000 * 999 / 2
    np.testing.assert_allclose(percentile_bounds(many, random), np.percentile(pdist(many) ** 2, (20, 80)), rtol=0.15)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (np.sqrt(2.0) * np.eye(5), (2.0, 6.0)),  # all distances equal, as under an RBF kernel of far rows
        (np.zeros((4, 2)), (0.5, 1.5)),
        (np.repeat([[0.0], [3.0]], 50, axis=0), (4.5, 13.5)),  # half of all pairs are of equal points
    ],
)
def test_bounds_are_safe_where_the_percentiles_coincide(points, expected):
    np.testing.assert_allclose(percentile_bounds(points, np.random.RandomState(0)), expected)


# Equal points


def test_equal_points_that_belong_apart_are_left_out_with_one_warning():
    # metric-learn's issue #177: one such pair makes its matrix NaN.
    pairs, y, bounds = random_pairs()
    more = np.concatenate([pairs, [[[1.0] * 4] * 2, [[2.0] * 4] * 2, [[3.0] * 4] * 2]])
    with pytest.warns(UserWarning, match=r"2 pair\(s\) of equal rows") as caught:
        learned = ITML(1.0, bounds=bounds, solver=TIGHT).fit_pairs(more, [*y, -1, 1, -1])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    plain = ITML(1.0, bounds=bounds, solver=TIGHT).fit_pairs(pairs, y)
    np.testing.assert_allclose(learned.components_, plain.components_, atol=1e-6)
    assert (learned.result_.multipliers[-3:] == 0).all()


def test_only_equal_points_leave_the_euclidean_metric():
    X = np.ones((6, 3))
    with pytest.warns(UserWarning, match=r"9 pair\(s\) of equal rows"):
        learned = ITML().fit(X, [0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(learned.get_mahalanobis_matrix(), np.eye(3))


@pytest.mark.parametrize("y", [[0, 0, 0, 0], [0, 1, 2, 3]], ids=["one class", "a class a row"])
def test_one_kind_of_pairs_is_enough(y):
    X = np.random.default_rng(0).normal(size=(4, 2))
    learned = ITML().fit(X, y)
    assert learned.result_.status is Status.OPTIMAL
    assert len(set(learned.result_.problem.graph.sign)) == 1


# metric-learn's words


def test_the_words_of_metric_learn_mean_the_same():
    X, y = IRIS
    learned = ITML(random_state=0).fit(X, y)
    M, L = learned.get_mahalanobis_matrix(), learned.components_
    assert L.shape == (4, 4)
    np.testing.assert_allclose(M, L.T @ L)
    np.testing.assert_allclose(learned.transform(X), X @ L.T)
    pairs = X[np.random.default_rng(0).integers(0, 150, size=(30, 2))]
    z = pairs[:, 0] - pairs[:, 1]
    expected = np.sqrt(np.einsum("ij,jk,ik->i", z, M, z))
    np.testing.assert_allclose(distances(learned, pairs), expected)


def test_single_precision_stays_single():
    X, y = np.float32(IRIS[0]), IRIS[1]
    out = ITML(random_state=0).fit(X, y).transform(X)
    assert out.dtype == np.float32


def test_pickle_clone_pipeline_and_grid():
    X, y = IRIS
    learned = ITML(random_state=0).fit(X, y)
    thawed = pickle.loads(pickle.dumps(learned))
    np.testing.assert_array_equal(thawed.transform(X), learned.transform(X))
    again = clone(learned).fit(X, y)
    np.testing.assert_array_equal(again.components_, learned.components_)
    pipeline = make_pipeline(ITML(random_state=0), KNeighborsClassifier(1))
    search = GridSearchCV(pipeline, {"itml__pair_weight": [0.01, 1.0]}, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.9
    assert learned.get_feature_names_out().tolist() == ["itml0", "itml1", "itml2", "itml3"]


def test_frames_keep_their_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(IRIS[0], columns=list("abcd"))
    learned = ITML(random_state=0).fit(frame, pd.Series(IRIS[1]))
    assert learned.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(InputError, match="X: expected the columns in the order of fit"):
        learned.transform(frame[list("bacd")])
    assert not hasattr(learned.fit(*IRIS), "feature_names_in_")


@pytest.mark.slow
def test_scikit_learns_own_checks_hold_but_for_those_listed():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows that the checks repeat under another label
        done = check_estimator(ITML(), expected_failed_checks=CANNOT_HOLD, on_fail=None, on_skip=None)
    assert not {c["check_name"]: c["exception"] for c in done if c["status"] == "failed"}
    assert {c["check_name"] for c in done if c["status"] == "xfail"} == set(CANNOT_HOLD)
    assert sum(c["status"] == "passed" for c in done) > 40


# Bad input

X, Y = IRIS
P, S, _ = random_pairs()
BAD = {
    "weight": (lambda: ITML(-1.0).fit(X, Y), "pair_weight: expected a number of at least 0, got -1.0"),
    "infinite weight": (lambda: ITML(np.inf).fit(X, Y), "weight: expected a number of at least 0, got inf"),
    "bounds": (lambda: ITML(bounds=(2, 1)).fit(X, Y), "bounds: expected u < l"),
    "word for bounds": (lambda: ITML(bounds="best").fit(X, Y), 'bounds: expected "auto" or two'),
    "solver": (lambda: ITML(solver="sgd").fit(X, Y), "solver: expected one of"),
    "solver object": (lambda: ITML(solver=3).fit(X, Y), r"an object with solve\(\), got 3"),
    "n_constraints": (lambda: ITML(n_constraints=0).fit(X, Y), "n_constraints: expected a whole number of at least 1, got 0"),
    "progress": (lambda: ITML(progress="yes").fit(X, Y), "progress: expected True, False or a function"),
    "sparse": (lambda: ITML().fit(sp.csr_matrix(X), Y), "X: expected a dense array, got a sparse one"),
    "no labels": (lambda: ITML().fit(X, None), "y: requires y to be passed"),
    "short y": (lambda: ITML().fit(X, Y[:-1]), r"y: expected shape \(150,\) to match X, got \(149,\)"),
    "mixed labels": (lambda: ITML().fit(X[:3], ["a", 1, 2]), "y: expected labels of one sortable type"),
    "all unlabelled": (lambda: ITML().fit(X, -np.ones(150)), r"y: expected at least 2 labelled rows .* got 0 sample"),
    "NaN": (lambda: ITML().fit([[np.nan], [1.0]], [0, 1]), "X: expected finite numbers"),
    "2-d pairs": (lambda: ITML().fit_pairs(P[0], S), r"pairs: expected shape \(m, 2, d\), got \(2, 4\)"),
    "triplets": (lambda: ITML().fit_pairs(P[:, [0, 1, 1]], S), r"got \(14, 3, 4\)"),
    "ragged pairs": (lambda: ITML().fit_pairs([[[1.0], [1.0, 2.0]]], [1]), "pairs: expected points of equal length"),
    "NaN in pairs": (lambda: ITML().fit_pairs(P * np.nan, S), "pairs: expected finite numbers"),
    "no pairs": (lambda: ITML().fit_pairs(P[:0], S[:0]), "pairs: expected at least 1 row"),
    "signs": (lambda: ITML().fit_pairs(P, S + 1), "y: expected 1 for each similar and -1 for each dissimilar pair"),
    "no signs": (lambda: ITML().fit_pairs(P, None), r"y: expected shape \(14,\) to match pairs, got \(\)"),
    "too few signs": (lambda: ITML().fit_pairs(P, S[1:]), r"y: expected shape \(14,\) to match pairs, got \(13,\)"),
    "columns": (lambda: ITML().fit(X, Y).transform(X[:, :3]), "X: expected 4 columns, as in fit, got 3"),
    "unequal domains": (lambda: Saenko().fit(*make_domains().args), "X_target: expected the 5 columns of X_source, got 7; MLHD learns"),
    "Saenko's weight": (lambda: Saenko(pair_weight=-1).fit(*equal_domains().args), "pair_weight: expected a number"),
    "Saenko's neighbours": (lambda: Saenko(n_neighbors=31).fit(*equal_domains().args), "n_neighbors: expected at most the 30"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    use, message = BAD[case]
    with pytest.raises(InputError, match=message) as caught:
        use()
    assert one_sentence(caught)


def test_a_failed_fit_leaves_nothing_behind():
    new = ITML()
    with pytest.raises(InputError):
        new.fit(X, Y[1:])
    assert set(vars(new)) == set(new.get_params())
    for use in (lambda m: m.transform(X), lambda m: m.get_mahalanobis_matrix()):
        with pytest.raises(NotFittedError):
            use(new)


# Saenko


@pytest.mark.parametrize("weight", [0.1, 1.0, 10.0])
def test_saenko_is_itml_on_the_pairs_across(weight):
    data = equal_domains()
    saenko = Saenko(pair_weight=weight, solver=TIGHT).fit(*data.args)
    pairs, sign = cross_pairs(data)
    alone = ITML(weight, bounds=saenko.bounds_, solver=TIGHT).fit_pairs(pairs, sign)
    assert saenko.result_.primal == pytest.approx(alone.result_.primal, rel=1e-8)
    np.testing.assert_allclose(saenko.result_.matrix(), alone.get_mahalanobis_matrix(), atol=1e-4)
    np.testing.assert_allclose(saenko.pair_distance(pairs[:, 0], pairs[:, 1]), distances(alone, pairs), atol=1e-4)


def test_saenko_finds_the_optimum_of_an_independent_solver():
    result = Saenko(solver=TIGHT).fit(*equal_domains(n_source=8, n_labelled=3).args).result_
    assert result.primal == pytest.approx(cvxpy_optimum(result.problem)[0], rel=1e-5)


@pytest.mark.parametrize("pair", list(itertools.product(("source", "target"), repeat=2)))
@pytest.mark.parametrize("sparse", [False, True])
def test_one_matrix_measures_within_and_across(pair, sparse):
    data = equal_domains()
    Xs, Xt = (sp.csr_matrix(x) if sparse else x for x in (data.X_source, data.X_target))
    saenko = Saenko().fit(Xs, data.y_source, Xt, data.y_target)
    M, rng = saenko.result_.matrix(), np.random.default_rng(0)
    A, B = rng.normal(size=(6, 5)), rng.normal(size=(4, 5))
    expected = cdist(A, B, "mahalanobis", VI=M)
    np.testing.assert_allclose(saenko.pairwise_distances(A, B, pair), expected, atol=1e-7)
    np.testing.assert_allclose(saenko.transform(A, "source"), saenko.transform(A, "target"))
    np.testing.assert_allclose(saenko.get_mahalanobis_matrix(), np.block([[M, M], [M, M]]))


def test_saenko_overlooks_a_shift_between_the_domains():
    data = equal_domains(n_labelled=12)
    shift = 10.0 * np.ones(5)
    Xs, ys, Xt = data.X_source, data.y_source, data.X_source + shift
    saenko = Saenko(pair_weight=10.0).fit(Xs, ys, Xt, np.where(np.arange(30) < 12, ys, -1))
    assert saenko.score(Xt, ys) > KNeighborsClassifier(1).fit(Xs, ys).score(Xt, ys)
    assert shift @ saenko.result_.matrix() @ shift < 0.05 * shift @ shift
    spread = Xs.var(axis=0).sum() + Xt.var(axis=0).sum()
    assert saenko.bounds_ == pytest.approx((0.5 * spread, 1.5 * spread))


def test_saenko_does_not_depend_on_the_origin_the_unit_or_the_order():
    data = equal_domains()
    Xs, ys, Xt, yt = data.args
    plain = Saenko(solver=TIGHT).fit(Xs, ys, Xt, yt).pairwise_distances(Xs, Xt)
    moved = Saenko(solver=TIGHT).fit(Xs + 1e3, ys, Xt + 1e3, yt).pairwise_distances(Xs + 1e3, Xt + 1e3)
    np.testing.assert_allclose(moved, plain, atol=1e-4)
    s, t = np.random.default_rng(0).permutation(30), np.random.default_rng(1).permutation(20)
    mixed = Saenko(solver=TIGHT).fit(Xs[s], ys[s], Xt[t], yt[t]).pairwise_distances(Xs, Xt)
    np.testing.assert_allclose(mixed, plain, atol=1e-4)
    scaled = Saenko(solver=TIGHT).fit(3 * Xs, ys, 3 * Xt, yt).pairwise_distances(3 * Xs, 3 * Xt)
    np.testing.assert_allclose(scaled, 3 * plain, rtol=1e-4)


def test_equal_rows_of_different_classes_are_left_out_across_domains_too():
    data = equal_domains()
    Xt = data.X_target.copy()
    Xt[0] = data.X_source[1]  # classes 0 and 1
    with pytest.warns(UserWarning, match=r"1 pair\(s\) of equal rows") as caught:
        Saenko().fit(data.X_source, data.y_source, Xt, data.y_target)
    assert caught[0].filename == __file__
