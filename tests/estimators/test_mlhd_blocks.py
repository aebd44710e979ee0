"""MLHD by blocks is MLHD: the same distances under kernels and alignments, with pairs written out or not."""

import numpy as np
import pytest

from conftest import make_domains
from isthmus import MLHD
from isthmus.estimators import mlhd
from isthmus.solvers.blocks.problem import BlockProblem
from isthmus.solvers.blocks.solver import BlockNewton
from isthmus.solvers.newton import DualNewton
from problems import TIGHT

BLOCKS = BlockNewton(tol=1e-9)


@pytest.mark.parametrize(
    ("alignment", "kernel", "many", "pair_weight"),
    [
        (alignment, kernel, many, ["auto", 0.5][(i + j + k) % 2])
        for i, alignment in enumerate(["penalty", "constraint", "none"])
        for j, kernel in enumerate(["linear", "rbf"])
        for k, many in enumerate([10**9, 0])
    ],
)
def test_blocks_and_the_dual_learn_the_same_distances(monkeypatch, alignment, kernel, pair_weight, many):
    monkeypatch.setattr(mlhd, "MANY_PAIRS", many)
    domains = make_domains(3, n_source=30)
    settings = {"alignment": alignment, "pair_weight": pair_weight}
    dual, blocks = (MLHD(kernel, kernel, solver=s, **settings).fit(*domains.args) for s in (TIGHT, BLOCKS))
    assert isinstance(blocks.result_.problem, BlockProblem) == (many == 0)
    assert blocks.result_.solver == "BlockNewton"
    assert blocks.result_.primal == pytest.approx(dual.result_.primal, rel=1e-7)
    assert blocks.pair_weight_ == dual.pair_weight_
    distances = [model.pairwise_distances(domains.X_source, domains.X_target) for model in (dual, blocks)]
    np.testing.assert_allclose(*distances, rtol=2e-3)
    for ours, theirs in zip(blocks.result_.distances, dual.result_.distances, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=5e-3, atol=1e-3)


def test_words_choose_the_solver_and_the_result_says_which():
    domains = make_domains(1)
    assert MLHD().fit(*domains.args).result_.solver == "DualNewton"
    assert MLHD(solver="blocks").fit(*domains.args).result_.solver == "BlockNewton"
    many = make_domains(1, n_source=900, n_labelled=18)
    model = MLHD().fit(*many.args)
    assert model.result_.solver == "BlockNewton"
    exact = MLHD(solver=DualNewton(tol=1e-8)).fit(*many.args)
    np.testing.assert_array_equal(model.predict(many.X_target), exact.predict(many.X_target))
    assert model.result_.primal == pytest.approx(exact.result_.primal, rel=1e-6)


def test_pairs_within_domains_and_known_pairs_stay_with_the_dual(monkeypatch):
    monkeypatch.setattr(mlhd, "MANY_PAIRS", 0)
    domains = make_domains(2, n_source=30)
    within = MLHD(within_domain=True, tol=1e-3).fit(*domains.args)
    known = MLHD(tol=1e-3).fit(*domains.args, pairs=[[0, 0], [1, 1], [2, 2], [3, 3]])
    assert within.result_.solver == known.result_.solver == "DualNewton"


def test_rows_of_nothing_are_written_out(monkeypatch):
    monkeypatch.setattr(mlhd, "MANY_PAIRS", 0)
    domains = make_domains(2, n_source=30)
    domains.X_source[1], domains.X_target[0] = 0.0, 0.0  # of different classes
    with pytest.warns(UserWarning, match="of equal rows have different labels"):
        model = MLHD(tol=1e-3).fit(*domains.args)
    assert not isinstance(model.result_.problem, BlockProblem)
