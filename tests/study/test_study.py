"""A user's study: fair rows from any pair, honest comparisons, and no record taken for what it is not."""

import copy
import os
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import partial

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from isthmus import MLHD
from isthmus.data.datasets import DomainPair, load_digits
from isthmus.data.splits import Protocol
from isthmus.estimators.controls import TargetOnly
from isthmus.exceptions import DataWarning, InputError
from isthmus.geometry.kernels import RBF
from isthmus.study import TextTable
from isthmus.study import study as run
from isthmus.study.design import Entrant, predict_by_target_rows
from isthmus.study.records import SCHEME, RecordStore, as_json_value, fingerprint
from isthmus.study.study import Study
from isthmus.study.trial_rows import CorruptedRows, PairRows, Trial, draw_rows, take_pair_rows
from studies.datasets.toy import load_toy

PROTOCOL = Protocol(4, 1, 3, test=20)
QUICK = ["target 1-NN", "cca+nn"]
CAPTURED = {"capture_output": True, "text": True, "check": True}


UNTESTED = {"X_test": None, "y_test": None, "test_ids": None}


def numbered_pair(n_source=40, n_target=50, n_test=30, classes=2, **changes):
    """A pair whose first column is the number of the row, counting through target and test."""
    rng = np.random.default_rng(0)
    y_source, y = np.arange(n_source) % classes, np.arange(n_target + n_test) % classes
    X = np.c_[np.arange(len(y)), rng.normal(size=(len(y), 2)) + 3 * y[:, None]].astype(float)
    X_source = np.c_[np.arange(n_source), rng.normal(size=(n_source, 3)) + 3 * y_source[:, None]].astype(float)
    values = {
        "name": "numbered", "description": "", "X_source": X_source, "y_source": y_source, "X_target": X[:n_target],
        "y_target": np.where(np.arange(n_target) < 20, y[:n_target], -1), "X_test": X[n_target:],
        "y_test": y[n_target:], "source_features": ("row", *"abc"), "target_features": ("row", "a", "b"),
        "source_ids": np.arange(1000, 1000 + n_source), "target_ids": np.arange(n_target),
        "test_ids": np.arange(n_target, len(y)), "target_classes": y[:n_target],
    }  # fmt: skip
    return DomainPair(**values | changes)


def drawn(rows):
    """The numbers of the target rows that are learned from, and of those that are tested."""
    return rows.X_target[:, 0].astype(int), rows.X_test[:, 0].astype(int)


# --- rows -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_protocol_draws_from_target_and_test_rows_together_and_uses_none_twice(seed):
    pair = numbered_pair()
    rows = draw_rows(pair, PROTOCOL, [seed])
    learned, tested = drawn(rows)
    assert len(set(learned) | set(tested)) == len(learned) + len(tested) == 2 * (1 + 3) + 20
    truth = np.r_[pair.target_classes, pair.y_test]
    np.testing.assert_array_equal(rows.y_test, truth[tested])
    np.testing.assert_array_equal(rows.y_target[rows.labelled], truth[learned[rows.labelled]])
    assert np.bincount(rows.y_target[rows.labelled]).tolist() == [1, 1]
    np.testing.assert_array_equal(rows.y_source, rows.X_source[:, 0] % 2)
    assert np.bincount(rows.y_source).tolist() == [4, 4]


def test_rows_of_unknown_class_are_unlabelled_in_every_trial_and_never_tested():
    """What a verdict on users' rows needs: labelled rows are split, all others are learned from."""
    pair = numbered_pair(target_classes=None, **UNTESTED)
    protocol = Protocol(source_per_class=40, labelled_per_class=3, unlabelled_per_class=0)
    seen = set()
    for seed in range(10):
        rows = draw_rows(pair, protocol, [seed])
        learned, tested = drawn(rows)
        assert set(range(20, 50)) <= set(learned)
        assert len(rows.labelled) == 6
        assert sorted(set(learned) - set(range(20, 50))) == sorted(learned[rows.labelled])
        assert set(tested) == set(range(20)) - set(learned)
        assert len(rows.y_source) == 40  # all of it
        seen |= set(tested)
    assert seen == set(range(20))


def test_another_row_of_a_tested_object_is_not_learned_from():
    ids = np.r_[np.arange(20), np.arange(20), np.arange(100, 110)]  # rows 20 to 39 are rows 0 to 19 once more
    pair = numbered_pair(target_classes=None, target_ids=ids, **UNTESTED)
    learned, tested = drawn(draw_rows(pair, Protocol(4, 2, 0), [0]))
    assert len(tested) == 16
    assert not set(tested + 20) & set(learned)
    assert set(range(40, 50)) <= set(learned)


