"""Columns that two tables share: by name, by content, or as the user says."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from isthmus.data.domains import TwoDomains
from isthmus.data.shared_columns import SharedColumns
from isthmus.exceptions import InputError

NAMES = ["ann lee", "bob ray", "cid fox", "dan orr"]


def test_columns_pair_by_normalised_name():
    found = SharedColumns.of({"Given Name": NAMES, "x": "abcd"}, {"given_name": NAMES[::-1], "y": "efgh"})
    assert found.pairs == (("Given Name", "given_name"),)


def test_columns_of_other_names_pair_by_content():
    found = SharedColumns.of({"who": NAMES, "age": [1, 2, 3, 4]}, {"person": NAMES[::-1], "size": [7, 8, 9, 6]})
    assert found.pairs == (("who", "person"),)


def test_an_empty_column_is_not_shared():
    assert SharedColumns.of({"a": NAMES, "b": [None] * 4}, {"a": NAMES, "b": NAMES}).pairs == (("a", "a"),)


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
