"""MLHD: what must hold of the learned metric, whatever the data look like."""

import warnings
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from conftest import make_domains
from isthmus import MLHD, RBF, ConvergenceWarning
from isthmus.data.domains import TwoDomains
from isthmus.estimators.logdet_base import make_label_pairs
from isthmus.solvers.bregman import BregmanProjections
from isthmus.solvers.logdet import PairGraph, Pairs
from isthmus.solvers.newton import DualNewton
from isthmus.solvers.result import Status

COMBINATIONS = [("source", "target"), ("target", "source"), ("source", "source"), ("target", "target")]
KERNELS = [("linear", "linear"), ("rbf", "rbf"), ("cosine", "polynomial"), ("laplacian", "linear")]
TIGHT = DualNewton(tol=1e-10)


@cache
def fitted(*kernels, sparse=False, **options):
    """The fit to the small problem that most tests share; they only read it."""
    Xs, ys, Xt, yt = make_domains().args
    rows = (sp.csr_matrix(Xs), ys, sp.csr_matrix(Xt), yt) if sparse else (Xs, ys, Xt, yt)
    return MLHD(*kernels, **options).fit(*rows)


def new_rows(domains, seed=5, n=7):
    rng = np.random.default_rng(seed)
    return {
        "source": rng.normal(size=(n, domains.X_source.shape[1])),
        "target": rng.normal(size=(n, domains.X_target.shape[1])),
    }


def joint(rows, domain, d_source, d_target):
    """Rows as points of the direct sum of both feature spaces."""
    zeros = np.zeros((len(rows), d_target if domain == "source" else d_source))
    return np.hstack([rows, zeros] if domain == "source" else [zeros, rows])


def mahalanobis(M, A, B):
    Z = A[:, None] - B[None]
    return np.sqrt(np.maximum(np.einsum("ijk,kl,ijl->ij", Z, M, Z), 0.0))


@pytest.mark.parametrize("sparse", [False, True])
def test_all_four_kinds_of_distance_come_from_one_matrix(domains, sparse):
    mlhd = fitted(sparse=sparse)
    M, rows = mlhd.get_mahalanobis_matrix(), new_rows(domains)
    for kind in COMBINATIONS:
        A, B = rows[kind[0]], rows[kind[1]][:4]
        expected = mahalanobis(M, joint(A, kind[0], 5, 7), joint(B, kind[1], 5, 7))
        np.testing.assert_allclose(mlhd.pairwise_distances(A, B, kind), expected, atol=1e-6, err_msg=str(kind))
        each = mlhd.pair_distance(A[:4], B, kind)
        np.testing.assert_allclose(each, np.diagonal(expected), atol=1e-6, err_msg=str(kind))


def test_many_pairs_are_measured_in_blocks():
    mlhd = fitted("rbf", "rbf")
    A, B = (np.random.default_rng(0).normal(size=(300, 7)) for _ in range(2))
    expected = np.diagonal(mlhd.pairwise_distances(A, B, ("target", "target")))
    np.testing.assert_allclose(mlhd.pair_distance(A, B, ("target", "target")), expected, atol=1e-7)


@pytest.mark.parametrize("kernels", KERNELS)
def test_euclidean_distance_in_the_common_space_is_the_metric(domains, kernels):
    mlhd = fitted(*kernels)
    learned_from = domains.X_target[domains.y_target != -1]  # of other rows, what is outside has a length only
    for kind in COMBINATIONS:
        A, B = new_rows(domains)[kind[0]], {"source": domains.X_source, "target": learned_from}[kind[1]]
        embedded = cdist(mlhd.transform(A, kind[0]), mlhd.transform(B, kind[1]))
        np.testing.assert_allclose(mlhd.pairwise_distances(A, B, kind), embedded, atol=1e-6, err_msg=str(kind))


@pytest.mark.parametrize(
    ("kernels", "outside"), [*((kernels, "identity") for kernels in KERNELS), *((k, "zero") for k in KERNELS[:2])]
)
def test_it_is_a_metric_on_new_rows_of_both_domains(domains, kernels, outside):
    mlhd, rows = fitted(*kernels) if outside == "identity" else fitted(*kernels, outside=outside), new_rows(domains)
    blocks = [[mlhd.pairwise_distances(rows[a], rows[b], (a, b)) for b in rows] for a in rows]
    D = np.block(blocks)
    np.testing.assert_allclose(D, D.T, atol=1e-6)
    np.testing.assert_allclose(np.diagonal(D), 0.0, atol=1e-6)
    assert (D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-9).all()


