"""Reliability: the error is zero for true probabilities, and the gap for those that are not."""

import numpy as np
import pytest

from isthmus.evidence.scores import measure_reliability
from isthmus.exceptions import InputError


def test_probabilities_that_are_true_have_no_error():
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    found = measure_reliability(p, rng.random(20_000) < p)
    assert found.error < 0.02
    assert found.counts.sum() == 20_000


def test_the_error_is_the_gap_of_one_bin():
    found = measure_reliability(np.full(50, 0.94), np.arange(50) < 32)
    assert found.error == pytest.approx(0.30)
    assert "50 of them have at least 90%, and 64% of these are right" in found.sentence
    assert np.isnan(found.correct[:9]).all()


def test_lengths_must_agree():
    with pytest.raises(InputError, match="right: expected shape"):
        measure_reliability(np.array([0.5, 0.5]), np.array([1.0]))
