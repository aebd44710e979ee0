"""Columns that two tables share: by name, by content, and not by chance."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from isthmus import InputError
from isthmus.data import shared_columns
from isthmus.data.domains import TwoDomains
from isthmus.data.shared_columns import SharedColumns

rng = np.random.default_rng(0)
N = 60
TITLES = [" ".join(rng.choice(["sea", "land", "sky", "fire", "wind", "rain"], 3)) + f" {i}" for i in range(N)]


def pairs(source, target):
    return SharedColumns.of(source, target).pairs


def test_names_are_compared_without_case_blanks_and_signs():
    source, target = {" Given Name": ["ann", "bob"]}, {"given_name": ["eve", "joe"]}
    assert pairs(source, target) == ((" Given Name", "given_name"),)


def test_texts_of_other_names_are_known_by_their_words():
    assert pairs({"title": TITLES}, {"nom": TITLES[::-1], "ort": [f"x{i} y" for i in range(N)]}) == (
        ("title", "nom"),
    )
    russian = ["".join(chr(0x430 + ord(c) % 32) if c.isalpha() else c for c in title) for title in TITLES]
    assert pairs({"a": russian}, {"b": russian[::-1]}) == (("a", "b"),)


def test_numbers_of_other_names_are_shared_only_if_they_name_objects():
    codes = [str(4_006_381_000_000 + 37 * i) for i in range(N)]
    assert pairs({"ean": codes}, {"gtin": codes[::-1]}) == (("ean", "gtin"),)
    draws = [lambda: rng.integers(0, 256, 600), lambda: rng.normal(size=N), lambda: rng.choice(["yes", "no"], N)]
    for draw in draws:
        assert pairs({"a": draw().tolist()}, {"b": draw().tolist()}) == ()


AREAS = np.round(np.exp(rng.normal(8, 3, 120)))


@pytest.mark.parametrize("change", [lambda x: x, lambda x: x * (1 + 1e-4 * rng.normal(size=120)), lambda x: x[::-1]])
def test_measurements_of_other_names_are_known_by_values_closer_than_neighbours(change):
    assert pairs({"area": AREAS, "n": range(120)}, {"surface": change(AREAS), "k": rng.normal(size=120)}) == (
        ("area", "surface"),
    )


@pytest.mark.parametrize("n", [50, 100, 800])
@pytest.mark.parametrize(
    "draw",
    [
        lambda n: rng.normal(size=n),
        lambda n: np.round(np.exp(rng.normal(3, 2, n)), 2),
        lambda n: rng.integers(0, 10**6, n),
        lambda n: rng.standard_cauchy(n),
        lambda n: np.round(rng.uniform(0, 10, n), 1 if n < 800 else 2),
    ],
)
def test_unrelated_measurements_are_not_shared_whatever_their_distribution(draw, n):
    assert pairs({"a": draw(n) + 0.5, "b": draw(n)}, {"c": draw(n), "d": draw(300)}) == ()


@pytest.mark.parametrize(("width", "read"), [(30, True), (31, False)])
def test_the_numbers_of_wide_tables_are_not_read(width, read, monkeypatch):
    seen, parser = [], shared_columns.choose_number_parser
    monkeypatch.setattr(
        shared_columns, "choose_number_parser", lambda cells: seen.append(len(cells)) or parser(cells)
    )
    source, target = ({f"{name}{k}": rng.normal(size=1000) for k in range(width)} for name in "ab")
    target["b7"] = source["a3"][::-1]
    assert pairs(source, target) == ((("a3", "b7"),) if read else ())
    assert (sum(seen) > 2 * 1000 * width) is read


def test_what_counts_the_rows_says_nothing_about_them():
    assert pairs({"id": range(N), "title": TITLES}, {"id": range(N), "title": TITLES}) == (("title", "title"),)
    assert pairs({"id": range(N)}, {"id": [7 * i for i in range(N)]}) == ()


def test_pairs_that_are_given_have_to_be_there():
    columns = SharedColumns.of({"a": ["x"]}, {"b": ["y"]}, [("a", "b")])
    assert columns.pairs == (("a", "b"),)
    with pytest.raises(InputError, match="shared: expected columns of the second table, got 'c'"):
        SharedColumns.of({"a": ["x"]}, {"b": ["y"]}, [("a", "c")])


NAMES = ["ann lee", "bob ray", "cid fox", "dan orr"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_are_read_alike(frame):
    table = {"a": ["X", None, " y "], "n": [1.0, 2.5, None]}
    found = SharedColumns.of(frame(table), frame(table))
    assert found.source == {"a": ("x", "", "y"), "n": ("1", "2.5", "")}


def test_two_domains_carry_shared_columns():
    rows, frame = np.eye(4), {"a": NAMES}
    both = SharedColumns.of(frame, frame)
    assert TwoDomains.of(rows, None, rows, None, shared=both, optional_labels=True).shared is both
    with pytest.raises(InputError, match="shared: expected columns of 4 and 3 rows"):
        TwoDomains.of(rows, None, rows[:3], None, shared=both, optional_labels=True)
    assert TwoDomains.of(rows, None, rows, None, shared="auto", optional_labels=True).shared is None


@pytest.mark.parametrize(
    ("shared", "message"),
    [
        ("every", 'expected "auto" or pairs of column names'),
        ([("a", "b")], "expected columns of the second table"),
        (["a"], "a list of pairs of column names"),
        (7, "a list of pairs of column names"),
    ],
)
def test_bad_pairs_of_columns_are_one_sentence(shared, message):
    with pytest.raises(InputError, match=message):
        SharedColumns.of({"a": NAMES}, {"a": NAMES}, shared)
