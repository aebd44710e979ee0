"""Thousands of labelled target rows: met in strips, sampled for the curvature, and all of them in the certificate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus._core.rows import ArrayRows, sample_systematically
from isthmus.solvers.blocks import problem as metric_module
from isthmus.solvers.blocks import solver as levels
from isthmus.solvers.blocks.problem import BlockProblem, evaluate_metric, reduce_problem
from isthmus.solvers.blocks.solver import BlockNewton
from isthmus.solvers.logdet import LogDetProblem, Pairs
from isthmus.solvers.newton import DualNewton
from isthmus.solvers.result import Status


def problem(n=400, n_target=150, uneven=False, dtype=np.float64, seed=100):
    """Three classes, 5 and 4 columns; where weights are uneven, some target rows weigh a hundred times as much."""
    random = np.random.default_rng(seed)
    codes, y = random.integers(3, size=n), np.arange(n_target) % 3
    X = random.normal(size=(3, 5))[codes] + random.normal(size=(n, 5))
    Y = random.normal(size=(3, 4))[y] + random.normal(size=(n_target, 4))
    same = np.arange(3)[:, None] == y
    weight = 3000.0 / (n * n_target) * (np.where(np.arange(n_target) < 10, 100.0, 1.0) if uneven else 1.0)
    return BlockProblem(
        ArrayRows(X.astype(dtype), codes), Y, np.where(same, 1.0, -1.0), weight, np.where(same, 6.0, 18.0)
    )


def written_out(blocks):
    n, m, d = blocks.rows.n, len(blocks.target), blocks.rows.d
    rows = np.zeros((n + m, d + blocks.target.shape[1]))
    rows[:n, :d], rows[n:, d:] = blocks.rows.X, blocks.target
    tables = (table[blocks.rows.codes] for table in (blocks.sign, blocks.weight, blocks.bound))
    return LogDetProblem(rows, (Pairs(slice(0, n), slice(n, n + m), *tables),))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("uneven", [False, True])
def test_strips_make_no_difference(monkeypatch, dtype, uneven):
    task, rows = reduce_problem(problem(uneven=uneven))
    L = np.linalg.cholesky(np.eye(task.d) + 0.2)
    whole = evaluate_metric(task, rows, L, dtype)
    monkeypatch.setattr(metric_module, "WIDTH", 7)
    strips = evaluate_metric(task, rows, L, dtype)
    assert strips.loss == pytest.approx(whole.loss, rel=1e-5 if dtype == np.float32 else 1e-12)
    np.testing.assert_allclose(
        strips.E, whole.E, atol=(1e-4 if dtype == np.float32 else 1e-11) * np.abs(whole.E).max()
    )


@given(
    st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 3)), min_size=1, max_size=40),
    st.integers(0, 1000),
)
def test_a_systematic_sample_has_the_share_of_every_code(places, seed):
    chance, codes = np.array([p for p, _ in places]), np.array([c for _, c in places])
    drawn = sample_systematically(chance, codes, np.random.default_rng(seed))
    assert (np.diff(drawn) > 0).all()
    assert (chance[drawn] > 0.0).all()
    for code in np.unique(codes):
        assert abs((codes[drawn] == code).sum() - chance[codes == code].sum()) < 1.0 + 1e-9


def test_every_place_is_drawn_as_often_as_its_chance_says():
    random = np.random.default_rng(100)
    chance, codes = random.random(30), random.integers(3, size=30)
    often = np.zeros(30)
    for _ in range(4000):
        often[sample_systematically(chance, codes, random)] += 1.0
    np.testing.assert_allclose(often / 4000, chance, atol=0.04)  # five standard errors


@pytest.mark.parametrize("uneven", [False, True])
def test_the_gradient_of_an_importance_sample_is_right_in_the_mean(uneven):
    task, rows = reduce_problem(problem(uneven=uneven))
    L, random = np.eye(task.d), np.random.default_rng(100)
    E = evaluate_metric(task, rows, L, np.float64).E
    samples = [evaluate_metric(task.among(30, random), rows, L, np.float64).E for _ in range(225)]
    error = np.std(samples, axis=0) / 15.0
    assert (np.abs(np.mean(samples, axis=0) - E) <= 5.0 * error + 1e-9).all()
    assert np.median([len(task.among(30, random).target) for _ in range(20)]) <= 31


def test_heavy_rows_are_always_in_the_sample():
    task, _ = reduce_problem(problem(uneven=True))
    heavy = task.target[:10]
    for seed in range(20):
        drawn = task.among(40, np.random.default_rng(seed)).target
        assert all((drawn == row).all(axis=1).any() for row in heavy)


@pytest.mark.slow
@settings(max_examples=5)
@given(seed=st.integers(0, 1000), uneven=st.booleans(), dtype=st.sampled_from([np.float32, np.float64]))
def test_a_solution_from_samples_of_both_sides_is_that_of_all_pairs(seed, uneven, dtype):
    blocks = problem(200, 75, uneven=uneven, dtype=dtype, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in (
            (levels, "TARGET_SAMPLE", 30),
            (levels, "COARSEST_TARGET", 15),
            (levels, "COARSEST", 45),
            (levels, "SAMPLE", 100),
            (metric_module, "WIDTH", 32),
            (levels, "PAIRS", 750),
        ):
            patch.setattr(module, name, value)
        assert levels.level_sizes(200, 75) == [(50, 18), (200, 18)]
        result = BlockNewton(tol=1e-6).solve(blocks)
    whole = written_out(blocks)
    assert result.status is Status.OPTIMAL
    # The certificate is that of every pair, by the pairs' own multipliers.
    proof = whole.primal(result.matrix()) - whole.dual(result.multipliers)
    assert -1e-9 <= proof <= 1.1e-6 * abs(result.primal)
    assert result.primal == pytest.approx(DualNewton(tol=1e-7).solve(whole).primal, rel=2e-6)
