"""Systems along a path of weights are those of single fits; a search finds what a grid search finds."""

import gc
import pickle
import weakref

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from conftest import make_domains, one_sentence
from isthmus import ARC, MLHD, InputError, WeightSearch, weight_path
from isthmus._core.rows import ArrayRows
from isthmus.data.splits import SemiSupervisedSplit
from isthmus.estimators import mlhd
from isthmus.exceptions import DataWarning
from isthmus.solvers.blocks.problem import BlockProblem

D = make_domains(seed=103, n_source=45, n_target=30, n_labelled=18, shift=0.7)
ALIGNMENT, PAIRS = [0.1, 2.0], [0.05, 0.5, 4.0]
CELLS = [(first, second) for second in PAIRS for first in ALIGNMENT]


def path(model, *rows, pair_weights=PAIRS, **options):
    return list(weight_path(model, *rows, alignment_weights=ALIGNMENT, pair_weights=pair_weights, **options))


@pytest.mark.parametrize("solver", ["dual", "blocks"])
@pytest.mark.parametrize("settings", [{}, {"source_kernel": "rbf", "target_kernel": "rbf"}, {"alignment": "constraint"},
                                      {"source_transformer": StandardScaler()}])  # fmt: skip
@pytest.mark.slow
def test_each_is_what_a_single_fit_gives(solver, settings):
    model = MLHD(solver=solver, tol=1e-8, **settings)
    found = path(model, *D.args)
    assert [(m.alignment_weight, m.pair_weight) for m in found] == CELLS
    steps = 0
    for warm in found:
        cold = clone(warm).fit(*D.args)
        assert warm.result_.primal == pytest.approx(cold.result_.primal, rel=2e-7)
        assert (warm.alignment_weight_, warm.pair_weight_) == (warm.alignment_weight, warm.pair_weight)
        assert warm.bounds_ == cold.bounds_
        distances = [m.pairwise_distances(D.X_source, D.X_target) for m in (warm, cold)]
        np.testing.assert_allclose(*distances, atol=1e-3 * distances[1].max())
        steps += warm.n_iter_ - cold.n_iter_
    assert steps < 0
    assert not hasattr(model, "result_"), "the given estimator stays unfitted"


@pytest.mark.parametrize("rows", [(ArrayRows(D.X_source, D.y_source), np.arange(3)), (D.X_source, D.y_source)])
def test_pairs_that_are_not_written_out(monkeypatch, rows):
    monkeypatch.setattr(mlhd, "MANY_PAIRS", 0)
    for warm in path(MLHD(tol=1e-8), *rows, D.X_target, D.y_target, pair_weights=PAIRS[:2]):
        assert isinstance(warm.result_.problem, BlockProblem)
        assert warm.result_.primal == pytest.approx(clone(warm).fit(*D.args).result_.primal, rel=2e-7)


def test_known_pairs():
    pairs = [[i, i] for i in range(20)]
    for warm in path(MLHD(tol=1e-8), *D.args, pair_weights=PAIRS[:2], pairs=pairs):
        cold = clone(warm).fit(*D.args, pairs=pairs)
        assert warm.result_.primal == pytest.approx(cold.result_.primal, rel=2e-7)


def test_the_path_is_lazy_and_its_models_are_like_any_other():
    seen = []
    models = weight_path(MLHD(progress=seen.append), *D.args, alignment_weights=ALIGNMENT)
    assert not seen
    first = next(models)
    assert first.pair_weight == "auto"
    thawed = pickle.loads(pickle.dumps(first.set_params(progress=False)))
    np.testing.assert_array_equal(thawed.predict(D.X_target), first.predict(D.X_target))
    assert first.update(y_target=D.y_true).references_.y.tolist() == [*D.y_source, *D.y_true]
    assert len(list(models)) == len(ALIGNMENT) - 1


