"""An update ends where a fresh fit to all rows ends, by a shorter way, and a refused one changes nothing."""

import pickle

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import isthmus
from conftest import make_domains, one_sentence
from isthmus import MLHD, InputError, Landmarks, Saenko
from isthmus._core.rows import ArrayRows
from isthmus.estimators import mlhd
from isthmus.solvers.blocks.problem import BlockProblem
from isthmus.solvers.newton import DualNewton

D = make_domains(seed=101, n_source=60, n_target=40, n_labelled=12)
MORE = np.where(np.arange(40) < 16, D.y_true, -1)
"""Four more of the target rows have their label."""


def assert_same(updated, fresh, saved=True):
    """The same optimum, the same answers, and not more steps."""
    assert updated.result_.primal == pytest.approx(fresh.result_.primal, rel=2e-6)
    for name in ("pair_weight_", "bounds_", "alignment_weight_"):
        if hasattr(fresh, name):
            np.testing.assert_allclose(getattr(updated, name), getattr(fresh, name), rtol=1e-12)
    assert updated.n_features_ == fresh.n_features_
    assert updated.classes_.tolist() == fresh.classes_.tolist()
    assert updated.kernels_ == fresh.kernels_
    np.testing.assert_array_equal(updated.references_.y, fresh.references_.y)
    if saved:
        assert updated.n_iter_ < fresh.n_iter_


def assert_near(updated, fresh, X_source, X_target):
    distances = [model.pairwise_distances(X_source, X_target) for model in (updated, fresh)]
    np.testing.assert_allclose(*distances, atol=1e-3 * distances[1].max())


@pytest.mark.parametrize(
    ("solver", "kernel", "settings"),
    [
        ("dual", "linear", {}),
        ("dual", "rbf", {"alignment": "constraint"}),
        ("dual", "rbf", {"pair_weight": 1.0}),
        ("blocks", "linear", {"alignment": "constraint"}),
        ("blocks", "linear", {"pair_weight": 1.0}),
        ("blocks", "rbf", {}),
    ],
)
def test_more_labels_of_rows_that_were_there(solver, kernel, settings):
    model = MLHD(kernel, kernel, solver=solver, tol=1e-8, **settings)
    fresh = clone(model).fit(D.X_source, D.y_source, D.X_target, MORE)
    updated = model.fit(*D.args).update(y_target=MORE)
    assert_same(updated, fresh)
    assert_near(updated, fresh, D.X_source, D.X_target)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("many", [10**9, 0])
def test_new_rows_of_both_domains(monkeypatch, kernel, many):
    monkeypatch.setattr(mlhd, "MANY_PAIRS", many)
    model = MLHD(kernel, kernel, solver="blocks" if many == 0 else "newton", tol=1e-8)
    fresh = clone(model).fit(D.X_source, D.y_source, D.X_target, MORE)
    updated = model.fit(D.X_source[:57], D.y_source[:57], D.X_target[:12], D.y_target[:12])
    updated.update(D.X_source[57:], D.y_source[57:], D.X_target[12:], MORE[12:])
    assert isinstance(updated.result_.problem, BlockProblem) == (many == 0)
    assert_same(updated, fresh, saved=False)
    assert_near(updated, fresh, D.X_source, D.X_target)
    updated.update(X_target=D.X_target[:3] + 0.1, y_target=[-1, -1, -1])
    assert updated.references_.y.tolist() == fresh.references_.y.tolist()
    assert updated.n_iter_ < fresh.n_iter_ or kernel == "rbf"


def test_blocks_go_on_where_the_dual_has_begun_and_they_are_quicker():
    some = make_domains(seed=102, n_source=150, n_target=60, n_labelled=18)
    more = np.where(np.arange(60) < 24, some.y_true, -1)
    model, fresh = (
        MLHD(tol=1e-8).fit(*some.args),
        MLHD(tol=1e-8).fit(some.X_source, some.y_source, some.X_target, more),
    )
    assert model.result_.solver == fresh.result_.solver == "DualNewton"
    assert_same(model.update(y_target=more), fresh)
    assert model.result_.solver == "BlockNewton"
    insisting = MLHD(tol=1e-8, solver="dual").fit(*some.args).update(y_target=more)
    assert insisting.result_.solver == "DualNewton"
    assert_same(insisting, fresh, saved=False)


def test_landmarks_carry_the_metric(monkeypatch):
    monkeypatch.setattr(mlhd, "MANY_PAIRS", 0)
    rbf = Landmarks(isthmus.RBF(3.0), 20)
    model = MLHD(rbf, rbf, tol=1e-8)
    fresh = clone(model).fit(D.X_source, D.y_source, D.X_target, MORE)
    assert isinstance(fresh.result_.problem, BlockProblem)
    assert_same(model.fit(*D.args).update(y_target=MORE), fresh)


