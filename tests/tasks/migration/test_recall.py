"""Intervals, ranks and the advice that follows from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from isthmus.evidence.held_out import search_gallery, shared_neighbours
from isthmus.evidence.held_out import wilson_interval
from isthmus.tasks.migration.evidence import Figures, Recall, Share, bootstrap_mean, estimate_share, give_advice
from isthmus.tasks.migration.migrate import learning_sizes, make_folds


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_that_of_scipy(case):
    hits, n = case
    peer = binomtest(hits, n).proportion_ci(method="wilson")
    share = estimate_share(hits, n)
    assert (share.low, share.high) == wilson_interval(hits, n)
    assert (share.low, share.high) == pytest.approx((peer.low, peer.high), abs=1e-6)


def test_the_bootstrap_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        share = bootstrap_mean(rng.binomial(10, 0.4, size=80) / 10, rng)
        covered += share.low <= 0.4 <= share.high
    assert 180 <= covered <= 199


def test_ranks_and_neighbours():
    S = np.array([[0.9, 0.5, 0.5, 0.1], [0.2, 0.2, 0.2, 0.2], [0.1, 0.2, 0.3, 0.4]])
    own = np.array([1, 2, 0])
    found = search_gallery(lambda q: S[q], np.arange(3), own, None, own)
    np.testing.assert_array_equal(found.ranks, [2.5, 2.5, 4.0])
    assert found.nearest is None
    wide = np.random.default_rng(0).normal(size=(3, 30))
    found = search_gallery(lambda q: wide[q], np.arange(3), own, np.arange(30), own)
    for i in range(3):
        order = [j for j in np.argsort(-wide[i]) if j != own[i]][:10]
        assert set(found.nearest[i]) == set(order)
    np.testing.assert_array_equal(shared_neighbours(found.nearest, found.nearest[:, ::-1]), 1.0)


@given(st.integers(10, 3000), st.integers(0, 100))
def test_no_pair_is_learned_from_and_searched_for(n, seed):
    parts = make_folds(n, np.random.default_rng(seed))
    held = np.concatenate([part.queries for part in parts])
    assert len(np.unique(held)) == len(held)
    if n < 1000:
        assert len(held) == n
    for part in parts:
        assert len(np.intersect1d(part.learned, part.queries)) == 0
        assert len(part.learned) + len(part.queries) == n
        assert learning_sizes(len(part.learned))[-1] == len(part.learned)


def figures(at_10, overlap):
    ten = Share(at_10, max(0.0, at_10 - 0.02), min(1.0, at_10 + 0.02))
    return Figures(ten, ten, None if overlap is None else Share(overlap, overlap, overlap), at_10)


@pytest.mark.parametrize(
    ("at_10", "overlap", "old", "shuffled", "action"),
    [
        (0.99, 0.5, 0.4, 0.01, "bridge"),
        (0.99, 0.3, 0.4, 0.01, "bridge until re-embedded"),
        (0.96, 0.5, 0.4, 0.01, "bridge until re-embedded"),
        (0.60, 0.5, 0.4, 0.01, "bridge until re-embedded"),
        (0.40, 0.5, 0.4, 0.01, "re-embed"),
        (0.99, 0.5, 0.4, 0.98, "re-embed"),
        (0.99, None, None, 0.01, "bridge until re-embedded"),
    ],
)
def test_the_rule(at_10, overlap, old, shuffled, action):
    controls = {"shuffled pairs": figures(shuffled, None), "old model": figures(1.0, old)}
    given_advice = give_advice(Recall((80,), (figures(at_10, overlap),), controls, 100, 500, 100))
    assert given_advice.action == action
    assert f"of 100 held-out objects {at_10:.2f}" in given_advice.reason
    assert str(given_advice).startswith(f"{action}: ")
