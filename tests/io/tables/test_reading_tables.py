"""Files of every kind as tables, and wrong ones told in one sentence."""

import gzip
import io
import json
import pickle
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile import FLIPS, LITTLE, flipped, npy, npy_header, put, refused, saved
from isthmus import InputError, MissingDependencyError
from isthmus.io.tables import content as limits
from isthmus.io.tables.read import read_table
from isthmus.io.tables.stream import RowBlocks
from isthmus.io.tables.write import write_table

WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=8)
CELLS = st.one_of(st.none(), WORDS, st.sampled_from(['say "x"', "a,b", "two\nlines", "é;ü", "0"]))
FRAMES = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(CELLS, min_size=d, max_size=d), min_size=1, max_size=6).map(
        lambda rows: {f"c {i}": [row[i] for row in rows] for i in range(d)}
    )
)


def cells(table):
    return {name: table.column(name).to_list() for name in table.names}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "ndjson", "parquet"])
@given(columns=FRAMES)
def test_what_is_written_is_read_again(folder, ending, columns):
    path = folder / f"round.{ending}"
    columns = {"first": ["x"] * len(columns["c 0"]), **columns}  # text formats can't hold a blank last line
    write_table(path, columns)
    assert cells(read_table(path)) == columns


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_a_gzipped_file_reads_as_the_plain_one(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    write_table(path, {"a": ["x", None, "z"], "b": ["1", "2", "3"]})
    packed = put(tmp_path / f"a.{ending}.gz", gzip.compress(path.read_bytes()))
    assert cells(read_table(packed)) == cells(read_table(path))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbfa,b\r\n1,x\r\n", {"a": ["1"], "b": ["x"]}),
        (b"a;b\n1,5;x\n", {"a": ["1,5"], "b": ["x"]}),
        (b'"a;b;c",d\n1,2\n\n\n', {"a;b;c": ["1"], "d": ["2"]}),
        (b",b\n0,x\n1,\n", {"column 0": ["0", "1"], "b": ["x", None]}),
        (b"text\none\n\nthree", {"text": ["one", None, "three"]}),
    ],
)
def test_the_dialects_of_csv(tmp_path, content, expected):
    assert cells(read_table(put(tmp_path / "a.csv", content))) == expected


WRONG = {
    "empty.csv": (b"", "got an empty file"),
    "blank.csv": (b" \n\n", "got an empty file"),
    "header.csv": (b"a,b\n", "at least one row"),
    "other.csv": (b"a,b\n1,x\n2,\xe9\x81\n", "line 3: expected text in UTF-8, got other bytes"),
    "utf16.csv": ("a,b\n1,x\n".encode("utf-16") + b"\x00", "expected text in UTF-16, got other bytes"),
    "twice.csv": (b"a,b,a\n1,2,3\n", "got 'a' twice"),
    "short.csv": (b"a,b,c\n1,2,3\n1,2\n", "short.csv line 3: expected 3 cells, as in the first line, got 2"),
    "hole.csv": (b"a,b\n1,2\n\n1,2\n", "line 3: expected 2 cells, as in the first line, got 0"),
    "long.csv": (b"a,b\n1,2\n1,2,3\n", "long.csv line 3: expected 2 cells, as in the first line, got 3"),
    "quote.csv": (b'a,b\n1,"x\n2,y\n', "doubled, got one that is never closed, as in a cut file;"),
    "quotes.csv": (b'a,b\n1,x"y"z\n2,"u"v\n', "quotes only around whole cells"),
    "cr.csv": (b"a,b\r1,2\r", "CR alone"),
    "wide.csv": (b"," * 2**18 + b"\n", "columns, got 262145"),
    "bad.csv.gz": (b"a,b\n1,2\n", "gzip file in good order"),
    "cut.csv.gz": (gzip.compress(b"a,b\n1,2\n" * 99)[:-20], "gzip file in good order"),
    "empty.jsonl": (b"", "got an empty file"),
    "bad.jsonl": (b'{"a": 1}\n{"a":\n', "one JSON object per line"),
    "list.jsonl": (b"[1, 2]\n", "one JSON object per line"),
    "deep.jsonl": (b'{"a":' + b"[" * 9999 + b"]" * 9999 + b"}\n", "one JSON object per line"),
    "spread.jsonl": (b'{"a":' + b"[ " * 99 + b"] " * 99 + b"}\n", "got more than 64 lists in lists in line 1"),
    "latin.jsonl": (b'{"a": "\xe9"}\n', "line 1: expected text in UTF-8, got other bytes"),
    "empty.parquet": (b"", "got an empty file"),
    "csv.parquet": (b"a,b\n1,2\n", "Parquet file in good order"),
    "empty.npy": (b"", "got an empty file"),
    "text.npy": (b"a,b\n1,2\n", "never unpickled"),
    "pickle.npy": (pickle.dumps(np.eye(2)), "never unpickled"),
    "zip.npy": (saved(np.savez, a=np.eye(2)), "never unpickled"),
    "objects.npy": (npy(np.array([["a"]], dtype=object), allow_pickle=True), "never unpickled"),
    "vector.npy": (npy(np.arange(3.0)), "got shape (3,)"),
    "words.npy": (npy(np.array([["a"]])), "expected numbers"),
    "none.npy": (npy(np.ones((0, 2))), "at least one row"),
    "narrow.npy": (npy(np.ones((2, 0))), "got shape (2, 0)"),
    "cut.npy": (npy(np.ones((9, 9)))[:-8], "an .npy file in good order"),
    "huge.npy": (
        npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (999999999, 99999)}"),
        "an .npy file in good order",
    ),
    "table.txt": (b"a b\n", "ends in one of"),
    "table.parquet.gz": (gzip.compress(b"x"), "ends in one of"),
    "table": (b"a,b\n", "ends in one of"),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_in_one_sentence(tmp_path, name):
    content, said = WRONG[name]
    assert said in refused(read_table, put(tmp_path / name, content))