def test_outside_the_span_it_is_the_identity_or_the_papers_zero():
    wide = make_domains(d_source=40, d_target=50)  # fewer rows than columns: most of the space is outside
    Xs, ys, Xt, yt = wide.args
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(Xt.T)[0]
    away = rng.normal(size=(3, 50))
    away -= away @ basis @ basis.T
    old = Xt[:3]
    for sparse in (False, True):
        X = (sp.csr_matrix(Xs), ys, sp.csr_matrix(Xt), yt) if sparse else wide.args
        identity, zero = (MLHD(outside=outside, pair_weight=1.0).fit(*X) for outside in ("identity", "zero"))
        for pair, B in (("source", Xs), ("target", Xt)):
            before = identity.pairwise_distances(old, B, ("target", pair))
            np.testing.assert_allclose(zero.pairwise_distances(old, B, ("target", pair)), before, atol=1e-6)
            after = identity.pairwise_distances(old + away, B, ("target", pair))
            expected = np.sqrt(before**2 + (away**2).sum(1)[:, None])
            np.testing.assert_allclose(after, expected, atol=1e-6)
            np.testing.assert_allclose(zero.pairwise_distances(old + away, B, ("target", pair)), before, atol=1e-6)
    np.testing.assert_allclose(
        identity.pairwise_distances(away, away, ("target", "target")), cdist(away, away), atol=1e-6
    )


def test_swapping_the_domains_transposes_the_distances():
    Xs, ys, Xt, yt = make_domains(n_source=15, n_target=12, n_labelled=12).args
    for alignment in ("penalty", "constraint", "none"):
        there = MLHD(alignment=alignment, solver=TIGHT).fit(Xs, ys, Xt, yt).pairwise_distances(Xs, Xt)
        back = MLHD(alignment=alignment, solver=TIGHT).fit(Xt, yt, Xs, ys).pairwise_distances(Xt, Xs)
        np.testing.assert_allclose(there, back.T, atol=1e-4)


def test_rotating_the_features_of_a_domain_changes_nothing(domains):
    Xs, ys, Xt, yt = domains.args
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 7)))[0]
    plain = fitted(solver=TIGHT).pairwise_distances(Xs, Xt)
    turned = MLHD(solver=TIGHT).fit(Xs, ys, Xt @ Q, yt).pairwise_distances(Xs, Xt @ Q)
    np.testing.assert_allclose(plain, turned, atol=1e-4)


@pytest.mark.parametrize("kernels", KERNELS)
def test_the_order_of_rows_does_not_matter(domains, kernels):
    Xs, ys, Xt, yt = domains.args
    s, t = np.random.default_rng(0).permutation(len(Xs)), np.random.default_rng(1).permutation(len(Xt))
    plain = fitted(*kernels, solver=TIGHT)
    shuffled = MLHD(*kernels, solver=TIGHT).fit(Xs[s], ys[s], Xt[t], yt[t])
    np.testing.assert_allclose(plain.pairwise_distances(Xs, Xt), shuffled.pairwise_distances(Xs, Xt), atol=1e-4)
    np.testing.assert_array_equal(plain.predict(Xt), shuffled.predict(Xt))


@pytest.mark.parametrize("scale", [1e-4, 1e5])
@pytest.mark.parametrize(("kernel", "alignment"), [("linear", "none"), ("linear", "constraint"), ("rbf", "penalty")])
def test_automatic_bounds_follow_the_unit_of_the_features(domains, scale, kernel, alignment):
    Xs, ys, Xt, yt = domains.args
    one = fitted(kernel, kernel, alignment=alignment, solver=TIGHT)
    other = MLHD(kernel, kernel, alignment=alignment, solver=TIGHT).fit(scale * Xs, ys, scale * Xt, yt)
    factor = scale if kernel == "linear" else 1.0
    np.testing.assert_allclose(np.array(other.bounds_), np.array(one.bounds_) * factor**2, rtol=1e-6)
    np.testing.assert_allclose(
        other.pairwise_distances(scale * Xs, scale * Xt), factor * one.pairwise_distances(Xs, Xt), rtol=1e-3
    )


