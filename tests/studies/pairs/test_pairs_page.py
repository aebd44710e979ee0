"""The page on known pairs says what its records say, whichever way they fall."""

import re
from dataclasses import replace

import numpy as np
import pytest

from isthmus.exceptions import InputError
from isthmus.study.records import VERSIONS, Record, RecordStore
from isthmus.study.study import RunPlan
from studies.pairs import STUDIES, page
from studies.pairs.__main__ import FIGURES, PAGE, RECORDS, committed_records, main
from studies.pairs.findings import use_sentences, winners_table
from studies.pairs.page import figures
from studies.pairs.tables import Cell, boards, cells, difference_table, score_table
from studies.pairs.uses import verdict_sentences

SEEDS = range(100, 106)
LEVELS = {"ridge": 0.8, "mlhd": 0.7, "cca": 0.75, "random": 0.01, "class oracle": 0.02}
NOTED = {
    "retrieval": {"recall@10": 0.9, "mrr": 0.85},
    "matching": {"precision": 0.95, "recall": 0.9, "returned": 0.5, "confidence": 0.8, "worked": 1.0},
    "matching-null": {"returned": 0.0, "worked": 0.0},
    "migration": {
        "recall@1": 0.7,
        "recall@10": 0.9,
        "promised@10": 0.8,
        "low@10": 0.7,
        "high@10": 0.95,
        "advice": 1.0,
    },
    "transfer": {},
}


def made_records(name, level=lambda record: LEVELS.get(record.system, 0.5)):
    """A record for every cell of a part, whose score is the level of the system and a little that is drawn."""
    study, rng = STUDIES[name](), np.random.default_rng(0)
    plan = RunPlan(study, tuple(study.variants), ("default",), tuple(SEEDS))
    found = []
    for key, mark in plan.fingerprints.items():
        record = Record(*key, {}, 0.0, 0.5, "done", None, VERSIONS, None, NOTED[name] or None, mark)
        found.append(replace(record, score=round(float(np.clip(level(record) + 0.01 * rng.normal(), 0, 1)), 4)))
    return found


@pytest.fixture(scope="module")
def records():
    return {name: made_records(name) for name in STUDIES}


@pytest.mark.slow
def test_the_page_has_every_part_and_nothing_out_of_date(records):
    text = page(records, "figures")
    for words in (
        "Which one to use",
        "Finding the same object",
        "Matching two",
        "Migrating an",
        "Labels through pairs",
    ):
        assert f"## {words}" in text
    assert "![Recall@1 over the number of known pairs](figures/recall.png)" in text
    assert "out of date" not in text
    assert "of another version" not in text
    assert re.search(r"\d+ records; 0 failed, 0 were not certified\.", text)
    assert "nan" not in re.sub(r"\w+nan\w*|\w*nan\w+", "", text)
    assert max(map(len, re.findall(r"\n\n+", text))) == 2
    assert page(records, "figures") == text


def test_records_of_other_systems_are_counted(records):
    old = {**records, "transfer": [replace(r, fingerprint="v3-0") for r in records["transfer"]]}
    assert f"{len(records['transfer'])} records are of another version" in page(old, "figures")


@pytest.mark.slow
def test_a_fit_that_failed_is_told(records):
    first, *others = records["retrieval"]
    failed = replace(first, score=None, status="failed: too few", figures=None)
    text = page({**records, "retrieval": [failed, *others]}, "figures")
    assert "1 failed" in text
    assert f"{failed.system} (failed: too few): 1" in text


def test_who_is_best_is_read_off_the_scores():
    def level(record):
        text = record.group.startswith(("Debian", "Reuters"))
        return {"mlhd": 0.9 if text else 0.3, "ridge": 0.6, "class oracle": 0.02}.get(record.system, 0.1)

    study = STUDIES["retrieval"]()
    found = boards(study, made_records("retrieval", level), SEEDS)
    names = [e.name for e in study.entrants if not e.control]
    ahead = cells(found, names, "class oracle")
    assert {cell.best for cell in ahead if cell.group.startswith("Debian")} == {"mlhd"}
    assert {cell.best for cell in ahead if not cell.group.startswith(("Debian", "Reuters"))} == {"ridge"}
    text = "\n".join(use_sentences(ahead, names))
    assert "- **Text**: use `mlhd`" in text
    assert "- **Images**: use `ridge`" in text
    assert "- **CCA** is shown to be worse than another system in all 32 cells: not the one to use." in text
    assert "**LogDet (mlhd)** is among the best in 16 of 32 cells" in text
    assert "**mlhd** " in winners_table(ahead, list(found), "").rows[3][1]