def test_a_pair_without_a_protocol_is_taken_as_it_is():
    pair = numbered_pair()
    rows = PairRows({"": pair})(Trial("", "", 3))
    for name in ("X_source", "X_target", "X_test", "y_source", "y_target", "y_test"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(pair, name))


def test_labels_may_be_words_and_rows_sparse():
    words, pair = np.array(["cat", "dog"], dtype=object), numbered_pair()
    named = numbered_pair(
        y_source=words[pair.y_source], y_test=words[pair.y_test], target_classes=words[pair.target_classes],
        y_target=np.array([None if c < 0 else words[c] for c in pair.y_target], dtype=object),
        X_source=sp.csr_matrix(pair.X_source), X_target=sp.csr_matrix(pair.X_target), X_test=sp.csr_matrix(pair.X_test),
    )  # fmt: skip
    for a, b in (
        (take_pair_rows(pair), take_pair_rows(named)),
        (draw_rows(pair, PROTOCOL, [1]), draw_rows(named, PROTOCOL, [1])),
    ):
        np.testing.assert_array_equal(a.y_target, b.y_target)
        np.testing.assert_array_equal(a.y_test, b.y_test)
        np.testing.assert_array_equal(a.X_test, b.X_test.toarray())


def test_a_pair_without_test_rows_needs_a_protocol_and_known_classes():
    pair = numbered_pair(**UNTESTED)
    with pytest.raises(InputError, match=r"^protocol: expected one, since the pair has no test rows, got None\.$"):
        Study.of(pair, QUICK)
    unknown = replace(pair, y_target=np.full(50, -1), target_classes=None)
    with pytest.raises(InputError, match=r"^pair: expected target rows of known class to draw from, got none\.$"):
        draw_rows(unknown, PROTOCOL, [0])


