"""Semantic matching: a similarity that is a probability, two rules that know nothing of each other, and its search."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from conftest import make_domains, one_sentence
from isthmus import CCA, MLHD, InputError, LabelTransfer, SemanticMatching, systems
from isthmus.data.datasets import load_digits
from isthmus.estimators.controls import SelfTrainedLDA
from isthmus.evidence.scores import precision_at_k
from isthmus.tasks.transfer.evidence import temper
from isthmus.tasks.transfer.semantic import correlate_first

D = make_domains(seed=3, n_source=45, n_target=40, n_labelled=12, d_source=6, d_target=4, shift=1.0)
ROWS = {"source": D.X_source, "target": D.X_target}
MODEL = SemanticMatching().fit(*D.args)
PAIRS = [(a, b) for a in ROWS for b in ROWS]


def test_it_is_the_product_of_two_rules_of_scikit_learn_and_the_controls_to_a_power():
    prepare = make_pipeline(StandardScaler(), Normalizer())
    p = LogisticRegression(C=10.0, max_iter=2000)
    p = make_pipeline(prepare, p).fit(D.X_source, D.y_source).predict_proba(D.X_source)
    q = SelfTrainedLDA(target_transformer=make_pipeline(StandardScaler(), Normalizer())).fit(*D.args)
    p, q = temper(p, MODEL.powers_["source"]), temper(q.predict_proba(D.X_target), MODEL.powers_["target"])
    np.testing.assert_allclose(MODEL.pairwise_similarities(D.X_source, D.X_target), p @ q.T, atol=1e-9)


@pytest.mark.parametrize("domains", PAIRS)
def test_a_similarity_is_a_probability_and_symmetric(domains):
    S = MODEL.pairwise_similarities(ROWS[domains[0]], ROWS[domains[1]], domains)
    assert S.min() >= 0.0
    assert S.max() <= 1.0 + 1e-12
    np.testing.assert_allclose(S, MODEL.pairwise_similarities(ROWS[domains[1]], ROWS[domains[0]], domains[::-1]).T)


def test_points_are_probabilities_of_the_classes():
    for domain, rows in ROWS.items():
        P = MODEL.transform(rows, domain)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        np.testing.assert_array_equal(MODEL.predict_proba(rows, domain), P)
        np.testing.assert_array_equal(MODEL.predict(rows, domain), P.argmax(axis=1))


def test_it_says_that_it_is_no_metric():
    assert not hasattr(MODEL, "pairwise_distances")
    assert not hasattr(MODEL, "pair_distance")
    assert systems()["semantic"].learns == "similarity"


def test_search_is_the_sorted_table_and_kneighbors_is_search_among_the_source_rows():
    S = MODEL.pairwise_similarities(D.X_target, D.X_source, ("target", "source"))
    scores, numbers = MODEL.search(D.X_target, D.X_source, 5)
    np.testing.assert_allclose(scores, -np.sort(-S, axis=1)[:, :5])
    np.testing.assert_allclose(np.take_along_axis(S, numbers, axis=1), scores)
    for found, expected in zip(MODEL.kneighbors(D.X_target, 5), (scores, numbers), strict=True):
        np.testing.assert_allclose(found, expected)
    assert MODEL.kneighbors(D.X_target)[0].shape == (40, 10)
    assert MODEL.search(D.X_source, D.X_target, 3, ("source", "target"))[1].max() < 40


def test_the_source_does_not_change_the_rule_of_the_target_nor_the_target_that_of_the_source():
    other = make_domains(seed=9, n_source=45, n_target=40, n_labelled=12, d_source=6, d_target=4)
    source = SemanticMatching().fit(*other.args[:2], *D.args[2:])
    np.testing.assert_array_equal(source.transform(D.X_target), MODEL.transform(D.X_target))
    target = SemanticMatching().fit(*D.args[:2], *other.args[2:])
    np.testing.assert_array_equal(target.transform(D.X_source, "source"), MODEL.transform(D.X_source, "source"))


@pytest.mark.slow
@settings(max_examples=15)
@given(st.integers(0, 1000), st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
def test_units_of_dense_columns_do_not_matter(seed, scale, shift):
    rng = np.random.default_rng(seed)
    units = [scale ** rng.normal(size=X.shape[1]) for X in ROWS.values()]
    model = SemanticMatching().fit(
        D.X_source * units[0] + shift, D.y_source, D.X_target * units[1] + shift, D.y_target
    )
    plain = MODEL
    for (domain, rows), unit in zip(ROWS.items(), units, strict=True):
        np.testing.assert_allclose(
            model.transform(rows * unit + shift, domain), plain.transform(rows, domain), atol=2e-3
        )


def test_calibrated_probabilities_are_truer_on_new_rows():
    d = load_digits(3)
    model = SemanticMatching().fit(d.X_source, d.y_source, d.X_target, d.y_target)
    P = model.predict_proba(d.X_test)
    assert log_loss(d.y_test, P) < log_loss(d.y_test, temper(P, 1.0 / model.powers_["target"]))
    assert model.powers_["target"] < 1.0, "self-trained discriminants are too sure of themselves"


def test_with_one_label_per_class_the_target_is_not_calibrated():
    y = np.where(np.arange(40) < 3, D.y_true, -1)
    assert SemanticMatching().fit(D.X_source, D.y_source, D.X_target, y).powers_["target"] == 1.0


def test_it_finds_more_rows_of_the_class_than_mlhd_on_digits():
    d = load_digits(3)
    args = d.X_source, d.y_source, d.X_target, d.y_target
    S = SemanticMatching().fit(*args).pairwise_similarities(d.X_test, d.X_source, ("target", "source"))
    distances = MLHD().fit(*args).pairwise_distances(d.X_test, d.X_source, ("target", "source"))
    found = [precision_at_k(table, d.y_test, d.y_source, 10) for table in (-S, distances)]
    assert found[0] > found[1] + 0.05


def test_classes_without_a_target_label_are_named_and_never_found_by_the_default_rule():
    y = np.where(D.y_target == 2, -1, D.y_target)
    model = SemanticMatching().fit(D.X_source, D.y_source, D.X_target, y)
    np.testing.assert_array_equal(model.unlabelled_classes_, [2])
    assert model.transform(D.X_target)[:, 2].max() == 0.0
    assert set(model.predict(D.X_source, "source")) == {0, 1, 2}


@pytest.mark.slow
def test_with_label_transfer_for_the_target_rule_classes_that_nobody_labelled_are_found():
    d = load_digits(3, n_source=100, n_target=200, random_state=100)
    half = np.where(d.y_target < 5, d.y_target, -1)
    args = d.X_source, d.y_source, d.X_target, half
    hidden = d.y_test >= 5
    found = []
    for rule in (None, LabelTransfer(calibrate=False)):
        model = SemanticMatching(target_rule=rule).fit(*args)
        numbers = model.kneighbors(d.X_test[hidden], 10)[1]
        found.append(np.mean(d.y_source[numbers] == d.y_test[hidden][:, None]))
    assert found[0] < 0.1
    assert found[1] > 0.6


def test_other_rules_can_be_given_and_are_left_alone():
    source, target = LinearDiscriminantAnalysis(), SelfTrainedLDA(components=(1,))
    model = SemanticMatching(source, target).fit(*D.args)
    assert not hasattr(source, "classes_")
    assert not hasattr(target, "classes_")
    own = SelfTrainedLDA(components=(1,)).fit(*D.args)
    np.testing.assert_array_equal(model.predict(D.X_target), own.predict(D.X_target))
    assert (model.predict(D.X_target) != MODEL.predict(D.X_target)).any()


def test_sparse_rows_of_many_columns_are_searched():
    y = np.arange(60) % 3
    noise = sp.random_array((60, 500), density=0.05, rng=np.random.default_rng(0), format="csr")
    X = sp.csr_array(noise + sp.csr_array(np.repeat(np.eye(3), 20, axis=1)[y] @ np.eye(60, 500)))
    labels = np.where(np.arange(60) < 9, y, -1)
    model = SemanticMatching().fit(X, y, X[:, ::-1], labels)
    assert np.mean(y[model.kneighbors(X[:, ::-1], 5)[1]] == y[:, None]) > 0.9


BAD = {
    "n_neighbors: expected a whole number of at least 1, got 0": {"n_neighbors": 0},
    "source_rule: expected a classifier with predict_proba, got LinearSVC": {"source_rule": LinearSVC()},
    "target_rule: expected a system with predict_proba, got LogisticReg": {"target_rule": LogisticRegression()},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_parameters_are_refused_in_one_sentence(message):
    with pytest.raises(InputError, match=message) as caught:
        SemanticMatching(**BAD[message]).fit(*D.args)
    assert one_sentence(caught)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("k: expected .*, got 99", lambda: MODEL.search(D.X_target, D.X_source, 99)),
        ("n_neighbors: expected .*, got 46", lambda: MODEL.kneighbors(D.X_target, 46)),
        ("domains: expected two names", lambda: MODEL.pairwise_similarities(D.X_target, D.X_source, "target")),
        ("y_source: expected at least two classes to tell apart, got 1",
         lambda: SemanticMatching().fit(D.X_source, np.zeros(45), D.X_target, np.zeros(40))),
    ],
)  # fmt: skip
def test_bad_questions_are_refused_in_one_sentence(message, call):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert one_sentence(caught)


def test_rules_in_a_common_space_are_semantic_correlation_matching():
    """Two views of the same rows, of which most columns are noise: pairs tell which columns are not."""
    rng = np.random.default_rng(0)
    H, y = rng.normal(size=(300, 4)), np.arange(300) % 4
    H[np.arange(300), y] += 2.5
    A, B = (np.hstack([H @ rng.normal(size=(4, 6)), rng.normal(size=(300, 60))]) for _ in range(2))
    labels = np.where(np.arange(200) < 20, y[:200], -1)
    cca = CCA().fit(A[:200], None, B[:200], None, pairs="rows")
    alone, common = SemanticMatching(), SemanticMatching(**correlate_first(cca))
    scores = []
    for model in (alone, common):
        model.fit(A[:200], y[:200], B[:200], labels)
        S = model.pairwise_similarities(A[200:], B[200:]).T
        scores.append(precision_at_k(-S, y[200:], y[200:], 10))
    assert scores[1] > scores[0] + 0.1
    again = clone(common).fit(A[:200], y[:200], B[:200], labels)
    np.testing.assert_array_equal(again.transform(B), common.transform(B))
