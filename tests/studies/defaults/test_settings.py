"""Candidates are what their names say, rows are prepared without test rows, and the tables are what the fits say."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from isthmus import ARC, CCA, ITML, KCCA, MLHD
from isthmus.study.records import Record
from isthmus.study.trial_rows import Trial, TrialRows
from studies.defaults import settings, settings_tables
from studies.defaults.__main__ import EVERY_PAIR, FIRST, main
from studies.defaults.candidates import WeighedARC, WeighedITML, WeighedMLHD
from studies.defaults.preparation import PREPARATIONS, Preparation
from studies.defaults.settings import (
    MEANS,
    SYSTEMS,
    RawRows,
    Setting,
    make_system,
    one_at_a_time,
    settings_study,
    together,
)
from studies.defaults.settings_tables import SETTINGS_TABLES, accuracy, gain

DIGITS = "digits pixels→shape"


def measured(model):
    return getattr(model, "pairwise_distances", None) or model.pairwise_similarities


BEFORE = {
    "mlhd": MLHD(alignment_weight=1.0, pair_weight=1.0),
    "mlhd-rbf": MLHD("rbf", "rbf", alignment_weight=1.0, pair_weight=1.0),
    "arc": ARC(),
    "arc-rbf": ARC("rbf", "rbf"),
    "cca+nn": CCA(),
    "kcca+nn": KCCA(),
}


@pytest.mark.parametrize("system", BEFORE)
def test_the_centre_has_the_settings_before_the_study(domains, system):
    ours, theirs = (m.fit(*domains.args) for m in (make_system(Setting(system)), BEFORE[system]))
    found = [measured(m)(domains.X_source, domains.X_target) for m in (ours, theirs)]
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-9)


def test_a_total_weight_is_shared_by_all_pairs(domains):
    n = len(domains.y_source) * int((domains.y_target != -1).sum())
    mlhd = WeighedMLHD(total_weight=500.0).fit(*domains.args)
    assert mlhd.pair_weight_ == pytest.approx(500.0 / n)
    arc = WeighedARC("rbf", total_weight=500.0).fit(*domains.args)
    assert arc.pair_weight_ == pytest.approx(500.0 / n)  # rows of an RBF kernel have length one
    X, y = domains.X_source, domains.y_source
    itml = WeighedITML(total_weight=500.0, percentiles=(20.0, 80.0), random_state=0).fit(X, y)
    assert itml.result_.problem.graph.weight.sum() == pytest.approx(500.0)
    assert itml.bounds_ == pytest.approx(np.percentile(pdist(X, "sqeuclidean"), (20, 80)))
    assert ITML(1.0, random_state=0).fit(X, y).n_features_in_ == itml.n_features_in_


def test_a_bandwidth_is_a_multiple_of_the_median(domains):
    one, twice = (make_system(Setting("mlhd-rbf", bandwidth=b)).fit(*domains.args) for b in (1.0, 2.0))
    for a, b in zip(one.kernels_, twice.kernels_, strict=True):
        assert b.bandwidth == pytest.approx(2.0 * a.bandwidth)


def test_every_factor_is_changed_alone():
    for system in SYSTEMS:
        found = list(one_at_a_time(system))
        assert found[0] == Setting(system)
        assert len({each.column for each in found}) == len(found)
        for each in found[1:]:
            changed = [name for name, value in vars(each).items() if value != vars(found[0])[name]]
            assert len(changed) == 1
    assert {each.system for each in together()} == set(SYSTEMS)


def test_development_seeds_only_and_no_data_of_the_paper_s_tables():
    assert set(FIRST) == set(SETTINGS_TABLES)
    assert min(FIRST.values()) >= 100
    assert {pair.split()[0] for pairs in EVERY_PAIR.values() for pair in pairs} == {
        *("mfeat", "snareseq", "debian", "digits")
    }


# --- rows -----------------------------------------------------------------------------------------------------------


def rows_with(X_test, sparse=False):
    rng = np.random.default_rng(0)
    X, Y = np.abs(rng.normal(size=(30, 40))), rng.normal(size=(36, 9))
    y = np.arange(30) % 3
    return TrialRows(sp.csr_matrix(X) if sparse else X, y, Y, np.r_[[0, 1, 2], [-1] * 33], X_test, np.zeros(5, int))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("axes", [None, 2])
@pytest.mark.parametrize("name", PREPARATIONS)
def test_training_rows_are_centred_and_test_rows_teach_nothing(name, axes, sparse):
    rng = np.random.default_rng(1)
    first, other = (Preparation(name, axes)(rows_with(rng.normal(size=(5, 9)), sparse), 0) for _ in range(2))
    np.testing.assert_array_equal(first.X_source, other.X_source)
    np.testing.assert_array_equal(first.X_target, other.X_target)
    assert first.X_source.mean(axis=0) == pytest.approx(0, abs=1e-9)
    assert first.X_target.mean(axis=0) == pytest.approx(0, abs=1e-9)
    if axes:
        assert first.X_source.shape[1] == first.X_target.shape[1] == 6
    assert not np.array_equal(first.X_test, other.X_test)


def test_square_roots_are_taken_where_nothing_is_negative():
    rows = rows_with(np.zeros((5, 9)))
    X = np.sqrt(rows.X_source) / np.linalg.norm(np.sqrt(rows.X_source), axis=1, keepdims=True)
    found = Preparation("square roots")(rows, 0)
    np.testing.assert_allclose(found.X_source, X - X.mean(axis=0))
    np.testing.assert_allclose(found.X_target, Preparation("unit rows")(rows, 0).X_target)


def test_with_more_source_rows_the_others_stay_the_same():
    rows = RawRows(pairs=(DIGITS,), labels=1)
    few, many = (rows(Trial(DIGITS, size, 100)) for size in ("5", "60"))
    assert len(few.y_source) * 12 == len(many.y_source) == 600
    for part in ("X_target", "y_target", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(few, part), getattr(many, part))
    assert {tuple(row) for row in few.X_source} <= {tuple(row) for row in many.X_source}


# --- tables ---------------------------------------------------------------------------------------------------------


def boards(score, name="settings", pairs=settings.PAIRS[:3], seeds=(100, 101)):
    design = settings_study(name, pairs=pairs)
    records = [
        Record(name, pair, variant, seed, each, "default", {}, score(each, pair, variant, seed), 0.1, "done", None, "v")
        for pair in pairs for variant in design.variants for each in design.columns for seed in seeds
    ]  # fmt: skip
    return [design.board(records, seeds, variant) for variant in design.variants]


def test_each_collection_counts_once_and_differences_are_paired():
    column, before = "mlhd: total weight 10000", "mlhd: before"

    def score(name, pair, variant, seed):
        if name != column:
            return 0.5
        return 0.5 + (0.1 if pair.startswith("mfeat") else 0.3) + 0.02 * (seed == 101)

    found = boards(score)
    assert accuracy(found, column) == pytest.approx(100 * (0.61 + 0.81) / 2)
    better = gain(found, column, before)
    assert better.splits == pytest.approx([20.0, 22.0])
    assert str(better) == "+21.0 ± 1.0*"
    assert list(better.parts()) == ["+11.0", "+31.0"]
    assert str(gain(found, before, column)) == "−21.0 ± 1.0 −"
    assert str(gain(found, before, before)) == "+0.0 ± 0.0"


def test_the_tables_of_one_factor_name_every_setting():
    def score(name, pair, variant, seed):
        return 0.6 if name.endswith(MEANS) else 0.5

    rule, control, *each = SETTINGS_TABLES["settings"](boards(score))
    assert [row[:4] for row in rule.rows] == [(s, "50.0", "60.0", "+10.0 ± 0.0*") for s in SYSTEMS]
    assert len(control.rows) == 2 * len(PREPARATIONS)
    assert [len(table.rows) for table in each] == [len(list(one_at_a_time(s))) for s in SYSTEMS]
    assert each[0].rows[0][:2] == ("before", "50.0")


def test_the_tables_of_combinations_and_of_sizes():
    def score(name, pair, variant, seed):
        return 0.5 + 0.01 * int(variant)

    tables = SETTINGS_TABLES["together"](boards(score, "together"))
    assert sum(len(table.rows) for table in tables) == len(list(together()))
    first, second = SETTINGS_TABLES["sizes"](boards(score, "sizes"))
    assert first.rows[0] == ("1 on each pair", "55.0", "70.0", "110.0", "55.0", "70.0", "110.0")
    assert len(second.rows) == 1 + len(settings.TOTALS)


def test_a_study_of_settings_runs_resumes_and_prints_its_table(tmp_path, monkeypatch, capsys):
    for module in (settings, settings_tables):
        monkeypatch.setattr(module, "TOTALS", (1e3,))
    monkeypatch.setattr(settings, "SIZES", {"5": "5", "8": "8"})
    command = ["sizes", "--pairs", DIGITS, "--splits", "1", "--jobs", "1", "--out", str(tmp_path)]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "| weight | 5 rows | 8 rows | 5 rows, means | 8 rows, means |" in printed
    assert "| 1000 in all |" in printed
    before = (tmp_path / "sizes.jsonl").read_bytes()
    assert before.count(b'"seed": 100') == before.count(b"\n") == 2 * 2 * 2 * 2
    assert main(command) == 0
    assert capsys.readouterr().out == printed
    assert (tmp_path / "sizes.jsonl").read_bytes() == before


def test_a_pair_of_another_study_is_refused(capsys):
    assert main(["settings", "--pairs", "mfeat mor6→zer47"]) == 2
    assert "--pairs: expected one of" in capsys.readouterr().err
    assert replace(Setting("arc"), axes=2).column == "arc: axes 2"
