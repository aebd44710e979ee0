"""What is recommended can be used, follows from pages that exist, and is found out when it is not asked well."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import one_sentence
from isthmus import InputError, recommend, systems
from isthmus.recommendation import _FINDINGS, GOALS
from test_docs import anchors

ROOT = Path(__file__).parent.parent
COUNT = st.integers(0, 500)
DATA = st.fixed_dictionaries(
    {
        "labels_source": COUNT,
        "labels_target": st.integers(0, 10),
        "unlabelled_classes": st.integers(0, 5),
        "pairs": COUNT,
        "unlabelled_rows": COUNT,
        "equal_features": st.booleans(),
        "n_source": st.integers(0, 10**6),
        "n_target": st.integers(0, 10**6),
    }
)


@given(st.sampled_from(GOALS), DATA)
def test_what_is_recommended_can_be_used(goal, data):
    found = recommend(goal, **data)
    names = {advice.system for advice in found.favoured}
    controls = {system.name for system in systems().where(control=True)}
    assert names - controls <= set(found.applicable)
    for name in found.applicable:
        system = systems()[name]
        assert not (system.needs_pairs and not data["pairs"])
        assert not (system.equal_features and not data["equal_features"])
        assert not (system.needs_unlabelled and not data["unlabelled_rows"])
        assert not (system.needs_labels and not data["labels_source"])
    assert all(advice.system in str(found) and advice.page in str(found) for advice in found.favoured)


@given(st.sampled_from(GOALS), DATA)
def test_more_data_excludes_nothing(goal, data):
    data["n_source"] = data["n_target"] = 0
    more = {name: value + 1 if isinstance(value, int) else value for name, value in data.items()}
    more |= {"n_source": 0, "n_target": 0, "equal_features": True}
    assert set(recommend(goal, **data).applicable) <= set(recommend(goal, **more).applicable)


@pytest.mark.parametrize("finding", _FINDINGS, ids=lambda finding: f"{finding.goal}: {finding.advice.system}")
def test_every_finding_names_a_page_and_its_section(finding):
    page, _, anchor = finding.advice.page.partition("#")
    assert finding.advice.system in systems()
    assert anchor in anchors(ROOT / page), finding.advice.page


def test_the_figures_are_those_of_the_pages():
    """The ranges that the sentences give, read from the pages' own tables of differences."""
    labels = (ROOT / "docs" / "labels.md").read_text(encoding="utf-8")
    nobody = labels.split("## Classes that nobody labelled")[1].split("\n## ")[0]
    line = next(x for x in nobody.splitlines() if x.startswith("| label transfer less best target-only"))
    gains = [float(x) for x in re.findall(r"\+(\d+\.\d)\*?\*? \[", line)]
    assert (round(min(gains)), round(max(gains))) == (14, 44)


