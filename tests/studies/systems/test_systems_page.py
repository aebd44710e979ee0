"""The systems' page says what its runs say; every system of the registry has a part, or a reason why not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import real_data
from isthmus import systems
from isthmus.study.records import Record
from isthmus.study.trial_rows import Trial
from studies.systems import STUDIES, by_labels, by_pairs, page
from studies.systems import rows as rows_module
from studies.systems.__main__ import PAGE, committed_records, main
from studies.systems.by_labels import SPOILT, spoilt
from studies.systems.data import Sides
from studies.systems.notes import absent
from studies.systems.page import TARGET_ONLY

LABELS, PAIRS = by_labels.study(), by_pairs.study()
BAR = "target self-trained LDA"


# --- the committed runs -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_committed_page_is_what_the_committed_runs_give():
    assert page(committed_records()) == PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("part", STUDIES)
def test_the_committed_runs_are_complete(part):
    design = STUDIES[part](None)
    found = [record for record in committed_records() if record.experiment == part]
    expected = {
        (part, group, "", seed, *cell)
        for group in design.groups for seed in range(10) for cell in design.cells(("default",), group)
    }  # fmt: skip
    assert len(found) == len({record.key for record in found})
    assert {record.key for record in found} == expected


@pytest.mark.data
def test_a_new_run_gives_the_committed_scores():
    group, names = "SNARE-seq RNA→ATAC", ("cdspp", "dama, noise", "hfa, permuted", "arc, renamed", "target SVM")
    real_data("single_cell/snareseq.npz")
    few = tuple(entrant for entrant in LABELS.entrants if entrant.name in names)
    board = replace(LABELS, entrants=few, groups=(group,)).run([3])
    committed = {
        r.system: r.score for r in committed_records() if (r.experiment, r.group, r.seed) == ("labels", group, 3)
    }
    for name in names:  # another machine may round a row of 300 or two to the other side
        assert board.scores(name).item() == pytest.approx(committed[name], abs=0.008), name


# --- who takes part ---------------------------------------------------------------------------------------------------


def test_every_system_of_the_registry_has_a_part_and_its_controls():
    for system in systems():
        if system.control:
            continue
        by_label, by_pair = by_labels.why_not(system) is None, system.takes_pairs
        assert by_label or by_pair, system.name
        name = by_labels.FROM_LABELS.get(system.name, (system.name,))[0]
        if by_label:
            assert {name, *(spoilt(name, kind) for kind in SPOILT)} <= set(LABELS.columns)
        else:
            assert system.name in absent()
        if by_pair:
            assert {system.name, by_pairs.shuffled_name(system.name)} <= set(PAIRS.columns)
    assert len(LABELS.groups) >= 5
    assert len(PAIRS.groups) >= 5
    assert set(TARGET_ONLY) <= set(LABELS.controls) & set(PAIRS.controls)


def test_no_target_only_rule_sees_the_source(monkeypatch):
    rng, y = np.random.default_rng(0), np.repeat(np.arange(3), 60)
    X, Y = (rng.normal(size=(len(y), d)) + 2 * np.eye(3, d)[y] for d in (12, 10))
    monkeypatch.setattr(rows_module, "sides", lambda group, folder: Sides(X, y, Y, y))
    rows = LABELS.rows(Trial(LABELS.groups[0], "", 0))
    other = replace(
        rows, X_source=rng.normal(size=(60, 9)), unit=replace(rows.unit, X_source=rng.normal(size=(60, 12)))
    )
    for entrant in by_labels.TARGET_ONLY:
        seen = [entrant.rows(each, 0) for each in (rows, other)]
        assert (seen[0].X_source != seen[1].X_source).all()
        np.testing.assert_array_equal(
            *(entrant.configure_model({}, 0).fit(*each.fit).predict(each.X_test) for each in seen)
        )


# --- the reading ------------------------------------------------------------------------------------------------------


def runs(design, means, versions="isthmus 0.1.0, numpy 0"):
    """Ten splits of known means, each system with its own small scatter."""
    rng = np.random.default_rng(0)
    return [
        Record(design.name, group, "", k, name, "default", {}, means.get(name, 0.4) + x, 0.1, "done", None, versions)
        for group in design.groups
        for name, _ in design.cells(("default",), group)
        for k, x in enumerate(0.01 * rng.normal(size=10))
    ]


def labels_page(changed):
    return page(runs(LABELS, {BAR: 0.6, **changed}))


def line(text, start):
    return [each for each in text.splitlines() if each.startswith(start)]


def test_who_gains_and_who_beats_the_target_alone():
    text = labels_page({"dama": 0.7, "arc": 0.5, "hfa": 0.3})
    (gain,) = line(text, "- **Gain from the source")
    shown, open_, worse = gain.split("all pairs):**")[1].split(". ")[:3]
    assert shown.strip().startswith("dama (+")
    assert "arc (+" in shown
    assert "hfa" not in shown
    assert "cdspp" in open_
    assert worse.startswith("Better with noise than with the truth: hfa (−")
    (above,) = line(text, "- **Beat the best target-only rule (all pairs)")
    assert above.split(":** ")[1].startswith("dama (+")
    assert line(text, "- **Both:**") == ["- **Both:** dama."]
    (below,) = line(text, "- 1 of the 2 that gain")
    assert "below the target alone" in below


def test_nobody_is_shown_where_nothing_differs():
    text = labels_page({})
    assert line(text, "- **Gain from the source")[0].split(":** ")[1].startswith("none. ")
    assert line(text, "- **Both:**") == ["- **Both:** none."]
    assert line(text, "- **Better than with every spoilt source")[0].endswith("renamed): none.")


def test_better_than_every_spoilt_source_takes_all_three():
    text = labels_page({"dama": 0.7, "arc": 0.7, "arc, renamed": 0.7})
    (every,) = line(text, "- **Better than with every spoilt source")
    assert every.endswith("renamed): dama.")


def test_the_bar_of_each_pair_is_the_best_target_only_rule():
    text = labels_page({"target SVM": 0.8})
    for group in LABELS.groups:
        (said,) = line(text, f"- **{group}.**")
        assert "The bar is target SVM, " in said


def test_pairs_are_compared_with_shuffled_ones_and_with_ridge():
    text = page(runs(PAIRS, {BAR: 0.6, "ridge": 0.7, "cca+nn": 0.8, "procrustes": 0.65, "mlhd": 0.4}))
    (learn,) = line(text, "- **Learn from the pairs")
    assert learn.split(":** ")[1].startswith("cca+nn (+")
    assert "mlhd (" in learn.split("Not shown:")[1]
    (ridge,) = line(text, "- **Against ridge")
    assert "above it cca+nn (+" in ridge
    assert "procrustes (−" in ridge.split("below it")[1]


@pytest.fixture(scope="module")
def troubled():
    """The page of runs of another version; one system failed on a pair, and one did not converge once."""
    failed, missed = ("dama", LABELS.groups[0]), ("arc", LABELS.groups[1], 3)
    found = runs(LABELS, {}, versions="isthmus 0.0.9, numpy 0")
    return page(
        replace(record, score=None, status="failed: too few rows") if (record.system, record.group) == failed
        else replace(record, status="max iterations") if (record.system, record.group, record.seed) == missed
        else record
        for record in found
    )  # fmt: skip


def test_what_failed_is_a_dash_and_is_told(troubled):
    assert line(troubled, "| dama |")[0].startswith("| dama | – |")
    assert "10 failed, 1 were not certified" in troubled
    assert f"dama on {LABELS.groups[0]} (failed: too few rows): 10" in troubled


def test_runs_that_did_not_converge_are_marked(troubled):
    assert [cell.endswith("†") for cell in line(troubled, "| arc |")[0].split(" | ")[1:3]] == [False, True]


def test_runs_of_another_version_are_counted(troubled):
    assert f"{60 * len(LABELS.columns)} are of another version" in troubled


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_render_writes_the_page_and_nothing_else(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["render", "--page", "here.md"]) == 0
    assert Path("here.md").read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["here.md"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["render", "--records", "."], "labels.jsonl"), (["pack", "--records", "."], "labels.jsonl"),
     (["run", "--parts", "rows"], "--parts: expected some of labels, pairs, got 'rows'.")],
)  # fmt: skip
def test_bad_input_is_one_line(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
