"""Rows in the partitions of Dask arrays, with Dask's own threads in this process."""

import sys

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import CCA, MLHD, RidgeMap
from isthmus._core.rows import ArrayRows
from isthmus.data import blocks as module
from isthmus.data.blocks import DaskRows
from isthmus.exceptions import InputError, MissingDependencyError

RANDOM = np.random.default_rng(100)
X = RANDOM.normal(size=(500, 3))
y = np.array(list("abc"))[RANDOM.integers(3, size=500)]


def sums(X, codes):
    return np.asarray(X.sum(axis=0)), np.bincount(codes, minlength=3)


@pytest.fixture(scope="module", autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("chunks", [(500, 3), (70, 2), (9, 3)])
@pytest.mark.parametrize("labels", ["array", "dask", "list"])
def test_sums_are_those_of_the_array(chunks, labels):
    given = {"array": y, "dask": da.from_array(y, chunks=110), "list": y.tolist()}[labels]
    rows = DaskRows.of(da.from_array(X, chunks=chunks), given)
    total = rows.total(sums)
    np.testing.assert_allclose(total[0], X.sum(axis=0))
    assert rows.classes.tolist() == ["a", "b", "c"]
    assert total[1].tolist() == rows.counts.sum(axis=0).tolist() == [(y == c).sum() for c in "abc"]


def test_the_number_of_threads_does_not_matter_to_the_last_bit():
    rows, totals = DaskRows.of(da.from_array(X, chunks=(33, 3)), y), []
    for scheduler, workers in (("synchronous", 1), ("threads", 2), ("threads", 4)):
        with dask.config.set(scheduler=scheduler, num_workers=workers):
            totals.append(rows.total(sums)[0])
    assert np.array_equal(totals[0], totals[1])
    assert np.array_equal(totals[0], totals[2])


def test_blocks_are_the_rows_in_their_order():
    rows = DaskRows.of(da.from_array(X, chunks=(70, 3)), y)
    parts, codes = zip(*rows.blocks(32), strict=True)
    assert np.array_equal(np.concatenate(parts), X)
    assert (rows.classes[np.concatenate(codes)] == y).all()


def test_sparse_partitions():
    rows = DaskRows.of(da.from_array(X, chunks=(100, 3)).map_blocks(sp.csr_array), y)
    np.testing.assert_allclose(rows.total(sums)[0], X.sum(axis=0))
    assert rows.sample(50, np.random.default_rng(0)).X.format == "csr"


@pytest.mark.parametrize("local", [50_000, 10])
def test_a_sample_has_of_each_class_its_share(local, monkeypatch):
    monkeypatch.setattr(module, "LOCAL", local)
    rows = DaskRows.of(da.from_array(X, chunks=(60, 3)), y)
    sample = rows.sample(100, np.random.default_rng(100))
    assert isinstance(sample, ArrayRows if local > 100 else DaskRows)
    parts, codes = (np.concatenate(each) for each in zip(*sample.blocks(), strict=True))
    assert sample.n == len(parts)
    assert np.abs(np.bincount(codes) - [100 * (y == c).mean() for c in "abc"]).max() <= 1.0
    of = {tuple(row): label for row, label in zip(X.tolist(), y, strict=True)}
    assert [of.pop(tuple(row)) for row in parts.tolist()] == rows.classes[codes].tolist()  # pop: none of them twice


def test_every_sample_is_another_and_all_rows_are_no_sample(monkeypatch):
    rows, random = DaskRows.of(da.from_array(X, chunks=(60, 3)), y), np.random.default_rng(100)
    assert not np.array_equal(rows.sample(100, random).X, rows.sample(100, random).X)
    assert rows.sample(500, random).n == 500
    monkeypatch.setattr(module, "LOCAL", 10)
    assert rows.sample(500, random) is rows


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (da.ones((4, 2)), None, "y_source: expected one label per row, got None"),
        (da.ones((4, 2)), ["a"], r"y_source: expected shape \(4,\)"),
        (da.ones(4), ["a"] * 4, "X_source: expected a two-dimensional"),
        (da.ones((4, 2)), ["a", None, "b", "b"], "y_source: expected a label for every row"),
        (da.ones((4, 2)), [1, -1, 2, 2], "y_source: expected a label for every row"),
        (da.ones((4, 2)), ["a", 1, "b", "b"], "y_source: expected labels of one sortable type"),
    ],
)
def test_bad_input_is_told_in_one_sentence(rows, labels, message):
    with pytest.raises(InputError, match=message):
        DaskRows.of(rows, labels if labels is None else np.array(labels, dtype=object))


def test_unknown_chunks_are_told():
    unknown = da.from_array(X, chunks=(60, 3))
    unknown = unknown[unknown[:, 0] > 0]
    with pytest.raises(InputError, match="compute_chunk_sizes"):
        DaskRows.of(unknown, y)


def test_without_dask_there_is_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "isthmus\[dask\]"'):
        DaskRows.of(X, y)


@pytest.mark.parametrize("dtype", [complex, str, object, "datetime64[s]"])
def test_arrays_of_other_than_real_numbers_are_told(dtype):
    X, y = np.arange(12).reshape(6, 2), np.arange(6) % 2
    other = da.from_array(X.astype(dtype), chunks=(3, 2))
    for fit in (
        lambda: MLHD().fit(other, y, X.astype(float), y),
        lambda: CCA().fit(other, y, X.astype(float), y),
        lambda: RidgeMap().fit(other, None, X.astype(float), None, pairs="rows"),
    ):
        with pytest.raises(InputError, match=r"^X_source: expected real numbers, got values of type \S+\.$"):
            fit()


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.float32])
def test_whole_numbers_are_rows_too(dtype):
    X = np.arange(12).reshape(6, 2) % 2
    rows = DaskRows.of(da.from_array(X.astype(dtype), chunks=(3, 2)), np.arange(6) % 2)
    assert rows.total(lambda X, codes: (X.sum(axis=0),))[0].tolist() == X.sum(axis=0).tolist()