def test_preparation_is_learned_without_test_rows():
    pair, moved = numbered_pair(), numbered_pair()
    trial, steps = Trial("", "", 0), {"source_transformer": StandardScaler(), "target_transformer": PCA(2)}
    _, tested = drawn(PairRows({"": pair}, PROTOCOL)(trial))
    X = np.vstack([pair.X_target, pair.X_test])
    X[tested[1:], 1:] += 100.0
    moved = replace(pair, X_target=X[:50], X_test=X[50:])
    before, after = (PairRows({"": each}, PROTOCOL, **steps)(trial) for each in (pair, moved))
    for a, b in zip(before.fit, after.fit, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(before.X_test[0], after.X_test[0])
    assert not np.isclose(before.X_test[1:], after.X_test[1:]).all(axis=1).any()
    np.testing.assert_allclose(before.X_source.mean(axis=0), 0, atol=1e-12)
    assert not hasattr(steps["source_transformer"], "mean_")  # the user's own stays unfitted


def test_groups_of_one_seed_are_drawn_apart_and_seeds_are_too():
    rows = PairRows({"a": numbered_pair(), "b": numbered_pair()}, PROTOCOL)
    tested = [tuple(drawn(rows(Trial(group, "", seed)))[1]) for group in "ab" for seed in (0, 1)]
    assert len(set(tested)) == 4
    assert tested[0] == tuple(drawn(rows(Trial("a", "", 0)))[1])


# --- boards ---------------------------------------------------------------------------------------------------------


def test_a_study_in_memory_has_a_table_differences_and_claims():
    study = Study.of({"one": numbered_pair(), "two": load_toy}, QUICK, protocol=PROTOCOL)
    board = study.run(seeds=range(3))
    assert board.scores("cca+nn").shape == (2, 3)
    assert board.table().head == ("system", "control", "one", "two", "mean")
    assert [row[:2] for row in board.table().rows] == [("target 1-NN", "yes"), ("cca+nn", "")]
    gain = board.scores("cca+nn") - board.scores("target 1-NN")
    difference = board.difference("cca+nn", "target 1-NN")
    assert difference.mean == pytest.approx(gain.mean())
    assert difference.n_clusters in (2, 3)
    assert board.claim("cca+nn", "target 1-NN").difference == difference
    assert str(board) == str(board.table())
    assert "3 labelled" not in str(board)
    assert str(PROTOCOL) in " ".join(str(board).split())


@pytest.mark.parametrize(
    ("data", "protocol", "seeds", "words"),
    [
        (numbered_pair(), PROTOCOL, 2, "over all seeds, each with rows of its own."),
        ({"a": numbered_pair(), "b": numbered_pair()}, PROTOCOL, 2, "clustered by seed and by group: the wider"),
        ({"a": numbered_pair(), "b": numbered_pair()}, PROTOCOL, 1, "over all groups, each the mean of its seeds."),
        ({"a": numbered_pair(), "b": numbered_pair()}, None, 2, "over all groups, each the mean of its seeds."),
        (numbered_pair(), None, 2, "need at least two trials with rows of their own, or two groups."),
    ],
)
def test_the_note_of_a_claim_table_says_what_was_done(data, protocol, seeds, words):
    board = Study.of(data, QUICK, protocol=protocol).run(range(seeds))
    assert words in board.claim_table([("cca+nn", "target 1-NN")]).notes[0]


def test_threads_may_do_the_work_and_follow_nobody(monkeypatch):
    """Only processes that a study has started are its own to end."""
    calls = []
    monkeypatch.setattr(run, "_exit_with_parent", calls.append)
    study = Study.of(load_toy, QUICK)
    with joblib.parallel_config(backend="threading"):
        board = study.run(range(3), n_jobs=2)
    np.testing.assert_array_equal(board.scores("cca+nn"), study.run(range(3)).scores("cca+nn"))
    assert not calls


@pytest.mark.slow
def test_two_jobs_and_one_give_the_same_records(tmp_path):
    study = Study.of(numbered_pair(), [*QUICK, "mlhd, permuted"], protocol=PROTOCOL, target_transformer=PCA(2))
    boards = [study.run(seeds=range(4), n_jobs=n, folder=f) for n, f in ((1, None), (2, None), (1, tmp_path))]
    scores = [[board.scores(name) for name in study.columns] for board in boards]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


def test_a_loader_gives_each_trial_a_pair_of_its_own():
    seeds = []

    def load(*, random_state):
        seeds.append(random_state)
        return load_toy(random_state)

    study = Study.of(load, QUICK)
    assert study.redrawn
    board = study.run(seeds=(3, 5))
    assert seeds == [3, 5]
    assert board.difference("cca+nn", "target 1-NN").n_clusters == 2


def test_seeds_on_the_same_rows_are_no_evidence():
    """Twenty identical trials would otherwise be p < .001 for whatever difference one split happens to show."""
    study = Study.of(load_toy(), QUICK)
    assert not study.redrawn
    board = study.run(seeds=range(20))
    assert np.ptp(board.scores("cca+nn")) == 0
    with pytest.raises(InputError, match="expected two trials with rows of their own"):
        board.difference("cca+nn", "target 1-NN")
    assert board.claims([("cca+nn", "target 1-NN")])[0].verdict == "not run"
    groups = {str(k): load_toy(k) for k in range(3)}
    found = Study.of(groups, QUICK).run(seeds=range(20)).difference("cca+nn", "target 1-NN")
    assert found.n_clusters == 3


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_fits_warn_of_is_told_once_at_the_end_with_its_count(capsys, n_jobs):
    X = numbered_pair().X_source
    study = Study.of(numbered_pair(X_source=X + 1e6), ["mlhd", "mlhd, noise", "target 1-NN"], protocol=PROTOCOL)
    with pytest.warns(DataWarning) as told:
        study.run(seeds=range(3), n_jobs=n_jobs)
    (text,) = {str(w.message) for w in told if "X_source: the mean is far from" in str(w.message)}
    assert text.endswith("(6 times)")
    assert len(told) == len({str(w.message) for w in told})
    for action in ("always", "ignore"):  # what is silenced is not said beside the progress either
        with warnings.catch_warnings():
            warnings.simplefilter(action, DataWarning)
            study.run(seeds=range(3), n_jobs=n_jobs, progress=True)
        assert (f"study: {text}" in capsys.readouterr().err.splitlines()) == (action == "always")


def refuse(self, *rows):
    raise InputError("rows: expected better ones, got these.")


def test_a_failed_fit_is_marked_and_not_averaged_over(monkeypatch):
    monkeypatch.setattr(MLHD, "fit", refuse)
    board = Study.of(numbered_pair(), ["mlhd", "target 1-NN"], protocol=PROTOCOL).run(seeds=range(3))
    assert board.table().rows[0] == ("mlhd", "", "–†")
    assert board.table().rows[1][2] != "–"
    with pytest.raises(InputError, match=r"^mlhd: expected a score in every trial, got 3 without \(failed: rows"):
        board.difference("mlhd", "target 1-NN")


def test_readings_grids_and_own_rows():
    def blind(rows, seed):
        return replace(rows, X_target=0 * rows.X_target, X_test=0 * rows.X_test)

    mlhd = Entrant(
        "mlhd", MLHD(pair_weight=1.0), {"pair_weight": (0.1, 1.0)}, readings={"second": predict_by_target_rows}
    )
    entrants = [mlhd, Entrant("noise", MLHD(), control=True, rows=CorruptedRows("noise")),
                Entrant("blind", TargetOnly(), rows=blind), "target 1-NN"]  # fmt: skip
    study = Study.of(load_toy, entrants)
    board = study.run(seeds=range(2), settings=("default", "oracle", "selected"))
    assert study.columns == ("mlhd", "second", "noise", "blind", "target 1-NN")
    assert study.controls == ("noise", "target 1-NN")
    assert [[len(r.grid) for r in row] for row in board.records("second", "oracle")] == [[2, 2]]
    assert (board.scores("mlhd", "oracle") >= board.scores("mlhd")).all()
    assert np.isnan(board.scores("noise", "oracle")).all()
    assert set(board.scores("blind").ravel()) == {0.5}
    assert board.scores("noise").mean() < board.scores("mlhd").mean()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Study.of(load_toy, ["svm"]), "system: expected one of 'mlhd'"),
        (lambda: Study.of(load_toy, []), "systems: expected at least one, each with a name of its own, got none"),
        (lambda: Study.of(load_toy, ["mlhd", "mlhd"]), "systems: expected at least one, .*, got 'mlhd' twice"),
        (lambda: Study.of(load_toy, "mlhd"), "systems: expected names or entrants in a list, got 'mlhd'"),
        (lambda: Study.of(load_toy, MLHD()), r"systems: expected names or entrants in a list, got MLHD\(\)"),
        (
            lambda: Study.of(load_toy, [MLHD()]),
            r"systems: expected names or Entrant\(name, estimator\), got MLHD\(\)",
        ),
        (
            lambda: Study.of(np.eye(3), QUICK),
            "data: expected a DomainPair or a function that loads one, got array",
        ),
        (
            lambda: Study.of({"a": None}, QUICK),
            "data: expected a DomainPair or a function that loads one, got None",
        ),
        (lambda: Study.of({1: load_toy}, QUICK), "data: expected names that are texts, got 1"),
        (lambda: Study.of({}, QUICK), "groups: expected at least one"),
        (lambda: Study.of(lambda random_state: 3, QUICK).run((0,)), "data: expected a DomainPair or .*, got 3"),
        (lambda: Study.of(load_toy, QUICK, protocol="x"), "protocol: expected a Protocol or None, got 'x'"),
        (lambda: Study.of(load_toy, QUICK, source_transformer=PCA), "source_transformer: expected None or an object"),
        (
            lambda: Study.of(load_toy, QUICK, target_transformer="pca"),
            "target_transformer: expected None or an object",
        ),
        (
            lambda: Study.of(load_toy, QUICK, target_transformer=PCA(50)).run((0,)),
            "target_transformer: expected rows that PCA can take, got 'n_components=50 must be",
        ),
        (lambda: Entrant("x", 3), "x: expected an estimator or a function that makes one, got 3"),
        (lambda: Entrant("x", dict), "x: expected an estimator or a function that makes one, got {}"),
        (lambda: Entrant("x", MLHD, {"weight": (1.0,)}), "x, grid: expected one of .*, got 'weight'"),
        (
            lambda: Entrant("x", MLHD, {"solver": "newton"}),
            "x, grid: expected a tuple of values for solver, got 'newton'",
        ),
        (lambda: Entrant("x", MLHD, {"tol": 1e-3}), "x, grid: expected a tuple of values for tol, got 0.001"),
        (lambda: Study.of(load_toy, QUICK).run(3), r"seeds: expected whole numbers, such as range\(20\), got 3"),
        (
            lambda: Study.of(load_toy, QUICK).run((0,), settings="default"),
            "settings: expected names in a tuple, got 'd",
        ),
        (
            lambda: Study.of(load_toy, QUICK).run((0,), variants="raw"),
            "variants: expected names in a tuple, got 'raw'",
        ),
        (
            lambda: Study.of(load_toy, QUICK).run((0,), folder=__file__),
            ".*: expected a folder that can be written",
        ),
        (
            lambda: Study.of(load_toy, QUICK).run((0,), folder=f"{__file__}/x"),
            ".*: expected a folder that can be written",
        ),
        (lambda: Study.of(load_toy, QUICK).run(seeds=()), r"seeds: expected at least one and none twice"),
        (lambda: Study.of(load_toy, QUICK).run(seeds=(1, 1)), r"seeds: expected at least one and none twice"),
        (lambda: Study.of(load_toy, QUICK).run(seeds=(-1,)), r"seeds: expected a whole number of at least 0, got -1"),
        (lambda: Study.of(load_toy, QUICK).run(n_jobs=0), r"n_jobs: expected at least 1, or -1 for all cores, got 0"),
        (lambda: Study.of(load_toy, QUICK).run((0,), settings=("best",)), "settings: expected one of 'default'"),
        (lambda: Study.of(load_toy, QUICK).run((0,), variants=("raw",)), "variants: expected one of ''"),
        (lambda: Study.of(load_toy, QUICK).run((0,)).claims([("mlhd", "cca+nn")]), "system: expected one of"),
    ],
)
def test_bad_questions_are_refused_in_one_sentence(call, message):
    with pytest.raises(InputError, match=f"^{message}"):
        call()


