"""Trials of toy size through the code of the real tables: honest rows, resumable runs, the same result every time."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from small_tables import CLASSES, GROUPS, PROTOCOL, TWO, coarse, few, histograms, record, shrunk, small, texts

from isthmus import ARC, MLHD
from isthmus._core.validation import UNLABELLED
from isthmus.data.domains import Domain
from isthmus.estimators.controls import KINDS
from isthmus.exceptions import InputError
from isthmus.study import study as run_module
from isthmus.study.design import SETTINGS, Entrant, Fit, predict_by_target_rows, reverse_agreement
from isthmus.study.records import RecordStore
from isthmus.study.study import RunPlan, fit_and_score, run_plan, run_trial
from isthmus.study.trial_rows import CorruptedRows, Trial
from studies.paper.artefacts import sensitivity_artefacts, table_artefacts
from studies.paper.comparisons import READINGS
from studies.paper.entrants import MLHD_RBF, TABLE, TOY
from studies.paper.experiment import EXPERIMENTS
from studies.paper.features import components, scale_rows
from studies.paper.formats import FORMATS
from studies.paper.reproduction import Request, reproduce
from studies.paper.rows import VARIANTS

NAMES = tuple(GROUPS)
BOTH = tuple(VARIANTS)
SUFFIXES = tuple(suffix for suffix, _ in FORMATS.values())
TRIALS = {name: Trial(shrunk()[name].groups[0], "whole", 0) for name in NAMES}


def rows_of(name, variant="held-out", seed=0, load=None):
    return small(name, load).rows(TRIALS[name]._replace(variant=variant, seed=seed))


def everything(experiment, settings=tuple(SETTINGS)):
    return list(experiment.cells(settings))


@pytest.fixture(scope="module", params=NAMES)
def trial_records(request):
    """One trial with every setting."""
    experiment = shrunk()[request.param]
    return experiment, run_trial(experiment, TRIALS[request.param], everything(experiment))


# --- who takes part -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entrant", TABLE, ids=lambda e: e.name)
def test_a_default_that_is_a_number_is_a_point_of_its_grid(entrant):
    defaults = entrant.new_model().get_params()
    for parameter, values in entrant.grid.items():
        assert parameter in defaults
        if isinstance(defaults[parameter], int | float):
            assert defaults[parameter] in values


def test_the_table_has_the_columns_of_the_issue():
    assert [e.name for e in TABLE] == [
        "kcca+nn", "kcca+itml", "arc-rbf", "mlhd-rbf", "mlhd-rbf λ2=100", "label-transfer", "target 1-NN", "target SVM",
        "target label spreading", "target self-trained LDA", "target balanced k-means",
        "target mean of LDA and k-means", "mlhd-rbf, noise", "mlhd-rbf, permuted", "mlhd-rbf, renamed",
    ]  # fmt: skip
    assert [e.name for e in TABLE if e.control] == [e.name for e in TABLE[6:]]
    columns = EXPERIMENTS["table1"].columns
    assert len(set(columns)) == len(columns) == 3 * 2 + 3 + 2 + 1 + 6 + 3 * 3
    assert {"mlhd-rbf by target rows, noise", "mlhd-rbf by means, noise", "arc-rbf by means"} <= set(columns)


def test_by_means_is_the_rule_of_that_name_and_leaves_the_model_as_it_was(domains):
    model = MLHD("rbf", "rbf").fit(*domains.args)
    before = model.predict(domains.X_target)
    found = MLHD_RBF.readings["mlhd-rbf by means"](model, None, domains.X_target)
    assert np.array_equal(found, MLHD("rbf", "rbf", rule="means").fit(*domains.args).predict(domains.X_target))
    assert np.array_equal(model.predict(domains.X_target), before)


def test_the_flat_weight_is_that_of_each_pair(domains):
    (flat,) = [e for e in TABLE if e.name == "mlhd-rbf λ2=100"]
    assert flat.new_model().fit(*domains.args).pair_weight_ == 100.0


@pytest.mark.parametrize("entrant", [*TABLE, *TOY], ids=lambda e: e.name)
def test_an_estimator_is_fresh_and_draws_by_the_seed(entrant):
    one, two = entrant.configure_model({}, 3), entrant.configure_model({}, 3)
    assert one is not two
    draws = {k: v for k, v in one.get_params().items() if k.endswith("random_state")}
    assert all(v == 3 for v in draws.values())


def test_the_grid_is_walked_with_the_last_parameter_fastest():
    points = list(MLHD_RBF.grid_points())
    assert len(points) == 36
    assert points[0] == {"alignment_weight": 1e-3, "pair_weight": 1e-2}
    assert points[1] == {"alignment_weight": 1e-3, "pair_weight": 1e-1}
    assert points[6] == {"alignment_weight": 1e-2, "pair_weight": 1e-2}


def test_only_systems_with_a_grid_are_searched_and_no_target_is_selected_by_a_source():
    cells = everything(EXPERIMENTS["table1"])
    assert ("target SVM", "oracle") in cells
    assert ("target SVM", "selected") not in cells
    assert ("target 1-NN", "oracle") not in cells
    assert ("mlhd-rbf by target rows, noise", "selected") in cells
    assert {c for c, s in cells if s == "default"} == set(EXPERIMENTS["table1"].columns)


def test_an_unknown_column_is_refused():
    with pytest.raises(InputError, match="system: expected one of"):
        EXPERIMENTS["table1"].entrant("svm")


# --- rows -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("variant", BOTH)
def test_rows_have_the_sizes_of_the_protocol(name, variant):
    rows = rows_of(name, variant)
    assert rows.X_source.shape == (4 * CLASSES, 5)
    assert rows.X_target.shape == (5 * CLASSES, 6)
    assert rows.X_test.shape == (9, 6)
    assert np.bincount(rows.y_source).tolist() == [4] * CLASSES
    labelled = rows.y_target != UNLABELLED
    assert np.bincount(rows.y_target[labelled]).tolist() == [1] * CLASSES
    assert labelled.sum() == CLASSES
    assert (rows.y_test >= 0).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", NAMES)
def test_no_object_is_in_two_of_source_target_and_test(name, seed):
    drawn = []
    protocol = small(name).rows.protocol

    class Spy:
        def split(self, *args, **kwargs):
            split = protocol.split(*args, **kwargs)
            objects = kwargs["objects_source"], kwargs["objects_target"]
            drawn.append((objects[0][split.source], objects[1][np.r_[split.labelled, split.unlabelled]],
                          objects[1][split.test]))  # fmt: skip
            return split

    experiment = small(name)
    for group in experiment.groups:
        replace(experiment.rows, protocol=Spy())(Trial(group, "whole", seed))
    assert len(drawn) == len(experiment.groups)
    for source, target, test in drawn:
        together = np.concatenate([source, target, test])
        assert len(set(together)) == len(together) == 4 * CLASSES + 5 * CLASSES + 9


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("variant", BOTH)
def test_seeds_and_groups_change_the_rows_and_the_same_seed_does_not(name, variant):
    rows = small(name).rows
    trial = TRIALS[name]._replace(variant=variant)
    one, again, other = rows(trial), rows(trial), rows(trial._replace(seed=1))
    for a, b, c in zip(one.fit, again.fit, other.fit, strict=True):
        assert np.array_equal(a, b)
        if a.ndim == 2:
            assert not np.array_equal(a, c)
    assert not np.array_equal(one.X_test, other.X_test)


def changed(load, domain, objects, factor=3.0):
    """A loader whose rows of some objects of a domain are others."""
    original = load()
    X = original[domain].X.copy()
    dense = X.toarray() if sp.issparse(X) else X
    dense[objects] = np.abs(np.random.default_rng(5).normal(size=dense[objects].shape)) * factor
    X = sp.csr_matrix(dense) if sp.issparse(X) else dense
    data = replace(original, domains={**original.domains, domain: Domain(X, original[domain].y)})
    return lambda folder: data


def drawn_for_the_test(name, trial):
    experiment, data = small(name), {"table1": texts, "table2": histograms}[name]()
    spy = {}

    class Spy:
        def split(self, *args, **kwargs):
            spy["split"] = PROTOCOL.split(*args, **kwargs)
            return spy["split"]

    replace(experiment.rows, protocol=Spy())(trial)
    return data.objects[trial.group.split(" → ")[1]][spy["split"].test]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("in_source", [False, True], ids=["target", "source"])
def test_held_out_features_do_not_see_the_test_rows(name, in_source):
    load = {"table1": texts, "table2": histograms}[name]
    trial = TRIALS[name]._replace(variant="held-out")
    tested = drawn_for_the_test(name, trial)
    # All test objects but the first change; in the source domain, the same objects' other descriptions do.
    domain = trial.group.split(" → ")[0] if in_source else trial.group.split(" → ")[1]
    before, after = (small(name, each).rows(trial) for each in (load, changed(load, domain, tested[1:])))
    for a, b in zip(before.fit, after.fit, strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(before.X_test[0], after.X_test[0])
    assert np.array_equal(before.y_test, after.y_test)
    if not in_source:
        assert not np.isclose(before.X_test[1:], after.X_test[1:]).all(axis=1).any()


@pytest.mark.parametrize("name", NAMES)
def test_features_of_the_whole_domain_do_see_them(name):
    load = {"table1": texts, "table2": histograms}[name]
    trial = TRIALS[name]
    tested = drawn_for_the_test(name, trial)
    before, after = (
        small(name, each).rows(trial) for each in (load, changed(load, trial.group.split(" → ")[1], tested[1:]))
    )
    assert not np.allclose(before.X_target, after.X_target)
    assert not np.allclose(before.X_test[0], after.X_test[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_corrupted_source_leaves_the_target_and_differs_by_seed(kind):
    rows = rows_of("table1")
    one, again, other = (CorruptedRows(kind)(rows, seed) for seed in (0, 0, 1))
    for name in ("X_target", "y_target", "X_test", "y_test"):
        assert getattr(one, name) is getattr(rows, name)
    assert one.X_source.shape == rows.X_source.shape
    assert np.array_equal(one.X_source, again.X_source)
    assert np.array_equal(one.y_source, again.y_source)
    same = np.array_equal(one.X_source, rows.X_source) and np.array_equal(one.y_source, rows.y_source)
    assert not same
    others = [CorruptedRows(kind)(rows, seed) for seed in range(1, 6)]
    assert any(
        not (np.array_equal(one.X_source, o.X_source) and np.array_equal(one.y_source, o.y_source)) for o in others
    )
    assert np.array_equal(rows_of("table1").X_source, rows.X_source)
    assert other is not one


def test_scaled_rows_have_length_one_and_histograms_hellingers_product():
    X = np.array([[1.0, 3.0, 0.0], [4.0, 4.0, 8.0]])
    assert np.linalg.norm(scale_rows(X, False), axis=1) == pytest.approx(1.0)
    p = X / X.sum(axis=1, keepdims=True)
    S = scale_rows(X, True)
    assert pytest.approx(np.sqrt(p) @ np.sqrt(p).T) == S @ S.T
    assert np.array_equal(X, [[1.0, 3.0, 0.0], [4.0, 4.0, 8.0]])


@pytest.mark.parametrize("shape", [(12, 30), (30, 12), (8, 5), (30, 5)])
@pytest.mark.parametrize("size", [3, 5, 100])
def test_components_of_sparse_and_dense_rows_are_the_same(shape, size):
    X = np.random.default_rng(0).normal(size=shape) * (np.random.default_rng(1).random(shape) < 0.5)
    dense, sparse = components(X, size), components(sp.csr_matrix(X), size)
    assert dense.shape == (shape[0], min(size, shape[0] - 1, shape[1]))
    assert dense == pytest.approx(sparse, abs=1e-8)
    assert np.array_equal(dense, components(X, size))
    assert abs(np.cov(dense.T) - np.diag(np.var(dense, axis=0, ddof=1))).max() < 1e-8
    some = components(X, 2, np.arange(6))
    assert some.shape == (shape[0], 2)
    assert some[:6].mean(axis=0) == pytest.approx(0, abs=1e-8)


# --- fits and trials ------------------------------------------------------------------------------------------------


def test_every_entrant_of_a_trial_sees_the_same_rows(monkeypatch):
    seen = []

    def noted(entrant, parameters, rows, seed, **asked):
        seen.append((entrant, rows))
        return fit_and_score(entrant, parameters, rows, seed, **asked)

    monkeypatch.setattr(run_module, "fit_and_score", noted)
    experiment = shrunk()["table1"]
    run_trial(experiment, TRIALS["table1"], everything(experiment, ("default",)))
    assert [entrant.name for entrant, _ in seen] == [e.name for e in experiment.entrants]
    first = seen[0][1]
    for entrant, rows in seen:
        same = ("X_target", "y_target", "X_test", "y_test") + (() if entrant.rows else ("X_source", "y_source"))
        assert all(getattr(rows, name) is getattr(first, name) for name in same)


def test_a_trial_has_a_record_for_every_column_and_setting(trial_records):
    experiment, records = trial_records
    assert sorted((r.system, r.setting) for r in records) == sorted(everything(experiment))
    for r in records:
        assert r.status in ("optimal", "done")
        assert 0 <= r.score <= 1
        assert r.seconds >= 0
        assert r.gap is None or r.gap <= 1e-6
        assert "isthmus" in r.versions
        assert (r.grid is None) == (r.setting == "default")
        assert (r.parameters == {}) == (r.setting == "default")
        points = list(experiment.entrant(r.system).grid_points())
        if r.setting != "default":
            assert len(r.grid) == len(points)
            assert r.parameters == points[int(np.argmax(r.grid))]
        if r.setting == "oracle":
            assert r.score == max(r.grid)


def test_the_oracle_is_at_least_a_default_that_it_may_choose(trial_records):
    experiment, records = trial_records
    score = {(r.system, r.setting): r.score for r in records}
    compared = 0
    for column, setting in score:
        entrant = experiment.entrant(column)
        defaults = entrant.new_model().get_params()
        if setting == "oracle" and all(defaults[p] in values for p, values in entrant.grid.items()):
            assert score[column, "oracle"] >= score[column, "default"]
            assert score[column, "oracle"] >= score.get((column, "selected"), 0)
            compared += 1
    assert compared >= 1  # the weights of pairs are automatic, and no point of a grid


def test_both_readings_of_a_metric_come_from_one_fit(monkeypatch):
    fits = []
    real = MLHD.fit
    monkeypatch.setattr(MLHD, "fit", lambda self, *rows: fits.append(1) or real(self, *rows))
    experiment = small("table1", entrants=coarse((MLHD_RBF,)))
    records = run_trial(experiment, TRIALS["table1"], everything(experiment))
    assert len(fits) == 1 + len(TWO) ** 2
    assert {r.system for r in records} == set(READINGS)


@pytest.mark.parametrize("name", NAMES)
def test_test_labels_enter_neither_default_nor_selected(name):
    experiment = small(name, entrants=coarse(TABLE[:4]))

    def shuffled(trial):
        rows = small(name).rows(trial)
        return replace(rows, y_test=(rows.y_test + 1) % CLASSES)

    wanted = everything(experiment)
    before = run_trial(experiment, TRIALS[name], wanted)
    after = run_trial(replace(experiment, rows=shuffled), TRIALS[name], wanted)
    assert [r.key for r in before] == [r.key for r in after]
    for a, b in zip(before, after, strict=True):
        if a.setting in ("default", "selected"):
            assert (a.parameters, a.grid, a.status, a.gap) == (b.parameters, b.grid, b.status, b.gap)
    assert any(a.score != b.score for a, b in zip(before, after, strict=True))


def test_labels_of_unlabelled_rows_are_nowhere():
    """The classes of the unlabelled target rows are not among what a trial is given."""
    rows = rows_of("table1")
    assert set(vars(rows)) == {"X_source", "y_source", "X_target", "y_target", "X_test", "y_test"}
    assert (rows.y_target[CLASSES:] == UNLABELLED).all()


def test_reverse_agreement_by_hand():
    class Near:
        def pairwise_distances(self, X, Y):
            return abs(X - Y.T)

    rows = rows_of("table1")
    rows = replace(
        rows, X_source=np.array([[0.0], [1.0], [2.0], [3.1]]), y_source=np.array([0, 0, 1, 1]),
        X_target=np.array([[0.1], [1.9], [3.0]]), y_target=np.array([0, UNLABELLED, UNLABELLED]),
    )  # fmt: skip
    # Nearest target rows are 0, 0 (by 0.9 to 0.9 - the first), 1, 2; the label of the first row is its own.
    rows = replace(rows, X_source=np.array([[0.0], [0.9], [2.0], [3.1]]))
    assert reverse_agreement(Fit(Near(), rows), np.array([9, 1, 0])) == pytest.approx(3 / 4)


def limited():
    return MLHD("rbf", "rbf", max_iter=1)


def test_a_fit_that_was_not_certified_says_so():
    rows = rows_of("table1")
    outcome = fit_and_score(Entrant("mlhd", limited, readings={"by target": predict_by_target_rows}), {}, rows, 0)
    assert outcome.status not in ("optimal", "done")
    assert outcome.gap is None or outcome.gap > 1e-6
    assert set(outcome.accuracy) == {"mlhd", "by target"}


def test_an_infinite_gap_can_be_written(monkeypatch, tmp_path):
    from isthmus.solvers.result import Result

    monkeypatch.setattr(Result, "relative_gap", property(lambda self: np.inf))
    experiment = small("table1", entrants=(Entrant("mlhd-rbf", limited),))
    (found,) = run_trial(experiment, TRIALS["table1"], [("mlhd-rbf", "default")])
    assert found.gap is None
    RecordStore(tmp_path, "table1").add([found])


@pytest.mark.parametrize(
    "error", [InputError("rows: expected better ones, got these."), ZeroDivisionError("by zero")]
)
@pytest.mark.slow
def test_a_failing_entrant_does_not_stop_the_others(tmp_path, monkeypatch, error):
    def refuse(self, *rows):
        raise error

    for system in (ARC, MLHD):
        monkeypatch.setattr(system, "fit", refuse)
    entrants = coarse(TABLE)
    experiment = replace(small("table1", entrants=entrants), groups=shrunk()["table1"].groups[:1])
    experiment = replace(experiment, published=experiment.published[:1])
    plan = RunPlan(experiment, ("whole",), tuple(SETTINGS), (0,))
    found = {(r.system, r.setting): r for r in run_plan(plan, RecordStore(tmp_path, "table1"))}
    for setting in SETTINGS:
        for column in ("arc-rbf", *READINGS):
            assert found[column, setting].score is None
            assert f"failed: {error}" in found[column, setting].status
        assert found["kcca+nn", setting].score is not None
    assert found["arc-rbf", "default"].status.startswith("failed: ")
    assert plan.find_missing(RecordStore(tmp_path, "table1").read()) == []  # and it is not run again
    made = table_artefacts(experiment, list(found.values()), ("whole",), [(0,)])
    for table in made.tables[:2]:
        (index,) = [k for k, name in enumerate(table.head) if name in ("mlhd-rbf ours", "mlhd-rbf")]
        assert table.rows[0][index] == "–†"
        assert table.rows[-1][index] == "–"
    made.write(tmp_path)


# --- plans, interruption, resumption --------------------------------------------------------------------------------


def plans(experiment, seeds=(0, 1)):
    return [
        RunPlan(experiment, BOTH, ("default",), seeds),
        RunPlan(experiment, ("whole",), ("oracle", "selected"), seeds[:1]),
    ]


def bytes_of(experiment, folder, seeds=(0, 1)):
    """Every table that is made from the records, by name; figures take their time, and have tests of their own."""
    records = list(RecordStore(folder, experiment.name).read().values())
    for made in (
        table_artefacts(experiment, records, BOTH, [seeds]),
        sensitivity_artefacts(experiment, records, ("whole",), [seeds[:1]]),
    ):
        replace(made, figures={}).write(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in SUFFIXES}


@pytest.fixture(scope="module", params=["table2"])
def finished(request, tmp_path_factory):
    """A run from beginning to end, and its tables."""
    folder, experiment = tmp_path_factory.mktemp("finished"), few(request.param)
    for plan in plans(experiment):
        run_plan(plan, RecordStore(folder, experiment.name))
    return experiment, folder, bytes_of(experiment, folder)


class Stop(Exception):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("k", [0, 3])
def test_a_run_that_was_stopped_and_resumed_gives_the_same_bytes_and_repeats_nothing(
    finished, tmp_path, monkeypatch, k
):
    experiment, _, expected = finished
    runs = []

    def counted(experiment, trial, wanted):
        runs.append((trial, tuple(wanted)))
        return run_trial(experiment, trial, wanted)

    def stopping(done, total):
        if done == k:
            raise Stop

    monkeypatch.setattr(run_module, "run_trial", counted)
    results = RecordStore(tmp_path, experiment.name)
    with pytest.raises(Stop):
        run_plan(plans(experiment)[0], results, progress=stopping)
    assert len(results.read()) == k * len(experiment.columns)
    assert not results.parts.exists()
    for plan in plans(experiment):
        run_plan(plan, results)
    assert bytes_of(experiment, tmp_path) == expected
    assert {f"{experiment.name}{suffix}" for suffix in SUFFIXES} <= set(expected)
    drawn = table_artefacts(experiment, list(results.read().values()), BOTH, [(0, 1)]).figures
    assert {f"{experiment.name}-{variant}" for variant in BOTH} <= set(drawn)
    everywhere = 2 * 2 * len(experiment.groups) + len(experiment.groups)
    assert len(runs) == len(set(runs))
    assert len(runs) <= everywhere + 1  # joblib may have one more under way when it is stopped
    before = len(runs)
    for plan in plans(experiment):
        found = results.read()
        assert run_plan(plan, results) == [found[key] for key in plan.fingerprints]
    assert len(runs) == before


@pytest.mark.slow
def test_a_lost_column_is_all_that_is_run_again(finished, tmp_path):
    experiment, folder, expected = finished
    results = RecordStore(tmp_path, experiment.name)
    records = list(RecordStore(folder, experiment.name).read().values())
    results.add([r for r in records if not (r.system == "arc-rbf" and r.setting == "default" and r.seed == 1)])
    left = plans(experiment)[0].find_missing(results.read())
    assert len(left) == 2 * len(experiment.groups)
    assert all(cells == [("arc-rbf", "default")] and trial.seed == 1 for trial, cells in left)
    for plan in plans(experiment):
        run_plan(plan, results)
    assert bytes_of(experiment, tmp_path) == expected


@pytest.mark.slow
def test_one_job_and_two_give_the_same_tables(finished, tmp_path):
    experiment, _, expected = finished
    for plan in plans(experiment):
        run_plan(plan, RecordStore(tmp_path, experiment.name), n_jobs=2)
    assert bytes_of(experiment, tmp_path) == expected


def test_an_interruption_keeps_what_is_finished_and_is_passed_on(tmp_path):
    experiment, results = few("table1"), RecordStore(tmp_path, "table1")

    def interrupting(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(plans(experiment)[0], results, progress=interrupting)
    assert len(results.read()) == 2 * len(experiment.columns)
    assert results.path.exists()


def test_progress_counts_the_trials_that_are_left(tmp_path):
    experiment, seen = few("table1"), []
    one = replace(experiment, entrants=(experiment.entrant("target 1-NN"),))
    plan = RunPlan(one, ("whole",), ("default",), (0,))
    run_plan(plan, RecordStore(tmp_path, "table1"), progress=lambda *at: seen.append(at))
    assert seen == [(k, 3) for k in range(4)]
    seen.clear()
    run_plan(plan, RecordStore(tmp_path, "table1"), progress=lambda *at: seen.append(at))
    assert seen == [(0, 0)]


def test_seeds_come_first_so_that_an_early_stop_has_something_of_every_group():
    experiment = shrunk()["table1"]
    trials = [trial for trial, _ in RunPlan(experiment, BOTH, ("default",), (0, 1)).find_missing({})]
    first = trials[: len(trials) // 2]
    assert {t.seed for t in first} == {0}
    assert {t.group for t in first} == set(experiment.groups)
    assert len(set(trials)) == len(trials) == 2 * 2 * 3


def test_a_plan_takes_its_own_records_only(tmp_path):
    experiment, results = shrunk()["table1"], RecordStore(tmp_path, "table1")
    plan = RunPlan(replace(experiment, entrants=(experiment.entrant("arc-rbf"),)), ("whole",), ("default",), (0,))
    mine = [record(key[4], group=key[1], fingerprint=mark) for key, mark in plan.fingerprints.items()]
    assert len(mine) == 2 * len(experiment.groups)  # two readings
    foreign = [
        record("mlhd-rbf"),
        record("arc-rbf", seed=1),
        record("arc-rbf", variant="held-out"),
        record("arc-rbf", setting="oracle"),
    ]
    results.add(foreign + mine)
    assert run_plan(plan, results) == mine


# --- the whole way, by name -----------------------------------------------------------------------------------------


@pytest.fixture
def small_experiments(monkeypatch):
    for name in NAMES:
        monkeypatch.setitem(EXPERIMENTS, name, few(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_reproduce_narrows_groups_and_variants(small_experiments, tmp_path, name):
    group = few(name).groups[1]
    request = Request(None, tmp_path, ((0,), (1,)), False, ("held-out",), (group,))
    made = reproduce(name, request)
    records = RecordStore(tmp_path, name).read().values()
    assert {r.group for r in records} == {group}
    assert {r.variant for r in records} == {"held-out"}
    assert {r.seed for r in records} == {0, 1}
    assert [r[0] for r in made.tables[0].rows] == [group, "mean"]
    assert set(made.figures) == {f"{name}-held-out-part"}  # a single trial has no interval to draw
    with pytest.raises(InputError, match=r"groups: expected some of .*, got 'EN → EN'"):
        reproduce(name, replace(request, groups=("EN → EN",)))


@pytest.mark.slow
def test_the_sensitivity_shares_the_records_of_the_table(small_experiments, tmp_path):
    group = ("EN → FR", "EN → GR")
    request = Request(None, tmp_path, ((0, 1),), True, ("whole",), group)
    table = reproduce("table1", request)
    before = (tmp_path / "table1.jsonl").read_bytes()
    made = reproduce("sensitivity", request)
    assert (tmp_path / "table1.jsonl").read_bytes() == before
    assert set(made.figures) == {f"sensitivity-whole-{name.replace(' ', '-')}-part" for name in READINGS}
    assert len(table.tables) == 8
    assert {p.name for p in made.write(tmp_path)} >= {"sensitivity-part.txt", "sensitivity-whole-mlhd-rbf-part.png"}
    with pytest.raises(InputError, match=r"^variants: expected whole, got held-out\.$"):
        reproduce("sensitivity", replace(request, variants=("held-out",)))


def test_an_unknown_experiment_is_refused(tmp_path):
    with pytest.raises(InputError, match="name: expected one of"):
        reproduce("table3", Request(out=tmp_path))
    with pytest.raises(InputError, match="name: expected one of"):
        reproduce("all", Request(out=tmp_path))
