"""What rows look like among their own collection does not depend on how their features are written down."""

import numpy as np
import scipy.sparse as sp

from isthmus.geometry.similarity import (
    geometric_scores,
    prepare_rows,
    quantile_positions,
    scale_rows,
    signatures,
    sort_similarities,
)


def collection(seed=0, n=90, d=15):
    return np.random.default_rng(seed).gamma(0.4, size=(n, d))


def alike(A, B):
    return geometric_scores(prepare_rows(scale_rows(A)), prepare_rows(scale_rows(B))).table()


def test_the_order_and_the_sign_of_columns_do_not_matter():
    A, B, rng = collection(), collection(1, 70, 11), np.random.default_rng(2)
    np.testing.assert_allclose(alike(A[:, rng.permutation(15)] * rng.choice([-1, 1], 15), B), alike(A, B), atol=2e-3)


def test_the_order_of_rows_is_followed():
    A, B, order = collection(), collection(1, 70, 11), np.random.default_rng(3).permutation(90)
    np.testing.assert_allclose(alike(A[order], B), alike(A, B)[order], atol=2e-3)


def test_two_sides_that_are_the_same_find_themselves():
    A = collection(5)
    assert (alike(A, A).argmax(axis=1) == np.arange(90)).mean() == 1.0


def test_sorted_similarities_are_cosines_in_falling_order():
    rows = scale_rows(collection())
    centred = rows - rows.mean(axis=0)
    C = centred @ centred.T / np.linalg.norm(centred, axis=1) / np.linalg.norm(centred, axis=1)[:, None]
    expected = -np.sort(-(C - 9.0 * np.eye(90)), axis=1)[:, [0, 3, 88]]
    for X in (rows, sp.csr_matrix(rows)):
        found, near = sort_similarities(prepare_rows(X), np.array([0, 3, 88]), 4)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert near.shape == (len(found), 4)


def test_compared_places_are_the_same_shares_of_lists_of_any_length():
    a, b = quantile_positions(1000, 500)
    assert len(a) == len(b)
    assert np.abs(a / 998 - b / 498).max() < 1e-2
    assert (np.unique(quantile_positions(30, 30)[0]) == np.arange(29)).all()


def test_signatures_are_normal_scores():
    F = signatures(prepare_rows(scale_rows(collection(n=400))))
    assert F.shape == (400, 12)
    np.testing.assert_allclose(F.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(F.std(axis=0), 1.0, atol=0.03)
