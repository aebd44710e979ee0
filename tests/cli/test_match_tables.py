"""`isthmus match` on two ordinary tables: the columns that both share, and matches with their texts."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pytest

import isthmus
from isthmus.cli.main import main
from isthmus.data.shared_columns import SharedColumns

pytest.importorskip("polars")
N = 30
NOUNS = ["lamp", "table", "chair", "clock", "radio"]
TITLES = [f"{NOUNS[i % 5]} number {i} in oak\nand brass" for i in range(N)]


class StubMatching:
    """A matching of each row with itself, as ``match`` returns it."""

    pairs = np.column_stack([np.arange(12), np.arange(12)])
    score = confidence = np.linspace(1.0, 0.5, 12)
    runner_up = np.arange(12) - 1
    ok, sentence, recall = True, "12 matches.", None
    evidence = SimpleNamespace(fields=("whole row", "title", "price"))
    baseline = SimpleNamespace(columns=0, to_dict=lambda: {"sentence": "no baseline"})

    def explain(self, i, j):
        return f"title {i} {j}"

    def __len__(self):
        return len(self.pairs)


@pytest.fixture
def calls(monkeypatch):
    """What ``match`` is called with."""
    seen = []

    def match(A, B, pairs=None, **settings):
        seen.append(SimpleNamespace(A=A, B=B, pairs=pairs, **settings))
        return StubMatching()

    monkeypatch.setattr(isthmus, "match", match)
    monkeypatch.setattr(isthmus, "next_questions", lambda found, n: np.array([[3, 4], [5, 5]]))
    return seen


@pytest.fixture
def files(tmp_path):
    rows = {
        "a.csv": (["sku", " title", "maker", "price"], [[f"s{i}", t, f"Maker {i % 9} of {i % 7}", f"${i}.50"] for i, t in enumerate(TITLES)]),
        "b.csv": (["code", "Title", "brand", "price"], [[f"c{i}", t, f"maker {i % 9} of {i % 7}", i + 0.5] for i, t in enumerate(TITLES)]),
        "known.csv": (["a", "b"], [["s1", "c1"]]),
        "wrong.csv": (["a", "b"], [["s1", "c2"], ["s2", "c1"]]),
    }  # fmt: skip
    for name, (head, cells) in rows.items():
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([head, *cells])
    return tmp_path


def run(capsys, files, *words):
    status = main([str(files / word) if "." in word else word for word in words])
    return status, *capsys.readouterr()


def test_two_files_are_enough(files, capsys, calls):
    status, out, err = run(capsys, files, "match", "a.csv", "b.csv")
    assert (status, err) == (0, "")
    shared = "title = Title (same name), price = price (same name), maker = brand (similar content)"
    assert f"shared: {shared}\n" in out
    assert "    sku: id (the first column, one word per cell, all different, as an id)\n" in out
    assert 'price: 30 of 30 cells have a unit or another form ("$0.50", "$1.50", …), read as numbers\n' in out
    (call,) = calls
    assert isinstance(call.shared, SharedColumns)
    assert call.shared.source["title"][1] == "table number 1 in oak and brass"
    assert call.pairs is call.not_pairs is None
    lines = out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("source  target"))
    assert lines[head].split() == [
        "source",
        "target",
        "source_text",
        "target_text",
        "score",
        "confidence",
        "runner_up",
    ]
    assert lines[head + 2].startswith("s1      c1      table number 1 in oak")
    assert "table number 1 in oak and brass" in lines[head + 2], "one line for each match"
    assert lines[-1] == "These are the first 10 of 12 matches; -o FILE writes all."
    assert lines[-2].startswith("s9"), "ten of them"


def test_the_plan_has_the_shared_columns(files, capsys, calls):
    plan, words = files / "plan.toml", ("match", "a.csv", "b.csv", "--plan", "plan.toml")
    assert run(capsys, files, *words)[0] == 0
    text = plan.read_text(encoding="utf-8")
    assert '[shared]\ncolumns = [["title", "Title"], ["price", "price"], ["maker", "brand"]]\n' in text
    assert run(capsys, files, *words)[0] == 0
    plan.write_text(text.replace(', ["price", "price"]', ""), encoding="utf-8")
    assert run(capsys, files, *words)[0] == 0
    plan.write_text(text.partition("columns = [[")[0] + "columns = []\n", encoding="utf-8")
    assert run(capsys, files, *words)[0] == 0
    pairs = [None if call.shared is None else [a for a, _ in call.shared.pairs] for call in calls]
    assert pairs == [["title", "price", "maker"], ["title", "maker"], None]
    plan.write_text(text.partition("columns = [[")[0] + "columns = [3]\n", encoding="utf-8")
    status, _, err = run(capsys, files, *words, "--quiet")
    assert status == 2
    assert "plan, [shared]: expected columns = [[" in err


def test_a_doubtful_matching_shows_the_pairs_to_check(files, capsys, calls, monkeypatch):
    monkeypatch.setattr(StubMatching, "ok", None)
    _, out, _ = run(capsys, files, "match", "a.csv", "b.csv")
    asked = out[out.index("Pairs to check first") :].splitlines()
    assert [line.split()[:2] for line in asked[2:4]] == [["s3", "c4"], ["s5", "c5"]]
    monkeypatch.setattr(StubMatching, "ok", True)
    assert "Pairs to check" not in run(capsys, files, "match", "a.csv", "b.csv")[1]


def test_the_table_has_texts_a_runner_up_and_an_explanation(files, capsys, calls):
    status, out, _ = run(capsys, files, "match", "a.csv", "b.csv", "-o", "out.csv")
    assert status == 0
    assert "source_text" not in out
    with (files / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    assert (rows[0]["runner_up"], rows[1]["runner_up"]) == ("", "c0")
    assert rows[2] == {
        "source": "s2", "target": "c2", "source_text": TITLES[2], "target_text": TITLES[2],
        "score": rows[2]["score"], "confidence": rows[2]["confidence"], "runner_up": "c1", "explanation": "title 2 2",
    }  # fmt: skip


def test_shared_columns_are_given_or_none(files, capsys, calls):
    run(capsys, files, "match", "a.csv", "b.csv", "--shared", "maker=brand", "--shared", "price")
    run(capsys, files, "match", "a.csv", "b.csv", "--no-shared")
    assert calls[0].shared.pairs == (("maker", "brand"), ("price", "price"))
    assert calls[1].shared is None
    status, out, err = run(capsys, files, "match", "a.csv", "b.csv", "--shared", "maker=nobody", "--quiet")
    assert (status, out) == (2, "")
    assert err.startswith("isthmus: --shared: expected a column of ")
    assert err.endswith('b.csv ("code", "Title", "brand", "price"), got \'nobody\'.\n'), "all, numbers and ids too"


@pytest.mark.parametrize("command", ["match", "review"])
def test_a_file_of_few_rows_is_named(files, capsys, calls, command, monkeypatch):
    monkeypatch.chdir(files)
    pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    (files / "few.csv").write_text("sku,title\n" + "".join(f"s{i},lamp number {i}\n" for i in range(19)))
    status, out, err = run(capsys, files, command, "a.csv", "few.csv")
    assert (status, out, calls) == (2, "", [])
    assert err.endswith("few.csv: expected at least 20 rows to learn from, got 19.\n")


def test_a_file_that_is_matched_with_itself_is_a_matter_of_dedupe(files, capsys, calls):
    assert "both files are the same; `isthmus dedupe`" in run(capsys, files, "match", "a.csv", "a.csv")[1]
    assert "Warning" not in run(capsys, files, "match", "a.csv", "b.csv")[1]


def test_without_shared_columns_the_option_is_named(files, capsys, calls):
    write_rows = "".join(f"x{i};{i * 7 % 11},5\n" for i in range(25))
    (files / "c.csv").write_text(f"nr;size\n{write_rows}")
    _, out, _ = run(capsys, files, "match", "a.csv", "c.csv")
    assert "shared: none; use --shared A=B if column A of " in out
    assert "shared: none\n" in run(capsys, files, "match", "a.csv", "c.csv", "--no-shared")[1]


def test_known_and_rejected_pairs(files, capsys, calls):
    words = ("match", "a.csv", "b.csv", "--pairs", "known.csv", "--not-pairs", "wrong.csv")
    status, out, _ = run(capsys, files, *words)
    assert status == 0
    assert f"not pairs: {files / 'wrong.csv'}, 2\n" in out
    assert calls[0].pairs.tolist() == [[1, 1]]
    assert calls[0].not_pairs.tolist() == [[1, 2], [2, 1]]


def test_pairs_that_contradict_each_other_are_named_by_their_ids(files, capsys, calls):
    words = "match", "a.csv", "b.csv", "--pairs", "twice.csv"

    def write(*rows):
        (files / "twice.csv").write_text("\n".join(["source,target", *map(",".join, rows)]), encoding="utf-8")

    write(("s0", "c0"), ("s1", "c0"))
    status, _, err = run(capsys, files, *words)
    assert (status, err) == (
        2,
        "isthmus: --pairs, --decisions: expected one partner of each row, got B row 'c0' with 2 partners; "
        "leave one partner, or use --many-to-one.\n",
    )
    assert run(capsys, files, *words, "--many-to-one")[0] == 0
    assert [call.one_to_one for call in calls] == [False]
    write(("s0", "c0"), ("s0", "c1"))
    assert "got A row 's0' with 2 partners; leave one partner.\n" in run(capsys, files, *words, "--many-to-one")[2]
    write(("s0", "c0"))
    assert (
        "--not-pairs, --decisions: expected no confirmed pair, got 's0' and 'c0'."
        in run(capsys, files, *words, "--not-pairs", "twice.csv")[2]
    )


def test_facts_have_the_coercions_and_the_shared_columns(files, capsys, calls):
    facts = json.loads(run(capsys, files, "match", "a.csv", "b.csv", "--json")[1])
    assert facts["shared_columns"] == [["title", "Title"], ["price", "price"], ["maker", "brand"]]
    assert [(note["column"], note["read"], note["missing"]) for note in facts["a"]["coerced"]] == [("price", 30, 0)]
    assert facts["b"]["coerced"] == []


def test_a_wrong_separator_is_said_of_the_option(files, capsys):
    status, _, err = run(capsys, files, "match", "a.csv", "b.csv", "--sep", ";", "--quiet")
    assert status == 2
    assert err == f'isthmus: --sep: expected the separator of {files / "a.csv"}, got ";"; its first line has ",".\n'


def test_decisions_are_more_pairs_right_and_wrong_ones(files, capsys, calls):
    lines = [
        "source,target,verdict,time",
        *(f"{row},2026-01-31T12:00:00+00:00" for row in ("s1,c1,y", "s2,c3,n", "s4,c4,?")),
    ]
    (files / "answers.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = "match", "a.csv", "b.csv", "--decisions", "answers.csv"
    assert f"decisions: {files / 'answers.csv'}, 1 confirmed, 1 rejected, 1 unsure\n" in run(capsys, files, *words)[1]
    run(capsys, files, *words, "--pairs", "known.csv", "--not-pairs", "wrong.csv")
    assert [(call.pairs.tolist(), call.not_pairs.tolist()) for call in calls] == [
        ([[1, 1]], [[2, 3]]),
        ([[1, 1]], [[1, 2], [2, 1], [2, 3]]),
    ]
    (files / "answers.csv").write_text("\n".join([*lines, "x,c1,y,now"]) + "\n", encoding="utf-8")
    status, _, err = run(capsys, files, *words, "--quiet")
    assert (status, err) == (2, f"isthmus: {files / 'answers.csv'}: expected ids of the files' rows, got 'x'.\n")
