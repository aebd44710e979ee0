"""Runs of the linkage study go on where they were, and the page says what its records say."""

from dataclasses import replace

import numpy as np
import pytest

from isthmus.study.records import VERSIONS, Record, RecordStore
from studies.linkage import __main__ as command
from studies.linkage.methods import METHODS, Answer, LinkerError
from studies.linkage.page import draw_reliability, find_shortfalls, page
from studies.linkage.tables import EMPTY, Results
from studies.linkage.tasks import VARIANTS, Task
from studies.linkage.unrelated import read_records

LEVELS = {"isthmus": 0.99, "tfidf-words": 0.9, "tfidf-chars": 0.88, "columns": 0.5, "splink": 0.6}
RUN = [
    "run",
    "--methods",
    "tfidf-words,splink,dedupe",
    "--tasks",
    "Abt–Buy",
    "--variants",
    "full",
    "--seeds",
    "100:102",
]


def made_records(levels=LEVELS, claimed=0.95):
    """One record for each cell of the study and two seeds."""
    found = []
    for task, variants in VARIANTS.items():
        arrays = task in ("digits", "mfeat fac–kar")
        for name, method in METHODS.items():
            for variant in variants if (method.arrays if arrays else method.tables) else ():
                for known in method.known:
                    for seed in (0, 1):
                        found.append(made_record((task, variant, seed, name, known), levels.get(name, 0.5), claimed))
    return found


def made_record(place, score, claimed):
    task, variant, seed, name, known = place
    figures = {"precision": 0.95, "recall": 0.9, "returned": 0.0 if variant == EMPTY else 80.0, "memory": 2e8}
    if not METHODS[name].oracle and variant != EMPTY:
        figures |= {
            "claimed": claimed,
            "n9": 80.0,
            "confidence9": claimed,
            "right9": 0.95,
            "ece": abs(claimed - 0.95),
        }
    key = "linkage", task, variant, seed, name, f"{known} pairs"
    return Record(*key, {}, score, 1.5, "done", None, VERSIONS, figures=figures)


@pytest.fixture
def fake_runs(monkeypatch):
    """Tasks that are made, and linkers that find all pairs but dedupe, which fails; returns what was run."""
    calls = []
    truth = np.repeat(np.arange(50), 2).reshape(-1, 2)

    def run(method, task, known, limit):
        calls.append((method.runner, task.seed, tuple(known)))
        if method.runner == "dedupe":
            raise LinkerError("no mood")
        return [Answer(truth, np.ones(50), 1.0, 1e8) for _ in known]

    monkeypatch.setattr(command, "draw_task", lambda name, variant, seed, data: Task(None, None, truth, seed=seed))
    monkeypatch.setattr(command, "run_method", run)
    return calls


def test_a_run_goes_on_where_it_was(fake_runs, tmp_path):
    assert command.main([*RUN, "--records", str(tmp_path)]) == 0
    records = RecordStore(tmp_path, "records").read()
    assert ("tfidf", 100, (0, 10)) in fake_runs  # with 30 of 50 known, too few are left to find
    assert len(records) == 2 * (2 + 1 + 1)
    before = len(fake_runs)
    command.main([*RUN, "--records", str(tmp_path)])
    assert len(fake_runs) == before
    command.main([*RUN[:-1], "100:103", "--records", str(tmp_path)])
    assert {seed for _, seed, _ in fake_runs[before:]} == {102}
    command.main([*RUN[:2], "splink", *RUN[3:], "--again", "--records", str(tmp_path)])
    assert {runner for runner, *_ in fake_runs[-2:]} == {"splink"}


def test_a_failure_is_recorded_with_its_reason(fake_runs, tmp_path, capsys):
    command.main([*RUN, "--records", str(tmp_path)])
    failed = [record for record in RecordStore(tmp_path, "records").read().values() if record.score is None]
    assert {(record.system, record.status) for record in failed} == {("dedupe", "no mood")}
    assert "dedupe: failed: no mood" in capsys.readouterr().out
    assert "failed (no mood)" in page(list(RecordStore(tmp_path, "records").read().values()), [])


def test_the_page_has_every_data_set_and_no_shortfall_where_there_is_none():
    text = page(made_records(), read_records())
    assert all(f"**{task}: F1 of new pairs**" in text for task in VARIANTS)
    assert "| **0.990** |" in text
    assert "Nothing, by the measures of this page." in text
    assert list(find_shortfalls(Results(made_records()))) == []


def test_the_page_says_what_fell_short():
    worse = list(find_shortfalls(Results(made_records(LEVELS | {"isthmus": 0.85}, claimed=0.5))))
    assert "Abt–Buy, full: with 0 pairs F1 is 0.850, the best baseline 0.900." in worse
    assert "Abt–Buy, full: F1 without pairs is 0.850, the goal 0.955." in worse
    assert "Abt–Buy, full: with 10 pairs the claimed precision is 0.500, the true one 0.950." in worse
    beyond = [
        replace(record, figures=record.figures | {"f1_beyond_100": 0.999}) if record.setting == "0 pairs" else record
        for record in made_records()
    ]
    assert "Abt–Buy, full: on the same rows, 100 pairs lower F1 from 0.999 to 0.990." in find_shortfalls(
        Results(beyond)
    )
    missing = [record for record in made_records() if record.system != "isthmus"]
    assert next(find_shortfalls(Results(missing))).startswith("isthmus was not run on")


@pytest.mark.slow
def test_the_figure_is_a_picture(tmp_path):
    RecordStore(tmp_path, "records").add(made_records())
    assert command.main(["page", "--records", str(tmp_path), "--page", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "pictures" / "linkage_reliability.png").read_bytes().startswith(b"\x89PNG")
    assert draw_reliability([]).startswith(b"\x89PNG")


def test_a_folder_without_records_is_refused(tmp_path, capsys):
    assert command.main(["page", "--records", str(tmp_path)]) == 2
    assert "records.jsonl" in capsys.readouterr().err


def test_the_committed_page_is_that_of_the_committed_records():
    records = list(RecordStore(command.HERE, command.NAME).read().values())
    assert command.PAGE.exists() == bool(records)
    if records:
        assert page(records, read_records()) == command.PAGE.read_text(encoding="utf-8")
