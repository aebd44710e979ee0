"""Intervals from splits that share rows hold what they promise, and the best of several rules is not flattered."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.evidence.comparison import Estimate, compare_with_best, estimate_difference, format_points


def crossed(rng, n, J, k, row, train, noise):
    """Differences with effects of tested rows and of learned rows: k of n rows are learned from in each split."""
    tested, learned = rng.normal(size=n) * row, rng.normal(size=n) * train
    D = np.full((J, n), np.nan)
    for split in range(J):
        order = rng.permutation(n)
        shown, rest = order[:k], order[k:]
        D[split, rest] = tested[rest] + learned[shown].sum() / np.sqrt(k) + rng.normal(size=n - k) * noise
    return D


@pytest.mark.parametrize(
    ("n", "J", "k", "row", "train"), [(120, 10, 6, 0.4, 0.02), (120, 10, 6, 0.2, 0.1), (60, 6, 20, 0.3, 0.05)]
)
def test_the_interval_has_its_level(n, J, k, row, train):
    rng = np.random.default_rng(0)
    found = [estimate_difference(crossed(rng, n, J, k, row, train, 0.3), k) for _ in range(400)]
    covered = np.mean([each.low <= 0.0 <= each.high for each in found])
    assert 0.935 <= covered <= 0.999


def test_more_splits_of_the_same_rows_are_no_new_rows():
    rng = np.random.default_rng(0)
    rows = rng.choice([-1.0, 0.0, 1.0], size=50)
    few, many = (estimate_difference(np.tile(rows, (J, 1)), 6) for J in (3, 300))
    assert many.high - many.low == pytest.approx(few.high - few.low, rel=0.01)
    assert few.high - few.low > 2 * 1.96 * rows.std() / np.sqrt(50)


def test_rows_that_are_right_together_count_once():
    together = np.tile(np.repeat([0.6, -0.2, 0.4, 0.0], 25), (6, 1))
    by_row, by_class = estimate_difference(together, 6), estimate_difference(together, 6, np.repeat(np.arange(4), 25))
    assert by_row.mean == by_class.mean == pytest.approx(0.2)
    assert by_row.low > 0.0 > by_class.low


def test_a_few_rows_that_agree_are_no_proof():
    assert estimate_difference(np.ones((10, 3)), 2).low < 0.0 < estimate_difference(np.ones((10, 60)), 2).low


@given(st.integers(0, 1000), st.floats(-1.0, 1.0))
def test_shifts_and_signs(seed, shift):
    D = crossed(np.random.default_rng(seed), 20, 4, 3, 0.3, 0.1, 0.2)
    one, moved, turned = estimate_difference(D, 3), estimate_difference(D + shift, 3), estimate_difference(-D, 3)
    assert (moved.low, moved.high) == pytest.approx((one.low + shift, one.high + shift))
    assert (-turned.high, -turned.mean, -turned.low) == pytest.approx((one.low, one.mean, one.high))
    assert one.low <= one.mean <= one.high


def test_the_interval_holds_for_the_best_of_several_rules():
    """Six rules as good as the system, with errors of their own: the best of them is best by luck alone."""
    rng = np.random.default_rng(0)
    found, naive = [], []
    for _ in range(300):
        own, *rules = (np.tile(rng.integers(0, 2, size=60).astype(float), (3, 1)) for _ in range(7))
        estimates, name = compare_with_best(own, {str(k): rule for k, rule in enumerate(rules)}, 3)
        found.append(estimates)
        naive.append(estimate_difference(own - rules[int(name)], 3))
        assert estimates.mean == pytest.approx(min(float((own - rule).mean()) for rule in rules))
    assert np.mean([each.low > 0.0 for each in found]) <= 0.01
    assert np.mean([each.high < 0.0 for each in found]) <= 0.035
    assert np.mean([each.high < 0.0 for each in naive]) > 0.05  # what the correction is for


def test_points_have_their_sign():
    assert [format_points(share) for share in (0.0616, -0.004, -0.0001)] == ["+6.2", "−0.4", "0.0"]
    assert str(Estimate(0.01, -0.02, 0.04)) == "+1.0 points [−2.0, +4.0]"
