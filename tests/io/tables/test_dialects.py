"""CSV files with any separator, decimal mark and quotes: detected, shown, settable, and read as they were meant."""

import csv
import gzip
import io
import json
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import one_sentence
from isthmus import InputError
from isthmus.cli.main import main
from isthmus.io.tables import content as limits
from isthmus.io.tables import delimited
from isthmus.io.tables import stream as streaming
from isthmus.io.tables.delimited import Dialect, detect_dialect
from isthmus.io.tables.features import Features
from isthmus.io.tables.plan import Plan
from isthmus.io.tables.read import read_table
from isthmus.io.tables.stream import RowBlocks
from isthmus.io.tables.table import read_numbers

pytest.importorskip("polars")


def put(path, text):
    path.write_text(text, encoding="utf-8", newline="")
    return path


def written(rows, sep, decimal, quoting=csv.QUOTE_MINIMAL):
    """Rows as CSV; numbers with the decimal mark."""
    file = io.StringIO(newline="")
    plain = [[repr(cell).replace(".", decimal) if isinstance(cell, float) else cell for cell in row] for row in rows]
    csv.writer(file, delimiter=sep, quoting=quoting).writerows(plain)
    return file.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("dialects")


SEPARATORS = [",", ";", "\t", "|"]
MARKS = st.sampled_from([".", ","])
NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
WORDS = st.text(st.sampled_from("abz ,;|\t.'\"\n-019é"), min_size=1, max_size=8).map(lambda word: f"w{word}w")
TABLES = st.lists(st.tuples(NUMBERS, WORDS, NUMBERS, st.integers(0, 9)), min_size=1, max_size=12)


@given(
    rows=TABLES,
    sep=st.sampled_from([*SEPARATORS, "^", ":", " "]),
    decimal=MARKS,
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
)
@example([(1.5, "w", 0.0, 1)], "^", ",", csv.QUOTE_MINIMAL)  # "x^" begins a file of zlib, too
@pytest.mark.slow
def test_a_table_that_is_written_in_any_way_reads_back_equal(folder, rows, sep, decimal, quoting):
    path = put(folder / "a.csv", written([["x", "word", "y", "n"], *rows], sep, decimal, quoting))
    whole = read_table(path, sep=sep, decimal=decimal)
    with mock.patch.object(streaming, "PART", 40), mock.patch.object(limits, "PIECE", 7):
        blocks = list(RowBlocks(path, 5, sep=sep, decimal=decimal))
    for tables in ([whole], blocks):
        assert {table.dialect for table in tables} == {Dialect(sep, decimal)}
        assert [word for table in tables for word in table.column("word")] == [row[1] for row in rows]
        for name, i in (("x", 0), ("y", 2), ("n", 3)):
            np.testing.assert_array_equal(
                np.concatenate([read_numbers(t, name) for t in tables]), [row[i] for row in rows]
            )


