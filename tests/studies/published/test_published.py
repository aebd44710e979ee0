"""Published protocols: rows as published, records that resume, and a page that says what its records say."""

import re
from dataclasses import replace

import numpy as np
import pytest

from conftest import real_data
from isthmus.data.domains import Domain, Split
from isthmus.study.records import VERSIONS, Record, RecordStore
from isthmus.study.trial_rows import Trial
from studies.labels.data import Pair
from studies.published import __main__ as command
from studies.published import cells as cell_study
from studies.published import protocols
from studies.published.cells import SYSTEMS, cell_table, place_cells, run_cells
from studies.published.page import COLUMNS, NOISE, TARGET_ONLY, TRANSFER, page
from studies.published.protocols import CELLS, GROUPS, ONCE, PublishedDraw

LEVELS = {TRANSFER: 0.8, protocols.EQUAL_SHARES: 0.95, "target SVM": 0.9, "cdspp-self": 0.7}


def make_records():
    rest = {}, 0.5, "done", None, VERSIONS, None
    found = [
        Record("published", group, "", seed, name, "default", rest[0], LEVELS.get(name, 0.5) + 0.01 * seed, *rest[1:])
        for group in GROUPS
        for seed in range(1 if group in ONCE else 2)
        for name in COLUMNS
    ]
    cells = Record("published", CELLS, "", 0, "align", "default", {}, 0.98, *rest[1:])
    return [*found, replace(cells, figures={"FOSCTTM": 0.1482, "FOSCTTM in ATAC": 0.154})]


@pytest.fixture
def made_pair(monkeypatch):
    """Classes of 4, 9 and 30 rows on either side; and a split that is read."""
    rng, y = np.random.default_rng(0), np.repeat(np.arange(3), [4, 9, 30])
    sides = [Domain(rng.normal(size=(43, d)) + 3.0 * np.eye(3, d)[y], y) for d in (5, 6)]
    pair = Pair(*sides, np.arange(43), 43 + np.arange(43), counts=True)
    split = Split(np.arange(43), np.arange(0, 43, 4), np.empty(0, dtype=np.intp), np.arange(1, 43, 4))
    monkeypatch.setattr(protocols, "load_pair", lambda group, folder: (pair, (split,) if group in ONCE else ()))


def test_rows_are_drawn_as_published(made_pair):
    rows = PublishedDraw()(Trial(GROUPS[0], "", 3))
    np.testing.assert_array_equal(np.bincount(rows.y_source), [4, 9, 20])
    np.testing.assert_array_equal(np.bincount(rows.y_target[rows.labelled]), [3, 3, 3])
    np.testing.assert_array_equal(rows.X_target[rows.y_target < 0], rows.X_test)  # all others are scored
    np.testing.assert_array_equal(np.bincount(rows.y_test), [1, 6, 27])
    assert not np.array_equal(PublishedDraw()(Trial(GROUPS[0], "", 4)).X_source, rows.X_source)
    given = PublishedDraw()(Trial(ONCE[0], "", 0))
    assert (len(given.y_source), len(given.labelled), len(given.y_test)) == (43, 11, 11)


def test_squares_undo_the_roots(made_pair):
    rows = PublishedDraw()(Trial(ONCE[0], "", 0))
    pair, (split,) = protocols.load_pair(ONCE[0], None)
    X = np.maximum(pair.source.X[split.source], 0.0)
    np.testing.assert_allclose(protocols.square_rows(rows, 0).X_source, X / np.linalg.norm(X, axis=1)[:, None])


def test_the_page_says_what_the_records_say():
    text = page(make_records())
    summary = text.split("## Summary")[1].split("\nMade by")[0]
    assert len(summary.split()) <= 300
    assert "target SVM, has 90.5 %. `LabelTransfer` has 80.5 %" in summary
    assert f"For {len(NOISE) - 2} of {len(NOISE) - 1} systems" in summary  # all but the one that is level 70
    assert "| hfa, unit rows, SHFA split amazon→dslr, accuracy | 0.5679 | 0.5000 | −0.0679 |" in text
    assert "| align, SNARE-seq ATAC→RNA, FOSCTTM | 0.1490 | 0.1482 | −0.0008 |" in text
    assert text.count("| target SVM: 90.5 | −10.0 | +5.0 |") == 12
    assert set(TARGET_ONLY).isdisjoint(NOISE)
    assert not re.search(r"\bnan\b", text)
    assert "Not run: SNARE-seq" in page(make_records()[:-1])


