"""Closed forms over pairs of rows in blocks: what they are over arrays."""

import pickle
from functools import cache

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from isthmus import CCA, KCCA, InputError, KnownPairs, Landmarks, Procrustes, RidgeMap
from isthmus._core.rows import ArrayRows, Draw
from isthmus.estimators import cca as held_out
from isthmus.estimators import from_blocks
from isthmus.exceptions import DataWarning
from isthmus.io.parquet import ParquetRows

N, NEW = 240, 30


@pytest.fixture(scope="module", autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def views(seed=100, n=N, noise=0.3):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n + NEW, 5))
    A, B = (H @ rng.normal(size=(5, d)) + noise * rng.normal(size=(n + NEW, d)) + 2.0 for d in (6, 9))
    return A[:n], B[:n], A[n:], B[n:]


A, B, QA, QB = views()
WEIGHTS = KnownPairs(np.c_[np.arange(N), np.arange(N)], np.random.default_rng(100).uniform(0.1, 4.0, size=N))
SYSTEMS = {
    "ridge": RidgeMap(),
    "ridge, one penalty": RidgeMap(penalty=0.1),
    "ridge, cosine": RidgeMap("cosine", "linear"),
    "procrustes": Procrustes(),
    "cca": CCA(),
    "cca, unit": CCA(variates="unit", n_components=3),
    "cca, textbook": CCA(regularization=0.0),
    "kcca": KCCA(Landmarks("rbf", 50), "linear"),
}
every_system = pytest.mark.parametrize("name", SYSTEMS)


