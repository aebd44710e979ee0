"""Newton = Bregman = CVXPY = plain ITML; hard and degenerate problems."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus._core.rows import ArrayRows
from isthmus.solvers.blocks.problem import BlockProblem
from isthmus.solvers.blocks.solver import BlockNewton
from isthmus.solvers.bregman import BregmanProjections
from isthmus.solvers.logdet import LogDetProblem, MeanAlignment, Pairs
from isthmus.solvers.newton import DualNewton, prefers_blocks
from isthmus.solvers.result import Status
from problems import ALIGNMENTS, LONG, TIGHT, cvxpy_optimum, explicit_pairs, itml, random_problem

BOUNDS, WEIGHTS = [(0.5, 1.5), (0.2, 0.9), (1.0, 3.0)], [0.1, 1.0, 30.0]
THREE_BY_THREE = [(BOUNDS[i], WEIGHTS[j], ALIGNMENTS[(i + j) % 3]) for i in range(3) for j in range(3)]
"""Any two values of different parameters meet in one of them (a Latin square)."""


@pytest.mark.parametrize(("bounds", "weight", "alignment"), THREE_BY_THREE)
def test_newton_finds_the_optimum_of_an_independent_solver(bounds, weight, alignment):
    u, l = bounds  # noqa: E741
    problem = random_problem(7, weight=weight, u=u, l=l, alignment=alignment, alignment_weight=2.0)
    result = TIGHT.solve(problem)
    value, M = cvxpy_optimum(problem)
    assert result.primal == pytest.approx(value, rel=1e-5, abs=1e-5)
    np.testing.assert_allclose(
        problem.rows @ result.matrix() @ problem.rows.T, problem.rows @ M @ problem.rows.T, rtol=1e-3, atol=1e-3
    )


@given(
    seed=st.integers(0, 10_000),
    weight=st.sampled_from([0.05, 1.0, 5.0]),
    alignment=st.sampled_from(ALIGNMENTS),
    within=st.booleans(),
)
@settings(max_examples=20)
@pytest.mark.slow
def test_newton_and_bregman_agree(seed, weight, alignment, within):
    problem = random_problem(seed, weight=weight, alignment=alignment, within=within)
    newton, bregman = TIGHT.solve(problem), LONG.solve(problem)
    assert newton.primal == pytest.approx(bregman.primal, rel=1e-6, abs=1e-6)
    grams = [problem.rows @ result.matrix() @ problem.rows.T for result in (newton, bregman)]
    # The objective is strongly convex in M: a gap of 1e-7 leaves about its root in the matrix.
    np.testing.assert_allclose(*grams, atol=3e-3 * np.abs(grams[0]).max())


def test_newton_and_bregman_agree_to_five_digits_in_the_gram_matrix():
    for alignment in ALIGNMENTS:
        problem = random_problem(11, alignment=alignment)
        newton = DualNewton(tol=1e-12).solve(problem)
        bregman = BregmanProjections(tol=1e-12, max_iter=50_000).solve(problem)
        grams = [problem.rows @ result.matrix() @ problem.rows.T for result in (newton, bregman)]
        np.testing.assert_allclose(*grams, rtol=1e-5, atol=1e-5 * np.abs(grams[0]).max())


def test_without_alignment_it_is_plain_itml_on_stacked_pairs():
    # Davis et al. print γ/(γ+1) as 1/2 with γ inside the bracket, which is exact for γ = 1.
    problem = random_problem(5, weight=1.0, alignment="none")
    Z = np.array([z for z, *_ in explicit_pairs(problem)])
    M = itml(Z, problem.graph.sign, problem.graph.bound, 1.0, 1000)
    np.testing.assert_allclose(DualNewton(tol=1e-12).solve(problem).matrix(), M, rtol=1e-5, atol=1e-6)


def test_no_constraints_give_the_prior():
    shift = np.array([1.0, 2.0, -1.0])
    problem = LogDetProblem(np.random.default_rng(0).normal(size=(4, 3)), (), MeanAlignment(shift, 3.0))
    result = DualNewton().solve(problem)
    np.testing.assert_allclose(result.matrix(), np.linalg.inv(np.eye(3) + 3.0 * np.outer(shift, shift)), atol=1e-12)
    assert result.n_iter == 0
    np.testing.assert_allclose(DualNewton().solve(random_problem(weight=0.0, alignment="none")).matrix(), np.eye(7))


def test_the_mean_shift_shrinks_as_its_weight_grows():
    shifts = []
    for alignment_weight in (0.01, 1.0, 100.0):
        problem = random_problem(2, alignment_weight=alignment_weight)
        z = problem.alignment.rows[0]
        shifts.append(z @ DualNewton().solve(problem).matrix() @ z)
    assert shifts[0] > shifts[1] > shifts[2]


def test_a_pair_counted_twice_is_a_pair_of_double_weight():
    problem = random_problem(8, alignment="none")
    twice = LogDetProblem(problem.rows, problem.pairs * 2)
    block = problem.pairs[0]
    double = LogDetProblem(problem.rows, (Pairs(block.left, block.right, block.sign, 2.0, block.bound),))
    np.testing.assert_allclose(TIGHT.solve(twice).matrix(), TIGHT.solve(double).matrix(), atol=1e-4)


def test_a_warm_start_saves_iterations_and_ends_in_the_same_place():
    cold = DualNewton().solve(random_problem(9, n_left=20, n_right=5, weight=30.0))
    nearby = random_problem(9, n_left=20, n_right=5, weight=31.0)
    warm = DualNewton().solve(nearby, start=cold.multipliers)
    assert warm.n_iter < DualNewton().solve(nearby).n_iter
    assert warm.primal == pytest.approx(DualNewton().solve(nearby).primal, rel=2e-6)


@pytest.mark.parametrize(
    ("u", "l", "weight"), [(0.5, 1.5, 1e-2), (0.5, 1.5, 1e2), (0.05, 1.0, 1e-2), (0.05, 1.0, 1.0), (0.05, 1.0, 1e3)]
)
def test_hard_weights_converge_within_the_default_limit(u, l, weight):  # noqa: E741
    problem = random_problem(1, n_left=40, n_right=6, d_left=30, d_right=20, weight=weight, u=u, l=l)
    assert DualNewton().solve(problem).status is Status.OPTIMAL


@pytest.mark.parametrize("weight", [0.1, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_multiplier_that_reaches_zero_does_not_shorten_the_step_of_the_others(seed, weight):
    """Along the projected path it takes 8 to 11 points; cut short at the first change of sign, 15 to 20."""
    problem = random_problem(seed, n_left=12, n_right=8, weight=weight, within=True)
    result = TIGHT.solve(problem)
    assert result.status is Status.OPTIMAL
    assert len(result.trace) <= 12


def test_known_pairs_begin_where_they_share_their_bounds():
    """Steps from zero only double multipliers, and far ones many times; the optimum is that of the metric's own steps."""
    rng = np.random.default_rng(7)
    rows, n = np.zeros((80, 60)), 40
    rows[:n, :30], rows[n:, 30:] = rng.normal(size=(n, 30)), rng.normal(size=(n, 30))
    known = np.eye(n) > 0
    bounds = np.where(known, 0.03, 1.0) * 60.0
    pairs = Pairs(
        slice(0, n), slice(n, 2 * n), np.where(known, 1.0, -1.0), np.where(known, 1.0, 1.0 / (n - 1)), bounds
    )
    problem = LogDetProblem(rows, (pairs,))
    zero, result = problem.start(), TIGHT.solve(problem)
    first = result.trace[1]
    assert result.trace[0].dual == pytest.approx(zero.dual, abs=1e-9)
    assert first.relative_gap < 0.5
    assert result.n_iter <= 8
    other = BlockNewton(tol=1e-9).solve(problem)
    assert result.primal == pytest.approx(other.primal, rel=1e-8)


@pytest.mark.parametrize(("widths", "blocks"), [((64, 20), True), ((800, 600), False)])
def test_known_pairs_of_many_columns_are_solved_in_the_dual(widths, blocks):
    rng, known = np.random.default_rng(8), np.eye(1000) > 0
    X, Y = (rng.normal(size=(1000, d)) for d in widths)
    sign, bound = np.where(known, 1.0, -1.0), np.where(known, 0.03, 1.0)
    assert prefers_blocks(BlockProblem(ArrayRows(X, np.arange(1000)), Y, sign, 1.0, bound)) is blocks
