"""What holds of every system that learns from known pairs."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from isthmus import InputError, KnownPairs, systems

PAIRED = [s for s in systems() if s.takes_pairs and s.learns != "labels" and "itml" not in s.name]
ONE_WAY = {"pulled-back"}
"""Systems that measure in the features of the source, not in both."""
P, N = 40, 30


def views(seed=0, d_source=6, d_target=9, noise=0.05):
    """The same hidden rows turned into two spaces, bent a little and with noise."""
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(P + N, 5)) * np.array([3.0, 1.5, 1.2, 1.0, 0.8])
    A, B = (H @ np.linalg.qr(rng.normal(size=(d, 5)))[0].T for d in (d_source, d_target))
    A, B = A + noise * rng.normal(size=A.shape), B + noise * rng.normal(size=B.shape)
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    return A[:P], B[:P], A[P:], B[P:]


A, B, QA, QB = views()
every_system = pytest.mark.parametrize("system", PAIRED, ids=[system.name for system in PAIRED])


def fitted(system, A=A, B=B, pairs="rows", **parameters):
    return system.make().set_params(**parameters).fit(A, None, B, None, pairs=pairs)


def recall(model, queries, gallery, **options):
    return np.mean(model.search(queries, gallery, 1, **options)[1][:, 0] == np.arange(len(queries)))


@every_system
def test_partners_of_new_rows_are_found_both_ways(system):
    model = fitted(system)
    assert recall(model, QB, QA) > 0.5
    assert recall(model, QA, QB, domains=("source", "target")) > 0.5


@every_system
def test_shuffled_pairs_teach_nothing(system):
    rows = np.c_[np.arange(P), np.random.default_rng(1).permutation(P)]
    assert recall(fitted(system, pairs=rows), QB, QA) < 0.3


@every_system
def test_the_order_of_rows_and_of_pairs_does_not_matter(system):
    rng = np.random.default_rng(0)
    s, t, p = (rng.permutation(P) for _ in range(3))
    shuffled = fitted(system, A[s], B[t], np.c_[np.argsort(s), np.argsort(t)][p], **fixed(system))
    plain = fitted(system, **fixed(system))
    np.testing.assert_allclose(
        shuffled.pairwise_distances(QA, QB), plain.pairwise_distances(QA, QB), rtol=1e-4, atol=1e-5
    )


def fixed(system):
    """Parameters without which folds are drawn in the order of pairs."""
    return {"regularization": 0.1} if "cca" in system.name else {}


@pytest.mark.parametrize("system", [s for s in PAIRED if s.name not in ONE_WAY], ids=lambda s: s.name)
def test_swapping_the_domains_transposes_distances(system):
    there, back = fitted(system, **fixed(system)), fitted(system, B, A, **fixed(system))
    np.testing.assert_allclose(
        there.pairwise_distances(QA, QB), back.pairwise_distances(QB, QA).T, rtol=1e-4, atol=1e-5
    )


# Elsewhere bandwidths and bounds follow all rows, or each anchor is a coordinate of its own.
@pytest.mark.parametrize(
    "system", [systems()[name] for name in ("cca+nn", "ridge", "procrustes")], ids=lambda s: s.name
)
def test_a_pair_of_weight_two_is_a_pair_of_rows_given_twice(system):
    weights = np.where(np.arange(P) < 7, 2.0, 1.0)
    once = fitted(system, pairs=KnownPairs(np.c_[np.arange(P), np.arange(P)], weights), **penalty(system))
    twice = fitted(system, np.vstack([A, A[:7]]), np.vstack([B, B[:7]]), **penalty(system))
    np.testing.assert_allclose(once.pairwise_distances(QA, QB), twice.pairwise_distances(QA, QB), atol=1e-5)


def penalty(system):
    return {"penalty": 1e-9} if system.name == "ridge" else fixed(system)


@every_system
def test_sparse_rows_give_what_dense_rows_give(system):
    sparse = fitted(system, sp.csr_matrix(A), sp.csr_matrix(B))
    dense = fitted(system)
    np.testing.assert_allclose(
        sparse.pairwise_distances(sp.csr_matrix(QA), sp.csr_matrix(QB)),
        dense.pairwise_distances(QA, QB),
        rtol=1e-3,
        atol=1e-4,
    )


@every_system
def test_more_columns_than_pairs(system):
    a, b, qa, qb = views(seed=2, d_source=90, d_target=120)
    assert recall(fitted(system, a, b), qb, qa) > 0.5


@every_system
def test_labels_of_one_domain_name_rows_of_the_other(system):
    leading = np.linalg.svd(A, full_matrices=False)[2][0]
    y, truth = (np.where(X @ leading > 0, "right", "left") for X in (A, QA))
    model = system.make().fit(A, y, B, None, pairs="rows")
    assert model.score(QB, truth) > 0.8


@every_system
def test_clone_and_pickle(system):
    model = fitted(system)
    assert repr(clone(model)) == repr(system.make())
    thawed = pickle.loads(pickle.dumps(model))
    for ours, theirs in zip(model.search(QB, QA, 3), thawed.search(QB, QA, 3), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@every_system
def test_pairs_are_needed_or_may_be_left_out(system):
    if system.needs_pairs:
        with pytest.raises(InputError, match=r"pairs: expected known pairs of rows, as .* learns from nothing else"):
            system.make().fit(A, np.arange(P), B, np.arange(P))
    with pytest.raises(InputError, match="pairs: expected at least 2 for"):
        fitted(system, pairs=[[0, 0]])


@every_system
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"k": 0}, "k: expected a whole number of at least 1 and at most 30, got 0"),
        ({"k": 31}, "k: expected a whole number of at least 1 and at most 30, got 31"),
        ({"hubness": "cls"}, "hubness: expected one of 'csls', got 'cls'"),
        ({"domains": ("source", "source")}, "domains: expected one source and one target"),
    ],
)
def test_wrong_searches_get_one_sentence(system, changed, message):
    arguments = {"k": 3, "domains": ("target", "source")} | changed
    with pytest.raises(InputError, match=message):
        fitted(system).search(QB, QA, **arguments)


@every_system
def test_rows_that_do_not_differ_are_refused(system):
    with pytest.raises(InputError, match="expected"):
        fitted(system, np.ones((P, 3)), B)


@given(st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_points_of_parts_have_unit_length_and_distances_are_cosines(seed):
    a, b, qa, qb = views(seed)
    model = systems()["ridge"].make().fit(a, None, b, None, pairs="rows")
    p, q = model.transform(qa, "source"), model.transform(qb)
    halves = model.common_space_.parts
    assert sum(halves) == p.shape[1]
    first = [X[:, : halves[0]] for X in (p, q)]
    np.testing.assert_allclose(np.linalg.norm(first[0], axis=1), 1.0)
    np.testing.assert_allclose(model.pairwise_distances(qa, qb) ** 2, 4.0 - 2.0 * p @ q.T, atol=1e-9)
