"""The list of systems: complete, printable, and the same at every fit."""

import ast
import pickle
import re
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import isthmus
from conftest import each_system, make_domains, rows_for
from isthmus import RBF, InputError, systems
from isthmus.estimators.base import SECTIONS
from isthmus.estimators.controls import Corrupted, SelfTrainedLDA, TargetOnly
from isthmus.io import stored_values

D = make_domains(seed=3, n_source=45, n_target=40, n_labelled=12, d_source=6, d_target=6, shift=3.0)


def test_it_prints_one_row_per_system():
    table = str(systems()).splitlines()
    assert len(table) == len(systems()) + 2
    assert all(line.startswith(system.name) for line, system in zip(table[2:], systems(), strict=True))
    assert len({system.name for system in systems()}) == len(systems())
    with pytest.raises(InputError, match="system: expected one of 'mlhd'"):
        systems()["mlhdd"]


@each_system(systems())
def test_two_fits_of_a_fresh_entry_are_one(system):
    pairs = np.c_[np.arange(30), np.arange(30)] if system.needs_pairs else None
    rows = rows_for(system, *D.args)
    fits = [system.make().fit(*rows, pairs=pairs) for _ in range(2)]
    assert fits[0] is not fits[1]
    np.testing.assert_array_equal(*(fit.transform(rows[2]) for fit in fits))
    np.testing.assert_array_equal(*(fit.predict(rows[2]) for fit in fits))


def test_what_a_system_learns_is_one_of_four_things():
    learnt = {system.learns for system in systems() if not system.control}
    assert learnt == {"metric", "similarity", "labels", "ranking"}
    assert {system.learns for system in systems() if system.control} == {"labels"}


def test_mlhd_is_linear_and_mlhd_rbf_is_not():
    kernels = [systems()[name].make().fit(*D.args).kernels_ for name in ("mlhd", "mlhd-rbf")]
    assert [type(kernel).__name__ for kernel in kernels[0]] == ["Linear", "Linear"]
    assert all(isinstance(kernel, RBF) for kernel in kernels[1])


@pytest.mark.parametrize(
    ("data", "without", "among"),
    [
        ({"pairs": False}, {"ridge", "tlrisk", "pulled-back"}, {"hfa", "mlhd", "saenko", "kpg-rl"}),
        ({"labels": False}, {"hfa", "tlrisk", "arc", "label-transfer"}, {"mlhd", "ridge", "pulled-back"}),
        ({"unlabelled": False}, {"kpg-rl", "gw", "fgw", "coot"}, {"hfa", "cdls", "label-transfer"}),
        ({"equal_features": False}, {"saenko", "hcdrank", "feature-augmentation"}, {"hfa", "mlhd"}),
        ({"labels": True, "pairs": True, "unlabelled": True, "equal_features": True}, set(), {"tlrisk", "gw"}),
    ],
)
def test_the_table_is_filtered_by_what_there_is(data, without, among):
    found = systems(**data)
    assert among <= {system.name for system in found}
    assert not without & {system.name for system in found}
    assert [system.name for system in systems() if system.name in found] == [system.name for system in found]
    assert len(str(found).splitlines()) == len(found) + 2


def test_nothing_is_learned_from_nothing():
    assert not len(systems(labels=False, pairs=False))
    assert len(systems(control=True)) + len(systems(control=False)) == len(systems())


def test_what_a_system_needs_is_said_in_words():
    words = {name: systems()[name].needs for name in ("mlhd", "ridge", "hfa", "kpg-rl", "hcdrank", "tlrisk")}
    assert words == {
        "mlhd": "labels or pairs",
        "ridge": "pairs",
        "hfa": "labels",
        "kpg-rl": "labels, unlabelled rows",
        "hcdrank": "labels, equal features",
        "tlrisk": "pairs, labels, counts",
    }


