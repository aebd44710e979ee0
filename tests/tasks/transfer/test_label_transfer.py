"""LabelTransfer: names for classes nobody labelled, the source only where it helps, and an honest sentence."""

from copy import copy
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from conftest import make_domains, one_sentence
from isthmus import InputError, LabelTransfer
from isthmus.data.datasets import load_digits
from isthmus.estimators.controls import SelfTrainedLDA, make_noise_source, permute_source, relabel_source
from isthmus.evidence.held_out import Answer
from isthmus.evidence.scores import accuracy


def transfer(**parameters):
    """LabelTransfer without reruns for calibration, which have tests of their own and triple the time of a fit."""
    return LabelTransfer(calibrate=False, **parameters)


def views(seed=0, n_classes=8, n_source=160, n_target=240, per_class=3, hidden=4, noise=0.6, objects=None):
    """Classes of one hidden geometry seen by two sets of features; labels of some classes are hidden."""
    rng = np.random.default_rng(seed)
    means = 1.5 * rng.normal(size=(n_classes, 6))
    maps = rng.normal(size=(6, 20)), rng.normal(size=(6, 30))
    ys, y = np.arange(n_source) % n_classes, np.arange(n_target) % n_classes
    hidden_rows = [means[c] + noise * rng.normal(size=(len(c), 6)) for c in (ys, y)]
    Xs, Xt = (np.tanh(H @ W / 4) for H, W in zip(hidden_rows, maps, strict=True))
    yt = np.full(n_target, -1)
    for c in range(n_classes - hidden):
        yt[np.flatnonzero(y == c)[:per_class]] = c
    return Xs, ys, Xt, yt, y


@pytest.fixture(scope="module")
def digits():
    """The front page: labels of five digits hidden."""
    d = load_digits(3, random_state=100)
    known = np.sort(np.random.default_rng(100).permutation(10)[:5])
    return d, np.where(np.isin(d.y_target, known), d.y_target, -1)


@pytest.fixture(scope="module")
def named(digits):
    d, y = digits
    return transfer().fit(d.X_source, d.y_source, d.X_target, y)


def test_classes_that_nobody_labelled_are_named(digits, named):
    d, y = digits
    assert named.score(d.X_test, d.y_test) > 0.85
    assert SelfTrainedLDA().fit(d.X_source, d.y_source, d.X_target, y).score(d.X_test, d.y_test) < 0.5
    assert set(named.unlabelled_classes_) == set(range(10)) - set(y[y >= 0])
    assert named.source_used_
    assert named.evidence_["agreement"] > 0.6
    assert sum(named.weights_.values()) == pytest.approx(1.0)
    assert {"zero-shot", "mlhd, rotated", "clusters"} <= set(named.weights_)


@pytest.mark.parametrize("corrupt", [make_noise_source, relabel_source])
@pytest.mark.slow
def test_a_corrupted_source_names_no_better_than_chance(digits, named, corrupt):
    d, y = digits
    model = transfer().fit(*corrupt(d.X_source, d.y_source, np.random.default_rng(0)), d.X_target, y)
    assert 0.35 < accuracy(d.y_test, model.predict(d.X_test).astype(int)) < 0.7
    assert model.evidence_.get("agreement", 0.0) < named.evidence_["agreement"]
    assert model.answer_.ok is not True  # not used, or names to be checked


def test_the_answer_is_one_sentence_with_its_evidence(digits, named):
    for model in (named, transfer().fit(*make_domains().args)):
        answer = model.answer_
        assert isinstance(answer, Answer)
        assert str(answer) == answer.sentence == model.verdict_
        assert answer.sentence.startswith("The source ")
        assert answer.sentence.endswith(".")
        assert "\n" not in answer.sentence
        assert (answer.ok is not False) == model.source_used_
        assert answer.evidence == model.evidence_
    assert named.answer_.ok
    assert f"z = {named.evidence_['relabellings']:.1f} against random relabellings)" in named.verdict_


@pytest.mark.slow
def test_it_is_deterministic_and_new_rows_do_not_depend_on_each_other(digits, named):
    d, y = digits
    again = clone(named).fit(d.X_source, d.y_source, d.X_target, y)
    np.testing.assert_array_equal(again.predict_proba(d.X_test), named.predict_proba(d.X_test))
    np.testing.assert_allclose(named.predict_proba(d.X_test[:5]), named.predict_proba(d.X_test)[:5], atol=1e-12)


