"""Pairs name target rows nobody labelled: experts count by held-out pairs, and shuffled pairs are noticed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from isthmus import LabelTransfer, load, save
from isthmus.data.domains import KnownPairs, TwoDomains
from isthmus.estimators.controls import shuffle_pairs
from isthmus.tasks.transfer.problem import AXES, Preparation, TransferRows
from isthmus.tasks.transfer.scoring import LinearRule
from isthmus.tasks.transfer.shared_evidence import (
    fit_weights,
    hold_out_pairs,
    measure_prediction_z,
    name_partners,
)
from isthmus.tasks.transfer.soft_pairs import UnitRows

N, P = 150, 40


def two_views(seed=0, n_classes=5):
    """Objects of some classes by two sets of features; the first 40 rows of both are the same objects."""
    rng = np.random.default_rng(seed)
    means, maps = rng.normal(size=(n_classes, 6)), (rng.normal(size=(6, 15)), rng.normal(size=(6, 20)))
    y = np.arange(2 * N - P) % n_classes
    H = means[y] + 0.5 * rng.normal(size=(len(y), 6))
    source, target = np.arange(N), np.r_[np.arange(P), np.arange(N, 2 * N - P)]
    pairs = np.repeat(np.arange(P), 2).reshape(-1, 2)
    return np.tanh(H[source] @ maps[0] / 4), y[source], np.tanh(H[target] @ maps[1] / 4), y[target], pairs


@pytest.fixture(scope="module")
def views():
    return two_views()


@pytest.fixture(scope="module")
def named(views):
    X, ys, Y, _, pairs = views
    return LabelTransfer().fit(X, ys, Y, None, pairs=pairs)


def transfer_rows(X, ys, Y, pairs):
    domains = TwoDomains.of(X, ys, Y, None, pairs, own_classes=True)
    both = [(Preparation.of(each.X, AXES), each.X) for each in (domains.source, domains.target)]
    Z = [preparation.coordinates(rows) for preparation, rows in both]
    prepared = tuple(preparation.prepare(rows) for preparation, rows in both)
    unknown = np.full(len(Y), -1)
    return TransferRows(Z[0], domains.source.y, Z[1], unknown, np.full(5, 0.2), prepared, domains.pairs)


def test_pairs_name_rows_that_nobody_labelled(views, named):
    _, ys, Y, yt, pairs = views
    svm = LinearRule.of(Y[:P], ys[pairs[:, 0]])
    assert named.score(Y[P:], yt[P:]) > 0.8
    assert named.score(Y[P:], yt[P:]) > np.mean(svm.scores(Y[P:]).argmax(axis=1) == yt[P:])
    assert named.answer_.ok is True
    assert sum(named.weights_.values()) == pytest.approx(1.0)
    np.testing.assert_array_equal(named.unlabelled_classes_, np.arange(5))


def test_a_model_that_learned_through_pairs_can_be_saved(views, named, tmp_path):
    save(named, tmp_path / "named.isthmus")
    again = load(tmp_path / "named.isthmus")
    np.testing.assert_array_equal(again.predict_proba(views[2]), named.predict_proba(views[2]))


def test_probabilities_are_as_sure_as_held_out_pairs(views, named):
    _, _, Y, yt, _ = views
    sure = named.predict_proba(Y[P:]).max(axis=1).mean()
    assert abs(sure - named.score(Y[P:], yt[P:])) < 0.2


def test_shuffled_pairs_are_noticed(views):
    X, ys, Y, _, pairs = views
    model = LabelTransfer().fit(X, ys, Y, None, pairs=shuffle_pairs(pairs, np.random.default_rng(0)))
    assert model.answer_.ok is False
    assert "held-out pairs are predicted no better than by chance" in model.verdict_
    np.testing.assert_allclose(model.predict_proba(Y), 0.2)


def test_partners_without_a_label_are_named_by_the_source(views):
    X, ys, Y, yt, pairs = views
    known = np.where(np.arange(N) < P, -1, ys)
    model = LabelTransfer().fit(X, known, Y, None, pairs=pairs)
    assert model.score(Y[P:], yt[P:]) > 0.75
    names = name_partners(transfer_rows(X, known, Y, pairs))
    assert np.mean(names == ys[:P]) > 0.8
    some = np.where(np.arange(N) < 5, ys, known)
    np.testing.assert_array_equal(name_partners(transfer_rows(X, some, Y, pairs))[:5], ys[:5])


def test_a_class_without_a_pair_is_named_too(views):
    X, ys, Y, yt, pairs = views
    model = LabelTransfer().fit(X, ys, Y, None, pairs=pairs[ys[pairs[:, 0]] != 0])
    predicted = model.predict(Y[P:])
    assert np.mean(predicted[yt[P:] == 0] == 0) > 0.5


def test_every_target_row_in_a_pair(views):
    X, ys, Y, _, pairs = views
    model = LabelTransfer().fit(X, ys, Y[:P], None, pairs=pairs)
    assert model.score(Y[:P], ys[:P]) > 0.8


def test_a_held_out_pair_has_no_partner_in_the_source(views):
    X, ys, Y, _, pairs = views
    rows = transfer_rows(X, ys, Y, pairs)
    names = name_partners(rows)
    terms, numbers = hold_out_pairs(rows, names)
    assert sorted(numbers.tolist()) == list(range(P))
    moved = rows.source.copy()
    moved[0] = moved[1]
    prepared = replace(
        rows.prepared[0], centred=np.vstack([rows.prepared[0].centred[1], rows.prepared[0].centred[1:]])
    )
    other, _ = hold_out_pairs(replace(rows, source=moved, prepared=(prepared, rows.prepared[1])), names)
    np.testing.assert_allclose(other[numbers == 0], terms[numbers == 0], atol=1e-9)
    assert not np.allclose(other, terms)


def test_known_partners_stay_together_in_a_sample():
    A, B, pairs = np.eye(9), np.eye(8), np.array([[2, 1], [7, 6]])
    sides = UnitRows(A, np.zeros(9, int), B, np.zeros(8, int), np.ones((8, 1)), pairs)
    part = sides.among(np.array([0, 2, 5, 7]), np.array([1, 3, 6]))
    np.testing.assert_array_equal(part.A[part.pairs[:, 0]], A[pairs[:, 0]])
    np.testing.assert_array_equal(part.B[part.pairs[:, 1]], B[pairs[:, 1]])


@given(st.integers(0, 50))
def test_an_expert_of_noise_gets_little_weight(seed):
    rng = np.random.default_rng(seed)
    names = rng.integers(0, 3, size=90)
    good = np.log(0.1 + 0.7 * np.eye(3)[np.where(rng.random(90) < 0.85, names, rng.integers(0, 3, size=90))])
    noise = np.log(0.1 + 0.7 * np.eye(3)[rng.integers(0, 3, size=90)])
    w = fit_weights(np.stack([good, noise], axis=1), names)
    assert w[0] > 0.5 > w[1] >= 0.0
    assert w[1] < 0.7 * w[0]


@settings(max_examples=15)
@given(st.integers(0, 200))
def test_the_deviation_is_that_of_permutations(seed):
    rng = np.random.default_rng(seed)
    terms, names = rng.normal(size=(25, 2, 3)), rng.integers(0, 3, size=25)
    L = log_softmax(terms.mean(axis=1), axis=1)
    sums = [L[np.arange(25), rng.permutation(names)].sum() for _ in range(2000)]
    z = (L[np.arange(25), names].sum() - np.mean(sums)) / np.std(sums)
    assert measure_prediction_z(terms, names) == pytest.approx(z, abs=0.1 + 0.1 * abs(z))
    assert measure_prediction_z(terms[:1], names[:1]) == measure_prediction_z(np.zeros((25, 2, 3)), names) == 0.0


def test_pairs_of_one_class_are_labels(views):
    X, ys, Y, _, pairs = views
    model = LabelTransfer(calibrate=False).fit(X, ys, Y, None, pairs=KnownPairs(pairs[ys[:P] == 1]))
    assert np.mean(model.predict(Y[:P])[ys[:P] == 1] == 1) > 0.8