def test_bad_weights_are_told_before_anything_is_done():
    with pytest.raises(InputError, match="pair_weight: expected a number of at least 0, got -1") as caught:
        weight_path(MLHD(), *D.args, pair_weights=[1.0, -1.0])
    assert one_sentence(caught)
    with pytest.raises(InputError, match="alignment_weights: expected a list of weights, got 3"):
        weight_path(MLHD(), *D.args, alignment_weights=3)
    with pytest.raises(InputError, match="estimator: expected an MLHD, got ARC"):
        weight_path(ARC(), *D.args)


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
@pytest.mark.slow
def test_a_search_finds_what_a_grid_search_finds(scoring):
    over_target = MLHD(tol=1e-8, n_neighbors=5).given_source(D.X_source, D.y_source)
    cv = SemiSupervisedSplit(3)
    weights = {"estimator__alignment_weight": ALIGNMENT, "estimator__pair_weight": PAIRS}
    plain = GridSearchCV(over_target, weights, cv=cv, scoring=scoring, error_score="raise").fit(
        D.X_target, D.y_target
    )
    ours = WeightSearch(over_target, ALIGNMENT, PAIRS, cv=3, scoring=scoring).fit(D.X_target, D.y_target)
    assert ours.best_params_ == plain.best_params_
    assert ours.best_index_ == plain.best_index_
    assert ours.cv_results_["params"] == plain.cv_results_["params"]
    for name in ("mean_test_score", "std_test_score", "rank_test_score", "split2_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], plain.cv_results_[name], rtol=1e-9)
    assert set(ours.cv_results_) == {name for name in plain.cv_results_ if "time" not in name}
    np.testing.assert_array_equal(ours.predict(D.X_target), plain.predict(D.X_target))
    np.testing.assert_array_equal(ours.transform(D.X_target), plain.transform(D.X_target))
    assert ours.score(D.X_target, D.y_true) == plain.score(D.X_target, D.y_true)
    assert ours.n_splits_ == plain.n_splits_


@pytest.mark.slow
def test_a_search_over_frames_with_a_transformer_in_two_processes():
    frame, labels = pd.DataFrame(D.X_target).add_prefix("x"), [None if c < 0 else "abc"[c] for c in D.y_target]
    over_target = MLHD(target_transformer=StandardScaler()).given_source(
        D.X_source, np.array(list("abc"))[D.y_source]
    )
    search = WeightSearch(over_target, pair_weights=PAIRS, cv=2, n_jobs=2)
    twice = [s.fit(frame, labels) for s in (search, clone(search).set_params(n_jobs=None))]
    assert twice[0].cv_results_["params"] == twice[1].cv_results_["params"]
    np.testing.assert_array_equal(*(s.cv_results_["mean_test_score"] for s in twice))
    assert search.classes_.tolist() == ["a", "b", "c"]


def test_a_search_over_something_else_is_refused():
    with pytest.raises(InputError, match=r"estimator: expected MLHD\(…\)\.given_source\(…\), got MLHD\(\)") as caught:
        WeightSearch(MLHD()).fit(D.X_target, D.y_target)
    assert one_sentence(caught)
    with pytest.raises(ValueError, match="not fitted"):
        WeightSearch(MLHD().given_source(D.X_source, D.y_source)).predict(D.X_target)


def test_a_cell_without_a_score_ranks_last_as_in_a_grid_search():
    def scoring(model, X, y):
        return np.nan if model.estimator.pair_weight == 0.001 else 0.9

    over_target = MLHD().given_source(D.X_source, D.y_source)
    with pytest.warns(UserWarning, match="1 of 2 pairs of weights have no score in some fold, and rank last"):
        search = WeightSearch(over_target, None, [0.001, 0.1], cv=3, scoring=scoring).fit(D.X_target, D.y_target)
    assert (search.best_index_, search.best_score_) == (1, 0.9)
    assert search.cv_results_["rank_test_score"].tolist() == [2, 1]
    with pytest.raises(InputError, match="scoring: expected a score for some weights, got NaN for all of them"):
        WeightSearch(over_target, None, [0.001], cv=3, scoring=scoring).fit(D.X_target, D.y_target)


def test_bad_input_of_a_search_is_one_sentence():
    over_target = MLHD().given_source(D.X_source, D.y_source)
    for search, rows, words in (
        (WeightSearch(over_target), (D.X_target[:5], D.y_target), "y: expected shape"),
        (WeightSearch(over_target, scoring=["accuracy"]), (D.X_target, D.y_target), "scoring: expected one score"),
        (
            WeightSearch(over_target, [[1.0], [1.0, 2.0]]),
            (D.X_target, D.y_target),
            "alignment_weights: expected a list",
        ),
    ):
        with pytest.raises(InputError, match=words) as caught:
            search.fit(*rows)
        assert one_sentence(caught)


def test_a_search_has_what_its_estimator_has():
    over_target = MLHD(rule="linear").given_source(D.X_source, D.y_source)
    splits = list(SemiSupervisedSplit(3).split(D.X_target, D.y_target))
    search = WeightSearch(over_target, None, ["auto", 0.1], cv=splits).fit(D.X_target, D.y_target)
    assert search.n_features_in_ == D.X_target.shape[1]
    assert search.cv_results_["param_estimator__pair_weight"].tolist() == ["auto", 0.1]
    assert hasattr(search, "decision_function") == hasattr(search.best_estimator_, "decision_function")
    assert get_tags(search).input_tags.sparse


def test_nobody_but_the_caller_holds_the_models_of_a_path():
    alive = []
    gc.freeze()  # what was there before need not be searched for cycles
    try:
        for model in weight_path(MLHD(), *D.args, pair_weights=[0.01, 0.1, 1.0]):
            alive.append(weakref.ref(model))
            del model
            gc.collect()
            assert alive[-1]() is None
    finally:
        gc.unfreeze()


def test_a_path_complains_of_the_data_once():
    moved = D.X_source + 100.0, *D.args[1:]
    with pytest.warns(DataWarning, match="centre the rows first") as once:
        MLHD().fit(*moved)
    with pytest.warns(DataWarning, match="centre the rows first") as told:
        list(weight_path(MLHD(), *moved, pair_weights=[0.01, 0.1]))
    assert [str(each.message) for each in told] == [str(each.message) for each in once]
