"""Hubness: the blocked ranking is the whole table's, and hubs are set back."""

import tracemalloc

import numpy as np
import pytest

from isthmus import RidgeMap
from isthmus.geometry import similarity as hubness
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.similarity import Background, hub_scores, rank_neighbours
from isthmus.geometry.spaces import FeatureSpace


def space(d, **options):
    return CommonSpace(FeatureSpace(d), FeatureSpace(d), np.vstack([np.eye(d), np.eye(d)]), **options)


def whole_table(S, k=10):
    """Conneau et al. 2018, with the whole table of similarities."""
    rows, columns = (-np.sort(-T, axis=1)[:, :k].mean(axis=1) for T in (S, S.T))
    return 2.0 * S - rows[:, None] - columns[None, :]


@pytest.mark.parametrize("options", [{}, {"parts": (2, 3)}, {"kind": "inner product", "projected": True}])
@pytest.mark.parametrize("cells", [1, 70, 10**6])
def test_blocks_give_what_the_whole_table_gives(monkeypatch, options, cells):
    monkeypatch.setattr(hubness, "CELLS_PER_BLOCK", cells)
    rng = np.random.default_rng(0)
    Q, R = rng.normal(size=(23, 5)), rng.normal(size=(31, 5))
    common = space(5, **options)
    C = whole_table(common.scores(Q, R))
    scores, numbers = rank_neighbours(common, Q, R, 4, hub_scores(common, R, Q))
    np.testing.assert_array_equal(numbers, np.argsort(-C, axis=1)[:, :4])
    np.testing.assert_allclose(scores, np.take_along_axis(C, numbers, axis=1))


def test_a_row_that_is_near_to_everything_is_set_back():
    rng = np.random.default_rng(0)
    H = rng.normal(size=(200, 5))
    A, B = (H @ rng.normal(size=(5, 12)) + 2.0 * rng.normal(size=(200, 12)) for _ in range(2))
    model = RidgeMap().fit(A, None, B, None, pairs="rows")
    counts = [np.bincount(model.search(B, A, 1, hubness=how)[1][:, 0], minlength=200).max() for how in ("csls", None)]
    assert counts[0] < counts[1]


def test_an_answer_does_not_depend_on_what_else_is_asked():
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(40, 4)), rng.normal(size=(40, 6))
    model = RidgeMap().fit(A, None, B, None, pairs="rows")
    together = model.search(B[:20], A, 3)
    alone = [model.search(B[i : i + 1], A, 3) for i in range(20)]
    np.testing.assert_array_equal(together[1], np.vstack([numbers for _, numbers in alone]))
    np.testing.assert_allclose(together[0], np.vstack([scores for scores, _ in alone]))


def test_no_table_of_all_queries_and_all_rows_is_ever_held():
    rng = np.random.default_rng(0)
    common, Q, R = space(4), rng.normal(size=(6000, 4)), rng.normal(size=(6000, 4))
    tracemalloc.start()
    rank_neighbours(common, Q, R, 5, hub_scores(common, R, Q[:500]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * Q.shape[0] * R.shape[0] * 8


def test_the_background_is_a_sample(monkeypatch):
    monkeypatch.setattr(hubness, "SAMPLE", 7)
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(40, 4)), rng.normal(size=(5, 6))
    model = RidgeMap().fit(A, None, B, None, pairs=[[0, 0], [1, 1], [2, 2], [3, 3]])
    assert isinstance(model._background, Background)
    assert model._background.source.shape[0] == 7
    assert model._background.target.shape[0] == 5
