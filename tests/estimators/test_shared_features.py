"""Shared features beside a learned map: when they count, what their points mean, and that files keep them."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import StandardScaler

import isthmus
from isthmus import CCA, MLHD, Index, InputError, RidgeMap, SharedFeatureUnion
from isthmus.estimators.shared_block import LEAST_RATIO, choose_blocks, fit_logit

P = 15
PAIRS = np.c_[:P, :P]
N_TERMS = 2**14


def two_tables(seed, n=80, noise=0.3):
    """Return rows of own columns with three shared ones at the end, and the places of these."""
    rng = np.random.default_rng(seed)
    A, S = rng.normal(size=(n, 12)), rng.normal(size=(n, 3))
    B = np.tanh(A @ rng.normal(size=(12, 9))) + 0.5 * rng.normal(size=(n, 9))
    noisy = [S + noise * rng.normal(size=S.shape) for _ in range(2)]
    return np.hstack([A, noisy[0]]), np.hstack([B, noisy[1]]), [(12 + k, 9 + k) for k in range(3)]


def recall(model, A, B):
    return (model.search(B[P:], A[P:], 1)[1][:, 0] == np.arange(A.shape[0] - P)).mean()


def text_tables(n=60):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghij"), 6)) for _ in range(n)]
    texts = [[f"{kind} {word} {rng.integers(9)}" for word in words] for kind in ("the", "der")]
    hashing = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 5), n_features=N_TERMS, norm=None)
    own = rng.normal(size=(n, 4)), rng.normal(size=(n, 5))
    return [sp.hstack([X, hashing.transform(T)], format="csr") for X, T in zip(own, texts, strict=True)]


@pytest.mark.parametrize("system", [RidgeMap(), CCA(), MLHD()])
def test_shared_columns_find_more_than_the_map_alone(system):
    A, B, columns = two_tables(0)
    union = SharedFeatureUnion(system, columns).fit(A, None, B, None, pairs=PAIRS)
    alone = system.fit(A[:, :12], None, B[:, :9], None, pairs=PAIRS)
    assert union.shared_used_
    assert union.likelihood_ratios_["numbers"] > LEAST_RATIO
    assert recall(union, A, B) > recall(alone, A[:, :12], B[:, :9]) + 0.1


@pytest.mark.slow
def test_a_permuted_block_never_counts_and_then_all_is_as_learned():
    opened = 0
    for seed in range(50):
        A, B, columns = two_tables(seed, n=50)
        B[:, 9:] = B[np.random.default_rng(seed).permutation(len(B)), 9:]
        union = SharedFeatureUnion(RidgeMap(penalty=1.0), columns).fit(A, None, B, None, pairs=PAIRS)
        opened += union.shared_used_
    assert opened == 0
    alone = RidgeMap(penalty=1.0).fit(A[:, :12], None, B[:, :9], None, pairs=PAIRS)
    np.testing.assert_array_equal(union.transform(B), alone.transform(B[:, :9]))
    for found, expected in zip(union.search(B, A, 3), alone.search(B[:, :9], A[:, :12], 3), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("system", [RidgeMap(), MLHD(source_kernel="rbf", target_kernel="rbf")])
def test_points_have_the_distances_of_the_space(system):
    A, B, columns = two_tables(1)
    union = SharedFeatureUnion(system, columns).fit(A, None, B, None, pairs=PAIRS)
    space = union.common_space_
    E, F = union.transform(A, "source"), union.transform(B)
    assert E.shape[1] == space.dimension == len(union.get_feature_names_out())
    D = ((E[:, None] - F[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(union.pairwise_distances(A, B) ** 2, D, atol=1e-9)
    np.testing.assert_allclose(space.scores(E, F), -0.5 * D, atol=1e-9)
    alpha, beta, _ = space.scales
    z = [(X[:, 12 - 3 * k :] - space.block.mean) / space.block.scale for k, X in enumerate((A, B))]
    own = system.fit(A[:, :12], None, B[:, :9], None, pairs=PAIRS).pairwise_distances(A[:, :12], B[:, :9]) ** 2
    shared = ((z[0][:, None] - z[1][None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(D, alpha**2 * own + beta**2 * shared, atol=1e-9)


def test_terms_of_texts_count_and_rows_without_any_are_far_from_all():
    A, B = text_tables()
    union = SharedFeatureUnion(n_terms=N_TERMS, n_projections=512).fit(A, None, B, None, pairs=PAIRS)
    assert union.shared_used_
    assert union.transform(A[:2], "source").dtype == np.float32
    assert recall(union, A, B) > 0.9
    empty = [sp.csr_array((1, X.shape[1])) for X in (A, B)]
    E, F = (union.common_space_.block.points(X, d)[1] for X, d in zip(empty, ("source", "target"), strict=True))
    np.testing.assert_allclose(((E - F) ** 2).sum(), 2.0)


@pytest.mark.parametrize("texts", [True, False])
def test_files_and_indexes_keep_the_block(texts, tmp_path):
    pytest.importorskip("skops")
    A, B, columns = (*text_tables(), None) if texts else two_tables(2)
    union = SharedFeatureUnion(columns=columns, n_terms=N_TERMS * texts).fit(A, None, B, None, pairs=PAIRS)
    isthmus.save(union, tmp_path / "union.isthmus")
    loaded = isthmus.load(tmp_path / "union.isthmus")
    assert loaded.shared_used_
    np.testing.assert_array_equal(loaded.transform(B), union.transform(B))
    index = Index(union).add(A, "source")
    index.save(tmp_path / "rows.index")
    again = Index.load(tmp_path / "rows.index", loaded)
    np.testing.assert_array_equal(again.search(B, 3, "target").ids, index.search(B, 3, "target").ids)
    other = SharedFeatureUnion(columns=columns, n_terms=N_TERMS * texts).fit(A, None, B, None, pairs=PAIRS[:-2])
    with pytest.raises(InputError, match="the model that the index was made with"):
        Index.load(tmp_path / "rows.index", other)


def test_columns_of_equal_names_are_shared():
    pandas = pytest.importorskip("pandas")
    A, B, columns = two_tables(3)
    names = [[f"{side}{k}" for k in range(d)] + ["x", "y", "z"] for side, d in (("a", 12), ("b", 9))]
    frames = [pandas.DataFrame(X, columns=each) for X, each in zip((A, B), names, strict=True)]
    by_name = SharedFeatureUnion().fit(frames[0], None, frames[1], None, pairs=PAIRS)
    by_place = SharedFeatureUnion(columns=columns).fit(A, None, B, None, pairs=PAIRS)
    assert by_name.weights_ == by_place.weights_


def test_the_logit_is_at_its_minimum_and_drops_what_tells_nothing():
    rng = np.random.default_rng(0)
    p, m = 30, 40
    partners = np.arange(p), np.arange(p)
    good, empty = rng.normal(size=(p, m)), rng.normal(size=(p, m))
    good[partners] += 2.0
    scores = [(good, good), (empty, empty)]
    w, loss = fit_logit(scores[:1], partners)
    slope = approx_fprime(w, lambda v: 0.5 * v @ v + fixed_loss(good, v[0], partners))
    assert abs(slope[0]) < 1e-3
    assert loss == pytest.approx(0.5 * w @ w + fixed_loss(good, w[0], partners))
    weights, ratios = choose_blocks([(empty, empty), (good, good)], partners)
    assert weights[1] > 0.5
    assert ratios[1] > LEAST_RATIO
    weights, ratios = choose_blocks(scores, partners)
    assert weights[1] == 0.0
    assert ratios[1] <= LEAST_RATIO


def fixed_loss(S, w, partners):
    F = w * S
    return float((np.log(np.exp(F).sum(axis=1)) - F[partners]).sum())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"estimator": isthmus.ARC()},
            "estimator: expected a system without transformers that learns a metric from pairs",
        ),
        (
            {"estimator": RidgeMap(source_transformer=StandardScaler())},
            "estimator: expected a system without transformers",
        ),
        ({"columns": [(0, 99)]}, "columns: expected columns that both domains have, got 99"),
        ({"n_terms": 12}, "X_target: expected columns before the 12 of terms, got none"),
        ({"n_projections": 0}, "n_projections: expected"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    A, B, _ = two_tables(4)
    with pytest.raises(InputError, match=message):
        SharedFeatureUnion(**options).fit(A, None, B, None, pairs=PAIRS)


def test_a_scaler_may_come_first():
    A, B, columns = two_tables(5)
    scaled = SharedFeatureUnion(
        columns=columns, source_transformer=StandardScaler(), target_transformer=StandardScaler()
    )
    assert scaled.fit(A, None, B, None, pairs=PAIRS).shared_used_
    assert recall(scaled, A, B) > 0.2
