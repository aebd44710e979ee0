"""Packed records are the records, in fewer lines; what is none is refused."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.exceptions import InputError
from isthmus.study.records import Record
from studies.systems.packed import pack_records, read, unpack_records

ONE = Record("labels", "a→b", "", 0, "arc", "default", {}, 0.5, 0.01, "optimal", 1e-9, "isthmus 1", fingerprint="ab")
shares = st.one_of(st.none(), st.floats(0.0, 1.0))
numbers = st.floats(0.0, 1e6)
records = st.builds(
    lambda group, seed, system, score, seconds, status, gap, mark: replace(
        ONE, group=group, seed=seed, system=system, score=score, seconds=seconds, status=status, gap=gap, fingerprint=mark
    ),
    st.sampled_from(["a→b", "c→d"]), st.integers(0, 30), st.sampled_from(["arc", "hfa"]), shares, numbers,
    st.sampled_from(["done", "optimal", "failed: no"]), st.one_of(st.none(), numbers), st.one_of(st.none(), st.just("f")),
)  # fmt: skip


@given(st.lists(records, max_size=20, unique_by=lambda record: record.key))
def test_nothing_is_lost(some):
    found = list(unpack_records(pack_records(some), "here"))
    assert sorted(found, key=lambda record: record.key) == sorted(some, key=lambda record: record.key)


def test_one_line_for_all_seeds_of_a_system_and_a_pair():
    text = pack_records(replace(ONE, seed=k, score=k / 10) for k in range(10))
    assert text.count("\n") == 1
    assert text.count('"optimal"') == 1


@pytest.mark.parametrize("changed", [{"parameters": {"a": 1}}, {"grid": (0.5,)}, {"figures": {"map": 0.5}}])
def test_what_has_no_place_is_refused(changed):
    with pytest.raises(InputError, match="expected fits with the defaults"):
        pack_records([replace(ONE, **changed)])


@pytest.mark.parametrize(
    "line",
    ["{}", "no JSON", "[]", "1", "null", pack_records([ONE]).replace("0.5", "1.5"), pack_records([ONE]).replace("[0.5]", "[]"),
     pack_records([ONE]).replace('"arc"', "3"), pack_records([ONE]).replace('"seed": [0]', '"seed": ["0"]'),
     pack_records([ONE]).replace('"seed": [0]', '"seed": 0')],
)  # fmt: skip
def test_a_line_that_is_none_is_refused_by_its_number(tmp_path, line):
    path = tmp_path / "runs.jsonl"
    path.write_text(pack_records([ONE]) + line, encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: expected packed records"):
        read(path)


def test_other_bytes_are_refused(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="expected lines of JSON in UTF-8"):
        read(path)
