"""The list of systems: complete, printable, and the same at every fit."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from conftest import each_system, make_domains, rows_for
from isthmus import MLHD, RBF, InputError, systems
from isthmus.study.registry import System, Systems

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
    with pytest.raises(
        InputError, match="learns: expected one of 'metric', 'similarity', 'labels', 'ranking', got 'distances'"
    ):
        System("mine", MLHD, "", "", "distances")


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
    assert len(systems().where(control=True)) + len(systems().where(control=False)) == len(systems())


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


def test_systems_are_a_table_in_notebooks():
    html = systems()._repr_html_()
    assert html.count("<tr>") == len(systems()) + 1
    assert "<td>mlhd</td>" in html
    odd = Systems((replace(systems()["mlhd"], name="<b>"),))._repr_html_()
    assert "<b>" not in odd
    assert "&lt;b&gt;" in odd
