"""Differences between systems: intervals cover, tests keep their level when splits share rows, and SciPy agrees."""

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from isthmus.evidence.comparison import Difference, holm, paired_difference, sign_flip_p_value
from isthmus.exceptions import InputError

LEVEL = 1 / 16
"""A p-value that six clusters can have: there the exact test's level is exact."""


def clustered_null(rng, n_clusters=6, size=3):
    """Differences without a true one, nearly the same within a cluster."""
    return np.repeat(rng.normal(size=n_clusters), size) + 0.2 * rng.normal(size=n_clusters * size)


def scores_of(values):
    return np.array(values) / 10


differences = st.lists(st.integers(-9, 9), min_size=2, max_size=9).map(scores_of)
probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_the_level_is_kept_when_splits_are_clustered_and_only_then():
    rng, clusters, zero = np.random.default_rng(0), np.repeat(np.arange(6), 3), np.zeros(18)
    draws = [clustered_null(rng) for _ in range(1500)]
    known = np.mean([paired_difference(d, zero, clusters).p_value <= LEVEL for d in draws])
    ignored = np.mean([paired_difference(d, zero).p_value <= LEVEL for d in draws[:200]])
    assert known == pytest.approx(LEVEL, abs=3 * np.sqrt(LEVEL / 1500))
    assert ignored > 3 * LEVEL


def test_the_interval_covers_with_ten_clusters_and_a_bootstrap_would_not():
    rng, clusters = np.random.default_rng(1), np.repeat(np.arange(10), 2)
    t, ignored, bootstrap = [], [], []
    for trial in range(1000):
        d = clustered_null(rng, 10, 2)
        for found, by, enough in ((t, clusters, 1000), (ignored, None, 150)):
            if trial < enough:
                interval = paired_difference(d, np.zeros(20), by)
                found.append(interval.low <= 0 <= interval.high)
        means = d.reshape(10, 2).mean(axis=1)[rng.integers(0, 10, (400, 10))].mean(axis=1)
        low, high = np.quantile(means, [0.025, 0.975])
        bootstrap.append(low <= 0 <= high)
    assert np.mean(t) == pytest.approx(0.95, abs=0.02)
    assert np.mean(bootstrap) < 0.92
    assert np.mean(ignored) < 0.9


@given(differences)
def test_the_exact_permutation_test_is_scipys(d):
    oracle = stats.permutation_test((d,), lambda x, axis: x.mean(axis=axis), permutation_type="samples",
                                    n_resamples=np.inf, vectorized=True)  # fmt: skip
    assert paired_difference(d, np.zeros(len(d))).p_value == pytest.approx(min(1, oracle.pvalue), abs=1e-12)


def test_many_units_agree_with_scipy_within_the_error_of_random_signs():
    rng = np.random.default_rng(2)
    d = rng.normal(0.15, 1, size=120)
    zero = np.zeros(120)
    assert paired_difference(d, zero).p_value == pytest.approx(stats.ttest_1samp(d, 0).pvalue, abs=0.02)
    certain = sign_flip_p_value(np.ones(120))
    assert certain == 1e-4  # the observed signs are always among the draws: never 0


def test_random_and_exact_signs_agree(monkeypatch):
    d = np.random.default_rng(3).normal(0.4, 1, size=14)
    exact = sign_flip_p_value(d)
    monkeypatch.setattr("isthmus.evidence.comparison.MOST_EXACT", 0)
    assert sign_flip_p_value(d) == pytest.approx(exact, abs=0.015)


def test_the_interval_is_students():
    d = np.random.default_rng(4).normal(size=9)
    found = paired_difference(d, np.zeros(9), confidence=0.9)
    oracle = stats.ttest_1samp(d, 0).confidence_interval(0.9)
    np.testing.assert_allclose((found.mean, found.low, found.high), (d.mean(), *oracle), atol=1e-12)
    assert (found.n, found.n_clusters, found.confidence) == (9, 9, 0.9)


@given(differences)
def test_swapping_the_systems_turns_the_sign_and_nothing_else(d):
    b = np.linspace(0, 1, len(d))
    one, other = paired_difference(b + d, b), paired_difference(b, b + d)
    assert (one.mean, one.low, one.high, one.p_value) == (-other.mean, -other.high, -other.low, other.p_value)


