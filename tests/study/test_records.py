"""Results on disc: read with suspicion, written whole or not at all, gathered without loss."""

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus._core import files
from isthmus.exceptions import InputError
from isthmus.study.records import VERSIONS, Record, RecordStore


def record(system="mlhd", score=0.5, *, seed=0, **others):
    """A record made by hand."""
    given = {
        "experiment": "table1", "group": "EN → FR", "variant": "whole", "setting": "default", "parameters": {},
        "seconds": 0.1, "status": "optimal", "gap": 1e-9, "versions": VERSIONS,
    } | others  # fmt: skip
    return Record(seed=seed, system=system, score=score, **given)


LINE = record().to_json()
finite = st.floats(allow_nan=False, allow_infinity=False)
share = st.floats(0, 1)
text = st.text(st.characters(codec="utf-8"), max_size=12)
any_record = st.builds(
    Record, text, text, text, st.integers(0, 10**6), text, text,
    parameters=st.dictionaries(text, finite | text | st.none() | st.booleans(), max_size=2), score=st.none() | share, seconds=finite, status=text,
    gap=st.none() | finite, versions=text, grid=st.none() | st.lists(st.none() | share, max_size=4).map(tuple),
    figures=st.none() | st.dictionaries(text, finite, max_size=2), fingerprint=st.none() | text,
)  # fmt: skip


def many(n=6):
    return [record(system, seed / 10, seed=seed) for seed in range(n) for system in ("arc", "mlhd")]


@given(st.lists(any_record, max_size=4))
def test_what_is_written_is_read_back(tmp_path_factory, found):
    results = RecordStore(tmp_path_factory.mktemp("results"), "table1")
    results.add(found)
    assert results.read() == {r.key: r for r in found}
    results.merge()
    assert results.read() == {r.key: r for r in found}


def test_a_line_is_json_without_what_is_not_there():
    assert LINE.endswith("\n")
    assert LINE.count("\n") == 1
    assert "→" in LINE
    assert not {"grid", "figures", "fingerprint"} & json.loads(LINE).keys()
    assert {"score", "gap"} <= json.loads(record(score=None, gap=None).to_json()).keys()