def test_an_rbf_kernel_starts_from_equal_distances_and_separates_the_classes(domains):
    mlhd = fitted("rbf", "rbf")
    u, l = mlhd.bounds_  # noqa: E741
    assert u < l
    D2 = mlhd.pairwise_distances(domains.X_source, domains.X_target) ** 2
    same = domains.y_source[:, None] == domains.y_target[None]
    other = (domains.y_target >= 0)[None] & ~same
    assert D2[same].mean() < D2[other].mean()
    before = MLHD("rbf", "rbf", pair_weight=0.0, alignment="none").fit(*domains.args)
    np.testing.assert_allclose(before.pairwise_distances(domains.X_source, domains.X_target) ** 2, 2.0, atol=1e-8)


def test_bandwidths_are_computed_per_domain_and_reported(domains):
    mlhd = MLHD("rbf", RBF(4.0)).fit(*domains.args)
    distances = cdist(domains.X_source, domains.X_source)[np.triu_indices(30, 1)]
    assert mlhd.kernels_[0].bandwidth == pytest.approx(np.median(distances))
    assert mlhd.kernels_[1] == RBF(4.0)


def test_unlabelled_rows_act_through_their_mean_only(domains):
    Xs, ys, Xt, yt = domains.args
    moved = Xt.copy()
    moved[10], moved[11] = moved[10] + 1.0, moved[11] - 1.0
    fixed = {"bounds": (5.0, 20.0), "alignment_weight": 1.0, "solver": TIGHT}
    plain = MLHD(**fixed).fit(Xs, ys, Xt, yt).get_mahalanobis_matrix()
    np.testing.assert_allclose(MLHD(**fixed).fit(Xs, ys, moved, yt).get_mahalanobis_matrix(), plain, atol=1e-6)
    moved[11] += 9.0
    assert np.abs(MLHD(**fixed).fit(Xs, ys, moved, yt).get_mahalanobis_matrix() - plain).max() > 1e-3


def test_the_means_come_together_as_their_weight_grows(domains):
    shifts = []
    for weight in (0.0, 0.1, 10.0):
        mlhd = MLHD(alignment_weight=weight).fit(*domains.args)
        means = [
            mlhd.transform(X, d).mean(0) for X, d in ((domains.X_source, "source"), (domains.X_target, "target"))
        ]
        shifts.append(np.linalg.norm(means[0] - means[1]))
    assert shifts[0] > shifts[1] > shifts[2]


def test_a_constraint_holds_the_mean_shift_near_its_slack(domains):
    mlhd = MLHD(alignment="constraint", alignment_slack=0.5, alignment_weight=1e3).fit(*domains.args)
    shift = mlhd.transform(domains.X_source, "source").mean(0) - mlhd.transform(domains.X_target).mean(0)
    assert shift @ shift <= 0.55


def test_without_alignment_prior_weight_is_ignored(domains):
    one, other = (MLHD(alignment="none", alignment_weight=w).fit(*domains.args) for w in (0.0, 50.0))
    np.testing.assert_array_equal(one.get_mahalanobis_matrix(), other.get_mahalanobis_matrix())


def test_within_domain_pairs_pull_classes_together_inside_a_domain(domains):
    ratios = []
    for within in (False, True):
        mlhd = MLHD(within_domain=within).fit(*domains.args)
        D = mlhd.pairwise_distances(domains.X_source, domains.X_source, ("source", "source"))
        same = domains.y_source[:, None] == domains.y_source[None]
        ratios.append(D[same & ~np.eye(30, dtype=bool)].mean() / D[~same].mean())
    assert ratios[1] < ratios[0]
    assert mlhd.result_.problem.n_pairs == 30 * 6 + 30 * 30 + 6 * 6
    assert (mlhd.result_.problem.graph.weight > 0).sum() == 30 * 6 + 30 * 29 // 2 + 6 * 5 // 2


def test_both_solvers_and_a_solver_object_learn_the_same_metric():
    args = make_domains(n_source=12, n_target=9).args
    newton = MLHD(tol=1e-8).fit(*args).get_mahalanobis_matrix()
    bregman = MLHD(solver="bregman", tol=1e-8, max_iter=20_000).fit(*args)
    np.testing.assert_allclose(newton, bregman.get_mahalanobis_matrix(), atol=1e-3)
    own = MLHD(solver=BregmanProjections(tol=1e-3, max_iter=5000), tol=1e-9).fit(*args)
    assert own.result_.tolerance == 1e-3


