"""Principal components keep their deviations: whoever gives them would else lose what they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from isthmus import LabelTransfer
from isthmus.data.datasets import load_digits
from isthmus.geometry.similarity import are_components, scale_rows


def is_of_components(X):
    return are_components(X - X.mean(axis=0), X.std(axis=0))


def features(seed, n=150, d=12):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 20)) @ rng.normal(size=(20, d)) + rng.normal(size=(n, d))


@given(st.integers(0, 200), st.floats(0.01, 100.0))
def test_components_are_known_whatever_their_unit_and_among_fewer_rows(seed, unit):
    Z = unit * PCA().fit_transform(features(seed, 300, 30) * np.geomspace(4.0, 0.25, 30))
    assert is_of_components(Z)
    assert is_of_components(Z[::2])


@given(st.integers(0, 200))
def test_ordinary_features_are_not_components(seed):
    X = features(seed)
    rng = np.random.default_rng(seed)
    assert not is_of_components(X)
    assert not is_of_components(rng.permuted(np.geomspace(1e3, 1e-3, 40)) * rng.normal(size=(100, 40)))
    assert not is_of_components(StandardScaler().fit_transform(PCA().fit_transform(X)))
    assert not is_of_components(X[:, :3])


def test_columns_of_other_units_are_brought_to_one():
    X = features(0) * np.random.default_rng(0).permuted(np.geomspace(1e-3, 1e3, 12))
    np.testing.assert_allclose(scale_rows(X), scale_rows(features(0)), atol=1e-9)


def test_a_collection_may_come_as_its_components():
    d = load_digits(1, random_state=101)
    source, target = PCA(25).fit(d.X_source), PCA(25).fit(d.X_target)
    given_them = source.transform(d.X_source), d.y_source, target.transform(d.X_target), d.y_target
    model = LabelTransfer().fit(*given_them)
    assert model.score(target.transform(d.X_test), d.y_test) > 0.75


@pytest.mark.parametrize("X", [np.ones((10, 6)), np.zeros((10, 6)), np.eye(6)[:5]], ids=["constant", "zero", "few"])
def test_flat_rows_are_no_components(X):
    assert not is_of_components(X)
    assert np.isfinite(scale_rows(X)).all()
