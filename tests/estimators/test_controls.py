"""The controls: nothing of the source gets into the one kind, nothing true of it into the other."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from conftest import CANNOT_HOLD, make_domains
from isthmus import MLHD, InputError
from isthmus.data.splits import SemiSupervisedSplit
from isthmus.estimators.controls import (
    Corrupted,
    SelfTrainedLDA,
    TargetOnly,
    make_noise_source,
    permute_source,
    relabel_source,
)
from isthmus.geometry.discriminants import SoftLDA, balance, oas_shrinkage

TARGET_ONLY = {
    "1-NN": TargetOnly(),
    "linear SVM": TargetOnly(LinearSVC()),
    "label spreading": TargetOnly(LabelSpreading(gamma=0.1)),
    "self-trained LDA": SelfTrainedLDA(),
}
KINDS = {"noise": make_noise_source, "permuted": permute_source, "renamed": relabel_source}


def elongated(seed=0, n_classes=4, d=12):
    """Classes that are long in common directions, so that the nearest labelled row is a poor guide; one label each."""
    rng = np.random.default_rng(seed)
    y = np.arange(60 * n_classes) % n_classes
    X = rng.normal(size=(len(y), d)) + 4.0 * rng.normal(size=(n_classes, d))[y]
    X[:, :2] = 12.0 * rng.normal(size=(len(y), 2))
    train, test = slice(0, 30 * n_classes), slice(30 * n_classes, None)
    y_target = np.where(np.arange(30 * n_classes) < n_classes, y[train], -1)
    return (X[train], np.arange(n_classes)), (X[train], y_target), (X[test], y[test])


# ------------------------------------------------------------------------------------------- the target alone


@pytest.mark.parametrize("control", TARGET_ONLY.values(), ids=TARGET_ONLY)
def test_the_source_gives_its_classes_and_nothing_else(domains, control):
    expected = control.fit(*domains.args).predict(domains.X_target)
    other = np.random.default_rng(1).normal(size=(3, 2)) * 1e6
    refit = clone(control).fit(other, [2, 1, 0], domains.X_target, domains.y_target)
    np.testing.assert_array_equal(refit.predict(domains.X_target), expected)
    with pytest.raises(InputError, match=r"domain: expected 'target'.*got 'source'\."):
        refit.predict(other, domain="source")


def test_target_only_is_the_classifier_itself(domains):
    known = domains.y_target >= 0
    control = TargetOnly(KNeighborsClassifier(3)).fit(*domains.args)
    alone = KNeighborsClassifier(3).fit(domains.X_target[known], domains.y_target[known])
    np.testing.assert_array_equal(control.predict(domains.X_target), alone.predict(domains.X_target))
    np.testing.assert_array_equal(control.transform(domains.X_target), domains.X_target)
    assert not hasattr(control.classifier, "n_samples_fit_")


@pytest.mark.parametrize(
    ("classifier", "n"),
    [
        (KNeighborsClassifier(1), 6),
        (LabelSpreading(), 20),
        (LabelPropagation(), 20),
        (SelfTrainingClassifier(KNeighborsClassifier(1)), 20),
        (make_pipeline(StandardScaler(), LabelSpreading()), 20),
    ],
)
def test_unlabelled_rows_go_to_classifiers_that_take_the_mark(domains, classifier, n, monkeypatch):
    seen, fit = [], type(classifier).fit

    def recorded(self, X, y, **params):
        seen.append(np.asarray(y))
        return fit(self, X, y, **params)

    monkeypatch.setattr(type(classifier), "fit", recorded)
    TargetOnly(classifier).fit(*domains.args)
    np.testing.assert_array_equal(seen[0], domains.y_target if n == 20 else domains.y_target[:6])


@pytest.mark.parametrize("control", [TargetOnly(LinearSVC()), SelfTrainedLDA(), Corrupted(TargetOnly())])
def test_with_the_source_held_fixed_they_are_scikit_learn_classifiers(control):
    codes = np.arange(12) % 4
    done = check_estimator(
        control.given_source(np.eye(4)[codes], codes), expected_failed_checks=CANNOT_HOLD, on_fail=None, on_skip=None
    )
    assert not {c["check_name"]: c["exception"] for c in done if c["status"] == "failed"}


# ---------------------------------------------------------------------------------------- self-trained LDA


@given(
    seed=st.integers(0, 10_000), n=st.integers(4, 40), classes=st.integers(1, 5), scale=st.sampled_from([0.1, 1, 5])
)
def test_every_row_is_shared_out_and_every_class_gets_its_share(seed, n, classes, scale):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(classes, 5.0))
    P = balance(scale * rng.normal(size=(n, classes)), shares)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(P.sum(axis=0), n * shares, rtol=0.01)


def test_balancing_survives_scores_beyond_all_floats():
    P = balance(np.array([[0.0, -1e6], [0.0, -1e5], [1e9, 0.0]]), np.array([0.5, 0.5]))
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_hard_weights_give_scikit_learns_lda():
    X, y = make_blobs(90, 4, centers=3, cluster_std=3.0, random_state=0)
    Z = (X - X.mean(axis=0)) * [1.0, 4.0, 0.5, 1.0]
    ours = SoftLDA.of(Z, np.eye(3)[y]).scores(Z)
    within = Z - np.stack([Z[y == c].mean(axis=0) for c in range(3)])[y]
    shrinkage = oas_shrinkage(within.T @ within / 90, 90)
    assert 0.0 < shrinkage < 1.0
    theirs = LinearDiscriminantAnalysis(solver="lsqr", priors=np.full(3, 1 / 3))
    theirs.covariance_estimator = _Pooled(shrinkage)
    np.testing.assert_array_equal(ours.argmax(axis=1), theirs.fit(Z, y).predict(Z))


class _Pooled:
    """Every class's covariance with a given weight of the scaled identity, as scikit-learn pools them."""

    def __init__(self, shrinkage):
        self.shrinkage = shrinkage

    def fit(self, X):
        S = np.cov(X.T, bias=True)
        self.covariance_ = (1 - self.shrinkage) * S + self.shrinkage * np.trace(S) / len(S) * np.eye(len(S))
        return self