def test_the_certificate_is_there_and_a_limit_warns(domains):
    mlhd = fitted()
    assert mlhd.result_.status is Status.OPTIMAL
    assert mlhd.result_.relative_gap <= 1e-6
    assert mlhd.n_iter_ == mlhd.result_.n_iter
    with pytest.warns(ConvergenceWarning, match="max_iter=1 reached"):
        MLHD(max_iter=1).fit(*domains.args)


@pytest.mark.parametrize("neighbors", ["source", "target", "both"])
def test_neighbours_come_from_the_named_rows(domains, neighbors):
    mlhd = MLHD(references=neighbors, n_neighbors=2).fit(*domains.args)
    Xl = domains.X_target[:6]
    parts = {"source": [(domains.X_source, "source")], "target": [(Xl, "target")]}
    parts["both"] = parts["source"] + parts["target"]
    Q = new_rows(domains)["target"]
    D = np.hstack([mlhd.pairwise_distances(Q, X, ("target", d)) for X, d in parts[neighbors]])
    distances, rows = mlhd.kneighbors(Q, 3)
    np.testing.assert_array_equal(rows, np.argsort(D, axis=1)[:, :3])
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :3], atol=1e-6)
    assert mlhd.kneighbors(Q)[0].shape == (7, 2)
    assert mlhd.kneighbors(new_rows(domains)["source"], domain="source")[0].shape == (7, 2)


def test_one_neighbour_predicts_its_class(domains):
    mlhd = fitted()
    _, rows = mlhd.kneighbors(domains.X_target)
    np.testing.assert_array_equal(mlhd.predict(domains.X_target), domains.y_source[rows[:, 0]])
    accuracy = np.mean(mlhd.predict(domains.X_target) == domains.y_true)
    assert mlhd.score(domains.X_target, domains.y_true) == pytest.approx(accuracy)
    assert accuracy > 0.6
    marked = np.where(np.arange(20) < 10, domains.y_true, -1)
    expected = np.mean(mlhd.predict(domains.X_target[:10]) == domains.y_true[:10])
    assert mlhd.score(domains.X_target, marked) == pytest.approx(expected)


def test_all_components_keep_the_metric_and_fewer_shorten_it(domains):
    whole = fitted().pairwise_distances(domains.X_source, domains.X_target)
    cut = [MLHD(n_components=k).fit(*domains.args) for k in (2, 5, 12)]
    D = [mlhd.pairwise_distances(domains.X_source, domains.X_target) for mlhd in cut]
    assert cut[0].transform(domains.X_target).shape == (20, 2)
    assert (D[0] <= D[1] + 1e-9).all()
    assert (D[1] <= whole + 1e-9).all()
    np.testing.assert_allclose(D[2], whole, atol=1e-6)


@pytest.mark.parametrize("kernels", KERNELS)
def test_single_precision_in_gives_single_precision_out(domains, kernels):
    mlhd = fitted(*kernels)
    double, single = mlhd.transform(domains.X_target), mlhd.transform(domains.X_target.astype(np.float32))
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(single, double, atol=2e-3)
    Xs, ys, Xt, yt = domains.args
    low = MLHD(*kernels).fit(Xs.astype(np.float32), ys, Xt.astype(np.float32), yt)
    np.testing.assert_allclose(low.pairwise_distances(Xs, Xt), mlhd.pairwise_distances(Xs, Xt), atol=1e-3)


def test_single_precision_rows_do_not_inflate_the_rank():
    rng = np.random.default_rng(0)
    low = (rng.normal(size=(40, 5)) @ rng.normal(size=(5, 30))).astype(np.float32)
    mlhd = MLHD().fit(sp.csr_matrix(low), np.arange(40) % 2, sp.csr_matrix(low[:20]), np.arange(20) % 2)
    assert mlhd.common_space_.source.dimension <= 30


def test_sparse_rows_are_never_made_dense(monkeypatch):
    Xs, ys, Xt, yt = make_domains(d_source=50, d_target=60).args
    X = [sp.csr_matrix(Xs), sp.csr_matrix(Xt)]

    def guarded(original):
        def dense(self, *args, **kwargs):
            assert self.shape[1] not in (50, 60), "rows of features were made dense"
            return original(self, *args, **kwargs)  # a Gram matrix may be

        return dense

    for name in ("toarray", "todense"):
        for container in (sp.csr_matrix, sp.csr_array):
            monkeypatch.setattr(container, name, guarded(getattr(container, name)))
    mlhd = MLHD().fit(X[0], ys, X[1], yt)
    assert mlhd.transform(X[1]).shape[0] == 20
    assert mlhd.predict(X[1]).shape == (20,)