# --- fingerprints ---------------------------------------------------------------------------------------------------


def marks(study):
    return {column: study.fingerprint("", column, "default") for column in study.columns}


def base(**changes):
    asked = {"protocol": PROTOCOL, "target_transformer": PCA(2)} | changes
    return Study.of(asked.pop("data", numbered_pair()), asked.pop("systems", ["mlhd", "target 1-NN"]), **asked)


def test_the_same_question_has_the_same_fingerprint():
    assert marks(base()) == marks(base())
    assert len(set(marks(base()).values())) == 2


CHANGES = {
    "protocol": {"protocol": replace(PROTOCOL, labelled_per_class=2)},
    "preparation": {"target_transformer": PCA(1)},
    "kind of preparation": {"target_transformer": StandardScaler()},
    "source preparation": {"source_transformer": StandardScaler()},
    "rows": {"data": numbered_pair(X_source=numbered_pair().X_source + 1e-9)},
    "labels": {"data": numbered_pair(y_test=1 - numbered_pair().y_test)},
    "loader": {"data": load_toy},
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES.keys())
def test_other_rows_are_another_fingerprint_for_everyone(changes):
    before, after = marks(base()), marks(base(**changes))
    assert all(before[column] != after[column] for column in before)


SYSTEMS = {
    "a parameter": Entrant("mlhd", MLHD(pair_weight=2.0)),
    "a class of the same name": Entrant("mlhd", TargetOnly()),
    "rows of its own": Entrant("mlhd", MLHD, rows=CorruptedRows("noise")),
    "a kernel": Entrant("mlhd", MLHD("rbf", "rbf")),
}