def test_probabilities_and_points(digits, named):
    d, _ = digits
    P = named.predict_proba(d.X_test)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(named.predict(d.X_test), named.classes_[P.argmax(axis=1)])
    np.testing.assert_allclose(np.linalg.norm(named.transform(d.X_test), axis=1), 1.0)
    distances, rows = named.kneighbors(d.X_test, 7)
    assert (np.diff(distances, axis=1) >= -1e-12).all()
    # Neighbours are found by class: most of them are of the class that is predicted.
    assert np.mean(d.y_source[rows] == named.predict(d.X_test)[:, None]) > 0.9
    assert named.score(d.X_source, d.y_source, "source") > 0.9


@pytest.mark.slow
def test_calibration_keeps_the_classes_and_brings_confidence_nearer_to_accuracy(digits, named):
    d, y = digits
    calibrated = LabelTransfer().fit(d.X_source, d.y_source, d.X_target, y)
    P, raw = calibrated.predict_proba(d.X_test), named.predict_proba(d.X_test)
    np.testing.assert_array_equal(P.argmax(axis=1), raw.argmax(axis=1))
    accuracy_ = (P.argmax(axis=1) == d.y_test).mean()
    assert abs(P.max(axis=1).mean() - accuracy_) < abs(raw.max(axis=1).mean() - accuracy_)
    hit = P.argmax(axis=1) == d.y_test
    # Rows of which it is surer are more often right, and its mean confidence is near its accuracy.
    order = np.argsort(P.max(axis=1))
    assert hit[order[-400:]].mean() > hit[order[:400]].mean() + 0.05
    assert abs(P.max(axis=1).mean() - hit.mean()) < 0.12


@cache
def unsure(words):
    """A model of noisy rows that rejects some, with its rows, its labels, and the names of its classes."""
    Xs, ys, Xt, yt, _ = views(noise=1.5)
    names = np.array([f"class {c}" for c in range(8)]) if words else np.arange(8)
    labels = [names[c] if c >= 0 else None for c in yt]
    return transfer(reject_below=0.5).fit(Xs, names[ys], Xt, labels), Xt, yt, labels, names


@pytest.mark.parametrize(("words", "mark"), [(False, -1), (True, None)])
def test_unsure_rows_are_rejected(words, mark):
    model, Xt, *_ = unsure(words)
    predicted, sure = model.predict(Xt), model.predict_proba(Xt).max(axis=1) >= 0.5
    assert 0 < sure.sum() < len(sure)
    assert all(value == mark for value in predicted[~sure])
    others = copy(model).set_params(reject_below=None)
    np.testing.assert_array_equal(predicted[sure], others.predict(Xt)[sure])


@pytest.mark.parametrize("words", [False, True])
def test_labels_are_assigned_with_their_runner_up(words):
    model, Xt, yt, labels, names = unsure(words)
    found, P = model.assign_labels(Xt, labels), model.predict_proba(Xt)
    given = yt >= 0
    np.testing.assert_array_equal(found.given, given)
    np.testing.assert_array_equal(found.labels[given], names[yt[given]])
    np.testing.assert_array_equal(found.labels[~given], model.predict(Xt)[~given])
    rejected = ~given & (P.max(axis=1) < 0.5)
    np.testing.assert_array_equal(np.isnan(found.probability), rejected)
    assert found.n_rejected == rejected.sum()
    assert f"except {rejected.sum()} below" in found.sentence
    # The runner-up is the best class but for the assigned one; of rejected rows it is the best.
    np.testing.assert_array_equal(found.runner_up_probability[rejected], P.max(axis=1)[rejected])
    sure = ~given & ~rejected
    np.testing.assert_allclose(found.runner_up_probability[sure], np.sort(P[sure], axis=1)[:, -2])
    assert (found.runner_up[~rejected] != found.labels[~rejected]).all()
    assert not model.assign_labels(Xt).given.any()
    with pytest.raises(InputError, match=r"y: expected shape \(240,\) to match X"):
        model.assign_labels(Xt, labels[:5])


@pytest.mark.slow
def test_every_class_labelled_a_useless_source_leaves_the_target_alone():
    Xs, ys, Xt, yt, y = views(hidden=0, n_source=120, n_target=160)
    true = transfer().fit(Xs, ys, Xt, yt)
    assert true.source_used_
    spoilt = [permute_source(Xs, ys, np.random.default_rng(k)) for k in range(2)]
    models = [transfer().fit(X, labels.astype(int), Xt, yt) for X, labels in spoilt]
    assert not any(model.source_used_ for model in models)
    # The target alone knows nothing of the source, so that both are one rule.
    np.testing.assert_array_equal(models[0].predict_proba(Xt), models[1].predict_proba(Xt))
    assert true.score(Xt, y) >= models[0].score(Xt, y) - 0.02
    assert models[0].weights_ == {"target": 1.0}


