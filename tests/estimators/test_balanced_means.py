"""Balanced k-means: means that its own guesses bear out, over the classes that have a label."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from conftest import make_domains
from isthmus import InputError
from isthmus.estimators.controls import BalancedKMeans
from isthmus.geometry.discriminants import balance, balancing_offsets


@given(st.integers(0, 200), st.integers(2, 5))
def test_offsets_balance_as_sinkhorn_does(seed, C):
    rng = np.random.default_rng(seed)
    scores, shares = rng.normal(size=(40, C)), rng.dirichlet(np.full(C, 5.0))
    P = softmax(scores + balancing_offsets(scores, shares), axis=1)
    np.testing.assert_allclose(P, balance(scores, shares), atol=1e-4)


def test_the_nearest_mean_is_called():
    d = make_domains(n_classes=3, n_target=90, n_labelled=9)
    rule = BalancedKMeans((1,)).fit(*d.args)
    called = rule.predict(d.X_target)
    Z = rule.axes_.coordinates(d.X_target)[:, :3]
    Z /= np.linalg.norm(Z, axis=1)[:, None]
    nearest = ((Z[:, None] - rule.means_[0]) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(called, nearest)
    assert np.mean(called == d.y_true) > 0.9
    np.testing.assert_allclose(rule.predict_proba(d.X_target).sum(axis=1), 1.0)


def test_a_class_without_a_label_is_never_called():
    d = make_domains(n_classes=3, n_target=30, n_labelled=9)
    y = np.where(d.y_target == 2, -1, d.y_target)
    rule = BalancedKMeans().fit(d.X_source, d.y_source, d.X_target, y)
    assert set(rule.predict(d.X_target).tolist()) == {0, 1}
    np.testing.assert_array_equal(rule.predict_proba(d.X_target)[:, 2], 0.0)


@pytest.mark.parametrize("components", [(), 3, (0,), (1.5,)])
def test_bad_components_are_told(components):
    d = make_domains(n_classes=3, n_target=30, n_labelled=9)
    with pytest.raises(InputError, match=r"^components: expected"):
        BalancedKMeans(components).fit(*d.args)
