"""Ridge maps both ways are learned from pairs."""

import numpy as np
import pytest

from isthmus.geometry.similarity import Scores
from isthmus.tasks.matching.problem import fit_bridge


def score(bridge, A, B):
    return Scores(bridge.embed_a(A), bridge.embed_b(B))


@pytest.fixture
def coordinates():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(120, 6)).astype(np.float32)
    return A, (A @ rng.normal(size=(6, 9)) + 1.0).astype(np.float32)


def test_rows_that_were_not_learned_from_find_their_partner(coordinates):
    A, B = coordinates
    bridge = fit_bridge(A[:60], B[:60], np.ones(60, np.float32))
    S = score(bridge, A[60:], B[60:]).table()
    assert (S.argmax(axis=1) == np.arange(60)).mean() > 0.9
    assert S.max() <= 2.0 + 1e-5


def test_a_wrong_pair_of_no_weight_does_not_count(coordinates):
    A, B = coordinates
    w = np.r_[np.ones(40), np.full(20, 1e-6)]
    order = np.r_[np.arange(40), np.random.default_rng(0).permutation(np.arange(40, 60))]
    right = score(fit_bridge(A[:40], B[:40], w[:40]), A, B).table()
    weighted = score(fit_bridge(A[:60], B[order], w), A, B).table()
    np.testing.assert_allclose(weighted, right, atol=0.02)


@pytest.mark.parametrize("rows", [[], [3], [3, 3, 3]], ids=["none", "one", "one thrice"])
def test_from_too_few_pairs_nothing_is_learned(coordinates, rows):
    A, B = coordinates
    bridge = fit_bridge(A[rows], B[rows], np.ones(len(rows)))
    np.testing.assert_array_equal(score(bridge, A, B).table(), np.zeros((120, 120)))
