"""MLHD over rows in blocks: the same optimum as over arrays, and the same answers."""

import pickle
import warnings

import dask
import dask.array as da
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from isthmus import MLHD
from isthmus._core.rows import ArrayRows
from isthmus.data import blocks as dask_rows
from isthmus.exceptions import DataWarning, InputError
from isthmus.io.parquet import ParquetRows
from isthmus.solvers.blocks import solver as levels
from isthmus.solvers.newton import DualNewton
from tests.conftest import make_domains

SETTINGS = {"tol": 1e-9}


@pytest.fixture(scope="module", autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def data():
    found = make_domains(seed=100, n_source=300, n_target=40, n_labelled=9)
    found.X_source -= found.X_source.mean(axis=0)
    found.X_target -= found.X_target.mean(axis=0)
    found.names = np.array(["cat", "dog", "eel"])
    found.labels = np.where(found.y_target >= 0, found.names[found.y_target], None)
    return found


@pytest.fixture(scope="module")
def exact(data):
    return MLHD(**SETTINGS, solver=DualNewton(tol=1e-9)).fit(
        data.X_source, data.names[data.y_source], data.X_target, data.labels
    )


def as_kind(kind, data, folder):
    """The source as rows of some kind, and what goes where its labels go."""
    X, y = data.X_source, data.y_source
    rows_each = len(X) // 4 - 5
    if kind == "dask":
        return da.from_array(X, chunks=(rows_each, 3)), data.names[y]
    if kind == "dask labels":
        return da.from_array(X, chunks=(rows_each, 3)), da.from_array(data.names[y], chunks=len(y) // 3)
    if kind == "dask, sparse":
        return da.from_array(X, chunks=(rows_each, -1)).map_blocks(sp.csr_array), data.names[y]
    if kind == "parquet":
        frame = pl.DataFrame({f"x{k}": X[:, k] for k in range(X.shape[1])} | {"name": data.names[y]})
        frame.write_parquet(folder / "rows.parquet", row_group_size=64)
        return ParquetRows(folder / "rows.parquet", label="name", dtype="float64"), None
    if kind == "memory map":
        np.save(folder / "rows.npy", X)
        return ArrayRows(np.load(folder / "rows.npy", mmap_mode="r"), y), data.names
    return ArrayRows(sp.csr_array(X) if kind == "sparse" else X, y), data.names


KINDS = ["array", "memory map", "sparse", "dask", "dask labels", "dask, sparse", "parquet"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_that_of_the_fit_to_arrays(kind, data, exact, tmp_path):
    rows, y = as_kind(kind, data, tmp_path)
    found = MLHD(**SETTINGS).fit(rows, y, data.X_target, data.labels)
    assert found.result_.relative_gap <= 1e-8
    np.testing.assert_allclose(found.get_mahalanobis_matrix(), exact.get_mahalanobis_matrix(), atol=1e-5)
    assert found.result_.primal == pytest.approx(exact.result_.primal, rel=1e-8)
    for name in ("alignment_weight_", "pair_weight_", "bounds_"):
        np.testing.assert_allclose(getattr(found, name), getattr(exact, name), rtol=1e-9)
    assert found.classes_.tolist() == exact.classes_.tolist()
    assert found.n_features_ == exact.n_features_
    assert (found.predict(data.X_target) == exact.predict(data.X_target)).all()
    distances = (each.kneighbors(data.X_target, 5)[0] for each in (found, exact))
    np.testing.assert_allclose(*distances, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[1:])
def test_the_steps_over_levels_are_those_of_the_array(kind, tmp_path, monkeypatch):
    """The same samples are drawn whoever holds the rows: each step is the same, but for rounding."""
    monkeypatch.setattr(dask_rows, "LOCAL", 900)  # of three levels one is brought here
    for name, value in (("COARSEST", 800), ("SAMPLE", 800), ("LARGEST_SAMPLE", 5000)):
        monkeypatch.setattr(levels, name, value)
    assert levels.level_sizes(14_000) == [(875, 1), (3500, 1)]
    many = make_domains(seed=100, n_source=14_000, n_target=40, n_labelled=9)
    many.names = np.array(["cat", "dog", "eel"])
    labels = np.where(many.y_target >= 0, many.names[many.y_target], None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        expected, found = (
            MLHD(tol=1e-9, rule="means").fit(*as_kind(each, many, tmp_path), many.X_target, labels)
            for each in ("array", kind)
        )
    traces = [[point.primal for point in each.result_.trace] for each in (expected, found)]
    assert len(traces[0]) == len(traces[1])
    np.testing.assert_allclose(traces[0], traces[1], rtol=1e-6)
    np.testing.assert_allclose(found.get_mahalanobis_matrix(), expected.get_mahalanobis_matrix(), atol=1e-5)


@pytest.mark.parametrize("settings", [{"alignment": "constraint"}, {"alignment": "none"}, {"target_kernel": "rbf"}, {"pair_weight": 0.5, "bounds": (3.0, 9.0)}])  # fmt: skip
def test_so_it_is_with_other_settings(settings, data):
    rows, y = as_kind("array", data, None)
    exact = MLHD(**SETTINGS, **settings, solver=DualNewton(tol=1e-9)).fit(data.X_source, data.names[data.y_source], data.X_target, data.labels)  # fmt: skip
    found = MLHD(**SETTINGS, **settings).fit(rows, y, data.X_target, data.labels)
    assert found.result_.primal == pytest.approx(exact.result_.primal, rel=1e-7)
    new = data.X_target[:5]
    np.testing.assert_allclose(
        found.pairwise_distances(data.X_source, new), exact.pairwise_distances(data.X_source, new), rtol=1e-4
    )


def test_means_of_all_rows_name_classes(data):
    rows, y = as_kind("dask", data, None)
    exact = MLHD(rule="means", **SETTINGS).fit(data.X_source, data.names[data.y_source], data.X_target, data.labels)
    found = MLHD(rule="means", **SETTINGS).fit(rows, y, data.X_target, data.labels)
    assert found.references_.n_source == 3
    np.testing.assert_allclose(
        found.decision_function(data.X_target), exact.decision_function(data.X_target), atol=1e-3
    )


def test_partitions_of_new_rows_are_mapped(data):
    rows, y = as_kind("array", data, None)
    mlhd = MLHD(target_transformer=None, **SETTINGS).fit(rows, y, data.X_target, data.labels)
    new = da.from_array(data.X_target, chunks=(7, 3))
    for lazy, expected in (
        (mlhd.transform(new), mlhd.transform(data.X_target)),
        (mlhd.predict(new), mlhd.predict(data.X_target)),
        (mlhd.predict_proba(new), mlhd.predict_proba(data.X_target)),
        (mlhd.transform(new.astype("float32")), mlhd.transform(data.X_target.astype("float32"))),
        (mlhd.set_params(rule="means").decision_function(new), mlhd.decision_function(data.X_target)),
        (mlhd.set_params(rule="linear").predict(new), mlhd.predict(data.X_target)),
    ):
        assert isinstance(lazy, da.Array)
        found = lazy.compute()
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype) == (lazy.shape, lazy.dtype)
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=1e-5)
        else:
            assert (found == expected).all()
    assert mlhd.score(new, data.names[data.y_true]) == mlhd.score(data.X_target, data.names[data.y_true])


def test_partitions_are_looked_at_as_arrays_are(data):
    rows, y = as_kind("array", data, None)
    mlhd = MLHD(**SETTINGS).fit(rows, y, data.X_target, data.labels)
    with pytest.raises(InputError, match="X: expected 7 columns"):
        mlhd.transform(da.ones((4, 3))).compute()
    with pytest.raises(InputError, match="X: expected finite numbers"):
        mlhd.predict(da.full((4, 7), np.nan)).compute()
    with pytest.raises(InputError, match="domain"):
        mlhd.predict(da.ones((4, 7)), domain="other")


def test_a_fitted_system_can_be_pickled(data):
    rows, y = as_kind("dask", data, None)
    mlhd = MLHD(**SETTINGS).fit(rows, y, data.X_target, data.labels)
    again = pickle.loads(pickle.dumps(mlhd))
    assert (again.predict(data.X_target) == mlhd.predict(data.X_target)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source_kernel": "rbf"}, "source_kernel: expected a linear kernel with source rows in blocks"),
        ({"outside": "zero"}, "outside: expected 'identity'"),
        ({"within_domain": True}, "within_domain: expected False"),
        ({"n_components": 2}, "n_components: expected None"),
        ({"solver": "bregman"}, "solver: expected 'newton' or 'blocks'"),
        ({"n_neighbors": 301}, "n_neighbors: expected at most the 300"),
    ],
)
def test_what_blocks_can_not_do_is_told(settings, message, data):
    rows, y = as_kind("array", data, None)
    mlhd = MLHD(**settings)
    with pytest.raises(InputError, match=message):
        mlhd.fit(rows, y, data.X_target, data.labels)
    assert not hasattr(mlhd, "classes_")


@pytest.mark.parametrize(
    ("classes", "target", "message"),
    [
        (None, None, "y_source: expected the classes"),
        (["cat", "cat", "dog"], None, "y_source: expected different classes"),
        (["cat", "dog"], None, "codes: expected numbers from 0 to 1"),
        (["cat", "dog", "eel"], ["fox"] * 40, "y_target: expected only classes of the source"),
        (["cat", "dog", "eel"], [None] * 40, "y_target: expected at least one labelled row"),
        (["cat", "dog", "eel"], ["cat"], "y_target: expected shape"),
    ],
)
def test_bad_labels_are_told(classes, target, message, data):
    rows = ArrayRows(data.X_source, data.y_source)
    labels = np.where(np.isin(data.labels, classes or []), data.labels, None) if target is None else target
    with pytest.raises(InputError, match=message):
        MLHD().fit(rows, classes, data.X_target, labels)


def test_pairs_are_told(data):
    with pytest.raises(InputError, match="pairs: expected None with source rows in blocks"):
        MLHD().fit(ArrayRows(data.X_source, data.y_source), data.names, data.X_target, data.labels, pairs=[[0, 0]])


def test_two_rows_of_zeros_are_told(data):
    X, T = data.X_source.copy(), data.X_target.copy()
    X[0], T[0] = 0.0, 0.0
    with pytest.raises(InputError, match="X_target: expected no labelled row of zeros"):
        MLHD().fit(ArrayRows(X, data.y_source), data.names, T, data.labels)


def test_data_that_it_does_badly_on_are_told_of(data):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        MLHD().fit(ArrayRows(data.X_source + 1e3, data.y_source), data.names, data.X_target, data.labels)
    assert any("X_source: the mean is far from" in str(each.message) for each in caught)


def test_a_small_fit_has_one_blas_thread_and_gives_back_the_others(data):
    seen, args = set(), (data.X_source, data.y_source, data.X_target, data.y_target)
    with threadpool_limits(2, user_api="blas"):
        MLHD(progress=lambda point: seen.update(blas_threads())).fit(*args)
        assert blas_threads() == {2}
    assert seen == {1}


def blas_threads():
    ours = [pool for pool in threadpool_info() if "numpy" in pool["filepath"] or "scipy" in pool["filepath"]]
    return {pool["num_threads"] for pool in ours if pool["user_api"] == "blas"}
