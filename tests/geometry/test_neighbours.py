"""Neighbours found block by block are those of the whole table."""

import numpy as np
import pytest

from isthmus.geometry import similarity as module
from isthmus.geometry.similarity import NEIGHBOURHOOD, Scores, apply_csls, find_best, measure_hubness


@pytest.fixture(params=[10**6, 100], ids=["one block", "blocks of two rows"])
def scores(request, monkeypatch):
    monkeypatch.setattr(module, "CELLS_PER_BLOCK", request.param)
    rng = np.random.default_rng(0)
    return Scores(rng.normal(size=(60, 4)).astype(np.float32), rng.normal(size=(45, 4)).astype(np.float32))


def test_crowding_is_the_mean_of_the_best_scores(scores):
    S, crowd = scores.table(), measure_hubness(scores)
    np.testing.assert_allclose(crowd.rows, -np.sort(-S, axis=1)[:, :NEIGHBOURHOOD].mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(crowd.columns, -np.sort(-S, axis=0)[:NEIGHBOURHOOD].mean(axis=0), rtol=1e-5)
    assert crowd.value == pytest.approx(0.5 * (S.max(axis=1).mean() + S.max(axis=0).mean()), rel=1e-5)


def test_scores_without_hubs_are_those_of_the_formula(scores):
    S = scores.table()
    r, c = (-np.sort(-T, axis=1)[:, :NEIGHBOURHOOD].mean(axis=1) for T in (S, S.T))
    np.testing.assert_allclose(apply_csls(scores).table(), 2 * S - r[:, None] - c, atol=1e-4)


def test_the_best_of_rows_and_columns(scores):
    S, found = scores.table(), find_best(scores)
    np.testing.assert_array_equal(found.of_rows, S.argmax(axis=1))
    np.testing.assert_array_equal(found.of_columns, S.argmax(axis=0))
    np.testing.assert_allclose(found.row_scores, S.max(axis=1), rtol=1e-5)
    i = found.mutual
    assert all(S[a].max() == S[:, found.of_rows[a]].max() for a in i)
    assert len(i) > 0


def test_hidden_candidates_are_hidden_from_both_sides(scores):
    found = find_best(scores, 0.5, np.random.default_rng(0))
    S = scores.table()
    assert (found.row_scores < S.max(axis=1) - 1e-6).sum() > 10
    shown = found.row_scores[found.mutual]
    np.testing.assert_allclose(shown, found.column_scores[found.of_rows[found.mutual]])


def test_a_table_narrower_than_the_neighbourhood():
    S = Scores(np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)[:2])
    np.testing.assert_allclose(measure_hubness(S).rows, [0.5, 0.5, 0.0])
    np.testing.assert_allclose(measure_hubness(S).columns, [1 / 3, 1 / 3], rtol=1e-6)
