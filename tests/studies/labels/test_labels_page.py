"""The page on few labels says what its records say, whichever way they fall."""

import re
from dataclasses import replace

import numpy as np
import pytest

from isthmus.exceptions import InputError
from isthmus.study.records import VERSIONS, Record, RecordStore
from isthmus.study.study import RunPlan
from studies.labels import STUDIES, shuffled_pairs
from studies.labels.__main__ import PAGE, RECORDS, committed_records, main, render_page, select_groups
from studies.labels.page import TARGET_ONLY, comparisons, page
from studies.labels.parts import FULL, LDA, RANDOM, SPOILT, TRANSFER
from studies.labels.tables import BEST, FEWEST_GROUPS, claims, compare_scores, difference_table, results, score_table
from studies.labels.task import ERROR, UNNAMED

SEEDS = range(100, 110)
LEVELS = {TRANSFER: 0.8, FULL: 0.9, RANDOM: 0.45, LDA: 0.5, **dict.fromkeys(SPOILT.values(), 0.5)}
FIGURES = {UNNAMED: 0.7, "labelled classes": 0.9, "held out": 0.6, "source used": 1.0}


def made_records(part, level=lambda record: LEVELS.get(record.system, 0.4)):
    """A record for every cell of a part, whose score is the level of the system and a little that is drawn."""
    study, rng = STUDIES[part](None), np.random.default_rng(0)
    plan = RunPlan(study, tuple(study.variants), ("default",), tuple(SEEDS))
    found = []
    for key, mark in plan.fingerprints.items():
        record = Record(*key, {}, 0.0, 0.5, "done", None, VERSIONS, None, FIGURES, mark)
        found.append(replace(record, score=round(float(np.clip(level(record) + 0.004 * rng.normal(), 0, 1)), 4)))
    return found


@pytest.fixture(scope="module")
def records():
    return {part: made_records(part) for part in STUDIES}


@pytest.fixture(scope="module")
def text(records):
    return page(records)


def sentence_on(data, text, part=0):
    return [line for line in text.splitlines() if line.startswith(f"- **{data}.**")][part]


def test_the_page_has_every_part_and_nothing_out_of_date(records, text):
    for words in ("Classes that nobody labelled", "at the paper's size", "at real sizes", "How the runs ended"):
        assert re.search(f"^## .*{words}", text, re.MULTILINE)
    assert "of another version" not in text
    n = sum(map(len, records.values()))
    assert f"{n} records; 0 failed, 0 were not certified." in text
    assert "nan" not in re.sub(r"\w+nan\w*|\w*nan\w+", "", text)
    assert "\n\n\n" not in text
    assert page(records) == text


def test_the_page_says_which_runs_estimate_shares_and_what_fell_short(records, text):
    short = text.split("## What fell short")[1].split("\n## ")[0]
    assert "at most. It is larger nowhere" in short  # made records have no calibration error
    assert "the true source 110 with 1 label per class, 110 with 3 labels per class" in text
    spoilt = set(SPOILT.values())
    old = [replace(r, fingerprint="0" * 16) if r.system in spoilt else r for r in records["real"]]
    assert "noise ones 0 with 1 label per class" in page(records | {"real": old})
    assert "In 330 trials (Debian) the true source was run anew" in page(records | {"real": old})
    wrong = [replace(r, figures={**r.figures, ERROR: 0.09}) for r in records["naming"]]
    said = page(records | {"naming": wrong}).split("## What fell short")[1]
    assert "half of the classes labelled, 3 labels per labelled class: digits demo 9, digits 9" in said


def test_shuffled_pairs_are_counted():
    plain = {"group": "a", "pairs": 30, "seed": 100, "accuracy": 0.2}
    kinds = {"true": (True, 4.0), "shuffled": (False, 1.0)}
    found = [{**plain, "kind": kind, "ok": ok, "z": z} for kind, (ok, z) in kinds.items()]
    found.append({**plain, "seed": 101, "kind": "shuffled", "ok": None, "z": 2.0, "accuracy": 0.1})
    said = shuffled_pairs.describe(found)
    assert "1 of 2 draws with shuffled pairs are noticed and name no class, 1 are called doubtful" in said
    assert "z is at most 2.0 with shuffled pairs and at least 4.0 with true ones" in said
    assert shuffled_pairs.describe(found[:1]) == ""


def test_tables_have_means_over_groups(records):
    study = STUDIES["naming"](None)
    found = results(study, records["naming"], TARGET_ONLY["naming"])["3"]
    table = score_table(found, study.columns, "t")
    scores = 100 * np.array([found.board.scores(TRANSFER)[k] for k in found.sets["Debian"]]).mean(axis=0)
    column = table.head.index("Debian")
    assert table.rows[0][column] == f"{scores.mean():.1f}±{scores.std(ddof=1):.1f}"
    assert score_table(found, (TRANSFER,), "t", UNNAMED).rows[0][1] == "70.0±0.0"


def test_differences_are_paired_and_clear_ones_are_shown_in_every_data_set(records):
    found = results(STUDIES["few"](None), records["few"], TARGET_ONLY["few"])["1"]
    table = difference_table(found, [(TRANSFER, LDA)], "t")
    for data, cell in zip(table.head[1:], table.rows[0][1:], strict=True):
        gain = 100 * (found.scores(TRANSFER, data) - found.scores(LDA, data)).mean()
        assert cell.startswith(f"**+{gain:.1f}** ["), data


def test_all_comparisons_of_a_data_set_are_one_family(records):
    found = results(STUDIES["real"](None), records["real"], TARGET_ONLY["real"])["1"]
    pairs = comparisons("real")
    each = claims(found, pairs)
    raw = [each[(*pair, "digits")].difference for pair in pairs]
    assert all(d.p_adjusted >= d.p_value for d in raw)
    assert min(d.p_adjusted for d in raw) == pytest.approx(len(pairs) * 2.0**-9)


