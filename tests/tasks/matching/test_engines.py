"""Engines learn from pairs; any estimator that takes pairs is one."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from isthmus import CCA, ITML, InputError, RidgeMap
from isthmus.geometry.similarity import Scores
from isthmus.tasks.matching.engine import EstimatorEngine, Ridge, as_engine, fit_bridge


def score(bridge, A, B):
    return Scores(bridge.embed_a(A), bridge.embed_b(B))


@pytest.fixture
def coordinates():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(120, 6)).astype(np.float32)
    return A, (A @ rng.normal(size=(6, 9)) + 1.0).astype(np.float32)


@pytest.mark.parametrize("engine", [Ridge(), EstimatorEngine(CCA())], ids=["ridge", "cca"])
def test_rows_that_were_not_learned_from_find_their_partner(coordinates, engine):
    A, B = coordinates
    bridge = engine.fit(A[:60], B[:60], np.ones(60, np.float32), None)
    S = score(bridge, A[60:], B[60:]).table()
    assert (S.argmax(axis=1) == np.arange(60)).mean() > 0.9
    assert S.max() <= 2.0 + 1e-5


def test_a_wrong_pair_of_no_weight_does_not_count(coordinates):
    A, B = coordinates
    w = np.r_[np.ones(40), np.full(20, 1e-6)]
    order = np.r_[np.arange(40), np.random.default_rng(0).permutation(np.arange(40, 60))]
    for engine in (Ridge(), EstimatorEngine(RidgeMap())):
        right = score(engine.fit(A[:40], B[:40], w[:40], None), A, B).table()
        weighted = score(engine.fit(A[:60], B[order], w, None), A, B).table()
        np.testing.assert_allclose(weighted, right, atol=0.02)


@pytest.mark.parametrize("engine", [Ridge(), EstimatorEngine(RidgeMap())], ids=["ridge", "estimator"])
@pytest.mark.parametrize("rows", [[], [3], [3, 3, 3]], ids=["none", "one", "one thrice"])
def test_from_too_few_pairs_nothing_is_learned(coordinates, engine, rows):
    A, B = coordinates
    bridge = fit_bridge(engine, A[rows], B[rows], np.ones(len(rows)), None)
    np.testing.assert_array_equal(score(bridge, A, B).table(), np.zeros((120, 120)))


@pytest.mark.parametrize("system", ["logdet", "cca", CCA, 3, LinearRegression(), ITML()])
def test_what_is_no_system_is_refused(system):
    with pytest.raises(InputError, match="system: expected"):
        as_engine(system)