@pytest.mark.parametrize("entrant", SYSTEMS.values(), ids=SYSTEMS.keys())
def test_another_system_is_another_fingerprint_for_it_alone(entrant):
    before, after = marks(base()), marks(base(systems=[entrant, "target 1-NN"]))
    assert before["mlhd"] != after["mlhd"]
    assert before["target 1-NN"] == after["target 1-NN"]
    assert marks(base(systems=[Entrant("mlhd", MLHD), "target 1-NN"])) == before


def test_readings_grids_and_figures_enter_where_they_matter():
    def study(figures=None, **changes):
        return Study.of(load_toy, [Entrant("mlhd", MLHD, **changes)], figures=figures)

    plain, wide = study(), study(grid={"pair_weight": (1.0, 2.0)})
    assert plain.fingerprint("", "mlhd", "default") == wide.fingerprint("", "mlhd", "default")
    assert wide.fingerprint("", "mlhd", "oracle") != study(grid={"pair_weight": (1.0,)}).fingerprint(
        "", "mlhd", "oracle"
    )
    assert wide.fingerprint("", "mlhd", "oracle") != wide.fingerprint("", "mlhd", "selected")
    noted = study({"steps": lambda fit: float(fit.model.n_iter_)})
    assert noted.fingerprint("", "mlhd", "default") != plain.fingerprint("", "mlhd", "default")
    one, two = (study(readings={"r": r}) for r in (predict_by_target_rows, lambda model, rows, X: model.predict(X)))
    assert one.fingerprint("", "r", "default") != two.fingerprint("", "r", "default")
    assert one.fingerprint("", "mlhd", "default") == two.fingerprint("", "mlhd", "default")


