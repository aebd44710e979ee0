"""What columns are taken for, and plans as texts."""

from contextlib import suppress

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus import InputError
from isthmus.io.tables.plan import FEATURES, KINDS, SETTINGS, Column, Plan
from isthmus.io.tables.table import CoercedCells, Table, read_numbers

NAMES = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
SETTING = {"scale": st.booleans(), "components": st.integers(0, 300), "terms": st.integers(1, 10**6)}


@st.composite
def columns(draw, name):
    kind = draw(st.sampled_from([kind for kind in KINDS if kind not in ("id", "label")]))
    return Column(name, kind, draw(NAMES), **{part: draw(SETTING[part]) for part in SETTINGS.get(kind, ())})


@st.composite
def plans(draw):
    names = draw(st.lists(NAMES, min_size=4, max_size=7, unique=True))
    rest = [draw(columns(name)) for name in names[3:]]
    return Plan(
        (Column(names[0], "id"), Column(names[1], "label", "set by an option"), Column(names[2], "number"), *rest)
    )


@given(plan=plans(), section=NAMES)
def test_a_plan_comes_back_from_its_text(plan, section):
    assert Plan.from_toml(plan.to_toml()) == plan
    both = plan.to_toml(section) + Plan(plan.columns[:3]).to_toml(section + "x")
    if section:
        assert Plan.from_toml(both, section) == plan
        assert Plan.from_toml(both, section + "x").columns == plan.columns[:3]


HOSTILE = {
    "": "a table [columns]",
    "[columns]\n": "a table [columns]",
    "columns = 3": "a table [columns]",
    "[columns]\na = 3": 'expected { kind = "…" }',
    "[columns]\na = { why = 'x' }": 'expected { kind = "…" }',
    "[columns]\na = 'wood'": "kind: expected one of",
    "[columns]\na = { kind = ['number'] }": "kind: expected one of",
    "[columns]\na = { kind = 'number', components = 3 }": "expected no 'components' for kind 'number', got 3",
    "[columns]\na = { kind = 'number', scale = 1 }": "scale: expected bool, got 1",
    "[columns]\na = { kind = 'number', why = 1 }": "why: expected str, got 1",
    "[columns]\na = { kind = 'text', components = -1 }": "components: expected a whole number",
    "[columns]\na = { kind = 'text', components = 1e400 }": "components: expected a whole number",
    "[columns]\na = { kind = 'text', terms = 99999999999 }": "terms: expected a whole number",
    "[columns]\na = 'dropped'": "at least one column to learn from",
    "[columns]\na = 'id'\nb = 'id'\nc = 'number'": "at most one column of kind 'id'",
    "[columns]\na = 'number'\na = 'number'": "text in TOML",
    "version = 9\n[columns]\na = 'number'": "version: expected 1, got 9",
    "a = " + "[" * 5000: "text in TOML",
    "\x00\x1b[31m": "text in TOML",
}


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:30]))
def test_a_hostile_text_gets_one_sentence(text):
    with pytest.raises(InputError) as caught:
        Plan.from_toml(text)
    assert HOSTILE[text] in str(caught.value)
    assert str(caught.value).isprintable()
    assert str(caught.value).startswith("plan")


@given(text=st.text(max_size=60) | st.text("[]{}='\"\n columnskid.", max_size=60))
def test_any_text_is_a_plan_or_one_sentence(text):
    with suppress(InputError):
        plan = Plan.from_toml(text)
        assert Plan.from_toml(plan.to_toml()) == plan


