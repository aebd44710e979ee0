"""TLRisk: the translated classes are those of the dense table, and nothing else of the contract is lost."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cosine
from scipy.special import rel_entr
from sklearn.base import clone

from conftest import one_sentence
from isthmus import InputError, KnownPairs, TLRisk, systems


def counts(seed=0, n=40, d_source=9, d_target=7):
    """Rows of counts whose three classes prefer other words, and which are the same objects in both domains."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X, Y = (rng.poisson(rng.gamma(0.5, 2.0, size=(3, d))[y]) for d in (d_source, d_target))
    return X.astype(float), y, Y.astype(float)


X, y, Y = counts()


def dense_classes(X, y, Y, pairs, weights, C=3):
    """θ through the whole table p(f_t | f_s), (d_s, d_t)."""
    A, B = X[pairs[:, 0]], Y[pairs[:, 1]]
    joint = sum(w * np.outer(a, b) for w, a, b in zip(weights, A, B, strict=True))
    seen = joint.sum(axis=1) > 0
    table = np.where(seen[:, None], joint / np.where(seen, joint.sum(axis=1), 1.0)[:, None], 0.0)
    theta = []
    for c in range(C):
        p = X[y == c].sum(axis=0) / X[y == c].sum()
        theta.append(p @ table / (p @ table).sum())
    return np.array(theta)


@given(st.integers(0, 10_000))
def test_classes_are_those_of_the_dense_table(seed):
    X, y, Y = counts(seed)
    rng = np.random.default_rng(seed)
    pairs = np.c_[rng.permutation(40)[:15], rng.permutation(40)[:15]]
    weights = rng.uniform(0.5, 2.0, 15)
    model = TLRisk().fit(X, y, Y, None, pairs=KnownPairs(pairs, weights))
    np.testing.assert_allclose(model.class_models_, dense_classes(X, y, Y, pairs, weights), atol=1e-12)


@pytest.mark.parametrize("measure", ["cosine", "kl", "pearson"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_measures_are_those_of_scipy(measure, kind):
    model = TLRisk(measure).fit(kind(X), y, kind(Y), None, pairs="rows")
    smooth = (1 - 1e-3) * model.class_models_ + 1e-3 / Y.shape[1]
    by_hand = {
        "cosine": lambda row, c: 1.0 - cosine(row, model.class_models_[c]),
        "pearson": lambda row, c: np.corrcoef(row, model.class_models_[c])[0, 1],
        "kl": lambda row, c: -rel_entr(row / row.sum(), smooth[c]).sum(),
    }[measure]
    rows = Y[Y.sum(axis=1) > 0]
    expected = [[by_hand(row, c) for c in range(3)] for row in rows]
    np.testing.assert_allclose(model.decision_function(kind(rows)), expected, atol=1e-10)
    assert model.score(rows, y[Y.sum(axis=1) > 0]) > 0.6


def test_labelled_target_rows_have_their_weight_and_name_classes_of_their_own():
    own = np.where(np.arange(40) < 6, y, -1)
    theta = TLRisk().fit(X, y, Y, own, pairs="rows").class_models_
    target = np.array([Y[own == c].sum(axis=0) / Y[own == c].sum() for c in range(3)])
    mixed = TLRisk(target_weight=0.3).fit(X, y, Y, own, pairs="rows").class_models_
    np.testing.assert_allclose(mixed, 0.7 * theta + 0.3 * target, atol=1e-12)
    alone = TLRisk(target_weight=0.3).fit(X, np.where(y == 2, -1, y), Y, own, pairs="rows")
    np.testing.assert_allclose(alone.class_models_[2], target[2], atol=1e-12)
    never = TLRisk().fit(X, np.where(y == 2, -1, y), Y, own, pairs="rows")
    assert set(never.predict(Y)) == {0, 1}
    assert np.isfinite(never.transform(Y)).all()


def test_a_row_without_features_is_as_like_one_class_as_another():
    for measure in ("cosine", "kl", "pearson"):
        scores = TLRisk(measure).fit(X, y, Y, None, pairs="rows").transform(np.zeros((1, 7)))
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(scores, scores[0, 0])


def test_it_keeps_the_contract():
    words = np.array(["ant", "bee", "cat"])
    model = systems()["tlrisk"].make().fit(X, words[y], Y, None, pairs="rows")
    assert repr(clone(model)) == repr(systems()["tlrisk"].make())
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(thawed.predict(Y), words[TLRisk().fit(X, y, Y, None, pairs="rows").predict(Y)])
    order = np.random.default_rng(0).permutation(40)
    shuffled = TLRisk().fit(X[order], words[y][order], Y[order], None, pairs="rows")
    np.testing.assert_allclose(shuffled.transform(Y), model.transform(Y), atol=1e-12)
    assert model.transform(Y.astype(np.float32)).dtype == np.float32
    assert model.transform(Y).shape == (40, len(model.get_feature_names_out()))


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: TLRisk().fit(-X, y, Y, None, pairs="rows"), "X_source: expected features of at least 0, such as"),
        (
            lambda: TLRisk().fit(X, y, Y - 1.0, None, pairs="rows"),
            "X_target: expected features of at least 0, such as",
        ),
        (lambda: TLRisk().fit(X, None, Y, y, pairs="rows"), "y_source: expected labelled rows to translate"),
        (lambda: TLRisk().fit(X, y, Y, y), "pairs: expected known pairs of rows, as TLRisk learns from nothing else"),
        (
            lambda: TLRisk().fit(X, y, 0 * Y + np.eye(40, 7), None, pairs=[[0, 39]]),
            "pairs: expected features of labelled",
        ),
        (lambda: TLRisk("l2").fit(X, y, Y, None, pairs="rows"), "measure: expected one of 'cosine', 'kl', 'pearson'"),
        (lambda: TLRisk(target_weight=1.5).fit(X, y, Y, None, pairs="rows"), "target_weight: expected a number"),
        (lambda: TLRisk(smoothing=1.0).fit(X, y, Y, None, pairs="rows"), "smoothing: expected a number below 1"),
        (lambda: TLRisk().fit(X, y, Y, None, pairs="rows").predict(-Y), "X: expected features of at least 0"),
        (
            lambda: TLRisk().fit(X, y, Y, None, pairs="rows").predict(X, "source"),
            "domain: expected 'target', the only domain that TLRisk predicts",
        ),
    ],
)
def test_bad_input_is_one_sentence(fit, message):
    with pytest.raises(InputError, match=message) as caught:
        fit()
    assert one_sentence(caught)