def test_a_fingerprint_has_no_address_and_sees_what_differs():
    class Plain:
        def __init__(self, size):
            self.size = size

    values = [Plain(1), Plain(2), lambda x: x + 1, lambda x: x + 2, partial(load_digits, 2), partial(load_digits, 3),
              {"a": np.arange(3)}, {"a": np.arange(3.0)}, sp.eye(3, format="csr"), np.array(["a", None], dtype=object),
              FunctionTransformer(np.sqrt), FunctionTransformer(np.log), MLHD, MLHD(), None, 1, 1.0, "1"]  # fmt: skip
    marks = [fingerprint(value) for value in values]
    assert len(set(marks)) == len(values)
    assert fingerprint(Plain(1)) == marks[0]
    assert "0x" not in as_json_value(lambda x: x)


def drawn_from(generator):
    generator.normal()
    return generator


def middle(n, value):
    cells = list(range(n))
    cells[n // 2] = value
    return cells


DIFFERENT = {
    "generators": (np.random.default_rng(0), np.random.default_rng(1)),
    "generators of one kind, drawn from": (np.random.default_rng(0), drawn_from(np.random.default_rng(0))),
    "old generators": (np.random.RandomState(0), np.random.RandomState(1)),
    "seed sequences": (np.random.SeedSequence(0), np.random.SeedSequence(1)),
    "lists": (middle(5000, 0), middle(5000, 1)),
    "object arrays": (
        np.array([None, np.arange(3000)], dtype=object),
        np.array([None, middle(3000, 0)], dtype=object),
    ),
    "masks": (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])),
    "COO": (sp.coo_array(np.eye(3)), sp.coo_array(2 * np.eye(3))),
    "dates": (np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-02"], "M8[D]")),
    "bound methods": (np.random.default_rng(0).normal, np.random.default_rng(1).normal),
    "defaults of functions": (lambda x=1: x, lambda x=2: x),
    "inner functions": (lambda X: [x + 1 for x in X], lambda X: [x + 2 for x in X]),
    "sets": (set(middle(5000, 0)), set(middle(5000, 5001))),
}


@pytest.mark.parametrize(("one", "two"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_content_that_differs_anywhere_is_another_fingerprint(one, two):
    assert fingerprint(one) == fingerprint(copy.deepcopy(one)) != fingerprint(two)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("cell", [-1, None, "word"])
def test_a_frame_that_differs_in_the_middle_is_another(library, cell):
    module = pytest.importorskip(library)
    words = library == "polars" and isinstance(cell, str)
    frames = [
        module.DataFrame({"a": list(map(str, cells)) if words else cells, "b": [1.5] * 1000})
        for cells in (list(range(1000)), middle(1000, cell), list(range(1000)))
    ]
    first, second, again = map(fingerprint, frames)
    assert first == again != second
    assert len({fingerprint(frame["a"]) for frame in frames}) == 2


def test_the_index_and_the_categories_of_a_frame_count():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2]})
    other = [frame.set_axis(index, axis=0) for index in ([1, 0], pd.to_datetime(["2020", "2021"]))]
    kinds = [pd.Series(pd.Categorical(["u", "v"], categories=names)) for names in (["u", "v"], ["v", "u"])]
    assert len(set(map(fingerprint, [frame, *other, *kinds]))) == 5


def test_one_content_in_another_layout_is_the_same():
    A = np.arange(12.0).reshape(3, 4)
    assert fingerprint(A) == fingerprint(np.asfortranarray(A)) == fingerprint(A[::-1].copy()[::-1])
    assert fingerprint(A) != fingerprint(A.T.copy()) != fingerprint(A.astype(np.float32))
    assert fingerprint(sp.csr_array(A)) == fingerprint(sp.coo_array(A)) == fingerprint(sp.csc_array(A))


def test_sets_and_mappings_have_no_order_and_cycles_end():
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    held = {"x": 1}
    held["self"] = held
    assert fingerprint(held) == fingerprint(copy.deepcopy(held)) != fingerprint({"x": 1})


def test_where_in_the_package_a_class_is_does_not_matter(monkeypatch):
    """Modules may be moved: what is asked is the same."""
    before, alone = fingerprint(MLHD(), RBF(1.0), load_digits), fingerprint(MLHD())
    for each in (MLHD, RBF, load_digits):
        monkeypatch.setattr(each, "__module__", "isthmus.somewhere.else_")
    assert fingerprint(MLHD(), RBF(1.0), load_digits) == before
    monkeypatch.setattr(MLHD, "__module__", "another.package")
    assert fingerprint(MLHD()) != alone


