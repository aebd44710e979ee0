"""Systems along a path of weights are those of single fits."""

import gc
import pickle
import weakref

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from conftest import make_domains, one_sentence
from isthmus import ARC, MLHD, InputError, weight_path
from isthmus._core.rows import ArrayRows
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
