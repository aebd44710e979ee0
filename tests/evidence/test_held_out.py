"""Held-out pairs: counts, intervals, the split, and the baseline of shared columns."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from isthmus import RidgeMap, match
from isthmus.evidence.held_out import (
    Answer,
    PairRecall,
    Proportion,
    SharedBaseline,
    hold_out_pairs,
    measure_shared_recall,
    search_held_out_pairs,
    wilson_interval,
)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_that_of_scipy(case):
    hits, n = case
    peer = binomtest(hits, n).proportion_ci(method="wilson")
    share = Proportion.of(hits, n)
    assert (share.low, share.high) == wilson_interval(hits, n)
    assert (share.low, share.high) == pytest.approx((peer.low, peer.high), abs=1e-6)


def test_ranks_are_counted_and_a_shared_mean_rank_counts_by_its_value():
    found = PairRecall.of(np.array([1.0, 1.5, 2.0, 10.5, 11.0, np.inf]))
    assert found == PairRecall(6, 2, 4)
    assert (found.at_1.value, found.at_10.value) == (2 / 6, 4 / 6)
    assert str(PairRecall(10, 8, 9)) == "80% of 10 held-out pairs are found [49%, 94%], 90% among the first 10"


@given(st.integers(0, 200), st.integers(1, 40), st.integers(0, 100))
def test_a_third_of_enough_pairs_is_held_out_and_every_pair_is_in_one_part(n, fewest, seed):
    held, kept = hold_out_pairs(n, fewest, np.random.default_rng(seed))
    assert len(held) == (n // 3 if n >= fewest else 0)
    np.testing.assert_array_equal(np.sort(np.concatenate([held, kept])), np.arange(n))


def test_a_partner_among_equals_is_found_by_chance():
    A, B, pairs = np.zeros((2, 3)), np.eye(4, 3), np.array([[0, 1], [1, 2]])
    assert measure_shared_recall(A, B, pairs) == 0.25
    assert measure_shared_recall(A, B, pairs, without=np.array([0, 3])) == 0.5
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    rows = np.column_stack([np.arange(50), np.arange(50)])
    assert measure_shared_recall(X, X, rows) == 1.0
    assert measure_shared_recall(X, -X, rows) == 0.0


@pytest.mark.parametrize(
    ("baseline", "sentence"),
    [
        (SharedBaseline(), "Baseline: none, as no words or columns are shared."),
        (
            SharedBaseline(72),
            "Baseline: not measured; give more known pairs to measure what the 72 shared words or columns find alone.",
        ),
        (
            SharedBaseline(72, 10, 0.75),
            "Baseline: the 72 shared words or columns alone find 7.5 of 10 held-out pairs.",
        ),
    ],
)
def test_the_baseline_is_one_sentence(baseline, sentence):
    assert str(baseline) == baseline.to_dict()["sentence"] == sentence


def make_views(n=60):
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 5))
    return hidden @ rng.normal(size=(5, 8)), hidden @ rng.normal(size=(5, 7)), rng.normal(size=(n, 4))


def fit(A, B):
    return lambda pairs: RidgeMap().fit(A, None, B, None, pairs=pairs)


ROWS = np.stack([np.arange(60)] * 2, axis=1)


def test_a_model_is_measured_on_pairs_that_it_did_not_learn_from():
    A, B, noise = make_views()
    learned = []
    found = search_held_out_pairs(
        lambda pairs: learned.append(pairs) or fit(A, B)(pairs), A, B, ROWS, (noise, -noise)
    )
    assert isinstance(found, Answer)
    assert found.ok is True
    assert found.evidence.n == 20 == 60 - len(learned[0])
    assert found.evidence.first >= 18
    assert found.baseline == SharedBaseline(4, 20, 0.0)
    assert str(found) == found.sentence == f"{found.evidence}. {found.baseline}"


def test_what_speaks_against_a_model_is_said():
    A, B, noise = make_views()

    def turned(pairs):
        model = fit(A, B)(pairs)
        return SimpleNamespace(search=lambda queries, *others: model.search(-queries, *others))

    found = search_held_out_pairs(turned, A, B, ROWS)
    assert found.ok is False
    assert "no held-out pair is found" in found.warning
    blurred = B + 3.0 * np.random.default_rng(2).normal(size=B.shape)
    found = search_held_out_pairs(fit(A, blurred), A, blurred, ROWS, (noise, noise))
    assert found.ok is False
    assert "alone find more" in found.warning


@pytest.mark.parametrize("n", [0, 9])
def test_too_few_pairs_are_not_measured(n):
    A, B, _ = make_views()
    assert search_held_out_pairs(fit(A, B), A, B, ROWS[:n]) is None


def test_a_model_without_search_is_not_measured():
    A, B, _ = make_views()
    assert search_held_out_pairs(lambda pairs: object(), A, B, ROWS) is None


def test_a_matching_has_the_baseline_of_shared_columns():
    rng = np.random.default_rng(0)
    hidden = rng.gamma(0.3, size=(120, 8))
    A, B = hidden @ rng.normal(size=(8, 20)), hidden @ rng.normal(size=(8, 15))
    pairs, name = np.stack([np.arange(30)] * 2, axis=1), np.eye(120)
    found, plain = match(A, B, pairs, shared=(name, name)), match(A, B, pairs)
    assert found.baseline == SharedBaseline(120, 10, 1.0)
    assert plain.baseline == SharedBaseline()
    assert (found.pairs[:, 0] == found.pairs[:, 1]).mean() >= (plain.pairs[:, 0] == plain.pairs[:, 1]).mean()
