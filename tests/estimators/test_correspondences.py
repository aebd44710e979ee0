"""Manifold alignment and HeMap: dense graphs and pairs written out find the same."""

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from test_label_projections import assert_solves, dense_heat, ridged, side_by_side

from conftest import make_domains, one_sentence
from isthmus import HeMap, InputError, KnownPairs, ManifoldAlignment

D = make_domains(seed=6, n_source=30, n_target=24, n_labelled=9, shift=3.0)
Xs, ys, Xt, yt = D.args


def views(seed=0, n=60, noise=0.1):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, 4))
    A, B = (H @ rng.normal(size=(4, d)) + noise * rng.normal(size=(n, d)) for d in (6, 8))
    return A - A.mean(axis=0), B - B.mean(axis=0)


A, B = views()


def dense_problem(X, Y, C, mu, k, epsilon):
    """W and D over all rows of both domains, n × n."""
    W_s, W_t = dense_heat(X, k), dense_heat(Y, k)
    mu = mu * (W_s.sum() + W_t.sum()) / (2 * C.sum())
    W, Z = np.block([[W_s, mu * C], [mu * C.T, W_t]]), side_by_side(X, Y)
    return ridged(Z.T @ np.diag(W.sum(axis=1)) @ Z, epsilon), Z.T @ W @ Z


# --- manifold alignment -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mu", "k"), [(1.0, 10), (0.2, 4)])
@pytest.mark.parametrize("made_of", ["labels", "pairs"])
def test_alignment_solves_the_problem_of_dense_graphs(made_of, mu, k):
    options = {"correspondence_weight": mu, "graph_neighbors": k, "points": "plain"}
    model = ManifoldAlignment(**options)
    pairs = KnownPairs([[0, 1], [3, 5], [9, 9], [20, 11]], [1.0, 2.0, 0.5, 1.0])
    if made_of == "pairs":
        model.fit(Xs, None, Xt, None, pairs=pairs)
        C = sp.coo_array((pairs.weights, (pairs.source, pairs.target)), shape=(30, 24)).toarray()
    else:
        model.fit(*D.args)
        C = (ys[:, None] == yt[None]).astype(float)
    assert model.correspondence_ == made_of
    assert_solves(model, *dense_problem(Xs, Xt, C, mu, k, 0.1), 5)
    assert (model.eigenvalues_ <= 1.0).all()


def test_pairs_are_taken_where_they_are_given_and_labels_where_not():
    rows = np.arange(60) % 3
    assert ManifoldAlignment().fit(A, rows, B, rows).correspondence_ == "labels"
    assert ManifoldAlignment().fit(A, rows, B, rows, pairs="rows").correspondence_ == "pairs"
    with pytest.raises(InputError, match="X_target: expected rows that differ from each other, got equal ones"):
        ManifoldAlignment().fit(A, None, np.repeat(B[:1], 60, axis=0), None, pairs="rows")


def test_the_direction_that_maps_all_rows_to_one_point_is_left_out():
    """A column of ones makes it one of the solutions, and the best."""
    ones = [np.hstack([X, np.ones((len(X), 1))]) for X in (A, B)]
    model = ManifoldAlignment(points="plain", regularization=1e-9).fit(ones[0], None, ones[1], None, pairs="rows")
    points = np.vstack([model.transform(ones[0], "source"), model.transform(ones[1])])
    assert (points.std(axis=0) > 0.1 * np.sqrt((points**2).mean(axis=0))).all()
    assert model.eigenvalues_[0] < 1.0 - 1e-3


# --- HeMap ------------------------------------------------------------------------------------------------------------


def test_pairs_from_labels_are_all_pairs_of_one_class_written_out():
    both = np.argwhere((ys[:, None] == yt[None]) & (yt >= 0)[None])
    listed = HeMap(n_components=3).fit(Xs, ys, Xt, yt, pairs=both)
    summed = HeMap(n_components=3, correspondence="labels").fit(*D.args)
    np.testing.assert_allclose(summed.eigenvalues_, listed.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(summed.transform(Xt), listed.transform(Xt), atol=1e-8)
    np.testing.assert_allclose(summed.pairwise_distances(Xs, Xt), listed.pairwise_distances(Xs, Xt), atol=1e-6)
    assert summed.needs_pairs is False
    assert listed.needs_pairs is True


def test_the_maps_are_pseudo_inverses_of_what_rebuilds_the_rows():
    model = HeMap(n_components=4, similarity_weight=0.7, points="plain").fit(A, None, B, None, pairs="rows")
    F = np.block([[2 * B, 0.7 * A], [0.7 * B, 2 * A]])
    U, s, _ = sla.svd(F, full_matrices=False)
    B_T, B_S = np.split(U[:, np.einsum("ij,ij->j", *np.split(U, 2)) > 0][:, :4], 2)
    for ours, rows, half in ((model.transform(B), B, B_T), (model.transform(A, "source"), A, B_S)):
        theirs = rows @ np.linalg.pinv(np.linalg.pinv(half) @ rows)
        np.testing.assert_allclose(ours, theirs * np.sign(np.sum(theirs * ours, axis=0)), atol=1e-9)
    assert model.residual_ <= 1e-8
    assert (np.diff(model.eigenvalues_) <= 0).all()
    assert model.eigenvalues_[0] == pytest.approx(s[0] ** 2 / 2)


def test_a_pair_of_weight_two_is_a_pair_given_twice():
    weights = np.where(np.arange(60) < 9, 2.0, 1.0)
    twice = np.r_[np.arange(60), np.arange(9)]
    once = HeMap(n_components=3).fit(A, None, B, None, pairs=KnownPairs(np.c_[np.arange(60), np.arange(60)], weights))
    again = HeMap(n_components=3).fit(A[twice], None, B[twice], None, pairs="rows")
    for ours, theirs in zip(once.search(B, A, 5), again.search(B, A, 5), strict=True):
        assert ours.shape == theirs.shape
    np.testing.assert_allclose(once.eigenvalues_, again.eigenvalues_, rtol=1e-10)
    W = [HeMap(n_components=3, points="plain").fit(*args, pairs=pairs).common_space_.components for args, pairs in (
        ((A, None, B, None), KnownPairs(np.c_[np.arange(60), np.arange(60)], weights)),
        ((A[twice], None, B[twice], None), "rows"),
    )]  # fmt: skip
    np.testing.assert_allclose(W[0], W[1], atol=1e-9)


def test_directions_that_set_pairs_apart_are_left_out():
    """Turned copies: next to each strong [b; b] there is a [b; −b] above the weaker ones."""
    rng = np.random.default_rng(0)
    H = rng.normal(size=(50, 3)) * [9.0, 1.0, 0.8]
    copy = H @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    _, found = HeMap(n_components=3).fit(H[:30], None, copy[:30], None, pairs="rows").search(copy[30:], H[30:], 1)
    np.testing.assert_array_equal(found[:, 0], np.arange(20))


def test_pairs_with_labels_as_correspondence_are_refused():
    with pytest.raises(InputError, match='pairs: expected None for correspondence="labels", got pairs') as caught:
        HeMap(correspondence="labels").fit(A, np.arange(60) % 3, B, np.arange(60) % 3, pairs="rows")
    assert one_sentence(caught)
