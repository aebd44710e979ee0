"""What runs start from."""

from dataclasses import replace

import numpy as np
import pytest

from isthmus import match
from isthmus.geometry.similarity import Scores, Shortlist, find_best, measure_hubness
from isthmus.tasks.matching import refinement
from isthmus.tasks.matching.evidence import judge
from isthmus.tasks.matching.problem import Links
from isthmus.tasks.matching.refinement import shuffle_links


@pytest.mark.parametrize("p", [0, 1, 2, 9])
def test_no_shuffled_pair_is_right(p):
    wrong = shuffle_links(Links.of(np.arange(p), np.arange(p)), np.random.default_rng(0))
    assert len(wrong) == (p if p > 1 else 0)
    assert (wrong.i != wrong.j).all()


def draw_binary(seed, n=30):
    """Return two unrelated tables of zeros and ones."""
    rng = np.random.default_rng(seed)
    return tuple((rng.random((n, 6)) < rng.uniform(0.1, 0.9, 6)).astype(float) for _ in range(2))


@pytest.mark.slow
def test_further_controls_take_false_successes_back(monkeypatch):
    """Of some unrelated tables, one control run alone would have said "matched"; which ones, rounding decides.

    The excess over one control run takes all of these back, too: here further runs have to.
    """
    monkeypatch.setattr("isthmus.tasks.matching.evidence.LEAST_ERRORS", 0.0)
    every = [match(*draw_binary(seed)) for seed in range(24)]
    wrong = [found for found in every if judge(replace(found.evidence, nulls=())) is True]
    assert all(1 <= len(found.evidence.nulls) <= 5 for found in wrong)
    taken_back = [found for found in wrong if found.ok is None and not len(found)]
    assert len(taken_back) > len(wrong) / 2
    assert [found for found in every if found.ok and found not in wrong] == []
    monkeypatch.undo()
    assert [found for found in wrong if judge(found.evidence) is True] == []


@pytest.mark.parametrize("sampled", [False, True])
def test_further_controls_work_with_labels_and_on_samples(monkeypatch, sampled):
    if sampled:
        monkeypatch.setattr(refinement, "SAMPLE_CELLS", 500)
        monkeypatch.setattr(refinement, "DENSE", (20, 25))
    monkeypatch.setattr("isthmus.tasks.matching.evidence.judge", lambda seen: True)
    A, B = draw_binary(0)
    found = match(A, B, y_source=np.arange(30) % 2, y_target=np.arange(30) % 2)
    assert len(found.evidence.nulls) == 5
    assert match(A, B, [(0, 0)]).evidence.nulls == ()


def test_a_success_has_a_new_pair(monkeypatch):
    monkeypatch.setattr("isthmus.tasks.matching.result.judge", lambda seen: True)
    found = match(*draw_binary(1), min_confidence=1.0)
    assert (found.ok, len(found)) == (None, 0)
    assert str(found).startswith("doubtful: 0 pairs")
    some = match(*draw_binary(1), pairs=[(0, 0), (1, 1)], min_confidence=1.0)
    assert (some.ok, len(some)) == (None, 0)


def test_a_shortlist_holds_the_best_of_either_side():
    rng = np.random.default_rng(0)
    scores = Scores(*(rng.normal(size=(n, 5)).astype(np.float32) for n in (1100, 700)))
    shortlist, exact = Shortlist.of(scores), measure_hubness(scores)
    near, best, every = measure_hubness(scores, shortlist), shortlist.find_best(scores), find_best(scores)
    np.testing.assert_allclose(near.rows, exact.rows, rtol=1e-5)
    np.testing.assert_allclose(near.columns, exact.columns, rtol=1e-5)
    np.testing.assert_array_equal(best.of_rows, every.of_rows)
    np.testing.assert_array_equal(best.of_columns, every.of_columns)
