"""The table of systems says what its runs say, and no object is in two parts of a split."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def example():
    """The module of runs and the module of their summary, as a user's script would find them."""
    sys.path.insert(0, str(EXAMPLES))
    yield importlib.import_module("systems_table"), importlib.import_module("systems_summary")
    sys.path.remove(str(EXAMPLES))
    for name in ("systems_table", "systems_summary"):
        del sys.modules[name]


def records(means, missed=(), absent=()):
    """Ten splits of known means, each system with its own small scatter."""
    scatter = 0.01 * np.random.default_rng(0).normal(size=(len(means), 10))
    return [
        {
            "pair": "p",
            "split": n,
            "system": name,
            "accuracy": None if name in absent else mean + row[n] - row.mean(),
            "converged": (name, n) not in missed,
            "versions": "isthmus 0",
        }
        for (name, mean), row in zip(means.items(), scatter, strict=True)
        for n in reversed(range(10))
    ]


def means(mlhd=0.7, control=0.8, spoilt=0.6):
    low = {"mlhd": mlhd, "arc": 0.5, "target 1-NN": 0.4, "target SVM": control}
    return low | {f"mlhd, {kind}": spoilt for kind in ("noise", "permuted", "renamed")}


def lines(text):
    return {line.split(" | ")[0].strip("| "): line for line in text.splitlines()}


def test_differences_are_paired_and_to_the_best_target_only_control(example):
    _, summary = example
    runs = records(means())
    rows = lines(summary.table(runs, summary.difference_cell))
    assert "the best" in rows["target SVM"]
    assert "-10.0 [" in rows["mlhd"]
    assert "-40.0 [" in rows["target 1-NN"]
    by_split = {(r["system"], r["split"]): r["accuracy"] for r in runs}
    points = np.array([100 * (by_split["mlhd", n] - by_split["target SVM", n]) for n in range(10)])
    scores = summary.scores_of(runs, "p")
    found = summary.Difference.of(scores["mlhd"], scores["target SVM"])
    assert found.high - found.mean == pytest.approx(2.2622 * points.std(ddof=1) / np.sqrt(10), rel=1e-4)


def test_runs_that_did_not_converge_are_marked(example):
    _, summary = example
    runs = records(means(), missed=[("arc", 3)])
    rows = lines(summary.table(runs, summary.accuracy_cell))
    assert [name for name, row in rows.items() if "(*)" in row] == ["arc"]
    assert "Not converged: 1 of 70 runs (arc on p)" in summary.reading(runs)


def test_a_system_that_does_not_apply_is_a_dash_and_out_of_the_reading(example):
    _, summary = example
    runs = records(means(), absent=["arc"])
    assert lines(summary.table(runs, summary.accuracy_cell))["arc"] == "| arc | – |"
    assert "1 of 1 are clearly below" in summary.reading(runs)


@pytest.mark.parametrize(
    ("known", "says"),
    [
        (means(mlhd=0.9), "Above it: mlhd (+10.0"),
        (means(), "No system is shown to be above it"),
        (means(), "the true source is better than every spoilt one: +10.0"),
        (means(spoilt=0.7), "the true source is NOT shown to be better"),
    ],
)
def test_reading(example, known, says):
    _, summary = example
    assert says in summary.reading(records(known))
    assert says in summary.page(records(known), "the protocol")


@pytest.mark.parametrize("text", [False, True])
def test_no_object_is_in_two_parts_of_a_split(example, text):
    runs, _ = example
    y = np.repeat(np.arange(6), 90)
    source, target, test = runs.drawn_rows(y, 0)
    together = np.concatenate([source, target, test])
    assert len(np.unique(together)) == len(together)
    assert (len(source), len(target), len(test)) == (6 * 20, 6 * 21, 6 * 49)
    np.testing.assert_array_equal(np.sort(y[target[:6]]), np.arange(6))

    rng = np.random.default_rng(0)
    X, Y = (np.abs(rng.normal(size=(len(y), d))) for d in (130, 120))
    views = runs.Views(sp.csr_matrix(X), sp.csr_matrix(Y), y) if text else runs.Views(X, Y, y)
    split = runs.drawn_split(views, 0)
    S, _, T, y_target = split.fit
    assert S.shape == (120, 18)
    assert T.shape == (126, 18)
    assert np.mean(np.sum(T**2, axis=1)) == pytest.approx(1.0)
    assert np.count_nonzero(y_target >= 0) == 6
    np.testing.assert_array_equal(split.test[1], y[test])
    found = runs.run_system(runs.SYSTEMS[0], split, 0)
    assert found["converged"]
    assert found["status"] == "optimal"