rng = np.random.default_rng(100)
N = 40
LONG = [" ".join(rng.choice(["sea", "land", "sky", "fire", "wind"], 6)) + f" {i}" for i in range(N)]
CASES = {
    "numbers": ([str(x) for x in rng.normal(size=N)], "number"),
    "floats": (rng.normal(size=N), "number"),
    "small counts": ([i % 7 for i in range(N)], "number"),
    "numbers with gaps": (["NA", "", "?", *map(str, rng.normal(size=N - 3))], "number"),
    "consecutive": ([str(i + 5) for i in range(N)], "dropped"),
    "customer_id": ((rng.permutation(N) * 7).tolist(), "dropped"),
    "years": ((rng.permutation(N) * 7).tolist(), "number"),
    "postcodes": ([f"0{i % 9}12" for i in range(N)], "category"),
    "truth": ([i % 2 == 0 for i in range(N)], "category"),
    "colours": ([["red", "blue", ""][i % 3] for i in range(N)], "category"),
    "codes": ([["1", "2", "3"][i % 3] if i else "X" for i in range(N)], "category"),
    "texts": (LONG, "text"),
    "chinese": (["海と空" + chr(0x4E00 + i) for i in range(N)], "text"),
    "names": ([f"row-{i:x}" for i in range(N)], "dropped"),
    "dates": ([f"2024-05-{1 + i % 28:02d}" for i in range(N)], "date"),
    "days first": ([f"{1 + i % 28:02d}/05/2024" for i in range(N)], "date"),
    "days first and times": ([f"{1 + i % 28}.5.2024 {i % 24}:30" for i in range(N)], "date"),
    "months first": ([f"05/{1 + i % 28:02d}/2024" for i in range(N)], "category"),
    "moments": ([f"2024-05-{1 + i % 28:02d}T10:00:{i:02d}" for i in range(N)], "date"),
    "constant": (["x"] * N, "dropped"),
    "constant number": ([2.0, None] * (N // 2), "dropped"),
    "empty": ([None] * N, "dropped"),
    "blank": ([" ", ""] * (N // 2), "dropped"),
    "nested": ([{"a": i} for i in range(N)], "dropped"),
    "ragged lists": ([[1] * (1 + i % 2) for i in range(N)], "dropped"),
    "bytes": (pl.Series([b"x", b"y"] * (N // 2)), "dropped"),
    "levels": (pl.Series(["x", "y"] * (N // 2), dtype=pl.Categorical), "category"),
    "matrix": (np.eye(N), "matrix"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_column_is_taken_for(name):
    values, kind = CASES[name]
    plan = Plan.of(Table.of({"other": rng.normal(size=N), name: values}))
    column = plan.columns[1]
    assert column.kind == kind
    assert column.why or kind in ("number", "date"), "plain numbers need no reason"
    assert column.name in str(plan.columns[1])


BY_CELLS = sorted(set(CASES) - {"customer_id"})  # which is known by its name, and here columns have any


@given(st.dictionaries(NAMES.map("{}.".format), st.sampled_from(BY_CELLS), min_size=1, max_size=5))
def test_any_mixture_is_planned_or_refused_in_one_sentence(kinds):
    table = Table.of({name: CASES[case][0] for name, case in kinds.items()})
    if not {CASES[case][1] for case in kinds.values()} & set(FEATURES):
        with pytest.raises(InputError, match="at least one column to learn from"):
            Plan.of(table)
        return
    plan = Plan.of(table)
    assert [column.name for column in plan.columns] == list(kinds)
    assert Plan.from_toml(plan.to_toml()) == plan


def test_text_alone_stays_sparse_and_beside_numbers_gets_axes():
    assert Plan.of(Table.of({"t": LONG})).columns[0].components == 0
    assert Plan.of(Table.of({"t": LONG, "x": rng.normal(size=N)})).columns[0].components > 0
    assert [c.kind for c in Plan.of(Table.of({"t": LONG, "y": ["a", "b"] * 20}), label="y").features] == ["text"]


def test_a_few_words_among_numbers_are_missing_and_counted():
    values = [*map(str, rng.normal(size=N - 1)), "many"]
    table = Table.of({"age": values, "x": rng.normal(size=N)}, "people.csv")
    assert Plan.of(table).columns[0] == Column("age", "number")
    assert str(CoercedCells.of(table, "age")) == 'age: 1 of 40 cells is not a number ("many"), read as missing'
    for asked in ({"drop": ["age"]}, {"label": "age"}, {"id": "age"}, {"text": ["age"]}):
        assert Plan.of(table, **asked).columns[0].why == "set by an option"


@pytest.mark.parametrize("value", ["inf", "-inf", "1e99", float("inf")])
def test_numbers_without_end_are_missing_and_counted(value):
    other = [1.5 + i for i in range(20)]
    table = Table.of({"x": [*(map(str, other) if isinstance(value, str) else other), value]})
    assert Plan.of(table).columns[0].kind == "number"
    assert np.isnan(read_numbers(table, "x")[-1])
    assert CoercedCells.of(table, "x").missing == 1


def test_what_the_user_says_has_to_be_possible():
    table = Table.of({"x": [1.5, 2.5], "y": ["a", "b"], "M": np.eye(2)}, "t.csv")
    with pytest.raises(InputError, match=r'label: expected a column of t\.csv, got "z"; it has "x", "y", "M"'):
        Plan.of(table, label="z")
    with pytest.raises(InputError, match='drop: expected a column without another use, got "y"'):
        Plan.of(table, label="y", drop=["y"])
    with pytest.raises(InputError, match='id: expected a column of words or numbers, got the matrix "M"'):
        Plan.of(table, id="M")
    with pytest.raises(
        InputError, match=r"t.csv: expected at least one column to learn from, got none; x is dropped"
    ):
        Plan.of(table, label="y", drop=["x", "M"])
    assert Plan.of(table, text="y").columns[1].kind == "text", "one name need not be a list"


def test_annotations_are_no_features_unless_asked():
    table = Table.of(
        {"kind": ["a", "b"], "n": [1.5, 2.0], "X": np.eye(2), "obsm/X_pca": np.eye(2)}, annotations=["kind", "n"]
    )
    assert [column.kind for column in Plan.of(table, label="kind").columns] == [
        "label",
        "dropped",
        "matrix",
        "dropped",
    ]