def test_frames_give_what_arrays_give_and_their_columns_are_remembered(domains):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    Xs, ys, Xt, yt = domains.args
    expected = fitted().transform(Xt)
    names = [f"f{k}" for k in range(7)]
    for frame in (pd.DataFrame(Xt, columns=names), pl.DataFrame(Xt, schema=names)):
        mlhd = MLHD().fit(Xs, pd.Series(ys), frame, pd.Series(yt))
        np.testing.assert_allclose(mlhd.transform(frame), expected, atol=1e-7)
        with pytest.raises(ValueError, match=r"expected the columns in the order of fit, \['f0', 'f1', 'f2'\]"):
            mlhd.transform(frame[names[::-1]])
        renamed = (
            frame.rename(columns={"f0": "g0"}) if isinstance(frame, pd.DataFrame) else frame.rename({"f0": "g0"})
        )
        with pytest.raises(ValueError, match=r"got \['g0'\] and not \['f0'\]"):
            mlhd.transform(renamed)


@pytest.mark.parametrize(
    ("names", "unknown"),
    [
        (["a", "b", "c"], None), (["a", "b", "c"], float("nan")), (["a", "b", "c"], -1), (["a", "b", "c"], "-1"),
        ([10, 20, 30], -1), ([10, 20, 30], None), ([0.5, 1.5, 2.5], float("nan")), ([False, True, True], None),
    ],
)  # fmt: skip
def test_labels_and_marks_of_any_type(domains, names, unknown):
    Xs, ys, Xt, yt = domains.args
    classes, number = np.unique(names, return_inverse=True)
    if len(classes) == 3:
        codes = fitted().predict(Xt)
    else:
        codes = MLHD().fit(Xs, number[ys], Xt, np.where(yt < 0, -1, number[yt])).predict(Xt)
    mlhd = MLHD().fit(Xs, [names[k] for k in ys], Xt, [names[k] if k >= 0 else unknown for k in yt])
    np.testing.assert_array_equal(mlhd.predict(Xt), classes[codes])


def test_pandas_missing_values_and_categories_are_labels_too(domains):
    pd = pytest.importorskip("pandas")
    Xs, ys, Xt, yt = domains.args
    expected = fitted().predict(Xt)
    nullable = pd.array([None if k < 0 else int(k) for k in yt], dtype="Int64")
    np.testing.assert_array_equal(MLHD().fit(Xs, ys, Xt, pd.Series(nullable)).predict(Xt), expected)
    words = np.array(["x", "y", "z"])
    category = pd.Series([None if k < 0 else words[k] for k in yt], dtype="category")
    np.testing.assert_array_equal(MLHD().fit(Xs, words[ys], Xt, category).predict(Xt), words[expected])


def test_a_failed_fit_leaves_the_estimator_as_it_was(domains):
    mlhd = MLHD().fit(*domains.args)
    before, state = mlhd.predict(domains.X_target), set(vars(mlhd))
    with pytest.raises(ValueError, match="y_source"):
        mlhd.fit(domains.X_source, domains.y_source[:-1], domains.X_target, domains.y_target)
    mlhd.n_neighbors = 10_000
    with pytest.raises(ValueError, match="n_neighbors"):
        mlhd.fit(*domains.args)
    mlhd.n_neighbors = 1
    assert set(vars(mlhd)) == state
    np.testing.assert_array_equal(mlhd.predict(domains.X_target), before)
    fresh = MLHD(bounds=(2.0, 1.0))
    with pytest.raises(ValueError, match="bounds"):
        fresh.fit(*domains.args)
    assert not [name for name in vars(fresh) if name.endswith("_")]


