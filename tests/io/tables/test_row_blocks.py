"""Files some rows at a time say what they say as a whole: the same cells, the same complaints."""

import csv
import gzip
import io
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.exceptions import InputError
from isthmus.io.tables import content as limits
from isthmus.io.tables import stream as streaming
from isthmus.io.tables.plan import IdRegister, Plan, read_ids
from isthmus.io.tables.read import read_table
from isthmus.io.tables.stream import RowBlocks
from isthmus.io.tables.table import read_numbers, read_words

pl = pytest.importorskip("polars")

CELLS = st.text(st.sampled_from('ab1.0é ";,\n\t'), max_size=5)


def joined(path, size, part, names=()):
    """All columns through blocks, and the sizes of these."""
    with mock.patch.object(streaming, "PART", part), mock.patch.object(limits, "PIECE", 7):
        tables = list(RowBlocks(path, size, names))
    assert [table.first for table in tables] == [i * size for i in range(len(tables))]
    assert all(table.n_rows == size for table in tables[:-1])
    return tables


def outcome(call):
    try:
        return call()
    except InputError as error:
        return type(error)


def whole(path):
    table = read_table(path)
    return {name: (table.column(name).dtype, table.column(name).to_list()) for name in table.names}


def blockwise(path, size, part):
    tables = joined(path, size, part)
    assert len({table.names for table in tables}) == 1
    columns = {name: [table.column(name) for table in tables] for name in tables[0].names}
    return {name: (s[0].dtype, [c for part in s for c in part.to_list()]) for name, s in columns.items()}


@given(
    st.integers(1, 3).flatmap(lambda d: st.lists(st.lists(CELLS, min_size=d, max_size=d), min_size=1, max_size=12)),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", "\n\n"]),
    st.integers(1, 5),
    st.integers(1, 40),
)
def test_csv(tmp_path_factory, rows, end, tail, size, part):
    text = io.StringIO()
    csv.writer(text, lineterminator=end).writerows([[f"n{j}" for j in range(len(rows[0]))], *rows])
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes((text.getvalue() + tail).encode())
    assert outcome(lambda: blockwise(path, size, part)) == outcome(lambda: whole(path))


@given(
    st.lists(st.sampled_from(["1,2", "3,4", "", "5", ",", "6,", '"a\nb",c', "7,8,9"]), min_size=1, max_size=9),
    st.integers(1, 3),
    st.integers(1, 20),
)
def test_csv_with_rows_that_are_too_short_long_or_blank(tmp_path_factory, lines, size, part):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_text("\n".join(["a,b", *lines]) + "\n", encoding="utf-8")
    assert outcome(lambda: blockwise(path, size, part)) == outcome(lambda: whole(path))


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "jsonl", "jsonl.gz", "parquet"])
def test_every_format(tmp_path, ending):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=57), "k": [f"é{i}" for i in range(57)], "n": [*range(56), None]})
    path = tmp_path / f"t.{ending}"
    plain = tmp_path / f"t.{ending.removesuffix('.gz')}"
    if "csv" in ending or "tsv" in ending:
        frame.write_csv(plain, separator="\t" if ending == "tsv" else ",")
    elif "json" in ending:
        frame.write_ndjson(plain)
    else:
        frame.write_parquet(plain, row_group_size=20)
    if ending.endswith("gz"):
        path.write_bytes(gzip.compress(plain.read_bytes()))
    for size in (1, 10, 57, 100):
        assert blockwise(path, size, 100) == whole(path)


def test_arrays_stay_in_their_file(tmp_path):
    X = np.arange(60.0).reshape(20, 3)
    for name, order in (("c.npy", "C"), ("f.npy", "F")):
        np.save(tmp_path / name, np.asarray(X, order=order))
        found = [table.matrix("data").copy() for table in RowBlocks(tmp_path / name, 7)]
        np.testing.assert_array_equal(np.vstack(found), X)


def test_words_are_those_of_the_whole_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("k\n1.0\n2.0\n3.5\n4.0\n", encoding="utf-8")
    found = [word for table in joined(path, 2, 3, ["k"]) for word in read_words(table, "k")]
    assert found == read_words(read_table(path), "k") == ["1.0", "2.0", "3.5", "4.0"]
    path.write_text("k\n1.0\n2\n3.0\n", encoding="utf-8")
    assert [word for table in joined(path, 2, 3, ["k"]) for word in read_words(table, "k")] == ["1", "2", "3"]


def test_complaints_name_the_row_and_line_of_the_file(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{i},x{i}" for i in range(30)]
    path.write_bytes("\n".join(["a,b", *lines, "30"]).encode())
    with pytest.raises(InputError, match=r"t.csv line 32: expected 2 cells, as in the first line, got 1"):
        joined(path, 4, 10)
    path.write_bytes("\n".join(["a,b", *lines]).encode() + b"\n30,\x81\n")
    with pytest.raises(InputError, match="line 32: expected text in UTF-8, got other bytes"):
        joined(path, 4, 10)
    path.write_bytes("\n".join(["a,b", *lines, "thirty,x"]).encode())
    with pytest.raises(InputError, match=r't.csv line 32, column "a": "thirty" is not a number; correct'):
        [read_numbers(table, "a", strict=True) for table in joined(path, 4, 10)]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_blocks_have_the_encoding_of_the_whole_file(tmp_path, encoding):
    path = tmp_path / "t.csv"
    lines = ["name,b", *(f"r{i},{i}" for i in range(40)), "café,0", "Ünal,1"]  # the first pieces are plain
    path.write_bytes("\n".join(lines).encode(encoding))
    assert blockwise(path, 7, 20) == whole(path)
    assert whole(path)["name"][1][-2:] == ["café", "Ünal"]


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "an empty file"), (b"\n\n", "an empty file"), (b"a,b\n", "row")]
)
def test_nothing_in_it(tmp_path, content, words):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as ours:
        list(RowBlocks(path))
    with pytest.raises(InputError) as theirs:
        read_table(path)
    assert str(ours.value) == str(theirs.value)
    assert words in str(ours.value)


def test_ids_of_blocks_complain_as_those_of_a_table(tmp_path):
    path = tmp_path / "t.csv"
    for names in (["u", "v", "w", "x", "u"], ["u", "u"], ["u", "v", "w", "", "y"]):
        path.write_text("\n".join(["name,x", *(f"{name},{i}.5" for i, name in enumerate(names))]), encoding="utf-8")
        table = read_table(path)
        plan = Plan.of(table, id="name")
        with pytest.raises(InputError) as theirs:
            read_ids(table, plan)
        seen = IdRegister()
        blocks = RowBlocks(path, 2, ["name"])

        def through(seen=seen, blocks=blocks, plan=plan):
            for block in blocks:
                seen.read(block, plan)
            seen.check_unique(blocks, plan)

        with pytest.raises(InputError) as ours:
            through()
        assert str(ours.value) == str(theirs.value)