def test_entries_can_be_sent_to_another_process():
    again = pickle.loads(pickle.dumps(list(systems())))
    assert [system.name for system in again] == [system.name for system in systems()]


CLASSES = {system.estimator for system in systems()}
CONTROLS = {Corrupted, SelfTrainedLDA, TargetOnly}
WITHOUT = {isthmus.ITML, isthmus.SharedFeatureUnion}
"""Public classes that are no system of their own: a metric of one space, a search, and a union around a system."""


def public_estimators():
    things = (getattr(isthmus, name) for name in isthmus.__all__)
    return {thing for thing in things if isinstance(thing, type) and issubclass(thing, BaseEstimator)}


def test_every_public_system_states_its_facts_and_the_registry_has_them():
    assert {cls for cls in public_estimators() if "systems" in vars(cls)} == public_estimators() - WITHOUT
    assert public_estimators() - WITHOUT | CONTROLS == CLASSES
    for cls in CLASSES:
        names = [facts.name for facts in vars(cls)["systems"]]
        assert names == [system.name for system in systems() if system.estimator is cls]
        assert type(systems()[names[0]].make()) is cls


def test_the_first_variant_of_a_class_has_its_defaults_but_for_the_rule():
    for cls in CLASSES - {Corrupted}:
        assert set(vars(cls)["systems"][0].options) <= {"rule"}


def test_a_default_is_that_of_the_nearest_class_that_declares_it():
    """A dataclass reads its bases from the last to the first: one without fields of its own repeats its base's."""
    for cls in (cls for cls in CLASSES if "__dataclass_params__" in vars(cls)):
        for name, parameter in signature(cls).parameters.items():
            assert parameter.default == getattr(cls, name, parameter.empty), (cls.__name__, name)


def test_no_two_estimators_share_one_among_their_parameters():
    for system in systems():
        first, second = (system.make().get_params(deep=False).values() for _ in range(2))
        assert not any(a is b for a, b in zip(first, second, strict=True) if hasattr(a, "get_params"))


def test_sections_follow_each_other_and_controls_come_last():
    places = [SECTIONS.index(system.section) for system in systems()]
    assert places == sorted(places)
    assert {system.name for system in systems() if system.control} == {
        facts.name for cls in CONTROLS for facts in cls.systems
    }


def test_the_facade_and_the_package_of_estimators_have_one_list():
    tree = ast.parse(Path(isthmus.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        alias.name: node.module for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert imported.pop("*") == "isthmus.estimators"
    assert imported == isthmus._HOMES
    assert set(isthmus.__all__) == {*imported, *isthmus.estimators.__all__, "__version__"}
    modules = {cls.__module__ for cls in CLASSES - CONTROLS}
    assert modules == {cls.__module__ for cls in public_estimators() - WITHOUT}


def test_model_files_hold_every_system():
    assert set(stored_values.SYSTEMS) == CLASSES | {isthmus.ITML, isthmus.SharedFeatureUnion}


def test_tables_of_the_docs_name_systems_and_classes_as_the_registry_does():
    docs = Path(__file__).parents[2] / "docs"
    rows = re.findall(r"^\| (`[^|]+) \| (`isthmus\.[^|]+) \|", (docs / "systems.md").read_text(), re.MULTILINE)
    assert len(rows) > 10
    for names, classes in (([cell.strip("` ") for cell in row.split(",")] for row in pair) for pair in rows):
        assert [f"isthmus.{systems()[name].estimator.__name__}" for name in names] == classes
    pages = "".join(page.read_text() for page in docs.glob("*.md"))
    assert not {cls.__name__ for cls in CLASSES if not re.search(rf"\b{cls.__name__}\b", pages)}


def test_a_metric_after_cca_needs_labels():
    names = {system.name for system in systems(labels=False)}
    assert "cca+nn" in names
    assert not names & {"cca+itml", "kcca+itml"}
    assert systems()["cca+itml"].needs == "labels"
