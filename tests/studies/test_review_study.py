"""The study of reviews: the truth answers, records resume, and the page says what they say."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from isthmus.study.records import RecordStore
from isthmus.tasks.matching.clusters import Clusters
from studies.linkage.tasks import Task
from studies.review import __main__ as command
from studies.review import duplicates
from studies.review.trials import ANSWERS, answer_row, match_task, measure_coverage, run_policy

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def task():
    """Ninety names; those of B lack a word, and a sixth of them two."""
    rng = np.random.default_rng(100)
    words = ["".join(rng.choice(list("abcdefghij"), 5)) for _ in range(60)]
    names = [" ".join(rng.choice(words, 4)) for _ in range(90)]
    others = [" ".join(name.split()[: 2 if i % 6 == 0 else 3]) for i, name in enumerate(names)]
    truth = np.repeat(np.arange(90), 2).reshape(-1, 2)
    return Task(pd.DataFrame({"name": names}), pd.DataFrame({"name": others}), truth, (("name", "name"),), seed=100)


@pytest.fixture
def small(task, monkeypatch):
    monkeypatch.setattr("studies.review.trials.ANSWERS", (0, 5, 10))
    monkeypatch.setattr(command, "ANSWERS", (0, 5, 10))
    monkeypatch.setattr(command, "draw_task", lambda *_: task)
    return task


@pytest.mark.slow
def test_answers_are_counted_and_never_make_a_claim_worse_than_the_truth(small):
    first = match_task(small, np.zeros((0, 2), np.intp), np.zeros((0, 2), np.intp))
    for policy in ("chosen", "random"):
        records = list(run_policy(small, "Abt–Buy", policy, first))
        assert [record.setting for record in records] == ["0 answers", "5 answers", "10 answers"]
        assert all(0.0 <= value <= 1.0 for record in records for value in record.figures.values())
        assert records[-1].figures["recall"] >= records[0].figures["recall"] - 0.1
    covered = measure_coverage(small, "Abt–Buy", "full", first).figures
    assert {f"{kind}{share}" for kind in ("", "true ") for share in ("precision", "recall")} <= set(covered)
    assert 0.0 < covered["recall width"] < 1.0


def test_a_run_that_was_stopped_goes_on(small, tmp_path, monkeypatch, capsys):
    calls = []
    real = command.match_task
    monkeypatch.setattr(command, "match_task", lambda *words: calls.append(1) or real(*words))
    words = ["run", "--tasks", "Abt–Buy", "--seeds", "100:101", "--records", str(tmp_path)]
    assert command.main(words) == 0
    assert len(calls) == 2, "the whole tables, and those with few rows in common"
    assert command.main(words) == 0
    assert len(calls) == 2, "nothing was missing"
    assert len(RecordStore(tmp_path, "records").read()) == 2 + 2 * 3
    assert command.main(["page", "--records", str(tmp_path), "--page", str(tmp_path / "page.md")]) == 0
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| Abt–Buy | chosen | " in text
    assert "Seeds: 100;" in text


def test_the_committed_page_is_that_of_the_committed_records(tmp_path):
    records = list(RecordStore(ROOT / "studies" / "review", "records").read().values())
    assert command.page(records) == (ROOT / "docs" / "answers.md").read_text(encoding="utf-8")
    assert {record.setting for record in records if record.system == "chosen"} == {f"{n} answers" for n in ANSWERS}


def test_the_truth_answers_until_a_row_is_resolved():
    class Options:
        claim, confidence = np.array([2]), np.array([0.9])

        @staticmethod
        def options(row):
            return [2, 5, 7]

    assert answer_row(Options, 0, {0: 5}) == {2: "n", 5: "y"}
    assert answer_row(Options, 0, {}) == {2: "n", 5: "n", 7: "n"}
    assert answer_row(Options, 0, {0: 2}) == {2: "y"}


@pytest.mark.parametrize("variant", duplicates.WITHIN)
def test_known_duplicates_are_rows_of_one_object(variant, monkeypatch):
    A, B = (pd.DataFrame({"name": [f"{side} object {k}" for k in range(700)]}) for side in "ab")
    truth = np.c_[np.arange(650), np.arange(650)[::-1]]
    monkeypatch.setattr(duplicates, "read_tables", lambda *_: Task(A, B, truth, (("name", "name"),)))
    table, objects = duplicates.draw_table("Abt–Buy", variant, 100, None)
    assert len(table) == len(objects)
    pairs = duplicates.list_pairs(objects)
    expected = {"no copies": 0, "both tables, all paired": 600, "both tables, a third paired": 200}
    assert len(pairs) == expected[variant] if variant in expected else len(pairs) >= 120
    for first, second in sorted(pairs)[:50]:
        one, other = (table.name[row] for row in (first, second))
        if variant.startswith("both"):
            assert {one[0], other[0]} == {"a", "b"}
            assert int(one.split()[-1]) + int(other.split()[-1]) == 649
        else:
            assert not one or not other or abs(len(one) - len(other)) <= 2


def test_pairs_in_clusters_are_counted():
    nothing = np.zeros((0, 2), np.intp)
    found = Clusters(np.array([0, 0, 0, 1, 2]), np.array([0, 3, 4]), nothing, np.zeros(0), nothing, nothing, ok=None)
    figures = duplicates.score_clusters(found, np.array([5, 5, 6, 6, 7]))
    assert figures == {"precision": round(1 / 3, 5), "recall": 0.5, "verdict": -1.0}
    page = "\n".join(["before", duplicates.MARKS[0], "old", duplicates.MARKS[1], "after"])
    assert duplicates.replace_table(page, "new") == page.replace("old", "new")
