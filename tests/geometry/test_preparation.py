"""Rows as they are compared."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler, normalize

from isthmus import InputError
from isthmus.geometry import similarity as preparation
from isthmus.geometry.similarity import normalize_precisely, prepare_rows, scale_rows


@pytest.fixture
def X():
    return np.random.default_rng(0).gamma(0.5, size=(80, 12)) * np.arange(1, 13)


def test_dense_rows_are_standardised_and_of_unit_length(X):
    np.testing.assert_allclose(scale_rows(X), normalize(StandardScaler().fit_transform(X)), atol=1e-12)


def test_a_constant_column_does_no_harm(X):
    np.testing.assert_allclose(scale_rows(np.c_[X, np.full(80, 7.0)])[:, :12], scale_rows(X), atol=1e-12)


@pytest.mark.parametrize("size", [1e14, 1e-14])
def test_a_column_of_another_size_leaves_the_others_as_they_are(X, size):
    np.testing.assert_allclose(scale_rows(X * np.r_[size, np.ones(11)]), scale_rows(X), atol=1e-12)


def test_a_large_constant_column_is_left_out(X):
    S = scale_rows(np.c_[X, np.full(80, 1.1e20)])
    np.testing.assert_array_equal(S[:, 12], 0.0)
    np.testing.assert_allclose(S[:, :12], scale_rows(X), atol=1e-12)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_matrix])
def test_tiny_rows_are_brought_to_unit_length(X, as_given):
    made = normalize_precisely(as_given(X * 1e-30))
    np.testing.assert_allclose(made.toarray() if sp.issparse(made) else made, normalize(X), atol=1e-12)


def test_sparse_rows_stay_sparse(X):
    S = scale_rows(sp.csr_matrix(X))
    assert sp.issparse(S)
    np.testing.assert_allclose(S.toarray(), normalize(X))


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_matrix])
def test_coordinates_are_those_of_scikit_learn(X, as_given):
    rows = normalize(X)
    made = prepare_rows(as_given(rows), k=5)
    reference = PCA(5).fit_transform(rows)
    np.testing.assert_allclose(np.abs(made.centred), np.abs(reference), atol=1e-5)
    np.testing.assert_allclose(made.squares, ((rows - rows.mean(axis=0)) ** 2).sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(made.points, axis=1), 1.0, rtol=1e-5)


def test_many_rows_and_columns_have_the_same_leading_axes(X, monkeypatch):
    wide = normalize(X @ np.random.default_rng(1).normal(size=(12, 70)))
    exact = prepare_rows(wide, k=6).centred
    monkeypatch.setattr(preparation, "EXACT", 10)
    monkeypatch.setattr(preparation, "SPARE", 4)
    np.testing.assert_allclose(np.abs(prepare_rows(sp.csr_matrix(wide), k=6).centred), np.abs(exact), atol=1e-4)


def test_rows_that_are_all_the_same_are_refused():
    with pytest.raises(InputError, match="A: expected rows that differ"):
        prepare_rows(np.ones((30, 3)) / np.sqrt(3), "A")