def test_ten_groups_are_clusters_too_and_two_are_not():
    rng = np.random.default_rng(0)
    seeds, groups = 0.1 + 0.01 * rng.normal(size=10), rng.normal(size=10)
    two = compare_scores(seeds[None, :] + groups[:2, None], np.tile(groups[:2, None], 10))
    assert two.p_value == 2.0**-9
    torn = np.where(np.arange(FEWEST_GROUPS) % 2, 0.2, -0.2)[:, None] + np.full((FEWEST_GROUPS, 10), 0.001)
    assert compare_scores(torn, np.zeros_like(torn)).p_value > 0.5, "every seed agrees, the groups do not"
    assert compare_scores(torn[:, :1], np.zeros((FEWEST_GROUPS, 1))) is None


def test_the_best_control_is_found_on_each_data_set():
    def level(record):
        return 0.7 if (record.system, record.group.split()[0]) == ("target SVM", "SNARE") else 0.5

    found = results(STUDIES["few"](None), made_records("few", level), TARGET_ONLY["few"])["1"]
    assert found.best("SNARE") == "target SVM"
    assert found.resolve(BEST, "SNARE") == "target SVM"
    assert found.difference(TRANSFER, BEST, "SNARE").mean == pytest.approx(-0.2, abs=0.01)


def test_sentences_tell_success(text):
    said = sentence_on("Debian", text)
    assert " %, and 70.0 % of the rows of classes without a label" in said
    assert "above it; the true source is shown to be better than noise, permuted and renamed" in said
    assert "none is shown to do harm; the source had a part in" in said


def test_sentences_tell_failure():
    levels = {TRANSFER: 0.3, LDA: 0.5, RANDOM: 0.45, SPOILT["renamed"]: 0.3}
    text = page({"naming": made_records("naming", lambda record: levels.get(record.system, 0.45))})
    said = sentence_on("SNARE", text)
    assert ", **below it**; the true source is shown to be better than none of the spoilt ones" in said
    assert "**shown to do harm: renamed**; the source had a part in" in said
    assert "at real sizes" not in text


def test_what_is_missing_is_not_judged(records):
    some = [r for r in records["few"] if not (r.group == "Reuters EN→FR" and r.seed == 100)]
    text = page({"few": some})
    assert sentence_on("Reuters", text) == "- **Reuters.** Not run, or not finished."
    assert "above it" in sentence_on("Debian", text)


def test_failures_and_old_records_are_told(records):
    first, *others = records["naming"]
    failed = replace(first, score=None, status="failed: too few", figures=None)
    text = page({"naming": [failed, *(replace(r, fingerprint="v3-0") for r in others)]})
    assert f"{failed.system} on {failed.group} (failed: too few): 1" in text
    assert f"{len(others)} records are of another version" in text


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_render_writes_the_page(tmp_path, records, text, capsys):
    for part, some in records.items():
        RecordStore(tmp_path / "records", part).add(some)
    target = tmp_path / "docs" / "page.md"
    assert main(["render", "--records", str(tmp_path / "records"), "--page", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == text
    assert "page.md" in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_is_kept_resumed_and_narrowed(tmp_path, capsys, monkeypatch):
    naming = STUDIES["naming"]
    slow = {TRANSFER, FULL, *SPOILT.values()}  # test_label_controls fits some on the rows of the demonstration

    def without_transfer(folder):
        study = naming(folder)
        return replace(study, entrants=tuple(e for e in study.entrants if e.name not in slow))

    monkeypatch.setitem(STUDIES, "naming", without_transfer)
    options = ["run", "--parts", "naming", "--only", "digits", "--seeds", "100:101", "--jobs", "1"]
    assert main([*options, "--records", str(tmp_path)]) == 0
    kept = (tmp_path / "naming.jsonl").read_text(encoding="utf-8")
    found = committed_records(tmp_path)["naming"]
    assert {record.group for record in found} == {"digits"}
    assert {record.system for record in found} == set(STUDIES["naming"](None).columns)
    assert all(record.score is not None for record in found)
    assert main([*options, "--records", str(tmp_path)]) == 0
    assert (tmp_path / "naming.jsonl").read_text(encoding="utf-8") == kept


def test_data_sets_and_single_groups_can_be_chosen():
    study = STUDIES["few"](None)
    assert select_groups(study, ["SNARE", "Debian en→fr"]).groups == ("Debian en→fr", "SNARE RNA→ATAC")
    assert select_groups(study, ["nothing"]) is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["render", "--records", "nowhere"], "--records: expected a folder with naming.jsonl, got nowhere."),
        (["run", "--parts", "naming,nothing"], "--parts: expected some of naming, few, real, got 'nothing'."),
        (["run", "--only", "nothing"], "--only: expected some of digits demo, digits, mfeat"),
        (["run", "--data", "nowhere", "--seeds", "100:101", "--records", "new"], "expected the file nowhere"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("text", ["10", "5:5", "a:b", "-1:3"])
def test_seeds_are_a_range(text):
    with pytest.raises(SystemExit):
        main(["run", f"--seeds={text}"])


@pytest.mark.slow
def test_the_committed_page_is_what_the_committed_records_give():
    """Before the first run neither is there."""
    assert PAGE.exists() == any((RECORDS / f"{part}.jsonl").exists() for part in STUDIES)
    if PAGE.exists():
        assert render_page() == PAGE.read_text(encoding="utf-8")


def test_missing_records_are_named(tmp_path):
    with pytest.raises(InputError, match=r"expected a folder with naming\.jsonl"):
        committed_records(tmp_path)