def test_a_run_is_resumed(made_pair, monkeypatch, tmp_path):
    few = tuple(e for e in protocols.ENTRANTS if e.name in ("target SVM", "target 1-NN"))
    monkeypatch.setattr(protocols, "ENTRANTS", few)
    arguments = ["run", "--parts", ",".join(ONCE), "--seeds", "0:3", "--jobs", "1", "--records", str(tmp_path)]
    assert command.main(arguments) == 0
    first = RecordStore(tmp_path, "records").read()
    assert [(key[3], record.score is not None) for key, record in first.items()] == [(0, True)] * 4
    monkeypatch.setattr(protocols.TargetOnly, "fit", None)  # a second run would fail
    assert command.main(arguments) == 0
    assert RecordStore(tmp_path, "records").read() == first


@pytest.fixture
def cells(monkeypatch):
    """Points of a curve in two spaces, three classes along it."""
    t = np.sort(np.random.default_rng(0).random(60) ** 1.5)
    curve = np.stack([np.cos(2.0 * t), np.sin(2.0 * t), 0.3 * np.sin(6.0 * t)], axis=1)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    y = np.repeat(np.arange(3), 20)
    found = {"rna10": Domain(curve, y), "atac19": Domain(curve @ turn, y)}
    monkeypatch.setattr(cell_study, "load_snareseq", lambda folder: found)
    return found


def test_a_plan_places_and_names_cells(cells):
    rna, atac = cells["rna10"], cells["atac19"]
    for name in ("GW, euclidean cost", "FGW, graph cost, 3 labels"):
        names, figures = place_cells(SYSTEMS[name], atac.X, atac.y, rna.X, rna.y, 0)
        assert names > 0.9
        assert max(figures.values()) < 0.1
        shifted = place_cells(SYSTEMS[name], np.roll(atac.X, 30, axis=0), atac.y, rna.X, rna.y, 0)
        assert shifted[1]["FOSCTTM"] > 0.3


def test_cells_are_resumed_and_on_the_page(cells, tmp_path, monkeypatch):
    few = {name: system for name, system in SYSTEMS.items() if name.startswith("FGW, eucl") or name.startswith("GW")}
    monkeypatch.setattr(cell_study, "SYSTEMS", few)
    store = RecordStore(tmp_path, "records")
    run_cells(store, (0, 1), None)
    found = store.read()
    assert len(found) == sum(2 if system.is_random else 1 for system in few.values())
    monkeypatch.setattr(cell_study, "place_cells", None)  # a second run would fail
    run_cells(store, (0, 1), None)
    assert store.read() == found
    table = {row[0]: row for row in cell_table(list(found.values())).rows}
    assert [table[name][1] for name in ("GW, graph cost", "FGW, euclidean cost, 3 labels")] == ["1", "2"]
    assert all(table["FGW, euclidean cost, 3 labels"])
    assert "of GW and COOT the best is GW, " in page([*make_records(), *found.values()])


@pytest.mark.data
def test_published_splits_are_read():
    folder = real_data("office31/office31_surf_released.npz")
    rows = PublishedDraw(folder)(Trial(ONCE[1], "", 0))
    assert (len(rows.y_source), len(rows.labelled), len(rows.y_test)) == (620, 93, 405)


def test_the_committed_page_is_what_the_committed_records_give():
    assert page(command.read_records()) == command.PAGE.read_text(encoding="utf-8")


def test_missing_records_are_one_sentence(tmp_path, capsys):
    assert command.main(["render", "--records", str(tmp_path)]) == 2
    assert "--records: expected a folder with records.jsonl" in capsys.readouterr().err
