"""Samples of rows: of each code its share, none twice, and the same rows whoever holds them."""

from itertools import pairwise

import dask
import dask.array as da
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from isthmus._core.rows import ArrayRows, Draw, take_sample
from isthmus.data import blocks as module
from isthmus.data.blocks import DaskRows
from isthmus.io import parquet as parquet_rows
from isthmus.io.parquet import ParquetRows

coded = st.lists(st.integers(0, 3), min_size=1, max_size=90).map(np.array)


def parts_of(codes, cuts):
    """Numbers of rows and codes, cut at some places, and how many of each code come before."""
    edges, X = [0, *sorted(min(cut, len(codes)) for cut in cuts), len(codes)], np.arange(1.0 * len(codes))[:, None]
    for start, stop in pairwise(edges):
        yield X[start:stop], codes[start:stop], np.bincount(codes[:start], minlength=4)


@given(coded, st.integers(1, 100), st.integers(0, 2**63 - 1), st.lists(st.integers(0, 90), max_size=6))
def test_each_code_has_its_share_and_no_cut_changes_which_rows_are_drawn(codes, n, seed, cuts):
    counts = np.bincount(codes, minlength=4)
    draw = Draw(counts, n, seed)
    (rows, found), *_ = (take_sample(X, y, draw, before) for X, y, before in parts_of(codes, []))
    share = np.minimum(counts, np.maximum(1, n * counts / len(codes)))
    assert (np.abs(np.bincount(found, minlength=4) - share)[counts > 0] <= 0.5).all()
    assert (np.diff(rows[:, 0]) > 0).all()  # in their order, none twice
    assert (codes[rows[:, 0].astype(int)] == found).all()
    pieces = [take_sample(X, y, draw, before)[0] for X, y, before in parts_of(codes, cuts)]
    assert np.array_equal(np.concatenate(pieces), rows)


@pytest.mark.parametrize("n", [3, 11, 26])
def test_every_row_is_drawn_about_as_often(n):
    times, draws = np.zeros(29), 1500
    for seed in range(draws):
        times[Draw(np.array([29]), n, seed).ranks(0, 0, 29)] += 1
    p = n / 29
    assert times.sum() == n * draws
    assert np.abs(times / draws - p).max() <= 4.5 * np.sqrt(p * (1 - p) / draws)


def test_far_away_rows_are_found_without_those_before():
    N = 10**12
    draw = Draw(np.array([N]), 10**9, seed=3)
    found = draw.ranks(0, N - 500_000, N)
    assert abs(len(found) - 500) <= 2  # one from each run of a thousand
    assert (np.diff(found) > 0).all()
    assert np.array_equal(draw.ranks(0, N - 200_000, N), found[found >= N - 200_000])


@pytest.mark.parametrize("local", [50_000, 10])
def test_whoever_holds_the_rows_draws_the_same(local, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LOCAL", local)
    monkeypatch.setattr(parquet_rows, "RUN", 64)
    random = np.random.default_rng(100)
    X, y = random.normal(size=(500, 3)), random.integers(4, size=500)
    np.save(tmp_path / "rows.npy", X)
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y}).write_parquet(tmp_path / "rows.parquet")
    lazy = da.from_array(X, chunks=(70, 2))
    kinds = [
        ArrayRows(np.load(tmp_path / "rows.npy", mmap_mode="r"), y),
        ArrayRows(sp.csr_array(X), y.astype(np.uint8)),
        ParquetRows(tmp_path / "rows.parquet", "y", dtype="float64"),
        DaskRows.of(lazy, y),
        DaskRows.of(da.from_array(X, chunks=(500, 3)), y),
        DaskRows.of(lazy.rechunk((70, 3)).map_blocks(sp.csr_array), y),
    ]
    with dask.config.set(scheduler="synchronous"):
        expected, codes = twice_drawn(ArrayRows(X, y))
        for rows in kinds:
            found = twice_drawn(rows)
            assert np.array_equal(found[0], expected)
            assert np.array_equal(found[1], codes)


def twice_drawn(rows):
    """A sample of a sample, as levels are drawn."""
    random = np.random.default_rng(7)
    sample = rows.sample(200, random).sample(40, random)
    parts, codes = zip(*sample.blocks(), strict=True)
    return np.concatenate(
        [np.asarray(part.todense() if sp.issparse(part) else part) for part in parts]
    ), np.concatenate(codes)