BAD = {
    "torn": LINE[: len(LINE) // 2] + "\n",
    "torn without an end": LINE[:-9],
    "not JSON": "mlhd 0.5\n",
    "JSON of another kind": "[1, 2]\n",
    "a number": "3\n",
    "empty line": "\n",
    "unknown field": LINE.replace('"seed"', '"sead"'),
    "one field more": LINE.replace('"seed"', '"colour": 1, "seed"'),
    "missing field": json.dumps({k: v for k, v in json.loads(LINE).items() if k != "status"}) + "\n",
    "deeply nested": "[" * 100_000 + "\n",
    "NaN": LINE.replace('"score": 0.5', '"score": NaN'),
    "infinity": LINE.replace('"score": 0.5', '"score": 1e999'),
    **{
        f"{name} = {value!r}": json.dumps(json.loads(LINE) | {name: value}) + "\n"
        for name, value in [
            ("seed", "0"),
            ("seed", 1.5),
            ("seed", True),
            ("score", "0.5"),
            ("score", [0.5]),
            ("score", True),
            ("status", None),
            ("group", 3),
            ("parameters", None),
            ("parameters", [1]),
            ("parameters", {"a": [1]}),
            ("parameters", {"a": {}}),
            ("fingerprint", 7),
            ("fingerprint", ["a"]),
            ("seconds", None),
            ("gap", "small"),
            ("grid", 3),
            ("grid", ["a"]),
            ("grid", "ab"),
            ("figures", [1]),
            ("figures", {"mmd": None}),
            ("versions", {}),
            ("setting", []),
            ("experiment", None),
        ]
    },
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("in_part", [False, True], ids=["file", "part"])
def test_a_foreign_line_is_one_error_that_names_file_and_line(tmp_path, bad, in_part):
    results = RecordStore(tmp_path, "table1")
    path = results.parts / "0.jsonl" if in_part else results.path
    path.parent.mkdir(exist_ok=True)
    path.write_text(LINE + record(seed=1).to_json() + bad, encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(InputError) as error:
        results.read()
    message = str(error.value)
    assert f"{path.name} line 3: expected a record of a study, got " in message
    assert "\n" not in message
    assert len(message) < 400
    with pytest.raises(InputError):
        results.merge() if in_part else results.read()
    assert path.read_bytes() == before  # nothing is thrown away


@pytest.mark.parametrize(
    "wrong", [{"score": 1.001}, {"score": -0.1}, {"score": 55}, {"grid": [0.5, None, 2.0]}], ids=str
)
def test_a_score_that_is_no_share_is_refused_with_file_and_line(tmp_path, wrong):
    results = RecordStore(tmp_path, "table1")
    results.path.write_text(LINE + json.dumps(json.loads(LINE) | {"seed": 1} | wrong) + "\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"table1\.jsonl line 2: expected scores from 0 to 1, got (1\.001|-0\.1|55|2)\.$"
    ):
        results.read()


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x80abc\n", LINE.encode("utf-16")])
def test_other_bytes_are_one_error_that_names_the_file(tmp_path, content):
    results = RecordStore(tmp_path, "table1")
    results.path.write_bytes(content)
    with pytest.raises(InputError, match=r"table1\.jsonl: expected lines of JSON in UTF-8, got other bytes\.$"):
        results.read()


@pytest.mark.parametrize("strange", ["\u2028", "\x85", "\n", "\r", "\x1c", "\x00", '"', "\\", "†"])
def test_a_message_with_any_character_stays_on_its_line(tmp_path, strange):
    found = record(score=None, status=f"failed: a{strange}b")
    results = RecordStore(tmp_path, "table1")
    results.add([found, record(seed=1)])
    assert results.read()[found.key] == found


def test_an_empty_folder_or_none_has_no_records(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        results = RecordStore(folder, "table1")
        assert results.read() == {}
        results.merge()
    assert list(tmp_path.iterdir()) == []


def test_merging_keeps_everything_and_removes_the_parts(tmp_path):
    results, found = RecordStore(tmp_path, "table1"), many()
    for k in range(0, len(found), 2):
        results.add(found[k : k + 2])
        if k == 4:
            results.merge()
    before = results.read()
    results.merge()
    assert results.read() == before == {r.key: r for r in found}
    assert [p.name for p in tmp_path.iterdir()] == ["table1.jsonl"]
    text = results.path.read_bytes()
    results.merge()
    assert results.path.read_bytes() == text


def test_the_file_does_not_depend_on_the_order_of_finishing(tmp_path):
    texts = set()
    for k in range(4):
        found, results = many(), RecordStore(tmp_path / str(k), "table1")
        random.Random(k).shuffle(found)
        for each in found:
            results.add([each])
            if each.seed == k:
                results.merge()
        results.merge()
        texts.add(results.path.read_bytes())
    assert len(texts) == 1


def test_a_part_that_was_merged_but_not_removed_does_no_harm(tmp_path):
    results = RecordStore(tmp_path, "table1")
    results.add(many())
    (part,) = results.parts.iterdir()
    copy = part.read_bytes()
    results.merge()
    results.parts.mkdir()
    (results.parts / part.name).write_bytes(copy)
    (results.parts / "copy.jsonl").write_bytes(copy)
    before = results.path.read_bytes()
    assert results.read() == {r.key: r for r in many()}
    results.merge()
    assert results.path.read_bytes() == before
    assert not results.parts.exists()


def test_a_crash_while_writing_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    results = RecordStore(tmp_path, "table1")
    results.add(many(2))
    results.merge()
    before = results.path.read_bytes()
    results.add(many(4))
    parts = sorted(p.name for p in results.parts.iterdir())

    def crash(descriptor):
        raise OSError("the disc is full")

    monkeypatch.setattr(files.os, "fsync", crash)
    with pytest.raises(OSError, match="full"):
        results.merge()
    with pytest.raises(OSError, match="full"):
        results.add(many(6))
    monkeypatch.undo()
    assert results.path.read_bytes() == before
    assert sorted(p.name for p in results.parts.iterdir()) == parts
    assert sorted(p.name for p in tmp_path.iterdir()) == ["table1.jsonl", "table1.parts"]
    assert results.read() == {r.key: r for r in many(4)}


def test_an_unfinished_part_of_a_killed_run_is_not_read(tmp_path):
    results = RecordStore(tmp_path, "table1")
    results.add(many())
    (results.parts / ".0.jsonl.123.part").write_text(LINE[:30])
    assert len(results.read()) == len(many())
    results.merge()
    assert len(results.read()) == len(many())


def test_a_later_record_of_the_same_key_replaces_the_earlier(tmp_path):
    results = RecordStore(tmp_path, "table1")
    results.add([record(score=0.1)])
    results.merge()
    results.add([record(score=0.2)])
    results.merge()
    assert [r.score for r in results.read().values()] == [0.2]


def test_experiments_in_one_folder_do_not_meet(tmp_path):
    one, two = RecordStore(tmp_path, "table1"), RecordStore(tmp_path, "table2")
    one.add([record()])
    two.add([record(experiment="table2")])
    one.merge()
    assert len(one.read()) == len(two.read()) == 1
    assert two.parts.exists()


def test_records_that_are_set_aside_leave_the_file_and_are_kept(tmp_path):
    results, found = RecordStore(tmp_path, "table1"), many()
    results.add(found)
    results.set_aside({r.key for r in found if r.seed < 2})
    assert list(results.read().values()) == sorted((r for r in found if r.seed >= 2), key=lambda r: r.key)
    results.set_aside({r.key for r in found if r.seed == 3})
    assert [json.loads(line)["seed"] for line in results.aside.read_text().splitlines()] == [0, 0, 1, 1, 3, 3]
    assert {r.seed for r in results.read().values()} == {2, 4, 5}


def test_the_version_of_a_record_is_that_of_the_package():
    assert record().of_this_version
    assert record(versions=VERSIONS.split(",")[0] + ", numpy 0.1").of_this_version
    assert not record(versions=VERSIONS.replace("isthmus ", "isthmus 9")).of_this_version


def test_only_optimal_and_done_are_certified():
    assert record(status="optimal").certified
    assert record(status="done").certified
    assert not any(
        replace(record(), status=s).certified for s in ("iteration limit", "failed: x", "", "not converged")
    )


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    first, second = RecordStore(tmp_path / "new", "table1"), RecordStore(tmp_path / "new", "table2")
    with first.lock(), pytest.raises(InputError, match="that no other run is writing to"), second.lock():
        pass
    with second.lock():  # the first one has ended
        pass


def test_what_a_killed_run_left_unfinished_is_cleared_away(tmp_path):
    results = RecordStore(tmp_path, "table1")
    results.add(many())
    (results.parts / ".0102324a.jsonl.5f.part").write_text('{"experiment": "tab')
    (tmp_path / ".table1.jsonl.6a.part").write_text('{"exp')
    (tmp_path / ".another.jsonl.7b.part").write_text("of another study")
    found = results.read()
    results.merge()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".another.jsonl.7b.part", "table1.jsonl"]
    assert results.read() == found