@pytest.mark.slow
def test_a_text_is_the_same_in_another_process():
    code = (
        "from isthmus.study.records import fingerprint; import numpy as np; "
        "print(fingerprint({'a', 'b', 'c'}, np.random.default_rng(0), lambda x: x in {'u', 'v', 'w'}))"
    )
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    found = [
        subprocess.run([sys.executable, "-c", code], env=os.environ | paths | {"PYTHONHASHSEED": seed}, **CAPTURED)
        for seed in ("1", "2")
    ]
    assert found[0].stdout == found[1].stdout != ""


def test_the_version_of_the_package_enters(monkeypatch):
    before = fingerprint("a")
    monkeypatch.setattr("isthmus.study.records.__version__", "99")
    assert fingerprint("a") != before


# --- resuming -------------------------------------------------------------------------------------------------------


def text(folder):
    return (folder / "study.jsonl").read_text(encoding="utf-8")


KINDS = {
    "yes or no": ({"within_domain": (True, False)}, (True, False)),
    "nothing": ({"n_components": (None, 2)}, (None, 2)),
    "NumPy's numbers": ({"pair_weight": np.array([0.5, 2.0])}, (0.5, 2.0)),
    "NumPy's whole numbers": ({"max_iter": tuple(np.arange(200, 202))}, (200, 201)),
    "a tuple": ({"bounds": ((0.4, 1.2), (0.6, 1.4))}, ("(0.4, 1.2)", "(0.6, 1.4)")),
    "an object": ({"source_kernel": (RBF(1.0), RBF(2.0))}, (repr(RBF(1.0)), repr(RBF(2.0)))),
}


@pytest.mark.parametrize(("grid", "kept"), KINDS.values(), ids=KINDS.keys())
def test_whatever_a_grid_holds_its_records_are_read_back(tmp_path, grid, kept):
    """A folder that its own study can't read any more is a day's work lost."""
    ((name, _),) = grid.items()
    study = Study.of(numbered_pair(), [Entrant("x", MLHD(), grid=grid)], protocol=PROTOCOL)
    board = study.run(range(2), settings=("oracle",), folder=tmp_path)
    again = study.run(range(2), settings=("oracle",), folder=tmp_path)
    assert again.records("x", "oracle") == board.records("x", "oracle")
    assert np.isfinite(board.scores("x", "oracle")).all()
    values = [record.parameters[name] for record in RecordStore(tmp_path, "study").read().values()]
    assert all(value in kept and type(value) in set(map(type, kept)) for value in values)


def test_a_figure_may_be_any_number_of_numpy_and_is_left_out_where_there_is_none(tmp_path):
    figures = {"float32": lambda fit: np.float32(0.5), "none": lambda fit: np.nan}
    Study.of(numbered_pair(), ["mlhd"], protocol=PROTOCOL, figures=figures).run((0,), folder=tmp_path)
    assert [r.figures for r in RecordStore(tmp_path, "study").read().values()] == [{"float32": 0.5}]


def test_more_seeds_and_systems_run_only_what_is_missing(tmp_path, monkeypatch):
    fits = []
    real = TargetOnly.fit
    monkeypatch.setattr(TargetOnly, "fit", lambda self, *rows: fits.append(1) or real(self, *rows))
    base().run(seeds=range(3), folder=tmp_path)
    base(systems=["mlhd", "target 1-NN", "cca+nn"]).run(seeds=range(5), folder=tmp_path)
    assert len(fits) == 5
    assert len(RecordStore(tmp_path, "study").read()) == 15
    board = base().run(seeds=range(5), folder=tmp_path)
    assert len(fits) == 5
    assert np.isfinite(board.scores("mlhd")).all()


def test_a_stale_record_is_run_again_and_the_run_says_how_many(tmp_path, capsys):
    base().run(seeds=range(3), folder=tmp_path)
    changed = base(systems=[Entrant("mlhd", MLHD(pair_weight=100.0)), "target 1-NN"])
    kept = text(tmp_path)
    with pytest.warns(
        UserWarning, match=r"^3 records of another version, or of other systems or rows, moved to .*aside"
    ):
        board = changed.run(seeds=range(3), folder=tmp_path)
    np.testing.assert_array_equal(board.scores("mlhd"), changed.run(seeds=range(3)).scores("mlhd"))
    aside = (tmp_path / "study.set-aside.jsonl").read_text(encoding="utf-8")
    assert aside == "".join(line for line in kept.splitlines(keepends=True) if '"mlhd"' in line)
    assert [line for line in text(tmp_path).splitlines() if "1-NN" in line] == [
        line for line in kept.splitlines() if "1-NN" in line
    ]
    base(protocol=replace(PROTOCOL, test=15)).run(seeds=range(3), folder=tmp_path, progress=True)
    assert "study: 6 records of another version, or of other systems or rows, moved to " in capsys.readouterr().err