def test_an_interrupted_fit_leaves_nothing_behind(domains):
    def interrupt(point):
        raise KeyboardInterrupt

    mlhd = MLHD(progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        mlhd.fit(*domains.args)
    assert not [name for name in vars(mlhd) if name.endswith("_")]


def test_progress_is_shown_on_standard_error_only_when_asked(domains, capsys):
    MLHD().fit(*domains.args)
    assert capsys.readouterr() == ("", "")
    MLHD(progress=True).fit(*domains.args)
    out, err = capsys.readouterr()
    assert out == ""
    assert "certified gap" in err.splitlines()[-1]
    points = []
    mlhd = MLHD(progress=points.append).fit(*domains.args)
    assert tuple(points) == mlhd.result_.trace


def test_names_of_the_common_space_match_its_columns(domains):
    for kernels in KERNELS:
        mlhd = fitted(*kernels)
        names = mlhd.get_feature_names_out()
        assert len(names) == mlhd.transform(domains.X_target).shape[1]
        assert names[0] == "mlhd0"


DEGENERATE = {
    "duplicate rows": lambda d: (np.repeat(d.X_source[:10], 3, 0), np.repeat(d.y_source[:10], 3), d.X_target, d.y_target),
    "zero rows": lambda d: (np.vstack([d.X_source, np.zeros((2, 5))]), np.append(d.y_source, [0, 1]), d.X_target, d.y_target),
    "all rows zero": lambda d: (0 * d.X_source, d.y_source, d.X_target, d.y_target),
    "constant domains": lambda d: (np.full((30, 5), 0.1), d.y_source, np.full((20, 7), 0.3), d.y_target),
    "same rows in both domains": lambda d: (d.X_source, d.y_source, d.X_source[:20], d.y_target),
    "constant column": lambda d: (np.hstack([d.X_source, np.ones((30, 2))]), d.y_source, d.X_target, d.y_target),
    "one class": lambda d: (d.X_source, 0 * d.y_source, d.X_target, np.where(d.y_target < 0, -1, 0)),
    "one labelled row": lambda d: (d.X_source, d.y_source, d.X_target, np.where(np.arange(20) < 1, d.y_true, -1)),
    "one source row": lambda d: (d.X_source[:1], d.y_source[:1], d.X_target, np.where(d.y_target == 0, 0, -1)),
    "no unlabelled row": lambda d: (d.X_source, d.y_source, d.X_target, d.y_true),
    "more labelled target than source": lambda d: (d.X_source[:4], d.y_source[:4], d.X_target, d.y_true),
    "a class without target rows": lambda d: (d.X_source, d.y_source, d.X_target, np.where(d.y_target == 2, -1, d.y_target)),
    "one column": lambda d: (d.X_source[:, :1], d.y_source, d.X_target[:, :1], d.y_target),
    "one column of one sign": lambda d: (np.abs(d.X_source[:, :1]), d.y_source, np.abs(d.X_target[:, :1]), d.y_target),
    "far from the origin": lambda d: (d.X_source + 1e5, d.y_source, d.X_target - 1e5, d.y_target),
    "domains of very different scale": lambda d: (1e-6 * d.X_source, d.y_source, 1e6 * d.X_target, d.y_target),
}  # fmt: skip


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize(("kernel", "within"), [("linear", True), ("rbf", False), ("cosine", True)])
def test_degenerate_data_are_solved_and_certified(domains, case, kernel, within):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.filterwarnings("ignore", message=".*equal rows have different labels")
        mlhd = MLHD(kernel, kernel, within_domain=within).fit(*DEGENERATE[case](domains))
    assert mlhd.result_.relative_gap <= 1e-6
    assert np.isfinite(mlhd.transform(DEGENERATE[case](domains)[2])).all()


def test_equal_rows_with_contradictory_labels_are_reported_and_left_out(domains):
    Xs, ys, Xt, yt = domains.args
    Xs = Xs.copy()
    Xs[1] = Xs[0]
    with pytest.warns(UserWarning, match=r"1 pair\(s\) of equal rows have different labels"):
        mlhd = MLHD(within_domain=True).fit(Xs, ys, Xt, yt)
    assert mlhd.result_.status is Status.OPTIMAL


def test_more_columns_than_rows_and_more_rows_than_columns():
    for shape in ({"d_source": 300, "d_target": 200}, {"n_source": 400, "d_source": 2, "d_target": 2}):
        data = make_domains(**shape)
        assert MLHD().fit(*data.args).result_.status is Status.OPTIMAL


@given(seed=st.integers(0, 10_000), labelled=st.integers(1, 12), classes=st.integers(1, 5))
@settings(max_examples=20)
@pytest.mark.slow
def test_any_small_problem_is_certified(seed, labelled, classes):
    data = make_domains(seed, n_classes=classes, n_source=12, n_target=12, n_labelled=labelled)
    assert MLHD("rbf", "linear").fit(*data.args).result_.relative_gap <= 1e-6


@pytest.mark.parametrize("offset", [0.0, 3e6])
def test_automatic_bounds_do_not_depend_on_the_origin(domains, offset):
    Xs, ys, Xt, yt = domains.args
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        moved = MLHD(alignment="none", pair_weight=0.0).fit(Xs + offset, ys, Xt, yt)
    np.testing.assert_allclose(moved.bounds_, fitted().bounds_, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e8, 1e10])
