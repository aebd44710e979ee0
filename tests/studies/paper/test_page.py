"""The page on what was reproduced: made from records alone, with no number that is not there."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_tables import records_of, shrunk

from isthmus.exceptions import InputError
from isthmus.study.board import HOLDS, REVERSED
from studies.paper.artefacts import boards, sensitivity_artefacts, table_artefacts, toy_artefacts
from studies.paper.comparisons import ORDER, READINGS
from studies.paper.experiment import EXPERIMENTS
from studies.paper.findings import Finding
from studies.paper.formats import FORMATS
from studies.paper.page import GRIDS, PAGE, RELEASED
from studies.paper.page import page as page_of
from studies.paper.reproduction import EVERYTHING, SENSITIVITY, Request, page_records, reproduce

ROOT = Path(__file__).parents[3]
SETS = (tuple(range(10)), tuple(range(10, 20)))
FEW = ((0, 1, 2), (3, 4))


def page(found, sets, figures):
    return page_of({name: [r for r in found if r.experiment == name] for name in PAGE}, sets, figures, figures)


def noisy(levels, size=0.01, seed=0):
    rng = np.random.default_rng(seed)
    return lambda column, g, s: float(np.clip(levels.get(column, 0.5) + size * rng.normal(), 0, 1))


def table_records(name, levels, *, variants=("whole",), sets=SETS, searched=False):
    """Records of a table with every level as given; the search adds 5 points, and its grid rises with λ1."""
    experiment, found = EXPERIMENTS[name], []
    for variant in variants:
        found += records_of(experiment, noisy(levels), [s for seeds in sets for s in seeds], variant=variant)
    if searched:
        more = {c: levels.get(c, 0.5) + 0.05 for c in experiment.columns}
        columns = [c for c in experiment.columns if experiment.entrant(c).grid]
        for setting in ("oracle", "selected"):
            for column in columns:
                points = np.linspace(
                    0.3, 0.6, int(np.prod([len(v) for v in experiment.entrant(column).grid.values()]))
                )
                found += [
                    replace(r, grid=tuple(points + 0.001 * r.seed))
                    for seeds in sets
                    for r in records_of(experiment, noisy(more), seeds, setting=setting, columns=(column,))
                ]
    return found


def toy_records(sets=SETS):
    toy, seeds = EXPERIMENTS["toy"], [s for seeds in sets for s in seeds]
    found = records_of(toy, noisy({}), seeds, variant="as drawn")
    return [r if r.system.startswith("target") else replace(r, figures={"mmd": 0.25}) for r in found]


def assert_clean(text):
    assert not re.search(r"\bnan\b|\binf\b|None", text)
    assert text.endswith("\n")
    assert "\n\n\n" not in text


def section(text, head):
    (found,) = [part for part in re.split(r"^## ", text, flags=re.M) if part.startswith(head)]
    return found


ABOVE = {"arc-rbf": 0.6, "kcca+itml": 0.55, "kcca+nn": 0.3, "mlhd-rbf λ2=100": 0.6} | dict.fromkeys(READINGS, 0.7)
BELOW = {"mlhd-rbf": 0.3, "mlhd-rbf by target rows": 0.5, "arc-rbf": 0.4, "kcca+itml": 0.6, "kcca+nn": 0.7}


@pytest.fixture
def small_experiments(monkeypatch):
    """Tables of toy size, with ten groups: with fewer clusters no p-value survives the adjustment."""
    for name, experiment in shrunk().items():
        whole = EXPERIMENTS[name]
        monkeypatch.setitem(
            EXPERIMENTS, name, replace(experiment, groups=whole.groups[:10], published=whole.published[:10])
        )


def test_no_records_are_an_error(tmp_path):
    with pytest.raises(InputError, match=r"^records: expected some of the experiments \(\*\.jsonl\), got none\.$"):
        page([], SETS, tmp_path)


@pytest.mark.slow
def test_every_figure_of_the_page_is_a_file_that_was_written(tmp_path, small_experiments):
    both = {"variants": ("whole", "held-out"), "sets": FEW}
    found = [
        *toy_records(FEW),
        *table_records("table1", ABOVE, **both, searched=True),
        *table_records("table2", BELOW, **both),
    ]
    results, docs = tmp_path / "results", tmp_path / "docs"
    results.mkdir()
    by_name = {name: [r for r in found if r.experiment == name] for name in EXPERIMENTS}
    figures = {}
    for made in (
        toy_artefacts(EXPERIMENTS["toy"], by_name["toy"], FEW),
        *(table_artefacts(EXPERIMENTS[n], by_name[n], ("whole", "held-out"), FEW) for n in ("table1", "table2")),
        sensitivity_artefacts(EXPERIMENTS["table1"], by_name["table1"], ("whole",), FEW),
    ):
        figures |= made.figures
    assert not re.findall(r"!\[", page_of(by_name, FEW, results, docs))  # a figure that was not drawn is not shown
    for stem in figures:
        (results / f"{stem}.png").touch()
    text = page_of(by_name, FEW, results, docs)
    links = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert len(links) == len(set(links)) == 1 + 2 * 2 * 2 + len(READINGS)
    for link in links:
        assert link.startswith("../results/")
        assert Path(link).suffix == ".png"
        assert Path(link).stem in figures
    assert_clean(text)


def test_the_order_that_holds_is_said_to_hold(tmp_path, small_experiments):
    found = table_records("table1", ABOVE)
    text = page(found, SETS, tmp_path)
    order = section(text, "Is it MLHD")
    assert order.count("order: 3 of 3 hold, 0 reversed") == 1
    assert "in 10 of 10 groups" in order
    source = section(text, "Does the source help?")
    assert (
        source.count("the source is shown to be worth it") == 5
    )  # of MLHD in three readings and at λ2 = 100, and ARC
    assert source.count("shown to be better than 3 of the 3, worse than 0") == 3
    short = section(text, "In short")
    assert short.count("beats 6, loses to 0, open 0 of 6") == 5
    assert short.count("beats 3, loses to 0, open 0 of 3") == 3
    assert "mlhd-rbf > arc-rbf holds in 1 and is reversed in 0" in short
    assert "in 0 a rule that never sees the source is shown to be better than MLHD, in 3 MLHD is" in short
    assert_clean(text)


def test_the_order_that_is_reversed_is_said_to_be(tmp_path, small_experiments):
    found = table_records("table2", BELOW)
    text = page(found, SETS, tmp_path)
    assert section(text, "Is it MLHD").count("order: 0 of 3 hold, 3 reversed") == 1
    assert "in 0 of 10 groups" in text
    source = section(text, "Does the source help?")
    assert "worth it" not in source
    assert source.count("the rule without a source is shown to be better") == 2  # than MLHD, and than ARC
    assert source.count("neither is shown to be better (not shown)") == 4
    assert re.search(r"table2, whole, mlhd-rbf: (29\.9|30\.[01])\. ", source)
    assert "shown to be better than 0 of the 3, worse than 3" in source


@pytest.mark.slow
@pytest.mark.parametrize("levels", [ABOVE, BELOW, {}], ids=["above", "below", "level"])
def test_every_count_on_the_page_is_that_of_its_claims(tmp_path, small_experiments, levels):
    found = table_records("table1", levels, variants=("whole",))
    text = page(found, SETS, tmp_path)
    experiment = EXPERIMENTS["table1"]
    finding = Finding(experiment, "whole", boards(experiment, found, "whole", SETS))
    for pair in ORDER:
        assert f"| {' > '.join(pair)} | {finding.verdicts[pair]} ({finding.difference(pair)}) |" in text
    kept, lost = finding.count(ORDER, HOLDS), finding.count(ORDER, REVERSED)
    assert f"order: {kept} of 3 hold, {lost} reversed" in text
    for claim_a, claim_b in zip(*finding.claims, strict=True):
        (line,) = [ln for ln in text.splitlines() if ln.startswith(f"| {claim_a.statement} | ") and ln.count("|") > 5]
        cells = [cell.strip() for cell in line.split("|")]
        assert (cells[5], cells[9]) == (claim_a.verdict, claim_b.verdict)


def test_sets_of_seeds_that_disagree_settle_nothing(tmp_path, small_experiments):
    experiment = EXPERIMENTS["table1"]
    one = records_of(experiment, noisy(ABOVE), SETS[0])
    two = records_of(experiment, noisy(BELOW), SETS[1])
    found = one + two
    text = page(found, SETS, tmp_path)
    assert re.search(r"\| mlhd-rbf > arc-rbf \| contradictory \(\+\d+\.\d / −\d+\.\d\) \|", text)
    assert "order: 0 of 3 hold, 0 reversed" in text


def test_the_sentence_on_the_grid_follows_its_claims(tmp_path, small_experiments):
    found = table_records("table1", ABOVE, searched=True)
    text = section(page(found, SETS, tmp_path), "Does accuracy rise with λ1?")
    assert text.count('"accuracy rises with λ1" is borne out') == len(READINGS)
    assert "λ2 ≥ 10" not in text  # which the small grids don't have
    assert text.count('"λ2 matters less than λ1" is borne out') == len(READINGS)
    assert "held-out" not in text  # which was not searched


@pytest.mark.slow
def test_the_best_of_a_grid_is_never_called_a_result(tmp_path, small_experiments):
    found = table_records("table1", ABOVE, searched=True)
    text = section(page(found, SETS, tmp_path), "What would the best parameters give?")
    assert "an upper bound, never a result" in text
    number = r"\d\d\.\d"
    line = (
        rf"- table1, whole, mlhd-rbf, seeds \d+ to \d+: default {number}, selected {number}, oracle {number}; "
        "oracle with a corrupted source "
    )
    assert re.search(line, text)


def incomplete():
    full = table_records("table1", ABOVE, variants=("whole", "held-out"), sets=FEW, searched=True)
    yield "one variant", [r for r in full if r.variant == "whole"]
    yield "one group", [r for r in full if r.group == "EN → FR"]
    yield (
        "one trial missing",
        [r for r in full if not (r.system == "arc-rbf" and r.seed == 2 and r.group == "EN → GR")],
    )
    yield "one seed", [r for r in full if r.seed == 0]
    yield "second set only", [r for r in full if r.seed >= 3]
    yield "one system", [r for r in full if r.system == "mlhd-rbf"]
    yield "search of one reading", [r for r in full if r.setting == "default" or r.system == "mlhd-rbf"]
    yield "no selection", [r for r in full if r.setting != "selected"]
    yield "a hole in a grid", [replace(r, grid=(None, *r.grid[1:])) if r.grid and r.seed == 1 else r for r in full]
    yield "a failure", [replace(r, score=None, status="failed: x") if r.seed == 1 else r for r in full]
    yield "toy of one seed", [r for r in toy_records(FEW) if r.seed == 0]
    yield "toy without a system", [r for r in toy_records(FEW) if r.system != "mlhd-rbf"]


@pytest.mark.slow
@pytest.mark.parametrize("case", [name for name, _ in incomplete()])
def test_an_unfinished_run_makes_a_page_without_numbers_from_nowhere(tmp_path, small_experiments, case):
    found = dict(incomplete())[case]
    text = page(found, FEW, tmp_path)
    assert_clean(text)
    if "toy" not in case and case not in ("one variant", "search of one reading", "no selection", "a hole in a grid"):
        assert "nothing is said here" in text
    if case == "one variant":
        assert "held-out.png" not in text


def test_uncertified_fits_are_counted(tmp_path, small_experiments):
    found = table_records("table1", ABOVE, sets=FEW)
    found[5] = replace(found[5], status="iteration limit")
    text = page(found, FEW, tmp_path)
    assert f"{len(found):,} records; 1 of them have a fit that failed or was not certified (marked †" in text
    assert text.count("†") >= 3


def test_the_page_does_not_depend_on_the_order_of_records(tmp_path, small_experiments):
    found = table_records("table1", ABOVE, sets=FEW)
    assert page(found, FEW, tmp_path) == page(found[::-1], FEW, tmp_path)


def test_grids_of_another_run_are_said_to_be_such(tmp_path, small_experiments):
    found = table_records("table1", ABOVE, searched=True)
    grids = [r for r in found if r.grid is not None]
    own = {"toy": [], "table1": [r for r in found if r.grid is None], "table2": []}
    (tmp_path / "sensitivity-whole-mlhd-rbf.png").touch()
    text = section(page_of(own | {GRIDS: grids}, SETS, tmp_path, tmp_path), "Does accuracy rise with λ1?")
    assert "searched before the tables were run with the present defaults" in text
    assert text.count("](./sensitivity-whole-mlhd-rbf.png)") == 1
    assert "Does accuracy rise" not in page_of(own, SETS, tmp_path, tmp_path)


@pytest.mark.parametrize(("level", "said"), [(0.36, "explain much of the gap"), (0.28, "do not explain the gap")])
def test_released_features_stand_beside_the_second_table(tmp_path, small_experiments, level, said):
    found = {name: [] for name in PAGE} | {"table2": table_records("table2", {}, sets=FEW)}
    released = records_of(EXPERIMENTS[RELEASED], lambda column, g, seed: level, FEW[0])
    assert "released features" not in page_of(found, FEW, tmp_path, tmp_path)
    text = section(page_of(found | {RELEASED: released}, FEW, tmp_path, tmp_path), "table2 by released features")
    assert f"MLHD has {100 * level:.1f} % and ARC {100 * level:.1f} % there" in text
    assert said in text
    assert re.search(rf"\| mlhd-rbf \| {100 * level:.1f}±0\.0 \| (49|50)\.\d \| 23\.5 to 29\.3 \|", text)


COMMITTED = Request(out=ROOT / "results", records=ROOT / "results", sets=SETS[:1])


@pytest.mark.slow
def test_the_committed_page_is_made_from_the_committed_records():
    results, committed = ROOT / "results", ROOT / "docs" / "reproduction.md"
    made = page_of(page_records(COMMITTED), COMMITTED.sets, results, committed.parent)
    assert committed.read_text(encoding="utf-8") == made


def test_the_figures_of_the_page_are_there():
    committed = ROOT / "docs" / "reproduction.md"
    for link in re.findall(r"!\[[^]]+\]\(([^)]+)\)", committed.read_text(encoding="utf-8")):
        assert (committed.parent / link).exists(), link


# A table whose trials have not been run with the present defaults has no records, and is not on the page.
RUN = [name for name in (*EVERYTHING, SENSITIVITY) if (ROOT / "results" / f"{name}.jsonl").exists()]


def test_something_was_run():
    assert "toy" in RUN


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_the_committed_tables_are_made_from_the_committed_records(name):
    made = reproduce(name, COMMITTED)
    for form, (suffix, _) in FORMATS.items():
        assert (ROOT / "results" / f"{name}{suffix}").read_bytes() == made.text(form).encode()
    assert all((ROOT / "results" / f"{stem}.{kind}").exists() for stem in made.figures for kind in ("png", "svg"))
