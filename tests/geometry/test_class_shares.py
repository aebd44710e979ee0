"""Shares of classes: strict ones are kept, others give way to the scores; labelled rows tell unequal from equal."""

import numpy as np
import pytest
from scipy.special import softmax

from isthmus.geometry.discriminants import balance, balancing_offsets, infer_shares


def clouds(shares, per_class=10, n=400, distance=4.0, seed=0):
    """Return labelled and unlabelled rows of Gaussian classes, and the labels."""
    rng, C = np.random.default_rng(seed), len(shares)
    known, others = (
        np.repeat(np.arange(C), per_class),
        np.repeat(np.arange(C), np.round(n * np.asarray(shares)).astype(int)),
    )
    L, U = (rng.normal(size=(len(y), C)) + distance * np.eye(C)[y] for y in (known, others))
    return L, U, known


def test_strictness_goes_from_no_balance_to_exact_shares():
    S, shares = 2.0 * np.random.default_rng(0).normal(size=(300, 4)) + [2.0, 0, 0, 0], np.full(4, 0.25)
    np.testing.assert_allclose(balance(S, shares, 0.0), softmax(S, axis=1))
    np.testing.assert_allclose(balance(S, shares, 1.0).mean(axis=0), shares, atol=1e-6)
    gaps = [np.abs(balance(S, shares, rho).mean(axis=0) - shares).sum() for rho in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert (np.diff(gaps) < 0).all()
    P = softmax(S + balancing_offsets(S, shares, 0.5), axis=1)
    np.testing.assert_allclose(P, balance(S, shares, 0.5), atol=1e-6)


@pytest.mark.parametrize("per_class", [3, 10])
def test_equal_shares_stay_exactly_equal_and_strict(per_class):
    found = [infer_shares([(L, U)], y) for L, U, y in (clouds(np.full(5, 0.2), per_class, seed=s) for s in range(10))]
    assert np.mean([each.strictness == 1.0 for each in found]) >= 0.8
    assert all(np.ptp(each.shares) == 0.0 for each in found if each.strictness == 1.0)


def test_unequal_shares_are_found_as_far_as_labels_tell():
    shares = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    errors = {}
    for per_class in (3, 10, 40):
        found = [infer_shares([(L, U)], y) for L, U, y in (clouds(shares, per_class, seed=s) for s in range(5))]
        errors[per_class] = np.mean([np.abs(each.shares - shares).sum() for each in found])
        assert all(0.5 <= each.strictness <= 1.0 for each in found)
    assert errors[40] < errors[10] < errors[3] < np.abs(shares - 0.2).sum()


def test_a_deviation_too_small_for_an_estimate_loosens_equal_shares():
    shares = np.array([0.3, 0.24, 0.2, 0.15, 0.11])
    found = [infer_shares([(L, U)], y) for L, U, y in (clouds(shares, 10, distance=2.0, seed=s) for s in range(20))]
    kinds = {(bool(np.ptp(each.shares) == 0.0), each.strictness == 1.0) for each in found}
    assert kinds >= {(True, False), (False, False)}
    assert (False, True) not in kinds


def test_one_label_of_a_class_tells_nothing():
    L, U, y = clouds([0.7, 0.2, 0.1], per_class=1)
    found = infer_shares([(L, U)], y)
    assert found.strictness == 1.0
    np.testing.assert_allclose(found.shares, 1 / 3)


def test_renamed_classes_have_renamed_shares():
    L, U, y = clouds([0.6, 0.3, 0.1])
    order = np.array([2, 0, 1])
    np.testing.assert_allclose(infer_shares([(L, U)], order[y]).shares[order], infer_shares([(L, U)], y).shares)