def differences(heading: str, column: str) -> dict[str, float]:
    """A column of differences below a heading of the page of all systems, by system: that of the last such table."""
    page = (ROOT / "studies" / "systems" / "page.md").read_text(encoding="utf-8").replace("−", "-")
    found, place = {}, None
    for line in page.split(f"\n## {heading}\n")[1].split("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "system":
            place = cells.index(column) if column in cells else None
        elif place is not None and (number := re.search(r"[+-]\d+\.\d", cells[place] if line[:1] == "|" else "")):
            found[cells[0]] = float(number.group())
    return found


def test_the_figures_are_those_of_the_page_of_all_systems():
    below = differences("100 known pairs", "less the best without a map")
    assert (round(-max(below.values())), round(-min(below.values()))) == (2, 22)
    assert max(below, key=below.__getitem__) == "mlhd-rbf"
    assert round(differences("100 known pairs", "less ridge")["mlhd-rbf"]) == 4
    assert round(differences("100 known pairs", "less the best target-only rule")["mlhd-rbf"]) == 11
    equal = differences("Labels in both domains", "Office caltech→amazon")
    assert (round(equal["feature-augmentation"]), round(equal["saenko"])) == (11, 7)
    above = differences("Labels in both domains", "all pairs")
    assert [name for name, points in above.items() if points > 0.0] == ["label-transfer"]


def test_the_way_without_a_map_is_told_with_all_of_its_steps():
    found = recommend(labels_source=20, pairs=100, unlabelled_rows=50)
    assert found.favoured[0].page == "studies/systems/page.md#100-known-pairs"
    assert "no map" in str(found)
    assert "names the paired source rows" in str(found)
    assert "manifold-alignment" not in {advice.system for advice in found.favoured}
    assert "no map" not in str(recommend(labels_source=20, pairs=99, unlabelled_rows=50))
    assert "no map" not in str(recommend(pairs=100, unlabelled_rows=50))


def test_without_a_label_there_is_no_class_to_name():
    assert recommend(pairs=100).applicable == ()
    assert "ridge" in recommend("same class", pairs=100).applicable


def test_one_pair_is_too_few_for_what_asks_for_two():
    assert "ridge" not in recommend("same object", pairs=1).applicable
    assert "ridge" in recommend("same object", pairs=2).applicable
    assert recommend(labels_source=5, pairs=1).applicable == ("tlrisk",)


def test_a_learner_of_a_metric_is_not_for_pairs_without_labels():
    assert not {"cca+itml", "kcca+itml"} & set(recommend("same object", pairs=100).applicable)
    assert {"cca+itml", "cca+nn"} <= set(recommend("same object", pairs=100, labels_source=5).applicable)


def test_what_an_applicable_system_asks_for_besides_is_told():
    assert "never negative, such as counts: tlrisk." in str(recommend(labels_source=5, pairs=9))
    assert "Only for the rows of the fit" in str(recommend(labels_source=5, labels_target=1, unlabelled_rows=9))
    assert "tlrisk" not in str(recommend(labels_source=5, labels_target=1))


@pytest.mark.parametrize(
    ("goal", "data", "first"),
    [
        ("classes", {"labels_source": 20, "labels_target": 3, "unlabelled_classes": 2}, "label-transfer"),
        ("classes", {"labels_source": 20, "pairs": 100, "unlabelled_rows": 5}, "target self-trained LDA"),
        ("classes", {"labels_source": 20, "labels_target": 1, "pairs": 100}, "mlhd-rbf"),
        ("classes", {"labels_source": 20, "labels_target": 1, "equal_features": True}, "feature-augmentation"),
        ("classes", {"labels_source": 20, "labels_target": 3, "unlabelled_rows": 50}, "label-transfer"),
        ("classes", {"labels_source": 20, "labels_target": 3}, "target SVM"),
        ("classes", {"labels_source": 20, "labels_target": 1}, "target 1-NN"),
        ("same class", {"labels_source": 20, "labels_target": 3}, "semantic"),
        ("same object", {"pairs": 300}, "ridge"),
        ("same object", {"pairs": 20}, "mlhd"),
        ("distances", {"labels_source": 20, "labels_target": 3}, "mlhd"),
    ],
)
def test_the_first_advice(goal, data, first):
    assert recommend(goal, **data).favoured[0].system == first


def test_where_no_study_speaks_nothing_is_favoured():
    found = recommend("ranking", labels_source=20, labels_target=3, equal_features=True)
    assert not found.favoured
    assert found.applicable == ("hcdrank",)
    assert str(found).startswith("No study favours a system here.")
    assert "isthmus.match" in str(recommend("same object"))
    assert recommend("classes").applicable == ()


def test_tables_of_all_pairs_of_rows_are_left_out_where_they_are_too_large():
    data = {"labels_source": 20, "labels_target": 3, "unlabelled_rows": 50}
    assert "kpg-rl" in recommend(**data, n_source=1000, n_target=1000).applicable
    large = recommend(**data, n_source=10**5, n_target=10**4)
    assert not {"kpg-rl", "gw"} & set(large.applicable)
    assert "n_s × n_t" in str(large)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"goal": "names"}, "goal: expected one of 'classes', 'same class'"),
        ({"pairs": -1}, "pairs: expected a whole number of at least 0, got -1"),
        ({"labels_source": 2.5}, "labels_source: expected a whole number of at least 0, got 2.5"),
        ({"equal_features": "yes"}, "equal_features: expected True or False, got 'yes'"),
    ],
)
def test_bad_input_is_one_sentence(arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        recommend(**arguments)
    assert one_sentence(caught)