def test_a_huge_mean_shift_leaves_a_metric(domains, scale):
    Xs, ys, Xt, yt = domains.args
    with pytest.warns(ConvergenceWarning, match="too nearly singular for doubles"):
        mlhd = MLHD(alignment_weight=1.0, pair_weight=0.0).fit(Xs * scale, ys, Xt * scale, yt)
    shift = mlhd.transform(Xs * scale, "source").mean(0) - mlhd.transform(Xt * scale).mean(0)
    assert np.isfinite(mlhd.transform(Xt)).all()
    assert np.linalg.norm(shift) < 10.0, "the penalty takes nearly all of a shift of this size"


def test_sparse_rows_with_few_columns_are_not_compared_with_one_another(domains):
    for outside in ("identity", "zero"):
        sparse, dense = (fitted(sparse=sparse, outside=outside, solver=TIGHT) for sparse in (True, False))
        assert sparse.common_space_.source.dimension == 5
        for a, b in COMBINATIONS:
            rows = new_rows(domains)
            np.testing.assert_allclose(
                sparse.pairwise_distances(rows[a], rows[b], (a, b)),
                dense.pairwise_distances(rows[a], rows[b], (a, b)),
                atol=1e-5,
            )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "cosine", "polynomial"])
def test_sparse_rows_in_any_order_are_left_as_they_are(domains, kernel):
    Xs, ys, Xt, yt = domains.args
    messy = sp.csr_matrix((np.ones(5), np.array([3, 1, 1, 4, 0]), np.array([0, 3, 5])), shape=(2, 5))
    X = sp.vstack([sp.csr_matrix(Xs[:-2]), messy]).tocsr()
    X.has_canonical_format = False
    X.has_sorted_indices = False
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    MLHD(kernel, "linear").fit(X, ys, Xt, yt).transform(X, "source")
    for now, then in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_a_sparse_gram_matrix_is_a_gram_matrix(domains):
    Xs, ys, Xt, yt = domains.args
    K = Xt @ Xt.T
    dense = MLHD(target_kernel="precomputed", references="both").fit(Xs, ys, K, yt)
    sparse = MLHD(target_kernel="precomputed", references="both").fit(Xs, ys, sp.csr_matrix(K), yt)
    np.testing.assert_allclose(sparse.transform(sp.csr_matrix(K)), dense.transform(K), atol=1e-8)


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_pairs_within_a_domain_are_the_same_wherever_it_lies(domains, offset):
    """The limit below which rows count as equal knows their spread, not their distance from the origin."""

    def weights(shift):
        model = MLHD(within_domain=True, max_iter=1)
        X_source = domains.X_source - domains.X_source.mean(axis=0) + shift
        two = TwoDomains.of(X_source, domains.y_source, domains.X_target, domains.y_target)
        joint = model._joint_space(two)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            blocks = make_label_pairs(joint.rows, joint.y, model._runs(joint), (0.5, 1.5))
        return [pairs.weight for pairs in blocks]

    for here, there in zip(weights(0.0), weights(offset), strict=True):
        np.testing.assert_array_equal(here, there)


def test_distances_within_a_domain_do_not_lose_digits_to_its_offset():
    X = np.random.default_rng(0).normal(size=(20, 3))
    rows = np.block([[X + 1e6, np.zeros((20, 2))], [np.zeros((5, 3)), np.ones((5, 2))]])
    pairs = Pairs(slice(0, 20), slice(0, 20), np.ones((20, 20)), np.ones((20, 20)), np.ones((20, 20)))
    exact = ((X[:, None] - X) ** 2).sum(axis=2).ravel()
    np.testing.assert_allclose(PairGraph((pairs,), 25).distances(rows), exact, rtol=1e-7, atol=1e-9)