def test_self_training_beats_the_nearest_labelled_row_where_there_is_structure():
    gains = []
    for seed in range(10):
        source, target, test = elongated(seed)
        nearest, trained = (
            c.fit(*source_rows(source), *target).score(*test) for c in (TargetOnly(), SelfTrainedLDA())
        )
        gains.append(trained - nearest)
    assert np.mean(gains) > 0.2
    assert np.mean(np.array(gains) > 0) >= 0.9


def source_rows(source):
    X, classes = source
    return X[: len(classes)], classes


def test_wide_sparse_rows_give_what_dense_rows_give():
    X = sp.random_array((60, 300), density=0.1, rng=np.random.default_rng(0), format="csr")
    y = np.where(np.arange(60) < 6, np.arange(60) % 3, -1)
    source = np.eye(3), [0, 1, 2]
    sparse, dense = (SelfTrainedLDA().fit(*source, rows, y) for rows in (X, X.toarray()))
    np.testing.assert_allclose(sparse.predict_proba(X), dense.predict_proba(X.toarray()), atol=1e-8)
    np.testing.assert_allclose(np.abs(sparse.transform(X)), np.abs(dense.transform(X.toarray())), atol=1e-8)


def test_rounds_teach_and_unlabelled_rows_matter():
    source, (T, y), test = elongated(3)
    known = y >= 0
    scores = {n: SelfTrainedLDA(n_rounds=n).fit(*source_rows(source), T, y).score(*test) for n in (1, 10)}
    alone = SelfTrainedLDA().fit(*source_rows(source), T[known], y[known]).score(*test)
    assert scores[10] >= scores[1]
    assert scores[10] > alone


def test_it_does_not_depend_on_the_order_of_rows_or_on_the_unit(domains):
    Xs, ys, Xt, yt = domains.args
    P = SelfTrainedLDA().fit(*domains.args).predict_proba(Xt)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    order = np.random.default_rng(0).permutation(len(yt))
    np.testing.assert_allclose(SelfTrainedLDA().fit(Xs, ys, Xt[order], yt[order]).predict_proba(Xt), P, atol=1e-8)
    np.testing.assert_allclose(SelfTrainedLDA().fit(Xs, ys, 1e6 * Xt, yt).predict_proba(1e6 * Xt), P, atol=1e-8)