def test_many_rows_with_soft_pairs():
    Xs, ys, Xt, yt, y = views(hidden=0, n_source=360, n_target=360, per_class=1, noise=0.9, seed=1)
    model = transfer().fit(Xs, ys, Xt, yt)
    renamed = transfer().fit(*relabel_source(Xs, ys, np.random.default_rng(0)), Xt, yt)
    assert model.source_used_
    assert "soft pairs" in model.weights_
    assert not renamed.source_used_
    assert model.score(Xt, y) > accuracy(y, renamed.predict(Xt).astype(int))


@pytest.mark.parametrize("hidden", [0, 3])
def test_classes_that_the_source_lacks_are_kept(hidden):
    Xs, ys, Xt, yt, y = views(hidden=hidden, n_source=160)
    kept = ys != 0
    model = transfer().fit(Xs[kept], ys[kept], Xt, yt)
    np.testing.assert_array_equal(model.classes_, np.arange(8))
    predicted = model.predict(Xt)
    assert np.mean(predicted[y == 0] == 0) > 0.8
    assert model.score(Xt, y) > 0.8
    np.testing.assert_allclose(model.predict_proba(Xs, "source")[:, 0], 0.0, atol=1e-12)


def test_labels_pass_through_pairs():
    rng = np.random.default_rng(0)
    H = rng.normal(size=(120, 5))
    y = (H[:, 0] > 0).astype(int) + 2 * (H[:, 1] > 0)
    A, B = H @ rng.normal(size=(5, 9)), H @ rng.normal(size=(5, 12))
    pairs = np.c_[np.arange(30), np.arange(30)]
    model = transfer().fit(A[:70], y[:70], np.vstack([B[:30], B[70:]]), None, pairs=pairs)
    assert model.score(B[70:], y[70:]) > 0.75
    with pytest.raises(InputError, match="y_source: expected at least one labelled row, got none among 70"):
        transfer().fit(A[:70], None, B[:40], None, pairs=pairs)


def test_pairs_are_a_start_of_naming():
    Xs, ys, Xt, yt, y = views()
    rows = np.flatnonzero(y == 0)[-4:]
    pairs = np.c_[np.flatnonzero(ys == 0)[:4], rows]
    model = transfer().fit(Xs, ys, Xt, yt, pairs=pairs)
    assert "pairs" in model.weights_
    assert model.score(Xt, y) > 0.75


def uneven(seed):
    """Rows of which a class is five times as frequent as another."""
    Xs, ys, Xt, yt, y = views(n_target=400, noise=0.9, seed=seed)
    kept = (np.random.default_rng(0).random(len(y)) < np.linspace(0.2, 1.0, 8)[y]) | (yt >= 0)
    return Xs, ys, Xt[kept], yt[kept], y[kept]


@pytest.mark.slow
def test_true_shares_help_where_classes_are_uneven():
    gains = []
    for seed in range(2):
        *rows, y = uneven(seed)
        true = np.bincount(y[rows[3] < 0], minlength=8)
        assumed, given_them = (transfer(shares=shares).fit(*rows) for shares in ("uniform", true))
        np.testing.assert_allclose(given_them.shares_, true / true.sum())
        np.testing.assert_allclose(assumed.shares_, 1 / 8)
        gains.append(given_them.score(rows[2], y) - assumed.score(rows[2], y))
    assert np.mean(gains) > 0.1


def test_unequal_shares_are_estimated_where_labels_show_them():
    Xs, ys, Xt, _, y = views(n_target=400, noise=0.9, hidden=0)
    kept = np.random.default_rng(0).random(len(y)) < np.linspace(0.2, 1.0, 8)[y]
    Xt, y = Xt[kept], y[kept]
    first = np.concatenate([np.flatnonzero(y == c)[:6] for c in range(8)])
    yt = np.where(np.isin(np.arange(len(y)), first), y, -1)
    true = np.bincount(y[yt < 0], minlength=8) / (yt < 0).sum()
    found, equal = (transfer(shares=shares).fit(Xs, ys, Xt, yt) for shares in ("labelled", "uniform"))
    assert np.abs(found.shares_ - true).sum() < 0.8 * np.abs(equal.shares_ - true).sum()
    assert found.score(Xt, y) > equal.score(Xt, y)


