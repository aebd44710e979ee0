"""An index of the rows of Dask arrays: the index of the same rows in an array."""

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import MLHD, Index, InputError
from isthmus.data.blocks import as_partitions
from isthmus.retrieval.rules import fetch_points
from tests.conftest import make_domains


@pytest.fixture(scope="module", autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def data():
    return make_domains(seed=100, n_source=90, n_target=40)


@pytest.fixture(scope="module")
def mlhd(data):
    return MLHD().fit(*data.args)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("model", ["system", "space", "none"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_it_is_the_index_of_the_array(model, kind, dtype, data, mlhd):
    model = {"system": mlhd, "space": mlhd.common_space_, "none": None}[model]
    X, n = data.X_source, len(data.X_source)
    chunks = da.from_array(X, chunks=(40, 4 if kind == "dense" else -1))
    lazy = chunks if kind == "dense" else chunks.map_blocks(sp.csr_array)
    ids = np.array([f"row {i}" for i in range(n)])
    expected = Index(model, dtype=dtype).add(X, "source", ids=ids, labels=data.y_source)
    dask_columns = {"ids": da.from_array(ids, chunks=25), "labels": da.from_array(data.y_source, chunks=60)}
    for columns in ({"ids": ids, "labels": data.y_source}, dask_columns):
        index = Index(model, dtype=dtype).add(lazy, "source", **columns)
        assert index.ids.tolist() == ids.tolist()
        assert index.rows.points.dtype == dtype
        np.testing.assert_allclose(index.rows.points, expected.rows.points, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(index.rows.codes, expected.rows.codes)
    found, wanted = index.search(lazy[:7], 3, "source"), expected.search(X[:7], 3, "source")
    np.testing.assert_array_equal(found.ids, wanted.ids)
    assert index.add(lazy[:0:-1], "source", ids=[f"again {i}" for i in range(n - 1)]).ids[-1] == f"again {n - 2}"


def test_rows_are_numbered_on(data, mlhd):
    lazy = da.from_array(data.X_source, chunks=(40, -1))
    index = Index(mlhd).add(lazy, "source").add(lazy, "source")
    assert index.ids.tolist() == list(range(180))


def test_only_points_travel_and_in_the_precision_of_the_index(data, mlhd, monkeypatch):
    from isthmus.data import blocks

    arrived, real = [], blocks.compute
    monkeypatch.setattr(blocks, "compute", lambda values: arrived.append(real(values)) or arrived[-1])
    index = Index(mlhd.common_space_, dtype="float32").add(da.from_array(data.X_source, chunks=(40, -1)), "source")
    (parts,) = arrived
    width = index.rows.points.shape[1]
    assert [(part.shape, part.dtype) for part in parts] == [((m, width), np.float32) for m in (40, 40, 10)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (da.ones((6, 3)), "X: expected 5 columns"),
        (da.full((6, 5), np.nan), "X: expected finite"),
        (da.ones(6), "X: expected a two-dimensional"),
        (da.ones((0, 5)), "X: expected at least 1 row"),
        (da.full((6, 5), 1e40), "X: expected points whose entries are below"),
    ],
)
def test_bad_rows_are_told_and_none_is_added(rows, message, data, mlhd):
    index = Index(mlhd, dtype="float32").add(data.X_source, "source")
    with pytest.raises(InputError, match=message):
        index.add(rows, "source")
    assert len(index) == len(data.X_source)


def test_one_id_twice_in_two_partitions_is_told(data, mlhd):
    index = Index(mlhd)
    ids = da.from_array(np.r_[np.arange(89), 0], chunks=40)
    with pytest.raises(InputError, match="ids: expected every id once"):
        index.add(da.from_array(data.X_source, chunks=(40, -1)), "source", ids=ids)
    assert len(index) == 0


def test_points_of_one_column_too_few_are_told():
    with pytest.raises(InputError, match="X: expected 3 columns"):
        fetch_points(as_partitions(da.ones((4, 2))), "float64", width=3)
