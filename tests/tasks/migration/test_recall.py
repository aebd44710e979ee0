"""Ranks, folds, and the advice that follows from figures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.evidence.held_out import Proportion, search_gallery
from isthmus.tasks.migration.engine import learning_sizes, make_folds, measure_overlap
from isthmus.tasks.migration.evidence import Figures, Recall, bootstrap_mean, give_advice


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
    ranks, nearest = search_gallery(lambda q: S[q], np.arange(3), own, None, own)
    np.testing.assert_array_equal(ranks, [2.5, 2.5, 4.0])
    assert nearest is None
    wide = np.random.default_rng(0).normal(size=(3, 30))
    _, nearest = search_gallery(lambda q: wide[q], np.arange(3), own, np.arange(30), own)
    for i in range(3):
        order = [j for j in np.argsort(-wide[i]) if j != own[i]][:10]
        assert set(nearest[i]) == set(order)
    np.testing.assert_array_equal(measure_overlap(nearest, nearest[:, ::-1]), 1.0)


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
    ten = Proportion(at_10, max(0.0, at_10 - 0.02), min(1.0, at_10 + 0.02))
    return Figures(ten, ten, None if overlap is None else Proportion(overlap, overlap, overlap), at_10)


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
    assert given_advice.reason.startswith(f"{at_10:.2f} [")
    assert " of 100 held-out objects are among the first ten" in given_advice.reason
    assert str(given_advice).startswith(f"{action}: ")