def as_kind(kind, folder):
    if kind == "memory map":
        for X, name in ((A, "a"), (B, "b")):
            np.save(folder / f"{name}.npy", X)
        return tuple(ArrayRows(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in "ab")
    if kind == "sparse":
        return ArrayRows(sp.csr_array(A)), ArrayRows(sp.csr_array(B))
    if kind == "dask":
        return da.from_array(A, chunks=(70, 4)), da.from_array(B, chunks=(90, 5))
    if kind == "dask, sparse":
        return tuple(da.from_array(X, chunks=(70, -1)).map_blocks(sp.csr_array) for X in (A, B))
    return da.from_array(A, chunks=(70, -1)), B


KINDS = ["memory map", "sparse", "dask", "dask, sparse", "half of it dask"]


def learned(model):
    """What a system is asked for: distances and, where it has them, correlations and penalties."""
    names = ("correlations_", "penalties_", "regularization_")
    return [
        model.pairwise_distances(QA, QB),
        *(np.array(getattr(model, name)) for name in names if hasattr(model, name)),
    ]


def assert_same(found, exact):
    for ours, theirs in zip(learned(found), learned(exact), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


@cache
def fit_to_arrays(name, sparse, weighted):
    arrays = (sp.csr_array(A), sp.csr_array(B)) if sparse else (A, B)  # landmarks of sparse rows are others
    return clone(SYSTEMS[name]).fit(*_with(arrays), pairs=WEIGHTS if weighted else "rows")


@every_system
@pytest.mark.parametrize(
    ("kind", "weighted"), [*((kind, False) for kind in KINDS), ("sparse", True), ("half of it dask", True)]
)
def test_the_fit_is_that_to_arrays(name, kind, weighted, tmp_path):
    system, sparse, pairs = SYSTEMS[name], "sparse" in kind, WEIGHTS if weighted else "rows"
    exact, rows = fit_to_arrays(name, sparse, weighted), as_kind(kind, tmp_path)
    found = system.fit(rows[0], None, rows[1], None, pairs=pairs)
    assert_same(found, exact)
    assert found.n_features_ == exact.n_features_
    if not sparse:
        np.testing.assert_array_equal(found.search(QB, QA, 3)[1], exact.search(QB, QA, 3)[1])


@pytest.mark.parametrize("name", ["ridge", "ridge, cosine", "procrustes", "cca", "cca, unit"])
@pytest.mark.parametrize("sparse", [False, True])
def test_many_pairs_in_arrays_go_the_same_way(name, sparse, monkeypatch):
    rng, kind = np.random.default_rng(100), sp.csr_array if sparse else np.asarray
    order = rng.permutation(N)
    rows = A[order], B
    pairs = KnownPairs(np.c_[np.argsort(order), np.arange(N)][:180], rng.uniform(0.5, 2.0, size=180))
    exact = pickle.loads(pickle.dumps(SYSTEMS[name].fit(*_with(rows), pairs=pairs)))
    monkeypatch.setattr(from_blocks, "is_small", lambda *shapes: False)
    found = SYSTEMS[name].fit(*_with([kind(X) for X in rows]), pairs=pairs)
    assert_same(found, exact)
    np.testing.assert_allclose(found.references_.points**2, exact.references_.points**2, atol=1e-8)


def _with(rows):
    return rows[0], None, rows[1], None


def test_more_columns_than_pairs():
    rng = np.random.default_rng(100)
    a, b = (X[:20] @ rng.normal(size=(X.shape[1], 60)) for X in (A, B))
    exact = RidgeMap(penalty=1.0).fit(a, None, b, None, pairs="rows").pairwise_distances(a, b)
    found = RidgeMap(penalty=1.0).fit(ArrayRows(a), None, ArrayRows(b), None, pairs="rows").pairwise_distances(a, b)
    np.testing.assert_allclose(found, exact, atol=1e-5)


def test_labels_name_rows_of_the_other_domain():
    y = np.where(A[:, 0] > 2.0, "right", "left").astype(object)
    y[::7] = None
    exact = RidgeMap().fit(A, y, B, None, pairs="rows")
    found = RidgeMap().fit(da.from_array(A, chunks=(70, -1)), y, B, None, pairs="rows")
    assert found.classes_.tolist() == ["left", "right"]
    assert (found.predict(QB) == exact.predict(QB)).all()
    both = CCA(regularization=0.1).fit(ArrayRows(A), y, ArrayRows(B), y, pairs="rows")
    assert len(both.references_.y) == 2 * (N - len(y[::7]))
    assert sorted(np.unique(both.references_.y)) == [0, 1]


def test_of_many_pairs_some_are_held_out_once(monkeypatch):
    """The chosen regularization is that of a plain computation: learn without the sample, rank the sample."""
    monkeypatch.setattr(held_out, "MANY", 50)
    a, b, *_ = views(101, noise=1.5)
    model = CCA().fit(ArrayRows(a), None, ArrayRows(b), None, pairs="rows")
    test = Draw(np.array([N]), held_out.fold_size(N), int(np.random.default_rng(0).integers(2**63))).ranks(0, 0, N)
    rest = np.setdiff1d(np.arange(N), test)
    scores = []
    for gamma in held_out.OFFERED:
        part = CCA(regularization=gamma).fit(a[rest], None, b[rest], None, pairs="rows")
        D = part.pairwise_distances(a[test], b[test])
        ranks = [1 + (np.diagonal(D)[:, None] > D).sum(axis=1), 1 + (np.diagonal(D)[None] > D).sum(axis=0)]
        scores.append(np.mean([1.0 / r for r in ranks]))
    assert model.regularization_ == held_out.OFFERED[int(np.argmax(scores))]
    assert CCA().fit(a, None, b, None, pairs="rows").regularization_ == model.regularization_


def test_a_sample_of_pairs_is_kept_to_be_compared_with(monkeypatch):
    from isthmus.estimators import from_blocks

    monkeypatch.setattr(from_blocks, "REFERENCE_ROWS", 50)
    model = Procrustes().fit(da.from_array(A, chunks=(70, -1)), None, da.from_array(B, chunks=(70, -1)), None, pairs="rows")  # fmt: skip
    assert model.references_.n_source == 50
    assert model.kneighbors(QB, 3)[1].max() < 50


def test_partitions_of_new_rows_are_mapped():
    model = RidgeMap().fit(da.from_array(A, chunks=(70, -1)), None, B, None, pairs="rows")
    lazy = model.transform(da.from_array(QB, chunks=(7, 3)))
    np.testing.assert_allclose(lazy.compute(), model.transform(QB))


@pytest.mark.parametrize(
    ("system", "rows", "pairs", "message"),
    [
        (
            RidgeMap("rbf"),
            (A, B),
            "rows",
            "source_kernel: expected linear, cosine or Landmarks with source",
        ),
        (
            RidgeMap(source_transformer=StandardScaler()),
            (A, B),
            "rows",
            "source_transformer: expected None with rows",
        ),
        (RidgeMap(), (A, B[:9]), "rows", "pairs: expected equally many rows"),
        (RidgeMap(), (A, B), [[0, 0], [1, 1]], 'pairs: expected "rows" or KnownPairs'),
        (RidgeMap(), (A, B), KnownPairs([[0, 1], [1, 0]]), "pairs: expected row i to be row i"),
        (RidgeMap(), (A, B), None, "pairs: expected known pairs of rows"),
        (CCA(), (A, B), None, "y_source: expected the classes"),
        (Procrustes(), (A[:1], B[:1]), "rows", "pairs: expected at least 2 for Procrustes"),
        (Procrustes(), (A, np.ones_like(B)), "rows", "pairs: expected target rows that differ"),
        (RidgeMap(), (A, np.where(B > 3.0, np.nan, B)), "rows", "X_target: expected finite numbers"),
    ],
)
def test_what_blocks_can_not_do_is_told_in_one_sentence(system, rows, pairs, message):
    with pytest.raises(InputError, match=message):
        system.fit(ArrayRows(rows[0]), None, ArrayRows(rows[1]), None, pairs=pairs)
    assert not hasattr(system, "common_space_")


def test_other_rows_and_wide_ones_are_told(tmp_path, monkeypatch):
    import polars as pl

    pl.DataFrame({"x": [1.0, 2.0], "y": ["a", "b"]}).write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(
        InputError, match="X_source: expected a Dask array or ArrayRows where pairs are known, got Par"
    ):
        RidgeMap().fit(ParquetRows(tmp_path / "rows.parquet", label="y"), None, A[:2], None, pairs="rows")
    with pytest.raises(InputError, match="X_target: expected rows without codes where pairs are known"):
        RidgeMap().fit(ArrayRows(A), None, ArrayRows(B, np.arange(N) % 2), None, pairs="rows")
    monkeypatch.setattr(from_blocks, "WIDEST", 14)
    with pytest.raises(InputError, match="X_source: expected at most 14 coordinates of both domains"):
        RidgeMap().fit(ArrayRows(A), None, ArrayRows(B), None, pairs="rows")


def test_columns_of_a_frame_keep_their_order():
    import pandas as pd

    frame = pd.DataFrame(A, columns=[f"c{i}" for i in range(A.shape[1])])
    model = RidgeMap().fit(frame, None, ArrayRows(B), None, pairs="rows")
    np.testing.assert_array_equal(model.pairwise_distances(frame, QB), model.pairwise_distances(A, QB))
    with pytest.raises(InputError, match="expected the columns in the order of fit"):
        model.pairwise_distances(frame[frame.columns[::-1]], QB)


def test_target_rows_in_blocks_without_pairs_are_told_of_pairs():
    with pytest.raises(InputError, match='pairs: expected "rows" or KnownPairs with rows in blocks, got None'):
        CCA().fit(A, np.arange(N) % 2, ArrayRows(B[:9]), np.arange(9) % 2)


@pytest.mark.parametrize("kernel", ["linear", "cosine", Landmarks("rbf", 20)])
@pytest.mark.parametrize("size", [1e-170, 1e100, 1e200])
def test_sizes_without_room_for_products_are_told_whatever_the_kernel(kernel, size):
    with pytest.raises(
        InputError, match=r"X_source: expected features whose largest is between 1e-60 and 1e\+60, got"
    ):
        KCCA(kernel, "linear").fit(ArrayRows(A * size), None, ArrayRows(B), None, pairs="rows")


def test_constant_columns_are_told_of():
    with pytest.warns(DataWarning, match="X_source: 1 of 7 columns are constant"):
        RidgeMap().fit(ArrayRows(np.c_[A, np.ones(N)]), None, ArrayRows(B), None, pairs="rows")