def test_no_unlabelled_row_leaves_discriminants_of_the_labelled():
    Xs, ys, Xt, _, y = views(hidden=0)
    model = transfer().fit(Xs, ys, Xt, y)
    assert not model.source_used_
    assert "nothing to transfer" in model.verdict_
    assert model.score(Xt, y) > 0.9
    few = y < 3
    assert set(transfer().fit(Xs, ys, Xt[few], y[few]).predict(Xt)) == {0, 1, 2}  # no row is of another class


def test_sparse_rows_and_frames_of_words():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 4
    X = sp.csr_matrix(rng.poisson(0.2 + 2.0 * (np.arange(60) % 4 == y[:, None])))
    model = transfer().fit(X[:60], y[:60], X[60:, ::-1], np.where(np.arange(60) < 8, y[60:], -1))
    assert model.score(X[60:, ::-1], y[60:]) > 0.9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"shares": "equal"}, "shares: expected one of 'auto', 'uniform', 'source', 'labelled', got 'equal'"),
        ({"shares": [0.5, -0.5]}, "shares: expected a share of at least 0 per class, not all 0, got"),
        ({"shares": [1.0, 1.0]}, "shares: expected a share for each of 3 classes, got 2"),
        ({"reject_below": 1.5}, "reject_below: expected a number of at least 0 and at most 1, got 1.5"),
        ({"n_neighbors": 0}, "n_neighbors: expected a whole number of at least 1, got 0"),
        ({"random_state": "today"}, "random_state: expected None, a whole number"),
        ({"progress": "yes"}, "progress: expected True, False or a function, got 'yes'"),
    ],
)
def test_wrong_parameters_get_one_sentence(domains, parameters, message):
    model = transfer(**parameters)
    before = set(vars(model))
    with pytest.raises(InputError, match=message) as caught:
        model.fit(*domains.args)
    assert one_sentence(caught)
    assert set(vars(model)) == before


def test_one_class_is_no_question(domains):
    Xs, _, Xt, _ = domains.args
    with pytest.raises(InputError, match="y_source: expected at least two classes, got 1"):
        transfer().fit(Xs, np.zeros(len(Xs)), Xt, np.where(np.arange(len(Xt)) < 3, 0, -1))


@pytest.mark.slow
@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(2, 5),
    n_source=st.integers(5, 30),
    n_target=st.integers(4, 25),
    n_labelled=st.integers(1, 4),
    columns=st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
@settings(max_examples=10)
def test_small_and_odd_problems_give_probabilities(seed, n_classes, n_source, n_target, n_labelled, columns):
    rng = np.random.default_rng(seed)
    Xs, Xt = rng.integers(-2, 3, (n_source, columns[0])), rng.integers(-2, 3, (n_target, columns[1]))
    ys, yt = np.arange(n_source) % n_classes, np.full(n_target, -1)
    yt[:n_labelled] = rng.integers(0, n_classes + 1, n_labelled)  # now and then a class that the source lacks
    model = transfer().fit(Xs + 0.0, ys, Xt + 0.0, yt)
    P = model.predict_proba(Xt + 0.0)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert model.verdict_.endswith(".")


def test_shares_of_the_source_are_used_where_only_they_are_borne_out_and_calibrated():
    """Four classes can't be certified by renamings; their unequal shares are the same in both domains."""
    rng = np.random.default_rng(100)
    y = np.repeat(np.arange(4), [40, 80, 120, 160])
    sides = []
    for d in (12, 15):
        centres = rng.normal(size=(4, d))
        sides.append(1.5 * centres[y] + rng.normal(size=(len(y), d)))
    few = np.where(np.isin(np.arange(len(y)) - np.searchsorted(y, y), range(4)), y, -1)
    model = transfer().fit(sides[0], y, sides[1], few)
    assert model.source_used_
    assert "shares" in model.verdict_
    np.testing.assert_allclose(model.shares_, [0.1, 0.2, 0.3, 0.4], atol=0.01)
    assert model.score(sides[1], y) > 0.8


def test_a_source_of_equal_rows_leaves_the_target_alone():
    d = make_domains(seed=3, n_source=30, n_target=40, n_labelled=9, d_source=4, d_target=5, shift=4.0)
    model = transfer().fit(np.ones_like(d.X_source), d.y_source, d.X_target, d.y_target)
    assert model.score(d.X_target, d.y_true) > 0.8