DEGENERATE = {
    "constant rows": lambda d: (np.full((20, 7), 0.1), d.y_target),
    "zero rows": lambda d: (0 * d.X_target, d.y_target),
    "one column": lambda d: (d.X_target[:, :1], d.y_target),
    "rows at their class means": lambda d: (np.eye(3, 7)[d.y_true], d.y_target),
    "no unlabelled row": lambda d: (d.X_target, d.y_true),
    "one labelled row": lambda d: (d.X_target, np.where(np.arange(20) < 1, d.y_true, -1)),
    "one row": lambda d: (d.X_target[:1], d.y_target[:1]),
    "a class without labelled rows": lambda d: (d.X_target, np.where(d.y_target == 1, -1, d.y_target)),
    "single precision": lambda d: (d.X_target.astype(np.float32), d.y_target),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_targets(domains, case):
    X, y = DEGENERATE[case](domains)
    for store in (np.asarray, sp.csr_array):
        lda = SelfTrainedLDA().fit(domains.X_source, domains.y_source, store(X), y)
        P = lda.predict_proba(store(X))
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        assert set(lda.predict(store(X))) <= set(y)


# ---------------------------------------------------------------------------------------- corrupted sources


@given(seed=st.integers(0, 10_000), classes=st.integers(2, 7))
def test_no_class_keeps_its_name_and_groups_stay_together(seed, classes):
    y = np.array(list("abcdefg"))[np.arange(20) % classes]
    renamed = relabel_source(np.zeros((20, 2)), y, np.random.default_rng(seed))[1]
    assert not np.any(renamed == y)
    np.testing.assert_array_equal(renamed[:, None] == renamed, y[:, None] == y)
    assert set(renamed) == set(y)


def test_permuted_labels_keep_their_numbers(domains):
    y = np.repeat([0, 1, 2], [5, 10, 15])
    X, permuted = permute_source(domains.X_source, y, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(permuted), np.bincount(y))
    assert np.any(permuted != y)
    np.testing.assert_array_equal(X, domains.X_source)


@pytest.mark.parametrize("d", [3, 29, 50])
def test_noise_keeps_labels_mean_and_covariance_but_not_the_classes(d):
    data = make_domains(d_source=d, shift=5.0)
    X, y = make_noise_source(data.X_source, data.y_source, np.random.default_rng(0))
    np.testing.assert_array_equal(y, data.y_source)
    np.testing.assert_allclose(X.mean(axis=0), data.X_source.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(X.T @ X, data.X_source.T @ data.X_source, atol=1e-8)
    held_out = [KNeighborsClassifier(1).fit(R[:15], y[:15]).score(R[15:], y[15:]) for R in (data.X_source, X)]
    assert held_out[0] > 0.8
    assert held_out[1] < 0.7


def test_noise_of_sparse_rows_keeps_every_columns_entries():
    S = sp.random_array((40, 30), density=0.1, rng=np.random.default_rng(0), format="csr")
    X, _ = make_noise_source(S, np.arange(40) % 4, np.random.default_rng(0))
    assert X.format == "csr"
    assert X.shape == S.shape
    assert X.nnz == S.nnz
    np.testing.assert_array_equal(np.sort(X.toarray(), axis=0), np.sort(S.toarray(), axis=0))
    assert (X != S).nnz > 0


@pytest.mark.parametrize("kind", KINDS)
def test_corrupted_is_the_system_on_the_corrupted_source(domains, kind):
    Xs, ys, Xt, yt = domains.args
    corrupted = Corrupted(MLHD(), kind, random_state=3).fit(*domains.args)
    direct = MLHD().fit(*KINDS[kind](Xs, ys, np.random.default_rng(3)), Xt, yt)
    np.testing.assert_array_equal(corrupted.predict(Xt), direct.predict(Xt))
    np.testing.assert_array_equal(corrupted.transform(Xs, "source"), direct.transform(Xs, "source"))
    assert corrupted.score(Xt, domains.y_true) == direct.score(Xt, domains.y_true)
    assert len(corrupted.get_feature_names_out()) == direct.transform(Xt).shape[1]
    assert not hasattr(corrupted.estimator, "common_space_"), "the given estimator stays unfitted"


@pytest.mark.parametrize("kind", KINDS)
def test_corrupted_clones_pickles_and_takes_a_fixed_source(domains, kind):
    corrupted = Corrupted(MLHD(alignment_weight=2.0), kind, random_state=0).fit(*domains.args)
    thawed, again = pickle.loads(pickle.dumps(corrupted)), clone(corrupted).fit(*domains.args)
    for other in (thawed, again):
        np.testing.assert_array_equal(other.predict(domains.X_target), corrupted.predict(domains.X_target))
    assert corrupted.get_params()["estimator__alignment_weight"] == 2.0
    over_target = corrupted.given_source(domains.X_source, domains.y_source).fit(domains.X_target, domains.y_target)
    np.testing.assert_array_equal(over_target.predict(domains.X_target), corrupted.predict(domains.X_target))


def test_a_number_repeats_itself_and_none_and_generators_move_on(domains):
    def spaces(random_state):
        corrupted = Corrupted(MLHD(), "noise", random_state=random_state)
        return [corrupted.fit(*domains.args).transform(domains.X_source, "source") for _ in range(2)]

    np.testing.assert_array_equal(*spaces(0))
    for moving in (None, np.random.default_rng(0)):
        first, second = spaces(moving)
        assert not np.allclose(first, second)
    np.testing.assert_array_equal(spaces(np.random.default_rng(5))[1], spaces(np.random.default_rng(5))[1])


@pytest.mark.parametrize("kind", KINDS)
def test_corrupting_leaves_the_source_alone(domains, kind):
    for X in (domains.X_source, sp.csr_array(domains.X_source)):
        before, labels = X.copy(), domains.y_source.copy()
        Corrupted(MLHD(), kind, random_state=0).fit(X, domains.y_source, domains.X_target, domains.y_target)
        assert abs(X - before).sum() == 0
        np.testing.assert_array_equal(domains.y_source, labels)


@pytest.mark.parametrize("kind", KINDS)
def test_controls_do_not_notice_a_corrupted_source(domains, kind):
    corrupted = Corrupted(SelfTrainedLDA(), kind).fit(*domains.args)
    np.testing.assert_array_equal(
        corrupted.predict(domains.X_target), SelfTrainedLDA().fit(*domains.args).predict(domains.X_target)
    )


# -------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("system", "name"),
    [
        (TargetOnly("1-NN"), "classifier"),
        (SelfTrainedLDA(()), "components"),
        (SelfTrainedLDA((2, 0)), "components"),
        (SelfTrainedLDA(3), "components"),
        (SelfTrainedLDA(n_rounds=0), "n_rounds"),
        (Corrupted(MLHD(), "lost"), "kind"),
        (Corrupted(KNeighborsClassifier()), "estimator"),
        (Corrupted(MLHD(), random_state="today"), "random_state"),
        (Corrupted(MLHD(), random_state=-1), "random_state"),
    ],
)
def test_a_bad_parameter_is_told_in_one_sentence(domains, system, name):
    with pytest.raises(InputError, match=rf"^{name}: expected [^\n]*, got [^\n]*\.$"):
        system.fit(*domains.args)
    assert not [key for key in vars(system) if key.endswith("_")]


@pytest.mark.parametrize("system", [TargetOnly(), SelfTrainedLDA(), Corrupted(MLHD()), Corrupted(MLHD(), "renamed")])
def test_bad_data_are_told_in_one_sentence(domains, system):
    Xs, ys, Xt, yt = domains.args
    for args, name in [
        ((Xs, ys[:-1], Xt, yt), "y_source"),
        ((Xs, np.where(ys == 1, -1, ys), Xt, yt), "y_source"),
        ((Xs * np.nan, ys, Xt, yt), "X_source"),
        ((Xs, ys, Xt, np.full(20, -1)), "y_target"),
        ((Xs, ys, Xt, np.full(20, 9)), "y_target"),
    ]:
        with pytest.raises(InputError, match=rf"^{name}: expected [^\n]*\.$"):
            clone(system).fit(*args)


def test_one_class_cannot_be_renamed(domains):
    with pytest.raises(InputError, match=r"^y_source: expected at least two classes to rename, got 1\.$"):
        relabel_source(domains.X_source, 0 * domains.y_source, np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["noise", "permuted", "renamed"])
def test_a_corrupted_system_still_tells_that_its_target_is_a_gram_matrix(domains, kind):
    """scikit-learn cuts rows and columns of a precomputed target only if it is told."""
    system = Corrupted(MLHD(target_kernel="precomputed"), kind, random_state=0)
    over_target = system.given_source(domains.X_source, domains.y_source)
    assert over_target.__sklearn_tags__().input_tags.pairwise
    K = domains.X_target @ domains.X_target.T
    scores = cross_val_score(over_target, K, domains.y_target, cv=SemiSupervisedSplit(2), error_score="raise")
    assert np.isfinite(scores).all()
    assert not Corrupted(MLHD()).given_source(*domains.args[:2]).__sklearn_tags__().input_tags.pairwise
