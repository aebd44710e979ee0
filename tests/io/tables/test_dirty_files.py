"""Files as people save them: read as they were meant, for both files alike, and what was coerced is told."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from isthmus.cli.console import Console
from isthmus.cli.inputs import read_inputs, shared_columns
from isthmus.io.tables.features import Features
from isthmus.io.tables.plan import Plan
from isthmus.io.tables.read import read_table
from isthmus.io.tables.stream import RowBlocks
from isthmus.io.tables.table import Table, read_numbers

pytest.importorskip("polars")
N = 40
VALUES = [round(12.25 + 37.5 * i, 2) for i in range(N)]
NAMES = [f"{noun} of the {kind}" for noun in ("Café", "Straße", "Châlet", "House") for kind in map(str, range(10))]


def german(value):
    return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def with_last(cells, *last):
    """Return the cells with others in the last rows."""
    return [*cells[: len(cells) - len(last)], *last]


# Of each kind: header and cells of a CSV file, its encoding, the numbers of the second column, and what is told.
CORPUS = {
    "currency": (
        "name,price",
        [f"${v:.2f}" for v in VALUES],
        "utf-8",
        VALUES,
        'price: 40 of 40 cells have a unit or another form ("$12.25", "$49.75", …), read as numbers',
    ),
    "a few with units": (
        "name,price",
        with_last([f"{v}" for v in VALUES], "69.71 gbp", "12 USD", "call"),
        "utf-8",
        with_last(VALUES, 69.71, 12.0, np.nan),
        'price: 2 of 40 cells have a unit or another form ("69.71 gbp", "12 USD"), read as numbers; '
        '1 of 40 cells is not a number ("call"), read as missing',
    ),
    "decimal commas": ("name;price", [f"{v:.2f}".replace(".", ",") for v in VALUES], "utf-8", VALUES, None),
    "decimal commas and thousands": (
        "name;price",
        [german(v) for v in VALUES],
        "utf-8",
        VALUES,
        'price: 13 of 40 cells have a unit or another form ("1.024,75", "1.062,25", …), read as numbers',
    ),
    "thousands": (
        "name,price",
        [f'"{v:,.2f}"' for v in VALUES],
        "utf-8",
        VALUES,
        'price: 13 of 40 cells have a unit or another form ("1,024.75", "1,062.25", …), read as numbers',
    ),
    "Windows-1252": ("name,price", [f"{v} €" for v in VALUES], "cp1252", VALUES, "read as numbers"),
    "UTF-16": ("name,price", [str(v) for v in VALUES], "utf-16", VALUES, None),
    "a byte order mark": ("name,price", [str(v) for v in VALUES], "utf-8-sig", VALUES, None),
    "header spaces": (" name , price ", [f" {v}" for v in VALUES], "utf-8", VALUES, None),
    "words for missing": (
        "name,price",
        with_last([str(v) for v in VALUES], "NA", "n/a", "NULL", "-", "?", "", "None", "#N/A"),
        "utf-8",
        with_last(VALUES, *[np.nan] * 8),
        None,
    ),
    "percent": (
        "name,price",
        [f"{v} %" for v in VALUES],
        "utf-8",
        VALUES,
        '("12.25 %", "49.75 %", …), read as numbers',
    ),
    "dates in two forms": (
        "name,price",
        [f"{1 + i % 28:02d}.05.2024" if i % 2 else f"2024-05-{1 + i % 28:02d}" for i in range(N - 1)] + ["soon"],
        "utf-8",
        with_last([19844.0 + i % 28 for i in range(N)], np.nan),
        'price: 1 of 40 cells is not a date ("soon"), read as missing',
    ),
    "dates in words": (
        "name;price",
        [f"May {1 + i % 28}, 2024" if i % 2 else f"{1 + i % 28} May 2024" for i in range(N)],
        "utf-8",
        [19844.0 + i % 28 for i in range(N)],
        None,
    ),
    "dates in digits": (
        "name,price",
        [f"202405{1 + i % 28:02d}" for i in range(N)],
        "utf-8",
        [19844.0 + i % 28 for i in range(N)],
        None,
    ),
}


def write(path, head, cells, encoding="utf-8"):
    sep = ";" if ";" in head else ","
    text = "\r\n".join([head, *(f'"{name}"{sep}{cell}' for name, cell in zip(NAMES, cells, strict=True))])
    path.write_bytes((text + "\r\n").encode(encoding))
    return path


@pytest.mark.parametrize("kind", CORPUS)
def test_a_dirty_file_is_read_as_it_was_meant_and_the_coercions_are_told(tmp_path, kind):
    head, cells, encoding, expected, told = CORPUS[kind]
    path = write(tmp_path / "a.csv", head, cells, encoding)
    table = read_table(path)
    assert table.names == ("name", "price")
    assert table.column("name").to_list() == NAMES
    days = "dates" in kind
    plan = Plan.of(table)
    assert [column.kind for column in plan.columns] == ["text", "date" if days else "number"]
    np.testing.assert_array_equal(read_numbers(table, "price", days=days), expected)
    features = Features.fit(plan, table)
    assert np.isfinite(features.transform(table)).all()
    (found,) = features.count_coerced_cells(table).values()
    assert bool(found) == (told is not None)
    assert (told or "") in str(found)
    in_blocks = [read_numbers(block, "price", days=days) for block in RowBlocks(path, 7)]
    np.testing.assert_array_equal(np.concatenate(in_blocks), expected)


def test_newlines_in_quotes_and_spaces_in_the_header(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id ,"full\nname"\n1,"two\nlines"\n2,one\n', encoding="utf-8")
    table = read_table(path)
    assert table.names == ("id", "full\nname")
    assert table.column("full\nname").to_list() == ["two\nlines", "one"]


@given(
    cells=st.lists(
        st.text("0123456789.,' -$€%kg\"?é", max_size=8) | st.sampled_from(["31.05.2024", "NA"]), min_size=2
    )
)
def test_no_mixture_of_cells_crashes(cells):
    table = Table.of({"x": cells, "other": [0.5 * i for i in range(len(cells))]})
    plan = Plan.of(table)
    features = Features.fit(plan, table)
    X = features.transform(table)
    assert np.isfinite(X.data if sp.issparse(X) else X).all()
    assert all(str(found) for found in features.count_coerced_cells(table).values())


# --- two files ------------------------------------------------------------------------------------------------------


def options(**changed):
    plain = {
        "id": [],
        "text": [],
        "drop": [],
        "plan": None,
        "sep": [],
        "decimal": [],
        "shared": [],
        "no_shared": False,
    }
    return SimpleNamespace(**(plain | changed))


def kinds_of(tmp_path, first, second, **changed):
    """The kinds of the last column of two files with these cells."""
    files = tuple(write(tmp_path / name, *some) for name, some in (("a.csv", first), ("b.csv", second)))
    sides = read_inputs(options(**changed), files, ("A", "B"), Console(quiet=True))
    return [side.plan.columns[-1].kind for side in sides]


NUMBERS = [str(v) for v in VALUES]
SIZES = [["36", "38", "40", "XL"][i % 4] for i in range(N)]
CODES = [f"{i * 37 % 1000:04d}" for i in range(N)]
BOTH = {
    "numbers and a unit": (("name,price", NUMBERS), ("name,Price", [f"{v} €" for v in VALUES]), "number"),
    "two decimal marks": (("name,x", NUMBERS), ("name;x", [german(v) for v in VALUES]), "number"),
    "numbers and texts": (("name,x", NUMBERS), ("name,x", [f"about {v} or so {i}" for i, v in enumerate(VALUES)]), "text"),
    "numbers and dirty ones": (("name,x", NUMBERS), ("name,x", [v if i % 6 else f"lot {i}" for i, v in enumerate(NUMBERS)]), "number"),
    "sizes": (("name,size", [["36", "38", "40"][i % 3] for i in range(N)]), ("name,SIZE", SIZES), "category"),
    "codes": (("name,code", [str(1000 + 7 * i) for i in range(N)]), ("name,code", CODES), "dropped"),
    "digits and dates": (("name,day", [f"202405{1 + i % 28:02d}" for i in range(N)]), ("name,day", [f"2024-05-{1 + i % 28}" for i in range(N)]), "date"),
    "postcodes": (("name,code", [str(1000 + 7 * (i // 2)) for i in range(N)]), ("name,code", [f"0{i % 20}12" for i in range(N)]), "category"),
    "ids": (("name,nr", [str(i) for i in range(N)]), ("name,nr", [str(3 * i) for i in range(N)]), "dropped"),
}  # fmt: skip


@pytest.mark.parametrize("case", BOTH)
def test_a_column_of_both_files_has_one_kind(tmp_path, case):
    first, second, kind = BOTH[case]
    assert kinds_of(tmp_path, first, second) == kinds_of(tmp_path, second, first) == [kind, kind]


def test_what_the_user_asks_for_holds_for_both(tmp_path):
    assert kinds_of(tmp_path, ("name,Price", NUMBERS), ("name,price", NUMBERS), text=["Price"]) == ["text", "text"]


def test_ids_are_no_features_but_evidence_unless_they_are_foreign(tmp_path):
    files = []
    for name, ids in (("a.csv", range(N)), ("b.csv", reversed(range(N)))):
        rows = [f"{v},sku-{i:x},{n}" for v, i, n in zip(VALUES, ids, NAMES, strict=True)]
        path = tmp_path / name
        path.write_text("\n".join(["price,sku,name", *rows]), encoding="utf-8")
        files.append(path)
    sides = read_inputs(options(), tuple(files), ("A", "B"), Console(quiet=True))
    assert {c.name: c.kind for c in sides[0].plan.columns}["sku"] == "dropped"
    assert ("sku", "sku") in shared_columns(*sides, options(), Console(quiet=True)).pairs
    assert shared_columns(*sides, options(no_shared=True), Console(quiet=True)) is None
    assert shared_columns(*sides, options(shared=["sku=name", "price"]), Console(quiet=True)).pairs == (
        ("sku", "name"),
        ("price", "price"),
    )
    sides = read_inputs(options(drop=["sku"]), tuple(files), ("A", "B"), Console(quiet=True))
    assert ("sku", "sku") not in shared_columns(*sides, options(), Console(quiet=True)).pairs


@pytest.mark.parametrize(("width", "kept"), [(20, ["x0", "nr"]), (40, ["nr"])])
def test_of_many_columns_of_numbers_only_codes_are_evidence(tmp_path, width, kept):
    files, rng = [], np.random.default_rng(100)
    for name in ("x", "y"):
        columns = {f"{name}{k}": rng.normal(size=N) for k in range(width)} | {"nr": 17 + 7 * rng.permutation(N)}
        names = [column if column != "nr" else f"nr {name}" for column in columns]
        rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
        files.append(tmp_path / f"{name}.csv")
        files[-1].write_text("\n".join([",".join(names), *rows]), encoding="utf-8")
    sides = read_inputs(options(), tuple(files), ("A", "B"), Console(quiet=True))
    found = shared_columns(*sides, options(), Console(quiet=True))
    assert found.pairs == (("nr x", "nr y"),)
    assert [column for column in ("x0", "nr") if {column, f"{column} x"} & {*found.source}] == kept


@pytest.mark.parametrize(("names", "shared"), [(("a{}", "b{}"), False), (("p{}", "p{}"), True)])
def test_the_first_column_is_the_id_and_a_shared_key_if_both_files_have_it(tmp_path, names, shared):
    files = []
    for name, form in zip(("a.csv", "b.csv"), names, strict=True):
        path = tmp_path / name
        rows = [f"{form.format(i * 7 % 41)},{NAMES[i]}" for i in range(N)]
        path.write_text("\n".join(["code,title", *rows]), encoding="utf-8")
        files.append(path)
    first, second = read_inputs(options(), tuple(files), ("A", "B"), Console(quiet=True))
    assert first.plan.id == second.plan.id == "code"
    assert first.ids[1] == names[0].format(7)
    assert (("code", "code") in shared_columns(first, second, options(), Console(quiet=True)).pairs) is shared
    assert shared_columns(first, second, options(shared=["code"]), Console(quiet=True)).pairs == (("code", "code"),)


def test_notes_are_shown_once_and_kept_as_facts(tmp_path, capsys):
    cells = with_last(NUMBERS, "call")
    files = tuple(write(tmp_path / name, "name,price", cells) for name in ("a.csv", "b.csv"))
    first, _ = read_inputs(options(), files, ("A", "B"), Console())
    out = capsys.readouterr().out
    note = 'price: 1 of 40 cells is not a number ("call"), read as missing'
    assert out.count(note) == 2
    assert "    price: number\n" in out
    (fact,) = json.loads(json.dumps(first.facts))["coerced"]
    assert fact["sentence"] == note
    assert first.facts["encoding"] == "UTF-8"