def test_where_nothing_is_above_the_oracle_nobody_is_to_be_used():
    undecided = [Cell("SNARE RNA–ATAC", "10", "ridge", ("ridge",), {"ridge": 0.01}, above=False)]
    text = use_sentences(undecided, ["ridge"])
    assert any(line.startswith("- **Cells**: no system is shown to be above") for line in text)
    assert winners_table(undecided, ["10"], "").rows == (("SNARE RNA–ATAC", "none above the control"),)


def test_tables_have_means_and_paired_differences():
    study = STUDIES["retrieval"]()
    found = boards(study, made_records("retrieval"), SEEDS)
    table = score_table(found["10"], ["ridge", "cca"], "t")
    scores = 100 * found["10"].scores("ridge")
    assert table.rows[0][1] == f"**{scores[0].mean():.1f}±{scores[0].std(ddof=1):.1f}**"
    gain = 100 * (found["30"].scores("ridge") - found["30"].scores("cca")).mean()
    cell = difference_table(found, [("ridge", "cca")], "t", study.variants).rows[0][2]
    assert cell.startswith(f"**+{gain:.1f}** [")


def test_verdicts_are_counted():
    def level(record):
        return 0.9 if record.group.startswith("Debian") else 0.01

    study = STUDIES["matching"]()
    found = [
        replace(r, figures={**r.figures, "worked": float(r.score > 0.5)}) for r in made_records("matching", level)
    ]
    found = [replace(r, figures={**r.figures, "worked": 0.0}) if "shuffled" in r.system else r for r in found]
    null = boards(STUDIES["matching-null"](), made_records("matching-null"), SEEDS)
    text = verdict_sentences(boards(study, found, SEEDS), null)
    n = 9 * len(SEEDS)
    assert f"Of {2 * n} runs with a recall@1 of at least 50%, {2 * n} (100%) are called a success" in text
    assert f"Of {5 * n} runs with a recall@1 below 25%, {5 * n} are not called a success" in text
    assert f"{7 * len(SEEDS)} of {7 * len(SEEDS)} runs are not called a success" in text


@pytest.mark.slow
def test_the_figure_has_a_panel_for_each_data_set_and_a_line_for_each_system(records):
    figure = figures(records)["recall"]
    study = STUDIES["retrieval"]()
    assert [ax.get_title() for ax in figure.axes] == list(study.groups)
    systems = [e.name for e in study.entrants if not e.control]
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert labels[: len(systems)] == systems
    first = next(line for line in figure.axes[0].lines if line.get_label() == "ridge")
    means = [100 * board.scores("ridge")[0].mean() for board in boards(study, records["retrieval"], SEEDS).values()]
    np.testing.assert_allclose(first.get_ydata(), means)


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_render_writes_the_page_and_its_figures(tmp_path, records, capsys):
    for name, some in records.items():
        RecordStore(tmp_path / "records", name).add(some)
    options = ["--records", str(tmp_path / "records"), "--page", str(tmp_path / "docs" / "page.md")]
    assert main(["render", *options, "--figures", str(tmp_path / "drawn")]) == 0
    assert (tmp_path / "docs" / "page.md").read_text(encoding="utf-8") == page(records, "../drawn")
    assert (tmp_path / "drawn" / "recall.png").exists()
    assert "page.md" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["render", "--records", "nowhere"], "--records: expected a folder with retrieval.jsonl, got nowhere."),
        (["run", "--parts", "retrieval,nothing"], "--parts: expected some of retrieval, "),
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
    assert PAGE.exists() == any(RECORDS.glob("*.jsonl")) == (FIGURES / "recall.png").exists()
    if PAGE.exists():
        folder = "../studies/pairs/figures"
        assert page(committed_records(), folder) == PAGE.read_text(encoding="utf-8")


def test_missing_records_are_named(tmp_path):
    with pytest.raises(InputError, match=r"expected a folder with retrieval\.jsonl"):
        committed_records(tmp_path)