def test_pairs_within_domains_and_other_parameters():
    model = MLHD(within_domain=True, tol=1e-8).fit(*D.args).update(y_target=MORE)
    assert_same(model, MLHD(within_domain=True, tol=1e-8).fit(D.X_source, D.y_source, D.X_target, MORE))
    model.set_params(within_domain=False, alignment="constraint").update()
    # Another model: a warm start may save no step.
    fresh = MLHD(alignment="constraint", tol=1e-8).fit(D.X_source, D.y_source, D.X_target, MORE)
    assert_same(model, fresh, saved=False)
    model.set_params(pair_weight=0.2).update()
    other = MLHD(alignment="constraint", pair_weight=0.2, tol=1e-8)
    assert_same(model, other.fit(D.X_source, D.y_source, D.X_target, MORE))


def test_labels_can_be_taken_back_and_changed():
    y = MORE.copy()
    y[0], y[5] = -1, (y[5] + 1) % 3
    model = MLHD(tol=1e-8).fit(D.X_source, D.y_source, D.X_target, MORE).update(y_target=y)
    assert_same(model, MLHD(tol=1e-8).fit(D.X_source, D.y_source, D.X_target, y), saved=False)


def test_known_pairs_are_kept_by_row_number():
    rows, ids = slice(0, 30), ([*range(30)], [*range(29, -1, -1)])
    model = MLHD(tol=1e-8).fit(D.X_source[rows], None, D.X_target[rows], None, pairs=ids)
    model.update(X_target=D.X_target[30:])
    pairs = [[i, 29 - i] for i in range(30)]
    fresh = MLHD(tol=1e-8).fit(D.X_source[rows], None, D.X_target, None, pairs=pairs)
    assert_same(model, fresh, saved=False)
    model.update(X_source=D.X_source[30:], pairs=[*pairs, [30, 30]])
    fresh = MLHD(tol=1e-8).fit(D.X_source, None, D.X_target, None, pairs=[*pairs, [30, 30]])
    assert_same(model, fresh, saved=False)


def test_saenko_too():
    X_target = np.hstack([D.X_target, D.X_target])[:, : D.X_source.shape[1]]
    fresh = Saenko(tol=1e-8).fit(D.X_source, D.y_source, X_target, MORE)
    model = Saenko(tol=1e-8).fit(D.X_source, D.y_source, X_target, D.y_target).update(y_target=MORE)
    assert_same(model, fresh, saved=False)


def frames(X, kind):
    names = [f"x{k}" for k in range(X.shape[1])]
    return pd.DataFrame(X, columns=names) if kind == "pandas" else pl.DataFrame(X, schema=names, orient="row")


@pytest.mark.parametrize("kind", ["list", "sparse", "pandas", "polars"])
def test_rows_of_any_kind_with_a_transformer(kind):
    as_kind = {"list": np.ndarray.tolist, "sparse": sp.csr_array}.get(kind, lambda X: frames(X, kind))
    scaler = StandardScaler(with_mean=kind != "sparse")
    model = MLHD(source_transformer=scaler, target_transformer=scaler, tol=1e-8)
    names = np.array(["cat", "dog", "eel"])
    labels = np.where(D.y_target >= 0, names[D.y_target], None)
    fresh = clone(model).fit(as_kind(D.X_source), names[D.y_source], as_kind(D.X_target), labels)
    model.fit(as_kind(D.X_source[:55]), names[D.y_source[:55]], as_kind(D.X_target[:30]), labels[:30])
    model.update(as_kind(D.X_source[55:]), names[D.y_source[55:]], as_kind(D.X_target[30:]), labels[30:].tolist())
    assert_same(model, fresh, saved=False)
    assert model.classes_.dtype == fresh.classes_.dtype
    assert_near(model, fresh, as_kind(D.X_source), as_kind(D.X_target))
    np.testing.assert_allclose(model.transformers_["target"].scale_, fresh.transformers_["target"].scale_)