def test_no_file_and_a_folder(tmp_path):
    assert "found none" in refused(read_table, tmp_path / "a.csv")
    for name in ("a.csv", "a.npy", "a.parquet", "a"):
        (tmp_path / name).mkdir()
        assert "got a folder" in refused(read_table, tmp_path / name)
    with pytest.raises(InputError, match="path of a file, got 3"):
        read_table(3)


def test_what_unfolds_out_of_proportion_is_refused_early(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ROOM", 2**20)
    bomb = gzip.compress(b"a,b\n" + b"0,0\n" * 2**23)
    assert len(bomb) * limits.FACTOR < LITTLE < 2**25
    assert "that unpacks to at most" in refused(read_table, put(tmp_path / "a.csv.gz", bomb))


def test_claims_of_parquet_are_compared_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ROOM", 2**20)
    path = tmp_path / "a.parquet"
    pl.DataFrame({f"c{i}": pl.zeros(2**16, eager=True) for i in range(16)}).write_parquet(path, compression="zstd")
    assert "that unpacks to at most" in refused(read_table, path)


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_one_text_said_often_is_refused_before_it_is_unfolded(tmp_path, monkeypatch, dtype):
    monkeypatch.setattr(limits, "ROOM", 2**20)
    path = tmp_path / "a.parquet"
    text = pl.Series("a", ["x" * 2**12, "y"], dtype=dtype).gather([0] * 2**10)
    pl.DataFrame({"a": text, "b": pl.int_range(2**10, eager=True)}).write_parquet(path, compression="zstd")
    assert path.stat().st_size * limits.FACTOR < 2**22
    assert "that unpacks to at most" in refused(read_table, path)
    assert "that unpacks to at most" in refused(lambda path: list(RowBlocks(path)), path)


@given(flips=FLIPS, ending=st.sampled_from(["npy", "parquet", "csv.gz", "jsonl", "csv"]))
def test_flipped_bits_give_a_table_or_one_sentence(folder, flips, ending):
    path = folder / f"flipped.{ending}"
    content = io.BytesIO()
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", None]})
    if ending == "npy":
        np.save(content, np.eye(3))
    elif ending == "parquet":
        frame.write_parquet(content)
    elif ending == "jsonl":
        frame.write_ndjson(content)
    else:
        content.write(frame.write_csv().encode() if ending == "csv" else gzip.compress(frame.write_csv().encode()))
    put(path, flipped(content.getvalue(), flips))
    said = f"{path}: expected ."
    try:
        assert read_table(path).n_rows >= 1
    except InputError as error:
        said = str(error)
    assert said.startswith(str(path))
    assert said.isprintable()


def test_an_array_is_a_matrix_that_stays_in_its_file(tmp_path):
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(tmp_path / "a.npy", X)
    stored = read_table(tmp_path / "a.npy")
    assert isinstance(stored.matrix("data").base, np.memmap), "it stays in the file"
    assert (stored.rows(1, 3).matrix("data") == X[1:]).all()
    assert stored.rows(1, 9).n_rows == 2


def test_lists_of_one_length_are_a_matrix_and_others_are_not(tmp_path):
    rows = [{"v": [1, 2.5], "w": [1], "u": [[1]]}, {"v": [0, 1], "w": [1, 2], "u": [[2]]}]
    put(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)).encode())
    table = read_table(tmp_path / "a.jsonl")
    assert table.matrix("v").tolist() == [[1.0, 2.5], [0.0, 1.0]]
    assert not table.is_matrix("w")
    assert not table.is_matrix("u")
    pl.DataFrame({"v": [[1.0, 2.0], [3.0, 4.0]]}, schema={"v": pl.Array(pl.Float32, 2)}).write_parquet(
        tmp_path / "a.parquet"
    )
    assert read_table(tmp_path / "a.parquet").matrix("v").tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_brackets_in_texts_and_lists_beside_each_other_are_not_deep(tmp_path):
    rows = [{"text": "[{" * 99 + '\\"['}, {"text": "x"}, {"text": "y", "v": [[1]] * 99}]
    assert len(put(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)).encode()).read_bytes()) > 500
    assert read_table(tmp_path / "a.jsonl").column("text").to_list() == [row["text"] for row in rows]


@pytest.mark.slow
def test_polars_is_not_imported_before_a_table_needs_it():
    code = "import isthmus, isthmus.io.tables, sys; assert 'polars' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_lack_of_polars_is_told_with_the_install_line(tmp_path, monkeypatch):
    path = put(tmp_path / "a.csv", b"a,b\n1,2\n")
    np.save(tmp_path / "a.npy", np.eye(2))
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "isthmus\[tables\]"'):
        read_table(path)
    assert read_table(tmp_path / "a.npy").n_rows == 2, "a matrix needs none"


@pytest.mark.parametrize("name", ["a.xlsx", "a"])
def test_writing_wants_an_ending_and_a_folder(tmp_path, name):
    with pytest.raises(InputError, match="ends in one of"):
        write_table(tmp_path / name, {"a": [1]})
    with pytest.raises(InputError, match="no folder for it"):
        write_table(tmp_path / "none" / "a.csv", {"a": [1]})
    with pytest.raises(InputError, match="equal length, got 1 in 'a', 2 in 'b'"):
        write_table(tmp_path / "a.csv", {"a": [1], "b": [1, 2]})
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_leaves_the_old_file(tmp_path, monkeypatch):
    path = put(tmp_path / "a.csv", b"old")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write_table(path, {"a": [1]})
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
