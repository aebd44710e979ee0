"""Differences over splits hold what they promise, the best rule is not flattered, and looking early is paid for."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.evidence.comparison import Estimate, choose_on_other_splits, estimate_over_splits, format_points
from isthmus.study.source_value.engine import LEVEL, plan_looks


def overlapping(rng, J, n, m):
    """Differences of J splits, in each of which m of n learned rows take part, with an effect each."""
    effects = rng.normal(size=n)
    return np.array([rng.choice(effects, m, replace=False).mean() for _ in range(J)])


@pytest.mark.parametrize(("J", "n", "m"), [(40, 120, 6), (10, 120, 6), (6, 60, 20)])
def test_each_end_has_its_level(J, n, m):
    rng = np.random.default_rng(0)
    found = [estimate_over_splits(overlapping(rng, J, n, m), m / (n - m)) for _ in range(600)]
    for wrong in ([each.low > 0.0 for each in found], [each.high < 0.0 for each in found]):
        assert 0.01 <= np.mean(wrong) <= 0.075


def test_looking_several_times_keeps_the_level():
    """Of differences around zero, at most the level is above zero at any look."""
    rng, wrong = np.random.default_rng(0), 0
    looks = list(plan_looks(40))
    for _ in range(1000):
        d = rng.normal(size=40)
        wrong += any(estimate_over_splits(d[:n], 0.0, level).low > 0.0 for n, level in looks)
    assert wrong / 1000 <= LEVEL + 2.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / 1000)


@given(st.integers(3, 200))
def test_the_levels_of_all_looks_sum_to_one_level(n_splits):
    looks = list(plan_looks(n_splits))
    assert sum(level for _, level in looks) == pytest.approx(LEVEL)
    assert looks[-1][0] == n_splits
    assert all(one[0] < other[0] for one, other in pairwise(looks))


def test_more_splits_of_the_same_rows_are_no_new_rows():
    d = np.tile([0.0, 0.1], 500)
    wide = estimate_over_splits(d, 0.2)
    assert wide.high - wide.low > 2 * 1.6 * np.sqrt(0.2) * 0.05


def test_equal_differences_are_no_proof():
    assert estimate_over_splits(np.full(4, 0.01), 0.1).low == pytest.approx(0.01)
    assert estimate_over_splits(np.full(4, 0.01), 0.1, least=0.02).low < 0.0


@given(st.integers(0, 1000), st.floats(-1.0, 1.0))
def test_shifts_and_signs(seed, shift):
    d = np.random.default_rng(seed).normal(size=6)
    one, moved, turned = (estimate_over_splits(each, 0.1) for each in (d, d + shift, -d))
    assert (moved.low, moved.high) == pytest.approx((one.low + shift, one.high + shift))
    assert (-turned.high, -turned.mean, -turned.low) == pytest.approx((one.low, one.mean, one.high))
    assert one.low <= one.mean <= one.high


def test_the_best_rule_is_chosen_without_the_split_that_is_measured():
    """Of rules that are equally good the best on all splits is better by luck; the chosen one is not."""
    rng = np.random.default_rng(0)
    rules = rng.normal(size=(500, 8, 10))
    chosen = np.array([choose_on_other_splits(each).mean() for each in rules])
    assert abs(chosen.mean()) < 0.05 < rules.mean(axis=2).max(axis=1).mean()
    moved = rules[0].copy()
    moved[:, 3] += 100.0 * np.arange(8)  # another result of split 3 does not change the rule that it is measured by
    rule = np.flatnonzero(rules[0][:, 3] == choose_on_other_splits(rules[0])[3])
    assert choose_on_other_splits(moved)[3] == moved[rule, 3]


def test_points_have_their_sign():
    assert [format_points(gain) for gain in (6.16, -0.4, -0.01)] == ["+6.2", "−0.4", "+0.0"]
    assert str(Estimate(0.01, -0.02, 0.04)) == "+1.0 points [−2.0, +4.0]"