def test_source_rows_in_blocks_and_on_dask():
    rows, names = ArrayRows(D.X_source, D.y_source), np.arange(3)
    fresh = MLHD(tol=1e-8).fit(rows, names, D.X_target, MORE)
    model = MLHD(tol=1e-8).fit(rows, names, D.X_target, D.y_target).update(y_target=MORE)
    assert_same(model, fresh)
    with pytest.raises(InputError, match="X_source: expected None, as rows in blocks can't be extended") as caught:
        model.update(X_source=D.X_source[:3], y_source=[0, 1, 2])
    assert one_sentence(caught)
    first, rest = (da.from_array(X, chunks=(30, -1)) for X in (D.X_source[:50], D.X_source[50:]))
    model = MLHD(tol=1e-8).fit(first, D.y_source[:50], D.X_target, D.y_target)
    model.update(rest, da.from_array(D.y_source[50:], chunks=5), y_target=MORE)
    assert_same(model, fresh, saved=False)
    with pytest.raises(InputError, match=r"X_source: expected \d columns, as in fit, got shape \(10, 2\)"):
        model.update(rest[:, :2], D.y_source[50:])


REFUSED = [
    ({"X_target": np.ones((2, 99)), "y_target": [0, 1]}, "X_target: expected . columns, as in fit, got 99"),
    ({"X_target": D.X_target[:2]}, "y_target: expected a label for each new row"),
    ({"X_target": D.X_target[:2], "y_target": [0]}, r"y_target: expected shape \(2,\) to match X_target, got \(1,\)"),
    ({"X_target": D.X_target[:2] * np.nan, "y_target": [0, 1]}, "X_target: expected finite numbers"),
    (
        {"X_target": frames(D.X_target, "pandas"), "y_target": MORE},
        "X_target: expected numpy.ndarray, as in fit, got",
    ),
    ({"y_target": MORE[:5]}, r"y_target: expected shape \(40,\) to match X_target, got \(5,\)"),
    ({"y_target": np.full(40, 7)}, "y_target: expected"),
    ({"X_source": D.X_source[:1], "y_source": [-1]}, "y_source: expected a label for every row"),
]


def test_what_is_refused_leaves_everything_as_it_was():
    model = MLHD().fit(*D.args)
    before = dict(vars(model))
    for arguments, message in REFUSED:
        with pytest.raises(InputError, match=message) as caught:  # noqa: PT012
            model.update(**arguments)
            pytest.fail(f"expected {message!r}")
        assert one_sentence(caught), message
        after = vars(model)
        assert after.keys() == before.keys(), message
        assert all(after[name] is before[name] for name in before), message


def test_gram_matrices_get_labels_but_no_rows():
    gram = [X @ X.T for X in (D.X_source, D.X_target)]
    model = MLHD("precomputed", "precomputed", tol=1e-8).fit(gram[0], D.y_source, gram[1], D.y_target)
    fresh = clone(model).fit(gram[0], D.y_source, gram[1], MORE)
    assert_same(model.update(y_target=MORE), fresh)
    with pytest.raises(InputError, match="X_target: expected None with a precomputed kernel") as caught:
        model.update(X_target=gram[1][:2], y_target=[0, 1])
    assert one_sentence(caught)


def test_inputs_and_parameters_stay_as_they_are():
    arrays = [np.array(a) for a in D.args]
    model = MLHD(tol=1e-8).fit(*arrays)
    parameters = model.get_params()
    model.update(y_target=MORE)
    for given, kept in zip(arrays, D.args, strict=True):
        np.testing.assert_array_equal(given, kept)
    assert model.get_params() == parameters
    assert not hasattr(clone(model), "_training_data")


def test_a_model_from_a_file_or_a_pickle_says_that_it_has_no_rows(tmp_path):
    model = MLHD().fit(*D.args)
    isthmus.save(model, tmp_path / "model.isthmus")
    for thawed in (isthmus.load(tmp_path / "model.isthmus"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(thawed.predict(D.X_target), model.predict(D.X_target))
        with pytest.raises(
            InputError, match="with the rows of its fit, got a copy without them, such as from a file"
        ) as caught:
            thawed.update(y_target=MORE)
        assert one_sentence(caught)
    with pytest.raises(ValueError, match="not fitted"):
        MLHD().update(y_target=MORE)


def test_a_solver_that_takes_no_start_is_asked_without():
    class Cold:
        def solve(self, problem, callback=None):
            return DualNewton().solve(problem, callback=callback)

    model = MLHD(solver=Cold()).fit(*D.args).update(y_target=MORE)
    fresh = MLHD(solver="dual").fit(*D.args[:3], MORE)
    assert model.result_.primal == pytest.approx(fresh.result_.primal, rel=2e-6)


def test_rows_without_labels_come_again_and_again_and_are_of_one_kind():
    model = MLHD().fit(D.X_source[:30], None, D.X_target[:30], None, pairs="rows")
    for _ in range(2):
        model.update(X_target=D.X_target[30:32])
    with pytest.raises(InputError, match="X_target: expected dense rows, as in fit, got sparse ones") as caught:
        model.update(X_target=sp.csr_matrix(D.X_target[30:32]))
    assert one_sentence(caught)
