"""Scores against scikit-learn's and against their definitions; ties do not depend on the order of rows."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import accuracy_score, average_precision_score, confusion_matrix, precision_score, recall_score

from isthmus.evidence.scores import accuracy, foscttm, mean_average_precision, precision_at_k, score_classes
from isthmus.exceptions import InputError


@st.composite
def rankings(draw, kinds=20, most=12):
    """Queries, references and distances with few distinct values, so that there are ties."""
    n_q, n_r, seed = draw(st.integers(1, 5)), draw(st.integers(2, most)), draw(st.integers(0, 999))
    rng = np.random.default_rng(seed)
    y_r = rng.integers(0, 3, n_r)
    return rng.integers(0, kinds, (n_q, n_r)) / 4, rng.choice(y_r, n_q), y_r


@given(rankings(kinds=6))
def test_mean_average_precision_is_scikit_learns_ties_and_all(ranking):
    D, y_q, y_r = ranking
    oracle = np.mean([average_precision_score(y_r == y, -d) for d, y in zip(D, y_q, strict=True)])
    assert mean_average_precision(D, y_q, y_r) == pytest.approx(oracle, abs=1e-12)


@given(rankings(kinds=3, most=6), st.integers(1, 6))
def test_precision_at_k_is_the_mean_over_all_orders_of_ties(ranking, k):
    D, y_q, y_r = ranking
    k = min(k, len(y_r))
    found = [np.mean([np.mean(y_r[list(p)][np.argsort(d[list(p)], kind="stable")[:k]] == y) for p in permutations(range(len(y_r)))])
             for d, y in zip(D, y_q, strict=True)]  # fmt: skip
    assert precision_at_k(D, y_q, y_r, k) == pytest.approx(np.mean(found), abs=1e-12)


@given(rankings(), st.integers(0, 99))
def test_neither_the_order_of_rows_nor_the_unit_of_distance_matters(ranking, seed):
    D, y_q, y_r = ranking
    rng = np.random.default_rng(seed)
    q, r = rng.permutation(len(y_q)), rng.permutation(len(y_r))
    for score in (mean_average_precision, lambda *a: precision_at_k(*a, 2)):
        again = score(np.exp(D[np.ix_(q, r)]), y_q[q], y_r[r])
        assert again == pytest.approx(score(D, y_q, y_r), abs=1e-12)


def test_a_perfect_ranking_scores_one_and_a_constant_one_the_share_of_the_class():
    y_q, y_r = np.array([0, 1]), np.array([0, 0, 1, 1, 1])
    perfect = (y_q[:, None] != y_r).astype(float)
    assert mean_average_precision(perfect, y_q, y_r) == precision_at_k(perfect, y_q, y_r, 2) == 1
    for score in (mean_average_precision, lambda *a: precision_at_k(*a, 3)):
        assert score(np.zeros((2, 5)), y_q, y_r) == pytest.approx((2 / 5 + 3 / 5) / 2)


def test_queries_without_a_relevant_reference_are_left_out():
    D, y_r = np.array([[1.0, 2.0], [1.0, 2.0]]), ["a", "b"]
    assert mean_average_precision(D, ["b", "z"], y_r) == 0.5
    assert precision_at_k(D, ["a", "z"], y_r, 1) == 1.0
    with pytest.raises(InputError, match="y_references: expected the class of at least one query, got none of 2"):
        mean_average_precision(D, ["y", "z"], y_r)


def test_accuracy_is_scikit_learns():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, (2, 50))
    assert accuracy(a, b) == accuracy_score(a, b)
    words = np.array(["x", "y", "z"])
    assert accuracy(words[a], words.astype(object)[b]) == accuracy_score(a, b)
    assert accuracy(a.astype(float), b) == accuracy_score(a, b)


@pytest.mark.parametrize("none", [-1, None, np.nan])
def test_rows_without_a_label_do_not_count(none):
    assert accuracy([0, 1, none, 1], [0, 1, 1, 0]) == pytest.approx(2 / 3)
    D, y_r = np.array([[1.0, 2.0], [1.0, 2.0]]), [none, 1]
    assert mean_average_precision(D, [none, 1], y_r) == 0.5
    assert precision_at_k(D, [none, 1], y_r, 1) == 0.0


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        (["0", "1"], [0, 1], r"the predictions \(numbers\), got strings"),
        (np.array([0, 1]), np.array(["0", "1"]), r"the predictions \(strings\), got numbers"),
        (["x", 1], ["x", "1"], r"the predictions \(strings\), got numbers and strings"),
        (["1", None], [1, 1], r"the predictions \(numbers\), got strings"),
        ([-1, 7], ["a", "b"], r"the predictions \(strings\), got numbers"),
    ],
)
def test_labels_of_another_type_are_refused(true, predicted, message):
    with pytest.raises(InputError, match="y_true: expected labels of the same type as " + message):
        accuracy(true, predicted)


def test_arguments_are_left_as_they_were():
    D = np.random.default_rng(0).random((3, 5))
    before = D.copy()
    mean_average_precision(D, [0, 1, 0], [0, 1, 1, 0, 0])
    precision_at_k(D, [0, 1, 0], [0, 1, 1, 0, 0], 3)
    np.testing.assert_array_equal(D, before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: accuracy([0, 1], [0]), r"y_true: expected shape \(1,\) to match y_predicted, got \(2,\)"),
        (lambda: accuracy([], []), "y_true: expected at least one labelled row to score, got none among 0"),
        (lambda: accuracy([-1, None], [0, 1]), "y_true: expected at least one labelled row to score, got none among 2"),
        (lambda: mean_average_precision([[np.nan]], [0], [0]), "distances: expected finite numbers"),
        (lambda: mean_average_precision(csr_array([[1.0]]), [0], [0]), "distances: expected a dense array"),
        (lambda: mean_average_precision([[1.0, 2.0]], [0], [0]), r"y_references: expected shape \(2,\)"),
        (lambda: mean_average_precision([[1.0, 2.0]], [0, 1], [0, 1]), r"y_queries: expected shape \(1,\)"),
        (lambda: precision_at_k([[1.0, 2.0]], [0], [0, 1], 3), "k: expected a whole number of at least 1 and at most 2, got 3"),
        (lambda: precision_at_k([[1.0, 2.0]], [0], [0, 1], 0), "k: expected"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


NAMES = st.sampled_from("abcde")


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=40))
def test_class_scores_are_scikit_learns(rows):
    true, predicted = map(list, zip(*rows, strict=True))
    assert score_classes(true, predicted).classes == tuple(sorted({*true, *predicted}))
    scores, labels = score_classes(true, predicted, "abcde"), list("abcde")
    np.testing.assert_array_equal(scores.confusion, confusion_matrix(true, predicted, labels=labels))
    assert (scores.n, scores.accuracy) == (len(rows), accuracy_score(true, predicted))
    for found, oracle in ((scores.recall, recall_score), (scores.precision, precision_score)):
        np.testing.assert_array_equal(
            found, oracle(true, predicted, labels=labels, average=None, zero_division=np.nan)
        )
    assert 0.0 <= scores.interval[0] <= scores.accuracy <= scores.interval[1] <= 1.0


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=40))
def test_classes_that_share_a_line_are_still_compared_one_by_one(rows):
    true, predicted = map(list, zip(*rows, strict=True))
    scores = score_classes(true, predicted, ["b", "a"])
    assert scores.classes in (("b", "a"), ("b", "a", "other classes"))
    assert scores.accuracy == accuracy_score(true, predicted)
    assert scores.confusion[0].sum() == true.count("b")
    assert scores.n == len(rows)


def test_class_scores_of_nothing_are_refused():
    with pytest.raises(InputError, match="expected at least one row"):
        score_classes([], [])
    with pytest.raises(InputError, match="y_predicted"):
        score_classes(["a"], ["a", "b"])


def test_foscttm_is_that_of_its_definition_and_half_by_chance():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 60, 3))
    D = np.linalg.norm(X[:, None] - Y, axis=2)
    closer = [
        np.mean([(D[i] < D[i, i]).sum() / 59 for i in range(60)]),
        np.mean([(D[:, i] < D[i, i]).sum() / 59 for i in range(60)]),
    ]
    assert foscttm(X, Y) == pytest.approx(np.mean(closer))
    assert foscttm(X, Y) == foscttm(Y, X)
    assert foscttm(X, X) == 0.0
    assert foscttm(np.zeros((9, 2)), Y[:9, :2]) == pytest.approx(0.5)
    assert foscttm(np.zeros((9, 2)), np.zeros((9, 2))) == 0.5  # rows that all are one place find nothing


def test_foscttm_needs_pairs_of_rows():
    with pytest.raises(InputError, match=r"Y: expected shape \(3, 2\), as X has, got \(2, 2\)"):
        foscttm(np.ones((3, 2)), np.ones((2, 2)))
