"""Rows in Parquet files."""

import numpy as np
import polars as pl
import pytest

from conftest import one_sentence
from isthmus._core.rows import ArrayRows
from isthmus.exceptions import InputError
from isthmus.io import parquet as parquet_rows
from isthmus.io.parquet import ParquetRows
from isthmus.io.tables import content as limits
from isthmus.io.tables.read import read_table
from isthmus.io.tables.stream import RowBlocks


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_rows, "RUN", 64)
    random = np.random.default_rng(100)
    X, y = random.normal(size=(300, 3)).astype(np.float32), random.integers(4, size=300)
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "label": y + 10})
    paths = tmp_path / "first.parquet", tmp_path / "second.parquet"
    frame[:130].write_parquet(paths[0], row_group_size=50)
    frame[130:].write_parquet(paths[1], row_group_size=50)
    return paths, X, y


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_are_those_of_the_files(table, dtype):
    paths, X, y = table
    rows = ParquetRows(paths, "label", dtype=dtype)
    parts, codes = zip(*rows.blocks(20), strict=True)
    assert (rows.n, rows.d, rows.classes.tolist()) == (300, 3, [10, 11, 12, 13])
    assert np.array_equal(np.concatenate(parts), X)
    assert parts[0].dtype == dtype
    assert np.array_equal(np.concatenate(codes), y)
    total = rows.total(lambda X, codes: (X.sum(axis=0, dtype=np.float64), np.bincount(codes, minlength=4)))
    np.testing.assert_allclose(total[0], X.sum(axis=0, dtype=np.float64))
    assert total[1].tolist() == rows.counts.sum(axis=0).tolist() == np.bincount(y).tolist()


def test_some_columns(table):
    paths, X, _ = table
    rows = ParquetRows(paths, "label", columns=["c", "a"])
    assert np.array_equal(np.concatenate([part for part, _ in rows.blocks()]), X[:, [2, 0]])


def test_a_sample_is_in_memory(table):
    paths, X, y = table
    rows = ParquetRows(paths, "label")
    sample = rows.sample(60, np.random.default_rng(100))
    assert isinstance(sample, ArrayRows)
    assert np.abs(np.bincount(sample.codes) - 60 * np.bincount(y) / 300).max() <= 1.0
    of = {tuple(row): code for row, code in zip(X.tolist(), y, strict=True)}
    assert [of.pop(tuple(row)) for row in sample.X.tolist()] == sample.codes.tolist()
    assert rows.sample(300, np.random.default_rng(100)) is rows


@pytest.mark.parametrize(
    ("frame", "settings", "message"),
    [
        ({"a": [1.0], "label": [1]}, {"label": "other"}, r"expected the columns \['other'\]"),
        ({"label": [1]}, {"label": "label"}, "expected the columns of features"),
        ({"a": ["word"], "label": [1]}, {"label": "label"}, "expected numbers in all feature columns"),
        ({"a": [], "label": []}, {"label": "label"}, "expected"),
        ({"a": [1.0], "label": [1]}, {"label": "label", "dtype": "int8"}, "dtype: expected float32 or float64"),
    ],
)
def test_other_files_are_told_in_one_sentence(tmp_path, frame, settings, message):
    pl.DataFrame(frame).write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InputError, match=message):
        ParquetRows(tmp_path / "rows.parquet", **settings)


def test_what_is_no_parquet_is_told(tmp_path):
    (tmp_path / "rows.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match=r"rows.parquet: expected a Parquet file in good order, got"):
        ParquetRows(tmp_path / "rows.parquet", "label")


def test_labels_that_are_missing_are_told(tmp_path):
    pl.DataFrame({"a": [1.0, 2.0], "label": ["x", None]}).write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="label: expected a label for every row"):
        _ = ParquetRows(tmp_path / "rows.parquet", "label").classes


@pytest.fixture
def little_room(monkeypatch):
    monkeypatch.setattr(limits, "ROOM", 2**20)
    monkeypatch.setattr(limits, "FACTOR", 1)


def test_of_rows_that_are_read_in_runs_only_a_run_counts(tmp_path, monkeypatch, little_room):
    """Forty columns of two values: the file is small, the whole table six times the allowed size."""
    path, n = tmp_path / "a.parquet", 20_000
    pl.DataFrame({f"c{i}": [0.0, 1.0] * (n // 2) for i in range(40)}).write_parquet(path)
    with pytest.raises(InputError, match=r"expected a file that unpacks to at most \d+ bytes, got \d+ or more"):
        read_table(path)
    monkeypatch.setattr(parquet_rows, "RUN", 1000)
    assert sum(table.n_rows for table in RowBlocks(path, 1000)) == ParquetRows(path, "c0").n == n
    monkeypatch.setattr(parquet_rows, "RUN", n)
    for read in (lambda: list(RowBlocks(path, n)), lambda: ParquetRows(path, "c0")):
        with pytest.raises(InputError, match=r"expected a run of 20000 rows that unpacks to at most"):
            read()


@pytest.mark.parametrize("dtype", [pl.Array(pl.Float32, 300), pl.Struct({f"f{i}": pl.Float64 for i in range(300)})])
def test_the_width_of_nested_types_counts(tmp_path, little_room, dtype):
    row = [0.0] * 300 if isinstance(dtype, pl.Array) else {f"f{i}": 0.0 for i in range(300)}
    pl.DataFrame({"a": pl.Series([row] * 1000, dtype=dtype)}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet: expected a file that unpacks to at most"):
        read_table(tmp_path / "a.parquet")


def test_what_is_encrypted_or_cut_is_one_sentence(table):
    path = table[0][0]
    good = path.read_bytes()
    for content in (
        good[:-4] + b"PARE",
        good[:-20],
        good[:-8] + (2**31).to_bytes(4, "little") + b"PAR1",
        good[-300:],
    ):
        path.write_bytes(content)
        for read in (
            read_table,
            lambda file: list(RowBlocks(file)),
            lambda file: list(ParquetRows(file, "label").blocks()),
        ):
            with pytest.raises(InputError, match=r"first\.parquet: expected .* got") as caught:
                read(path)
            assert one_sentence(caught)
