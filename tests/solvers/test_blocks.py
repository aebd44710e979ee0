"""Blocks and the dual method agree; blocks are the same in memory and on disk; what they can't do they refuse."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus import ConvergenceWarning, InputError
from isthmus._core.rows import ArrayRows
from isthmus.solvers.blocks import solver as level_module
from isthmus.solvers.blocks.problem import BlockProblem, as_blocks, evaluate_metric, lower_factor, reduce_problem
from isthmus.solvers.blocks.solver import BlockNewton, Path, estimate_curvature, level_factor
from isthmus.solvers.logdet import LogDetProblem, MeanAlignment, Pairs
from isthmus.solvers.newton import AutoNewton, DualNewton, along_grid
from isthmus.solvers.result import Status
from problems import ALIGNMENTS, TIGHT, explicit_primal, random_matrix, random_problem


@settings(max_examples=8)
@given(
    seed=st.integers(0, 10_000),
    shape=st.sampled_from([(30, 4, 5, 3), (12, 6, 20, 9), (4, 9, 3, 5)]),
    weight=st.sampled_from([0.05, 1.0, 30.0]),
    u=st.sampled_from([0.5, 0.1]),
    alignment=st.sampled_from(ALIGNMENTS),
)
def test_blocks_and_the_dual_method_agree(seed, shape, weight, u, alignment):
    problem = random_problem(seed, *shape, weight=weight, u=u, alignment=alignment)
    dual, blocks = TIGHT.solve(problem), BlockNewton(tol=1e-9).solve(problem)
    assert blocks.status is Status.OPTIMAL
    assert blocks.primal == pytest.approx(dual.primal, rel=1e-7, abs=1e-7)
    grams = [problem.rows @ result.matrix() @ problem.rows.T for result in (dual, blocks)]
    np.testing.assert_allclose(*grams, atol=3e-3 * np.abs(grams[0]).max())


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), alignment=st.sampled_from(ALIGNMENTS))
def test_the_certificate_is_that_of_its_multipliers(seed, alignment):
    problem = random_problem(seed, 30, 4, alignment=alignment)
    result = BlockNewton().solve(problem)
    assert result.multipliers.shape == (problem.n_pairs,)
    assert problem.dual(result.multipliers) == pytest.approx(result.dual, rel=1e-9)
    assert result.primal == problem.primal(result.matrix())
    assert -1e-9 <= result.primal - problem.dual(result.multipliers) <= 1e-6 * max(1.0, abs(result.primal))


@settings(max_examples=10)
@given(seed=st.integers(0, 1_000), alignment=st.sampled_from(ALIGNMENTS))
def test_value_and_gradient_are_those_of_the_problem(seed, alignment):
    problem = random_problem(seed, 9, 4, 5, 3, alignment=alignment)
    (blocks, order), M = as_blocks(problem), random_matrix(8, seed)
    W = np.linalg.cholesky(M)
    value = explicit_primal(problem, M)
    assert blocks.value(W[order]) == pytest.approx(value, rel=1e-10)
    task, rows = reduce_problem(blocks)
    at = evaluate_metric(task, rows, task.restrict(W[order]), np.float64)
    direction = np.random.default_rng(seed).normal(size=at.E.shape)
    direction = direction + direction.T
    step, d = 1e-6, len(at.E)
    moved = [
        evaluate_metric(
            task, rows, lower_factor(at.frame.L @ np.linalg.cholesky(np.eye(d) + t * direction)), np.float64
        )
        for t in (step, -step)
    ]
    slope = (moved[0].primal - moved[1].primal) / (2.0 * step)
    assert slope == pytest.approx(float(np.vdot(at.E - np.eye(d), direction)), rel=1e-4, abs=1e-4)


def test_the_curvature_is_the_derivative_of_the_gradient_along_straight_lines():
    problem = random_problem(4, 30, 5, 6, 4, weight=3.0, alignment="constraint")
    task, rows = reduce_problem(as_blocks(problem)[0])
    at = evaluate_metric(task, rows, task.restrict(np.linalg.cholesky(random_matrix(10, 2))), np.float64)
    D = np.random.default_rng(1).normal(size=at.E.shape)
    D = D + D.T
    H, one, L = estimate_curvature(at, at.frame, rows, rows.n, bend=0.0), np.eye(len(D)), at.frame.L

    def gradient(t):
        C = np.linalg.cholesky(one + t * D)
        there = evaluate_metric(task, rows, lower_factor(L @ C), np.float64)
        # In the frame of a factor L the gradient g is Lᵀ g L: back into that of the first one.
        back = np.linalg.solve(there.frame.L, L)
        return back.T @ (there.E - one) @ back

    difference = (gradient(1e-6) - gradient(-1e-6)) / 2e-6
    np.testing.assert_allclose(H(D), difference, rtol=1e-4, atol=1e-4 * np.abs(difference).max())


@pytest.mark.parametrize("bend", [0.0, 0.3, 1.0])
def test_no_step_leaves_the_positive_definite_matrices(bend):
    mu = np.linspace(-50.0, 3.0, 200)
    path = Path(np.eye(200), mu, np.eye(200), bend)
    for t in (0.1, 1.0, 20.0):
        h, rate = path.stretch(t)
        assert (h > 0.0).all()
        assert (np.diff(h) > 0.0).all()
        difference = (path.stretch(t + 1e-6)[0] - path.stretch(t - 1e-6)[0]) / 2e-6
        np.testing.assert_allclose(rate, difference, rtol=1e-4, atol=1e-5)


def many_rows(n=6000, d=6, seed=5, dtype=np.float32, weight=0.05, alignment=None):
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=n)
    X = (rng.normal(size=(3, d))[codes] + rng.normal(size=(n, d))).astype(dtype)
    Y, y = rng.normal(size=(9, 20)), np.arange(9) % 3
    same = np.arange(3)[:, None] == y
    return BlockProblem(
        ArrayRows(X, codes), Y, np.where(same, 1.0, -1.0), weight, np.where(same, 8.0, 24.0), alignment
    )


def as_arrays(problem):
    """The same block problem, written out."""
    rows, q = problem.rows, len(problem.target)
    both = np.zeros((rows.n + q, rows.d + problem.target.shape[1]))
    both[: rows.n, : rows.d], both[rows.n :, rows.d :] = rows.X, problem.target
    tables = (np.asarray(table)[rows.codes] for table in (problem.sign, problem.weight, problem.bound))
    return LogDetProblem(both, (Pairs(slice(0, rows.n), slice(rows.n, rows.n + q), *tables),), problem.alignment)


@pytest.mark.parametrize("slack", [None, 0.2])
def test_samples_and_levels_lead_to_the_same_optimum(monkeypatch, slack):
    monkeypatch.setattr(level_module, "COARSEST", 300)
    monkeypatch.setattr(level_module, "SAMPLE", 400)
    problem = many_rows(alignment=MeanAlignment(np.full(26, 0.3), 2.0, slack))
    result, written = BlockNewton(tol=1e-7).solve(problem), as_arrays(problem)
    assert result.status is Status.OPTIMAL
    assert result.primal == pytest.approx(written.primal(result.matrix()), rel=1e-10)
    assert written.dual(result.multipliers) == pytest.approx(result.dual, rel=1e-6)
    assert result.primal - written.dual(result.multipliers) <= 2e-7 * result.primal


def test_a_level_is_a_good_start(monkeypatch):
    monkeypatch.setattr(level_module, "COARSEST", 300)
    task, rows = reduce_problem(many_rows(weight=1.0))
    cold = np.linalg.cholesky(np.linalg.inv(task.precision))
    L, bend = level_factor(task, rows, np.random.default_rng(0), cold)
    first, warm = evaluate_metric(task, rows, cold), evaluate_metric(task, rows, L)
    best = BlockNewton(tol=1e-7).solve(many_rows(weight=1.0)).primal
    assert bend < 1.0
    assert warm.primal - best < 0.03 * (first.primal - best)


def test_memory_maps_and_either_precision_give_the_same(tmp_path):
    plain = many_rows(1000)
    path = tmp_path / "rows.npy"
    np.save(path, plain.rows.X)
    mapped = ArrayRows(np.load(path, mmap_mode="r"), plain.rows.codes)
    double = ArrayRows(plain.rows.X.astype(np.float64), plain.rows.codes)
    tables = plain.target, plain.sign, plain.weight, plain.bound
    results = [BlockNewton().solve(BlockProblem(rows, *tables)) for rows in (plain.rows, mapped, double)]
    np.testing.assert_array_equal(results[0].matrix(), results[1].matrix())
    assert results[2].primal == pytest.approx(results[0].primal, rel=1e-6)


def test_the_same_problem_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(level_module, "SAMPLE", 100)
    first, again = (BlockNewton(tol=1e-4).solve(many_rows(1000)) for _ in range(2))
    np.testing.assert_array_equal(first.matrix(), again.matrix())


@given(n=st.integers(1, 60), seed=st.integers(0, 100))
def test_a_sample_has_of_each_code_its_share(n, seed):
    codes = np.repeat([0, 1, 2], [30, 20, 10])
    rows = ArrayRows(np.arange(60.0)[:, None], codes)
    drawn = rows.sample(n, np.random.default_rng(seed))
    assert len(np.unique(drawn.X)) == drawn.n
    np.testing.assert_array_equal(drawn.codes, codes[drawn.X[:, 0].astype(int)])
    counts = np.bincount(drawn.codes, minlength=3)
    assert (np.abs(counts - n * np.array([3, 2, 1]) / 6) <= 1.0).all()


@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_a_warm_start_saves_iterations_from_a_metric_or_from_multipliers(alignment):
    cold = BlockNewton().solve(random_problem(9, 60, 5, weight=30.0, alignment=alignment))
    nearby = random_problem(9, 60, 5, weight=31.0, alignment=alignment)
    anew = BlockNewton().solve(nearby)
    for start in (cold.components(), cold.multipliers):
        warm = BlockNewton().solve(nearby, start=start)
        assert warm.n_iter < anew.n_iter
        assert warm.primal == pytest.approx(anew.primal, rel=2e-6)


def grid_results(problem, first, second, solver):
    """A row per weight of the alignment, a column per weight of the pairs."""
    found = list(
        along_grid(lambda i, j, start: solver.solve(problem(first[i], second[j]), start), len(first), len(second))
    )
    return [found[i :: len(first)] for i in range(len(first))]


@pytest.mark.parametrize("solver", [DualNewton(tol=1e-8), BlockNewton(tol=1e-8), AutoNewton(tol=1e-8)])
def test_a_grid_of_weights_has_the_optima_of_its_cells(solver):
    def problem(first, second):
        return random_problem(3, 20, 5, weight=second, alignment_weight=first)

    grid = grid_results(problem, [0.1, 10.0], [0.5, 5.0], solver)
    for i, first in enumerate([0.1, 10.0]):
        for j, second in enumerate([0.5, 5.0]):
            assert grid[i][j].primal == pytest.approx(TIGHT.solve(problem(first, second)).primal, rel=1e-7)


@pytest.mark.parametrize("written_out", [True, False])
def test_a_grid_over_blocks_saves_half_the_steps_of_its_cells_and_ends_at_their_optima(written_out):
    def problem(first, second):
        posed = random_problem(3, 60, 5, weight=second, alignment_weight=first)
        return posed if written_out else as_blocks(posed)[0]

    weights, solver = [1.0, 2.0, 4.0, 8.0], BlockNewton()
    grid = grid_results(problem, weights, weights, solver)
    cold = [[solver.solve(problem(first, second)) for second in weights] for first in weights]
    for warm_row, cold_row in zip(grid, cold, strict=True):
        assert [w.primal for w in warm_row] == pytest.approx([c.primal for c in cold_row], rel=2e-6)
    steps = [sum(result.n_iter for row in results for result in row) for results in (grid, cold)]
    assert steps[0] <= 0.5 * steps[1]


def test_the_choice_is_the_dual_for_few_rows_and_blocks_for_many():
    assert AutoNewton().solve(random_problem(1, 40, 5)).solver == "DualNewton"
    many = random_problem(1, 1500, 8)
    result = AutoNewton().solve(many)
    assert result.solver == "BlockNewton"
    assert "BlockNewton: optimal" in str(result)
    assert as_blocks(random_problem(within=True)) is None
    assert AutoNewton(tol=1e-4).solve(many_rows(400)).solver == "BlockNewton"


def test_where_blocks_get_stuck_the_dual_method_goes_on(monkeypatch):
    problem = random_problem(1, 600, 12)
    assert AutoNewton().solve(problem).solver == "BlockNewton"
    monkeypatch.setattr(BlockNewton, "iterates", lambda self, start: iter([start]))
    result = AutoNewton().solve(problem)
    assert result.solver == "DualNewton"
    assert result.status is Status.OPTIMAL


def test_an_iteration_limit_is_told_once():
    with pytest.warns(ConvergenceWarning, match="BlockNewton: max_iter=2 reached") as caught:
        result = AutoNewton(max_iter=2).solve(random_problem(1, 1500, 8))
    assert len(caught) == 1
    assert result.status is Status.ITERATION_LIMIT
    assert result.point.primal < result.trace[0].primal


def test_pairs_that_count_nothing_are_kept_out():
    problem = random_problem(6, 20, 4, alignment="none")
    (block,) = problem.pairs
    weight = np.array(block.weight)
    weight[::3, 1] = 0.0
    some = LogDetProblem(problem.rows, (Pairs(block.left, block.right, block.sign, weight, block.bound),))
    assert BlockNewton(tol=1e-9).solve(some).primal == pytest.approx(TIGHT.solve(some).primal, rel=1e-7)
    nothing = LogDetProblem(problem.rows, (Pairs(block.left, block.right, block.sign, 0.0, block.bound),))
    np.testing.assert_allclose(BlockNewton().solve(nothing).matrix(), np.eye(7), atol=1e-12)


def test_a_result_is_small_in_a_pickle_and_the_same_after_it():
    result = BlockNewton().solve(random_problem(2, 400, 5, 8, 6))
    result.matrix(), result.distances
    frozen = pickle.dumps(result)
    assert len(frozen) < 2 * (result.problem.rows.nbytes + 3 * 8 * result.problem.n_pairs)
    thawed = pickle.loads(frozen)
    assert str(thawed) == str(result)
    np.testing.assert_array_equal(thawed.matrix(), result.matrix())
    np.testing.assert_array_equal(thawed.multipliers, result.multipliers)


def test_what_it_cannot_have_it_refuses():
    with pytest.raises(InputError, match="between two runs of rows without a common column"):
        BlockNewton().solve(random_problem(within=True))
    with pytest.raises(InputError, match=r"start: expected a factor of a metric, shape \(7, 7\), got \(3, 3\)"):
        BlockNewton().solve(random_problem(), start=np.eye(3))
    with pytest.raises(InputError, match="codes: expected a whole number for each of 2 rows"):
        ArrayRows(np.eye(2), np.zeros(3, dtype=int))
    with pytest.raises(InputError, match="X: expected a two-dimensional array or CSR of floats"):
        ArrayRows(np.eye(2, dtype=int), np.zeros(2, dtype=int))
    with pytest.raises(InputError, match=r"alignment.rows: expected 26 columns"):
        many_rows(30, alignment=MeanAlignment(np.ones(3), 1.0))
    rows = ArrayRows(np.full((4, 2), np.nan), np.zeros(4, dtype=int))
    with pytest.raises(InputError, match="rows: expected finite numbers, got NaN"):
        BlockNewton().solve(BlockProblem(rows, np.eye(2), 1.0, 1.0, 1.0))
    with pytest.raises(InputError, match="codes: expected numbers from 0 to 0, got 0 to 3"):
        BlockProblem(ArrayRows(np.eye(4), np.arange(4)), np.eye(2), 1.0, 1.0, 1.0)
    with pytest.raises(InputError, match=r"pairs\.bound: expected positive"):
        BlockProblem(ArrayRows(np.eye(4), np.zeros(4, dtype=int)), np.eye(2), 1.0, 1.0, [[1.0, 0.0]])


@pytest.mark.parametrize(
    ("X", "got"),
    [
        (np.ones((2, 3), dtype=np.int32), r"int32 of shape \(2, 3\)"),
        ([[1.0, 2.0]], r"list of shape \(1, 2\)"),
        (sp.csc_array(np.ones((2, 3))), r"float64 in CSC of shape \(2, 3\)"),
        (np.ones(3), r"float64 of shape \(3,\)"),
    ],
)
def test_what_are_no_rows_is_told_by_its_type(X, got):
    with pytest.raises(InputError, match=rf"^X: expected .* or CSR of floats, got {got}\.$"):
        ArrayRows(X)
