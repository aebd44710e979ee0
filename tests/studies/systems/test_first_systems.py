"""The page of 0.1 says what its runs say, and a new run with the defaults of 0.1 gives the committed scores."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import real_data
from isthmus.datasets import Collection
from isthmus.domains import Domain
from isthmus.exceptions import InputError
from isthmus.study import Record, Trial
from studies.systems.first import old_records, page, specification, study
from studies.systems.first.old_records import COMMITTED
from studies.systems.preparation import Reduced

PAIR = "digits fou76→kar64"
ONE_PAIR = replace(study(), groups=(PAIR,))
LDA = specification.LDA
CLASSES = np.repeat(np.arange(6), 60)


# --- the committed runs -----------------------------------------------------------------------------------------------


def test_the_committed_page_is_what_the_committed_runs_give():
    assert page(study(), old_records()) == COMMITTED.with_name("page-0.1.md").read_text(encoding="utf-8")


def test_the_committed_runs_are_those_of_the_study():
    runs = list(old_records())
    assert len({run.key for run in runs}) == len(runs) == 20 * 4 * len(study().columns)
    assert {run.group for run in runs} == set(study().groups)
    assert tuple(dict.fromkeys(run.system for run in runs)) == study().columns


@pytest.mark.parametrize("line", ["{}", "no JSON", '{"pair": 1}', "SCORE"])
def test_a_line_that_is_no_run_is_refused_by_its_number(tmp_path, line):
    good = COMMITTED.read_text(encoding="utf-8").splitlines()[0]
    path = tmp_path / "runs.jsonl"
    path.write_text(f"{good}\n{good.replace('0.403333', '1.5') if line == 'SCORE' else line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: expected a run of the systems"):
        list(old_records(path))


@pytest.mark.data
@pytest.mark.parametrize(
    ("pair", "file"),
    [("SNARE-seq RNA→ATAC", "single_cell/snareseq.npz"), ("Reuters EN→FR", "reuters_multilingual/reuters.mat")],
)
def test_a_new_run_gives_the_committed_scores(pair, file):
    real_data(file)
    board = replace(study(), groups=(pair,)).run([3])
    committed = {run.system: run.score for run in old_records() if (run.group, run.seed) == (pair, 3)}
    for name in study().columns:  # another machine may round a row of 300 or two to the other side
        assert board.scores(name).item() == pytest.approx(committed[name], abs=0.008), name


# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["numbers", "text"])
def rows(request, monkeypatch):
    """Of a trial on small views."""
    rng = np.random.default_rng(0)
    tables = {name: np.abs(rng.normal(size=(len(CLASSES), d))) for name, d in (("one", 130), ("other", 120))}
    text = request.param == "text"
    domains = {k: Domain(sp.csr_matrix(X) if text else X, CLASSES) for k, X in tables.items()}
    objects = dict.fromkeys(tables, np.arange(len(CLASSES)))

    def load(folder):
        return Collection("small", "t", domains, objects, tuple("abcdef"), "p", "l")

    monkeypatch.setitem(specification.PAIRS, PAIR, (load, "one", "other"))
    return study().rows(Trial(PAIR, "", 0))


@pytest.mark.parametrize(("system", "text", "numbers"), [("mlhd", 18, 18), (specification.WIDE, 100, None)])
def test_every_system_gets_rows_of_a_common_unit(rows, system, text, numbers):
    seen = ONE_PAIR.entrant(system).rows(rows, 0)
    sizes = seen.X_source.shape[1], seen.X_target.shape[1], seen.X_test.shape[1]
    assert sizes in [(text,) * 3, (numbers or 130, numbers or 120, numbers or 120)]
    for X in (seen.X_source, seen.X_target):
        assert np.mean(np.sum(X**2, axis=1)) == pytest.approx(1.0)
    np.testing.assert_array_equal(seen.y_target, rows.y_target)


def test_a_domain_with_few_features_limits_both():
    rng = np.random.default_rng(0)
    few = replace(toy(rng), X_source=rng.normal(size=(120, 5)))
    seen = Reduced(3)(few, 0)
    assert (seen.X_source.shape[1], seen.X_test.shape[1]) == (5, 5)


def toy(rng):
    from studies.views import Views, drawn_split, rows_of

    X, Y = (rng.normal(size=(len(CLASSES), d)) for d in (40, 30))
    return rows_of(Views(X, Y, CLASSES), drawn_split(CLASSES, [0]))


# --- the reading ------------------------------------------------------------------------------------------------------


def runs(changed, statuses=None, versions="isthmus 0.1.0, numpy 0"):
    """Ten splits of known means, each system with its own small scatter."""
    means = dict.fromkeys(study().columns, 0.5) | {LDA: 0.8, "mlhd": 0.7} | changed
    scatter = 0.01 * np.random.default_rng(0).normal(size=(len(means), 10))
    return [
        Record("systems", PAIR, "", k, name, "default", {}, mean and mean + x, 0.1,
               (statuses or {}).get((name, k), "done"), None, versions)
        for (name, mean), row in zip(means.items(), scatter - scatter.mean(axis=1, keepdims=True), strict=True)
        for k, x in enumerate(row)
    ]  # fmt: skip


def line(text, start):
    return [each for each in text.splitlines() if each.startswith(start)]


def test_differences_are_paired_and_to_the_best_target_only_control():
    found = runs({})
    text = page(ONE_PAIR, found)
    assert line(text, f"| {LDA} |")[1] == f"| {LDA} | the best |"
    scores = {name: np.array([r.score for r in found if r.system == name]) for name in ("mlhd", LDA)}
    points = 100 * (scores["mlhd"] - scores[LDA])
    half = 2.2622 * points.std(ddof=1) / np.sqrt(10)
    assert line(text, "| mlhd |")[1] == f"| mlhd | -10.0 [{-10 - half:+.1f}, {-10 + half:+.1f}] |"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"mlhd": 0.9}, "Above it: mlhd (+10.0"),
        ({}, "No system is shown to be above it; the best, mlhd, is at -10.0"),
        ({}, "10 of 10 are clearly below it."),
        ({}, "For mlhd the true source is better than every corrupted one: +20.0"),
        (
            {"mlhd, renamed": 0.7},
            "For mlhd the true source is NOT shown to be better than every corrupted one: +20.0",
        ),
    ],
)
def test_reading(changed, says):
    assert says in page(ONE_PAIR, runs(changed))


def test_runs_that_did_not_converge_are_marked():
    text = page(ONE_PAIR, runs({}, {("arc", 3): "max iterations"}))
    assert [each.split(" | ")[0] for each in text.splitlines() if "(*)" in each and "|" in each] == ["| arc"] * 2
    assert f"- Not converged: 1 of 210 runs (arc on {PAIR})." in text


def test_a_system_that_does_not_apply_is_a_dash_and_out_of_the_reading():
    text = page(ONE_PAIR, runs({"saenko": None}, {("saenko", k): "failed: unequal" for k in range(10)}))
    assert line(text, "| saenko |") == ["| saenko | – |"] * 2
    assert "9 of 9 are clearly below it." in text
    assert "Not converged: 0 of 210" in text


def test_runs_of_another_version_are_counted():
    assert "- 210 runs are of another version" in page(ONE_PAIR, runs({}, versions="isthmus 0.0.9, numpy 0"))