@given(
    rows=TABLES,
    sep=st.sampled_from(SEPARATORS),
    decimal=MARKS,
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_the_dialect_is_detected_whatever_the_words_hold(folder, sep, decimal, rows, quoting):
    rows = [*rows, (0.5, "w", -12.25, 1)]  # a number that can have one meaning only
    path = put(folder / "b.csv", written([["x", "word", "y", "n"], *rows], sep, decimal, quoting))
    table = read_table(path)
    # Exponents without a fraction, as in 1e-07, are numbers in either.
    assert table.dialect == Dialect(sep, decimal)
    np.testing.assert_array_equal(read_numbers(table, "x"), [row[0] for row in rows])
    assert table.column("word").to_list() == [row[1] for row in rows]


ORDINARY = {
    "texts with other signs": ("id,text,x\n1,a;b;c|d,1.5\n2,e;f|g|h,2.5\n", ",", "."),
    "one column": ("text\none; two | three\nfour\n", ",", "."),
    "thousands": ('name,x,y\nu,"1,234",1.5\nv,"12,345",2.5\n', ",", "."),
    "thousands only": ('name,x\nu,"1,234"\nv,"12,345"\nw,999\n', ",", "."),
    "thousands with fractions": ('name,x\nu,"1,234.5"\nv,"2,345.25"\n', ",", "."),
    "German thousands": ("name;x;y\nu;1.234;1,5\nv;12.345;2,5\n", ";", ","),
    "versions beside decimal commas": ("name;v;x;y\nu;1.2;1,5;0,5\nv;1.3;2,5;0,75\n", ";", ","),
    "as many points as commas": ("v;x\n1.2;1,5\n1.3;2,5\n", ";", ","),
    "quoted decimal commas": ('name,x\nu,"1,5"\nv,"22,75"\n', ",", ","),
    "thousands of one mark, fractions of the other": ("name;x\nu;1.253,31\nv;387,53\nw;2.500\n", ";", ","),
    "prices with a currency": ("name;x\nu;1.253,31 €\nv;EUR 387,53\nw;2.500 €\n", ";", ","),
    "prices with a currency and points": ("name;x\nu;$1,253.31\nv;387.53 usd\nw;$2,500\n", ";", "."),
    "three digits after a zero": ("name;x\nu;0,125\nv;0,250\n", ";", ","),
    "words for empty cells": ("name;x\nu;1,5\nv;NA\nw;\nz;?\n", ";", ","),
    "a comma in a name": ('"price, EUR";n\n1,5;2\n2,5;3\n', ";", ","),
    "a bare comma in a name": ("price, EUR;n;m\n1,5;2;0\n2,5;3;0\n", ";", ","),
    "dates": ("day;x\n31.12.2024;1,5\n01.01.2025;2,5\n", ";", ","),
    "lists of numbers": ('x,list\n1.5,"1,2,3"\n2.5,"4,5"\n', ",", "."),
    "bars": ("id|name|x\n1|a, b|1.5\n2|c; d|2.5\n", "|", "."),
    "a byte order mark": ("\ufeffa|b\n1|2\n", "|", "."),
    "nothing to tell from": ("a;b\n1;2\n", ";", "."),
}


@pytest.mark.parametrize(("text", "sep", "decimal"), ORDINARY.values(), ids=ORDINARY.keys())
def test_files_as_they_are_found(tmp_path, text, sep, decimal):
    path = put(tmp_path / "a.csv", text)
    assert read_table(path).dialect == RowBlocks(path).dialect == Dialect(sep, decimal)


def test_numbers_with_a_decimal_comma_are_numbers_and_points_separate_thousands(tmp_path):
    path = put(tmp_path / "a.csv", "kind;x;y\nu;1,5;1.234\nv;-0,25;2.345\nu;1e3;3.456\n")
    table = read_table(path)
    plan = {column.name: column.kind for column in Plan.of(table).columns}
    assert plan["x"] == "number"
    np.testing.assert_array_equal(read_numbers(table, "x"), [1.5, -0.25, 1000.0])
    np.testing.assert_array_equal(read_numbers(table, "y"), [1234.0, 2345.0, 3456.0])


def test_thousands_of_a_price_are_read_by_the_mark_of_other_prices(tmp_path):
    """2.500 € is not two and a half next to 387,53 €."""
    path = put(tmp_path / "a.csv", "kind;price\nu;387,53 €\nv;2.500 €\nw;1.253,31 €\n")
    np.testing.assert_array_equal(read_numbers(read_table(path), "price"), [387.53, 2500.0, 1253.31])


@pytest.mark.parametrize(("text", "sep"), [("a,b\n1,2\n", ";"), ("a\tb\n1\t2\n", ",")])
def test_a_separator_that_the_file_does_not_have_is_one_sentence(tmp_path, text, sep):
    path = put(tmp_path / "a.csv", text)
    for read in (lambda: read_table(path, sep=sep), lambda: list(RowBlocks(path, sep=sep))):
        with pytest.raises(InputError, match=r"^sep: expected the separator of .*a.csv, got .*; its first") as caught:
            read()
        assert one_sentence(caught)
    alone = put(tmp_path / "b.csv", "a text\nsome words, and others\n")
    assert read_table(alone, sep=";").names == ("a text",), "one column has no separator"


def test_a_plan_of_one_file_reads_a_file_with_another_decimal_mark(tmp_path):
    points, commas = (
        put(tmp_path / f"{i}.csv", text) for i, text in enumerate(("x,y\n1.5,2\n0.5,7\n", "x;y\n1,5;2\n0,5;7\n"))
    )
    features = Features.fit(Plan.of(read_table(points)), read_table(points))
    np.testing.assert_array_equal(features.transform(read_table(commas)), features.transform(read_table(points)))


def test_whole_numbers_that_another_program_wrote_with_a_comma_are_the_same_words(tmp_path):
    from isthmus.io.tables.table import read_words

    table = read_table(put(tmp_path / "a.csv", "id;x\n1,0;0,5\n2,0;1,5\n"))
    assert read_words(table, "id") == ["1", "2"]


def test_the_beginning_of_a_long_or_packed_file_tells(tmp_path):
    text = "x;y\n" + "1,5;abc\n" * 50_000
    assert len(text) > delimited.SAMPLE
    path = put(tmp_path / "a.csv", text)
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    for file in (path, packed):
        assert read_table(file).dialect == RowBlocks(file).dialect == Dialect(";", ",")
    # A row that the sample cuts in two says nothing about the separator.
    assert detect_dialect(b"a,b|c|d\n" + b"1|2,5|3\n" * 40_000).sep == "|"


@pytest.mark.parametrize(
    "given_", [{"sep": "xx"}, {"sep": ""}, {"sep": "a"}, {"sep": '"'}, {"sep": "é"}, {"decimal": "x"}]
)
def test_what_can_be_no_separator_is_one_sentence(tmp_path, given_):
    path = put(tmp_path / "a.csv", "a,b\n1,2\n")
    for read in (lambda: read_table(path, **given_), lambda: list(RowBlocks(path, **given_))):
        with pytest.raises(InputError, match=f"^{next(iter(given_))}: expected") as caught:
            read()
        assert one_sentence(caught)


def test_other_kinds_of_files_have_no_dialect(tmp_path):
    put(tmp_path / "a.jsonl", '{"a": "1,5"}\n')
    assert read_table(tmp_path / "a.jsonl").dialect is RowBlocks(tmp_path / "a.jsonl").dialect is None


# --- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def two_files(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    X, Z = (rng.normal(size=(30, 2)) + y[:, None] for _ in range(2))
    rows = [["id", "kind", "x", "y", "n"]], [["id", "kind", "p", "q", "m"]]
    for some, values in zip(rows, (X, Z), strict=True):
        some += [[f"r{i}", "uvw"[y[i]], *map(float, values[i].round(4)), 7 * i % 13] for i in range(30)]
    put(tmp_path / "a.csv", written(rows[0], ";", ","))
    put(tmp_path / "b.csv", written(rows[1], "|", "."))
    put(tmp_path / "c.csv", written(rows[1], "^", ","))
    return tmp_path


def run(capsys, folder, *words):
    status = main([str(folder / word) if word.endswith((".csv", ".isthmus", ".npy")) else word for word in words])
    return status, *capsys.readouterr()


FIT = ("--label", "kind", "--id", "id", "-o", "m.isthmus")


def test_the_dialect_of_both_files_is_shown(two_files, capsys):
    status, out, err = run(capsys, two_files, "fit", "a.csv", "b.csv", *FIT)
    assert (status, err) == (0, "")
    assert 'a.csv, 30 rows, 3 features; separator ";", decimal mark ","\n' in out
    assert 'b.csv, 30 rows, 3 features; separator "|", decimal mark "."\n' in out
    _, out, _ = run(capsys, two_files, "fit", "a.csv", "b.csv", *FIT, "--json")
    facts = json.loads(out)
    assert (facts["source"]["separator"], facts["source"]["decimal"]) == (";", ",")
    status, out, _ = run(capsys, two_files, "embed", "m.isthmus", "a.csv", "--domain", "source", "-o", "e.npy")
    assert 'a.csv: separator ";", decimal mark ","\n' in out
    status, out, _ = run(capsys, two_files, "search", "m.isthmus", "--index", "a.csv", "--query", "b.csv")
    assert 'a.csv: separator ";", decimal mark ","\n' in out
    assert 'b.csv: separator "|", decimal mark "."\n' in out


def test_it_can_be_set_for_both_files_or_for_each(two_files, capsys):
    each = ("--sep", "auto", "--sep", "^")
    status, out, _ = run(capsys, two_files, "fit", "a.csv", "c.csv", *FIT, *each)
    assert status == 0
    assert 'c.csv, 30 rows, 3 features; separator "^", decimal mark ","\n' in out
    words = ("m.isthmus", "c.csv", "--domain", "target", "-o", "e.npy", "--sep", "^", "--decimal", ",")
    assert run(capsys, two_files, "embed", *words)[0] == 0
    assert np.load(two_files / "e.npy").shape[0] == 30
    _, out, _ = run(capsys, two_files, "fit", "a.csv", "a.csv", *FIT, "--sep", ";", "--decimal", ".")
    assert out.count('separator ";", decimal mark "."') == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sep", "xx"), "--sep: expected one character, such as"),
        (("--decimal", ";"), "--decimal: expected . or , as the decimal mark"),
        (("--sep", ";", "--sep", ";", "--sep", ";"), "--sep: expected one for each file, got 3"),
    ],
)
def test_what_is_wrong_with_it_is_said_of_the_option(two_files, capsys, words, said):
    status, out, err = run(capsys, two_files, "fit", "a.csv", "b.csv", *FIT, *words)
    assert (status, out) == (2, "")
    assert said in err
