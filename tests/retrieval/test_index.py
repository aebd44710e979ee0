"""The index: scikit-learn and plain tables as oracles, a dictionary as the model of adding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from conftest import make_domains, one_sentence
from isthmus import (
    ARC,
    MLHD,
    CommonSpace,
    Index,
    InputError,
    LabelTransfer,
    MissingDependencyError,
    RidgeMap,
    SemanticMatching,
)
from isthmus.geometry.similarity import Scores, apply_csls
from isthmus.geometry.spaces import FeatureSpace
from isthmus.retrieval.engines import Engine

ENGINES = [Engine(), Engine("Flat"), Engine("HNSW32"), Engine("IVF3,Flat", breadth=3)]
"""With as many probes as lists, and so few points, all of them find the nearest."""


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.name)
def engine(request):
    if request.param.name != "exact":
        pytest.importorskip("faiss", reason="the extra is not installed")
    return request.param


@pytest.fixture(scope="module")
def model():
    return MLHD().fit(*make_domains().args)


def points(n, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_the_nearest_are_those_of_scikit_learn(engine, model, domains):
    index = Index(model, engine).add(domains.X_source, "source", labels=domains.y_source)
    found = index.search(domains.X_target, 4)
    P, Q = model.transform(domains.X_source, "source"), model.transform(domains.X_target)
    distances, places = NearestNeighbors(n_neighbors=4).fit(P).kneighbors(Q)
    np.testing.assert_array_equal(found.ids, places)
    np.testing.assert_array_equal(found.labels, domains.y_source[places])
    np.testing.assert_allclose(found.distances, distances, rtol=1e-9 if engine.name == "exact" else 1e-4)
    assert (found.domains == "source").all()
    assert len(index) == len(domains.X_source)


def test_both_domains_and_either_direction(engine, model, domains):
    index = Index(model, engine)
    index.add(domains.X_source, "source", ids=[f"s{i}" for i in range(30)])
    index.add(domains.X_target, "target", ids=[f"t{i}" for i in range(20)])
    own = index.search(domains.X_source, 1, "source")
    assert own.ids[:, 0].tolist() == [f"s{i}" for i in range(30)]
    np.testing.assert_allclose(own.distances, 0.0, atol=1e-12)
    across = index.search(domains.X_source, 20, "source", among="target")
    assert sorted(across.ids[0]) == sorted(f"t{i}" for i in range(20))
    expected = model.pairwise_distances(domains.X_source, domains.X_target)
    np.testing.assert_allclose(across.distances, np.sort(expected, axis=1), rtol=1e-4)


def test_a_plain_common_space_and_no_model_at_all(engine):
    space = CommonSpace(FeatureSpace(3), FeatureSpace(3), np.vstack([np.eye(3), 2.0 * np.eye(3)]))
    X = points(40)
    a = Index(space, engine).add(X, "source").search(X[:5], 3, "target")
    b = Index(None, engine).add(X, "source").search(2.0 * X[:5], 3)
    np.testing.assert_array_equal(a.ids, b.ids)


@pytest.mark.parametrize("make", [ARC, SemanticMatching], ids=["across only", "within too"])
def test_similarities_are_ranked_by_inner_products(engine, make, domains):
    fitted = make().fit(*domains.args)
    index = Index(fitted, engine).add(domains.X_source, "source").add(domains.X_target, "target")
    S = fitted.pairwise_similarities(domains.X_target, domains.X_source, ("target", "source"))
    found = index.search(domains.X_target, 5, among="source")
    np.testing.assert_allclose(-found.distances, -np.sort(-S, axis=1)[:, :5], rtol=1e-3, atol=1e-6)
    if make is ARC:
        np.testing.assert_array_equal(index.search(domains.X_target, 5).ids, found.ids)
        with pytest.raises(InputError, match=r"^among: expected 'source', as there is no similarity within"):
            index.search(domains.X_target, 5, among="target")
    else:
        assert (index.search(domains.X_target, 5, among="target").domains == "target").all()


def test_label_transfer_can_be_searched(domains):
    fitted = LabelTransfer().fit(*domains.args)
    found = Index(fitted).add(domains.X_source, "source", labels=domains.y_source).search(domains.X_target, 1)
    assert (found.labels[:, 0] == fitted.predict(domains.X_target)).mean() > 0.9


def test_csls_is_that_of_the_matching(engine):
    A, B = points(60, 4), points(45, 4, seed=1)
    A, B = (P / np.linalg.norm(P, axis=1, keepdims=True) for P in (A, B))
    index = Index(None, engine).add(A, "source").add(B, "target")
    table = apply_csls(Scores(B, A)).table()
    found = index.search(B, 5, "target", among="source", csls=True)
    np.testing.assert_allclose(-found.distances, -np.sort(-table, axis=1)[:, :5], atol=1e-5)
    np.testing.assert_array_equal(found.ids, np.argsort(-table, axis=1)[:, :5])


def test_csls_of_inner_products_is_that_of_the_whole_table(engine, domains):
    fitted = ARC().fit(*domains.args)
    index = Index(fitted, engine).add(domains.X_source, "source").add(domains.X_target, "target")
    S = fitted.pairwise_similarities(domains.X_target, domains.X_source, ("target", "source"))
    best = [-np.sort(-T, axis=1)[:, :10].mean(axis=1) for T in (S, S.T)]
    table = 2.0 * S - best[0][:, None] - best[1][None, :]
    found = index.search(domains.X_target, 3, csls=True)
    np.testing.assert_allclose(-found.distances, -np.sort(-table, axis=1)[:, :3], rtol=1e-3, atol=1e-5)


def test_csls_by_rows_of_a_fit_with_pairs_is_the_search_of_the_model():
    A, B = points(80, 5), points(80, 6, seed=1)
    fitted = RidgeMap().fit(A, None, B, None, pairs="rows")
    scores, places = fitted.search(B, A, 4)
    found = Index(fitted).add(A, "source").search(B, 4, csls=True)
    np.testing.assert_array_equal(found.ids, places)
    np.testing.assert_allclose(-found.distances, scores, atol=1e-9)


def test_csls_without_anything_to_tell_hubs_by_is_one_sentence(model, domains):
    index = Index(model).add(domains.X_source, "source")
    with pytest.raises(InputError, match=r"^csls: expected rows of the target in the index") as caught:
        index.search(domains.X_target, csls=True)
    assert one_sentence(caught)


def test_a_label_filters(engine):
    X, y = points(300), np.arange(300) % 30
    index = Index(None, engine).add(X, "source", labels=y)
    found = index.search(X[:7], 4, label=5)
    assert (found.labels == 5).all()
    rows = np.flatnonzero(y == 5)
    _, places = NearestNeighbors(n_neighbors=4).fit(X[rows]).kneighbors(X[:7])
    np.testing.assert_array_equal(found.ids, rows[places])
    assert np.isfinite(index.search(X[:2], 12, label=np.int64(5)).distances).sum(axis=1).tolist() == [10, 10]
    with pytest.raises(
        InputError, match=r"^label: expected one of those in the index \(0, 1, 2, 3, 4, …\), got 99\.$"
    ):
        index.search(X, label=99)


def test_what_is_missing_is_filled_as_matches_says(engine):
    index = Index(None, engine)
    nothing = index.search(points(2), 3)
    assert nothing.ids.tolist() == [[-1] * 3] * 2
    assert np.isinf(nothing.distances).all()
    index.add(points(1), "target", ids=["only"], labels=["red"])
    found = index.search(points(1), 2)
    assert found.ids.tolist() == [["only", None]]
    assert found.labels.tolist() == [["red", None]]
    assert found.distances.tolist() == [[0.0, np.inf]]
    assert found.domains.tolist() == [["target", ""]]


@pytest.mark.parametrize("labels", [["a", None, "b", -1], [1, -1, 2, -1], [0.5, np.nan, 2.0, -1.0], None])
def test_rows_without_a_label_say_so(labels):
    X = points(4)
    found = Index().add(X, "source", labels=labels).search(X, 1).labels[:, 0].tolist()
    none = None if labels is None or labels[0] == "a" else -1
    assert found == ([none] * 4 if labels is None else [labels[0], none, labels[2], none])


BAD = [
    ({"ids": [1, 1, 2]}, "ids: expected every id once, got one twice."),
    ({"ids": [5, 0, 6]}, "ids: expected ids that are not in the index, got 0, which is."),
    ({"ids": ["a", "b", "c"]}, "ids: expected whole numbers, as the rows before have, got text."),
    ({"ids": [0.5, 1.5, 2.5]}, "ids: expected text or whole numbers of at least 0, got others."),
    ({"ids": [-3, 11, 12]}, "ids: expected text or whole numbers of at least 0, got others."),
    ({"ids": [11, 12]}, "ids: expected shape (3,) to match X, got (2,)."),
    ({"labels": [1, 2]}, "labels: expected shape (3,) to match X, got (2,)."),
    ({"labels": [1, "x", 2]}, "labels: expected text only or numbers only, got a mixture."),
    ({"labels": ["x", "y", "z"]}, "labels: expected text only or numbers only, got a mixture."),
    ({"domain": "here"}, "domain: expected one of 'source', 'target', got 'here'."),
    ({"X": np.full((3, 3), np.nan)}, "X: expected finite numbers without NaN or inf, got NaN."),
    ({"X": np.ones((3, 2))}, "X: expected 3 columns, as in fit, got 2."),
    ({"X": np.full((3, 3), 1e200)}, "X: expected points whose entries are below 1e+153, got larger; scale the rows first."),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "sentence"), BAD)
def test_what_is_wrong_with_rows_is_one_sentence_and_nothing_is_added(wrong, sentence):
    index = Index().add(points(4), "source", labels=[7, 8, 9, 7])
    before = index.search(points(2, seed=2), 4)
    with pytest.raises(InputError) as caught:
        index.add(**{"X": points(3, seed=1), "domain": "target", **wrong})
    assert str(caught.value) == sentence
    after = index.search(points(2, seed=2), 4)
    assert len(index) == 4
    np.testing.assert_array_equal(before.ids, after.ids)
    assert index.add(points(1), "source").ids.tolist() == [0, 1, 2, 3, 4]


def test_a_name_that_is_no_engine_and_a_model_that_is_none():
    with pytest.raises(
        InputError, match=r'^engine: expected "exact", "Flat", "HNSW32" or "IVF256,Flat" .*, got \'hsnw\'\.$'
    ):
        Index(engine="hsnw")
    for name in ("HNSW1", "HNSW", "IVF0,Flat", "IVF9", "PQ8", "Flat\n", 3):
        with pytest.raises(InputError, match=r"^engine: expected"):
            Index(engine=name)
    with pytest.raises(InputError, match=r"^model: expected one with transform\(X, domain\), got int\.$"):
        Index(3)
    with pytest.raises(InputError, match=r"^breadth: expected a whole number of at least 1"):
        Engine("HNSW32", breadth=0)
    with pytest.raises(InputError, match=r"^k: expected a whole number of at least 1, got 0\.$"):
        Index().search(points(1), 0)


@pytest.mark.parametrize("k", [10**400, 2**63, 10**9])
def test_more_neighbours_than_memory_holds_are_refused_in_one_sentence(k, engine):
    index = Index(None, engine).add(points(5), "source")
    with pytest.raises(InputError, match=r"^k: expected .* at most \d+.*, got \S+\.$") as caught:
        index.search(points(2), k)
    assert one_sentence(caught)
    assert np.isfinite(index.search(points(2), 2**10).distances).sum(axis=1).tolist() == [5, 5]


def test_without_faiss_the_install_line_is_said(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "isthmus\[faiss\]"'):
        Index(engine="HNSW32")
    Index(engine="exact")


def test_no_argument_is_changed(engine):
    X, ids = points(50), np.arange(50)
    kept = X.copy(), ids.copy()
    index = Index(None, engine).add(X, "source", ids=ids)
    X += 1.0
    ids += 7
    assert index.search(kept[0][:9], 1).ids[:, 0].tolist() == list(range(9))


STEPS = st.lists(st.tuples(st.sampled_from(["add", "search"]), st.integers(1, 6)), max_size=14)


@pytest.mark.parametrize("made", ENGINES, ids=lambda engine: engine.name)
@given(steps=STEPS, text=st.booleans())
@settings(max_examples=25)
def test_adding_and_searching_in_turns_is_a_dictionary(made, steps, text):
    if made.name != "exact":
        pytest.importorskip("faiss", reason="the extra is not installed")
    rng = np.random.default_rng(0)
    index, rows, count = Index(None, made), {}, 0
    for what, n in (*steps, ("search", 3)):
        if what == "add":
            X, ids = rng.normal(size=(n, 2)), [f"r{count + i}" if text else 2 * (count + i) for i in range(n)]
            index.add(X, "source", ids=ids)
            rows |= dict(zip(ids, X, strict=True))
            count += n
        else:
            q = rng.normal(size=2)
            found = index.search(q[None], n)
            expected = sorted(rows, key=lambda key: np.linalg.norm(rows[key] - q))[:n]
            assert found.ids[0].tolist() == expected + [None if text and count else -1] * (n - len(expected))
        assert len(index) == len(rows)
        assert index.ids.tolist() == list(rows)


def test_csls_measures_hubs_again_after_rows_are_added(engine):
    A, B = points(60, 4), points(45, 4, seed=1)
    index = Index(None, engine).add(A[:20], "source").add(B[:30], "target")
    index.search(B, 5, among="source", csls=True)
    index.add(A[20:], "source").add(B[30:], "target")
    fresh = Index(None, engine).add(A, "source", ids=np.r_[:20, 50:90]).add(B, "target", ids=np.r_[20:50, 90:105])
    found, expected = (each.search(B, 5, among="source", csls=True) for each in (index, fresh))
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_allclose(found.distances, expected.distances, atol=1e-5)


def test_lists_grow_with_the_rows():
    pytest.importorskip("faiss", reason="the extra is not installed")
    X = points(3000)
    index = Index(None, Engine("IVF50,Flat", breadth=100)).add(X[:100], "source")
    assert index.search(X[:5], 1).ids[:, 0].tolist() == list(range(5))
    index.add(X[100:], "source")
    assert index.search(X[-5:], 1).ids[:, 0].tolist() == list(range(2995, 3000))
    assert index._structure.index.nlist == 50


def test_single_precision_and_few_at_a_time(engine):
    X = points(200).astype(np.float32)
    one = Index(None, engine, dtype="float32")
    for row in X:
        one.add(row[None], "source")
    found, again = one.search(X, 3), Index(None, engine, dtype="float32").add(X, "source").search(X, 3)
    np.testing.assert_array_equal(found.distances[:, 0], 0.0)
    np.testing.assert_array_equal(found.ids, again.ids)
    assert one.rows.points.dtype == np.float32
