"""Calibration by one power: it is the maximum that it claims to be, on rows whose class was not learned."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from isthmus.tasks.transfer.evidence import cross_fit_power, fit_power, fit_temperature, make_folds, temper
from isthmus.tasks.transfer.problem import TransferRows


def probabilities(seed, n=400, C=4):
    return softmax(2.0 * np.random.default_rng(seed).normal(size=(n, C)), axis=1)


@pytest.mark.slow
@given(st.integers(0, 100), st.sampled_from([0.2, 0.5, 1.0, 3.0]))
def test_the_power_that_was_applied_is_found_again(seed, power):
    P, rng = probabilities(seed, 4000), np.random.default_rng(seed)
    y = np.array([rng.choice(4, p=row) for row in P])
    assert fit_power(temper(P, 1.0 / power), y) == pytest.approx(power, rel=0.25)


@given(st.integers(0, 100), st.floats(0.05, 20.0))
def test_tempering_keeps_sums_order_and_zeros(seed, power):
    P = probabilities(seed, 20)
    P[:, 0] = 0.0
    P /= P.sum(axis=1, keepdims=True)
    T = temper(P, power)
    np.testing.assert_allclose(T.sum(axis=1), 1.0)
    assert (T[:, 0] == 0.0).all()
    np.testing.assert_array_equal(T.argmax(axis=1), P.argmax(axis=1))
    np.testing.assert_allclose(temper(P, 1.0), P, atol=1e-9)


def test_few_rows_that_are_all_right_do_not_make_certain():
    P = np.array([[0.6, 0.4], [0.4, 0.6]])
    assert temper(P, fit_power(P, np.array([0, 1]))).max() < 0.9
    assert fit_power(np.zeros((0, 2)), np.zeros(0, dtype=int)) == 1.0


@given(st.lists(st.integers(-1, 4), min_size=1, max_size=40), st.integers(2, 5))
def test_every_class_keeps_a_row_in_every_fold(y, n_folds):
    codes = np.array(y)
    fold = make_folds(codes, n_folds)
    assert (fold[codes < 0] == -1).all()
    for k in range(n_folds):
        assert set(codes[(codes >= 0) & (fold != k)]) == set(codes[codes >= 0])


def test_a_rule_is_judged_on_rows_that_it_was_not_taught():
    y = np.array([0, 0, 1, 1, -1])
    seen = []

    def fitted(taught):
        def rule(out):
            seen.append((set(taught), set(out)))
            return np.full((len(out), 2), 0.5)

        return rule

    cross_fit_power(fitted, y, 2)
    assert seen == [({1, 3}, {0, 2}), ({0, 2}, {1, 3})]
    assert cross_fit_power(fitted, np.array([0, 1, -1]), 2) == 1.0


def few_rows(unlabelled=60, C=3, per_class=4):
    """Return target rows around the means of their classes, some labelled, as a recipe sees them."""
    rng, y = np.random.default_rng(0), np.arange(unlabelled + C * per_class) % C
    X = rng.normal(size=(len(y), 8)) + 2.0 * np.eye(C, 8)[y]
    yt = np.where(np.arange(len(y)) < C * per_class, y, -1)
    return TransferRows(X, y, X, yt, np.full(C, 1 / C), (None, None)), y


class Known:
    """A rule that is as sure as it is told to be, and right in so many cases."""

    def __init__(self, rows, y, sure, right):
        wrong = np.random.default_rng(1).random(len(y)) > right
        self.right, self.S = right, sure * np.eye(rows.n_classes)[np.where(wrong, (y + 1) % rows.n_classes, y)]

    def score(self, rows, places):
        return self.S[places]

    def measure_agreement(self, rows):
        return self.right


@pytest.mark.parametrize("per_class", [2, 10])
def test_held_out_rows_are_unlabelled_in_the_rerun_and_temper_a_rule_that_is_too_sure(per_class):
    rows, y = few_rows(per_class=per_class)
    rule, seen = Known(rows, y, sure=12.0, right=0.6), []

    def rerun(some):
        seen.append(some.yt)
        return rule

    temperature = fit_temperature(rows, rerun, rule)
    assert temperature > 2.0
    assert all(set(np.unique(yt)) == {-1, 0, 1, 2} for yt in seen)
    assert set(np.flatnonzero((np.array(seen) < 0).any(axis=0))) == set(range(len(y)))


def test_without_a_label_to_hold_out_the_agreement_decides():
    rows, y = few_rows(per_class=1)
    right, wrong = (fit_temperature(rows, None, Known(rows, y, 12.0, share)) for share in (1.0, 0.4))
    assert wrong > right


def test_where_classes_have_no_label_whole_classes_are_held_out():
    rows, y = few_rows(C=6)
    rows, seen = replace(rows, yt=np.where(rows.yt < 3, rows.yt, -1)), []
    fit_temperature(
        rows, lambda some: seen.append(set(some.known.tolist())) or Known(rows, y, 5.0, 0.8), Known(rows, y, 5.0, 0.8)
    )
    assert seen == [{1, 2}, {0, 2}, {0, 1}]