@given(differences, st.integers(0, 99))
def test_order_unit_and_names_of_clusters_do_not_matter(d, seed):
    rng = np.random.default_rng(seed)
    clusters = np.arange(len(d)) % max(2, len(d) // 2)
    order = rng.permutation(len(d))
    zero = np.zeros(len(d))
    one = paired_difference(d, zero, clusters)
    names = [f"pair {c}" for c in clusters[order]]
    other = paired_difference(100 * d[order] + 7, zero + 7, names)
    np.testing.assert_allclose(
        [other.mean, other.low, other.high], 100 * np.array([one.mean, one.low, one.high]), atol=1e-9
    )
    assert other.p_value == one.p_value


def test_order_does_not_matter_with_random_signs_either():
    d = np.random.default_rng(5).normal(0.2, 1, size=40)
    assert sign_flip_p_value(d) == sign_flip_p_value(d[::-1].copy()) == sign_flip_p_value(-d)


@given(differences)
def test_a_cluster_of_equal_splits_counts_once(d):
    zero = np.zeros(len(d))
    one = paired_difference(d, zero)
    thrice = paired_difference(np.repeat(d, 3), np.zeros(3 * len(d)), np.repeat(np.arange(len(d)), 3))
    assert (thrice.n, thrice.n_clusters) == (3 * len(d), len(d))
    np.testing.assert_allclose([thrice.mean, thrice.low, thrice.high], [one.mean, one.low, one.high], atol=1e-12)
    assert thrice.p_value == one.p_value


def test_of_several_clusterings_the_more_cautious_result_is_returned():
    rng = np.random.default_rng(6)
    seed, pair = (part.ravel() for part in np.meshgrid(np.arange(8), np.arange(6)))
    for scales in ((1.0, 0.1), (0.1, 1.0)):
        d = 0.5 + scales[0] * rng.normal(size=8)[seed] + scales[1] * rng.normal(size=6)[pair] + rng.normal(size=48)
        alone = [paired_difference(d, np.zeros(48), by) for by in (seed, pair)]
        both = paired_difference(d, np.zeros(48), [seed, pair])
        assert both.p_value == both.p_adjusted == max(each.p_value for each in alone)
        assert both.high - both.low == max(each.high - each.low for each in alone)
        assert both == paired_difference(d, np.zeros(48), np.array([pair, seed]))


@pytest.mark.parametrize("n", [2, 7, 50])
def test_equal_systems_differ_by_nothing(n):
    a = np.random.default_rng(7).random(n)
    found = paired_difference(a, a)
    assert (found.mean, found.low, found.high, found.p_value) == (0, 0, 0, 1)
    assert str(found) == "+0.0 [0.0, 0.0], p = 1"


def test_rounding_does_not_break_ties():
    a, b = np.array([0.3, 0.2, 0.1, 0.7]), np.array([0.2, 0.1, 0.2, 0.8])  # differences of 0.1, but for rounding
    assert paired_difference(a, b).p_value == 1


@given(probabilities)
def test_holm_is_its_textbook_procedure(p):
    adjusted = holm(p)
    for level in (0.01, 0.05, 0.3, *adjusted[adjusted < 1]):
        rejected = set()
        for i, k in enumerate(sorted(range(len(p)), key=p.__getitem__)):  # step down until the first that is kept
            if p[k] * (len(p) - i) > level:
                break
            rejected.add(k)
        assert rejected == {k for k in range(len(p)) if adjusted[k] <= level}


@given(probabilities)
def test_holm_lies_between_the_p_value_and_bonferroni_and_keeps_the_order(p):
    adjusted, p = holm(p), np.array(p)
    assert ((adjusted >= p) & (adjusted <= np.minimum(1, len(p) * p))).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()
    reverse = holm(p[::-1])
    assume(len(set(p)) == len(p))
    np.testing.assert_array_equal(reverse[::-1], adjusted)


def test_a_difference_prints_in_points():
    d = Difference(-0.0123, -0.0301, -0.0004, 0.00012, 0.0006, 200, 10, 0.95)
    assert str(d) == "-1.2 [-3.0, 0.0], p < .001 (Holm < .001)"
    assert str(dataclasses.replace(d, p_value=0.25, p_adjusted=0.25)) == "-1.2 [-3.0, 0.0], p = .25"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired_difference([1, 2], [1, 2, 3]), r"b: expected shape \(2,\) to match a, got \(3,\)"),
        (lambda: paired_difference([1.0], [2.0]), r"clusters: expected at least two clusters, got 1 among 1 split"),
        (lambda: paired_difference([1, 2], [3, 4], ["x", "x"]), r"clusters: expected at least two clusters, got 1 among 2"),
        (lambda: paired_difference([1, 2], [3, 4], [[0, 1], [0, 0]]), "clusters: expected at least two clusters"),
        (lambda: paired_difference([1, 2], [3, 4], [0, 1, 2]), r"clusters: expected shape \(2,\) to match a, got \(3,\)"),
        (lambda: paired_difference([1, 2], [3, 4], []), r"clusters: expected shape \(2,\) to match a, got \(0,\)"),
        (lambda: paired_difference([1, np.nan], [3, 4]), "a: expected finite numbers, got nan"),
        (lambda: paired_difference([1, 2], ["x", "y"]), "b: expected one number per split, got"),
        (lambda: paired_difference([], []), r"a: expected one number per split, got shape \(0,\)"),
        (lambda: paired_difference([1, 2], [3, 4], confidence=1.0), "confidence: expected"),
        (lambda: paired_difference([1, 2], [3, 4], confidence=95), "confidence: expected"),
        (lambda: paired_difference([1, 2], [3, 4], random_state=-1), "random_state: expected"),
        (lambda: holm([0.1, 1.2]), "p_values: expected a one-dimensional array of numbers from 0 to 1"),
        (lambda: holm([np.nan]), "p_values: expected"),
        (lambda: holm(0.1), "p_values: expected"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_arguments_are_left_as_they_were():
    arrays = [np.random.default_rng(k).random(6) for k in range(2)]
    copies = [array.copy() for array in arrays]
    paired_difference(*arrays)
    holm(arrays[0])
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
