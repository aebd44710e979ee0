"""Classes, names of rows, and pairs of them."""

import pytest

from isthmus import InputError
from isthmus.io.tables.plan import Column, Plan, read_ids, read_labels, read_pairs
from isthmus.io.tables.table import Table
from isthmus.io.tables.write import write_table

PLAN = Plan((Column("x", "number"), Column("y", "label"), Column("name", "id")))


def table_of(y, name):
    return Table.of({"x": [1.0] * len(y), "y": y, "name": name}, "t.csv")


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["a", " ", "b "], ["a", None, "b"]),
        (["1.0", "", "2.0"], ["1", None, "2"]),
        ([1.0, None, 2.0], ["1", None, "2"]),
        ([1.0, float("nan"), 2.5], ["1.0", None, "2.5"]),
        ([3, None, -1], ["3", None, None]),
        ([True, None, False], ["true", None, "false"]),
        (["NA", "007", "7"], ["NA", "007", "7"]),
    ],
)
def test_labels_are_text_and_empty_cells_are_none(cells, labels):
    found = read_labels(table_of(cells, ["u", "v", "w"]), PLAN)
    assert found.tolist() == labels
    assert found.dtype == object


def test_a_plan_without_a_label_has_no_labels():
    with pytest.raises(InputError, match="a column of kind 'label', got none"):
        read_labels(table_of(["a"], ["u"]), Plan((Column("x", "number"),)))


def test_ids_are_different_and_complete():
    assert read_ids(table_of([1, 2], [7, 8]), PLAN) == ("7", "8")
    with pytest.raises(InputError, match=r'rows 0 and 2 \(from 0\), column "name": the id "u" is there twice; make'):
        read_ids(table_of([1, 2, 3], ["u", "v", "u"]), PLAN)
    with pytest.raises(InputError, match=r'row 1 \(from 0\), column "name": the id is empty; fill it'):
        read_ids(table_of([1, 2], ["u", ""]), PLAN)


def test_pairs_are_row_numbers(tmp_path):
    write_table(tmp_path / "p.csv", {"source": ["b", "a"], "target": ["3", "1"]})
    assert read_pairs(tmp_path / "p.csv", ["a", "b"], ["1", "2", "3"]).tolist() == [[1, 2], [0, 0]]
    with pytest.raises(InputError, match=r'p.csv line 2, column "target": no target row has the id "3"; ids are'):
        read_pairs(tmp_path / "p.csv", ["a", "b"], ["1", "2"])
    # Among versions "1.0" keeps its fraction, in a file of pairs that has whole numbers only it does not.
    write_table(tmp_path / "v.csv", {"source": ["2.0", "1.0"], "target": ["3", "1"]})
    assert read_pairs(tmp_path / "v.csv", ["1.0", "1.5", "2.0"], ["1.0", "2", "3.0"]).tolist() == [[2, 2], [0, 0]]
    # A file without header loses no pair: its first line is one.
    (tmp_path / "h.csv").write_text("b,3\na,1\n", encoding="utf-8")
    assert read_pairs(tmp_path / "h.csv", ["a", "b"], ["1", "2", "3"]).tolist() == [[1, 2], [0, 0]]
    write_table(tmp_path / "q.csv", {"source": ["b"]})
    with pytest.raises(InputError, match="named source and target, got 1"):
        read_pairs(tmp_path / "q.csv", ["a"], ["1"])