LOADS = []


def test_records_of_other_data_are_run_again(tmp_path):
    """A loader has the same name and the same code whatever is in the file that it reads."""
    file, loads = tmp_path / "shift", LOADS

    def load(random_state):
        LOADS.append(random_state)
        shift = float(file.read_text().split(",")[random_state])
        return numbered_pair(X_target=numbered_pair().X_target + shift)

    def run(study, **changes):
        return study.run(seeds=range(3), folder=tmp_path / "runs", **changes)

    study = Study.of(load, ["target 1-NN"], protocol=PROTOCOL)
    file.write_text("0,0,0")
    run(study)
    assert sorted(loads) == [0, 1, 2]  # a first run loads no more than it needs
    kept = text(tmp_path / "runs")
    run(study)
    assert text(tmp_path / "runs") == kept
    file.write_text("0,1,0")  # for one seed only, and the study is the same object
    with pytest.warns(UserWarning, match="^1 records of another version, or of other systems or rows, moved to"):
        run(study)
    changed = [a != b for a, b in zip(kept.splitlines(), text(tmp_path / "runs").splitlines(), strict=True)]
    assert changed == [False, True, False]
    del loads[:]
    records = RecordStore(tmp_path / "runs", "study").read().values()
    assert study.board(records, range(3)).count_outdated_records() == 0
    assert loads == []  # a table is made without the data


@pytest.mark.parametrize("lost", ["fingerprint", "version"])
def test_records_of_another_version_or_without_a_fingerprint_are_not_reused(tmp_path, monkeypatch, lost):
    study = base()
    study.run(seeds=range(2), folder=tmp_path)
    results = RecordStore(tmp_path, "study")
    if lost == "fingerprint":
        results.add([replace(r, fingerprint=None) for r in results.read().values()])
        results.merge()
    else:
        monkeypatch.setattr("isthmus.study.records.__version__", "99")
        study = base()
    with pytest.warns(UserWarning, match="^4 records of another version"):
        study.run(seeds=range(2), folder=tmp_path)


def test_a_table_says_how_many_of_its_records_are_out_of_date(tmp_path):
    study = base()
    study.run(seeds=range(2), folder=tmp_path)
    found = list(RecordStore(tmp_path, "study").read().values())

    def note(records):
        return [note for note in study.board(records, range(2)).table().notes if "replaces" in note]

    assert note(found) == []
    assert note([replace(r, fingerprint=None) for r in found]) == []  # of this version, from before fingerprints
    old = [replace(found[0], versions="isthmus 0.0.1, numpy 1", fingerprint=None), *found[1:]]
    assert note(old) == ["1 records are of another version, or of other systems or rows: a new run replaces them."]
    assert note([replace(r, fingerprint=f"{SCHEME}0") for r in found])[0].startswith(
        "4 records are of another version"
    )


def test_fingerprints_of_an_earlier_scheme_are_shown_by_version_and_never_resumed(tmp_path):
    """Pages of committed records are rendered as they are; nothing says that a new run would find the same."""
    study = base()
    study.run(seeds=range(2), folder=tmp_path)
    results = RecordStore(tmp_path, "study")
    old = [replace(r, fingerprint="0123456789abcdef") for r in results.read().values()]
    assert study.board(old, range(2)).count_outdated_records() == 0
    assert study.board([replace(r, versions="isthmus 0.0.1") for r in old], range(2)).count_outdated_records() == 4
    results.add(old)
    results.merge()
    with pytest.warns(UserWarning, match="^4 records of another version"):
        study.run(seeds=range(2), folder=tmp_path)


def test_a_system_that_is_not_there_is_told_by_every_reading_of_a_board():
    board = Study.of(load_toy, ["target 1-NN"]).run(seeds=range(2))
    for read in (board.scores, board.records, board.uncertified_groups):
        with pytest.raises(InputError, match="system: expected one of 'target 1-NN', got 'typo'"):
            read("typo")


def test_a_column_without_name_and_cells_is_printed_as_nothing():
    table = TextTable("", ("system", ""), (("mlhd", ""), ("arc", "")))
    assert str(table).splitlines() == ["system", "------", "mlhd", "arc"]
