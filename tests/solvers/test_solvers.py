"""Newton = Bregman = CVXPY = plain ITML; certificates that are earned; hard and degenerate problems."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_objective import explicit_pairs

from isthmus import ConvergenceWarning, InputError, MissingDependencyError, NotConvergedError
from isthmus.objective import Alignment, LogDetProblem, Pairs
from isthmus.solvers import BregmanProjections, DualNewton, Status
from problems import random_problem

TIGHT = DualNewton(tol=1e-9)
LONG = BregmanProjections(tol=1e-7, max_iter=20_000)
ALIGNMENTS = ["penalty", "constraint", "none"]


def cvxpy_optimum(problem):
    """The model as MODEL states it, slacks and all, handed to an interior-point solver."""
    cp = pytest.importorskip("cvxpy")
    d = problem.rows.shape[1]
    M, cost, constraints = cp.Variable((d, d), PSD=True), -d, []
    cost = cost + cp.trace(M) - cp.log_det(M)
    if problem.alignment is not None and problem.alignment.slack is None:
        for z, weight in zip(problem.alignment.rows, problem.alignment.weight, strict=True):
            cost = cost + weight * cp.trace(np.outer(z, z) @ M)
    for z, sign, weight, bound in explicit_pairs(problem):
        if weight > 0:
            xi = cp.Variable(pos=True)
            cost = cost + weight * (xi / bound - cp.log(xi / bound) - 1)
            constraints.append(sign * (cp.trace(np.outer(z, z) @ M) - xi) <= 0)
    model = cp.Problem(cp.Minimize(cost), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return model.value, M.value


@pytest.mark.parametrize("alignment", ALIGNMENTS)
@pytest.mark.parametrize(("u", "l"), [(0.5, 1.5), (0.2, 0.9), (1.0, 3.0)])
@pytest.mark.parametrize("weight", [0.1, 1.0, 30.0])
def test_newton_finds_the_optimum_of_an_independent_solver(alignment, u, l, weight):  # noqa: E741
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


def test_compiled_and_plain_sweeps_are_the_same_algorithm():
    pytest.importorskip("numba")
    problem = random_problem(3, alignment="constraint", within=True)
    with pytest.warns(ConvergenceWarning):
        plain = BregmanProjections(max_iter=5, tol=1e-14, compiled=False).solve(problem)
    with pytest.warns(ConvergenceWarning):
        compiled = BregmanProjections(max_iter=5, tol=1e-14, compiled=True).solve(problem)
    np.testing.assert_allclose(plain.multipliers, compiled.multipliers, rtol=1e-9)


def itml(Z, sign, bound, gamma, sweeps):
    """Information-theoretic metric learning (Davis et al. 2007, Algorithm 1), straight from that paper."""
    M, lam, xi = np.eye(Z.shape[1]), np.zeros(len(Z)), bound.copy()
    for _ in range(sweeps):
        for k, z in enumerate(Z):
            p = z @ M @ z
            alpha = min(lam[k], sign[k] / 2 * (1 / p - gamma / xi[k]))
            beta = sign[k] * alpha / (1 - sign[k] * alpha * p)
            xi[k] = gamma * xi[k] / (gamma + sign[k] * alpha * xi[k])
            lam[k] -= alpha
            M = M + beta * np.outer(M @ z, M @ z)
    return M


def test_without_alignment_it_is_plain_itml_on_stacked_pairs():
    # Davis et al. print γ/(γ+1) as 1/2 with γ inside the bracket, which is exact for γ = 1.
    problem = random_problem(5, weight=1.0, alignment="none")
    Z = np.array([z for z, *_ in explicit_pairs(problem)])
    M = itml(Z, problem.graph.sign, problem.graph.bound, 1.0, 3000)
    np.testing.assert_allclose(DualNewton(tol=1e-12).solve(problem).matrix(), M, rtol=1e-5, atol=1e-6)


@given(seed=st.integers(0, 10_000), alignment=st.sampled_from(ALIGNMENTS))
def test_every_iterate_carries_a_true_gap(seed, alignment):
    problem = random_problem(seed, weight=20.0, alignment=alignment)
    result = TIGHT.solve(problem)
    assert all(point.primal >= result.dual - 1e-9 for point in result.trace), "no value is below the optimum"
    assert all(point.dual <= result.primal + 1e-9 for point in result.trace), "no bound is above the optimum"
    assert result.status is Status.OPTIMAL
    assert 0 <= result.relative_gap + 1e-12 <= 1e-9 + 2e-12
    assert problem.primal(result.matrix()) == pytest.approx(result.primal, rel=1e-9)


def test_projections_never_lower_the_dual():
    result = LONG.solve(random_problem(6, weight=5.0, alignment="constraint", within=True))
    duals = [point.dual for point in result.trace]
    assert len(duals) > 10
    assert min(np.diff(duals)) >= -1e-9 * abs(duals[-1])


def test_no_constraints_give_the_prior():
    shift = np.array([1.0, 2.0, -1.0])
    problem = LogDetProblem(np.random.default_rng(0).normal(size=(4, 3)), (), Alignment(shift, 3.0))
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


@pytest.mark.parametrize("solver", [DualNewton(), BregmanProjections(max_iter=2000, tol=1e-4)])
def test_an_infeasible_start_is_shrunk_until_it_is_feasible(solver):
    problem = random_problem(9)
    result = solver.solve(problem, start=np.where(problem.graph.sign > 0, 1e9, -1e9))
    assert result.status is Status.OPTIMAL


@pytest.mark.parametrize(("u", "l"), [(0.5, 1.5), (0.05, 1.0)])
@pytest.mark.parametrize("weight", [1e-2, 1.0, 1e2, 1e3])
def test_hard_weights_converge_within_the_default_limit(u, l, weight):  # noqa: E741
    problem = random_problem(1, n_left=40, n_right=6, d_left=30, d_right=20, weight=weight, u=u, l=l)
    assert DualNewton().solve(problem).status is Status.OPTIMAL


def test_reaching_the_limit_warns_with_the_gap_and_can_be_made_an_error():
    problem = random_problem(1, n_left=30, n_right=5, weight=100.0)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 reached.*certified to .*not to 1e-06"):
        result = DualNewton(max_iter=2).solve(problem)
    assert result.status is Status.ITERATION_LIMIT
    assert result.n_iter == 2
    with pytest.raises(NotConvergedError, match="iteration limit after 2 iterations"):
        result.raise_for_status()
    DualNewton().solve(problem).raise_for_status()


def test_a_callback_sees_every_point_of_the_trace():
    seen = []
    result = DualNewton().solve(random_problem(0), callback=seen.append)
    assert tuple(seen) == result.trace
    assert [point.iteration for point in seen] == list(range(result.n_iter + 1))


def test_a_solver_object_checks_itself():
    with pytest.raises(InputError, match="tol: expected a number above 0, got 0"):
        DualNewton(tol=0)
    with pytest.raises(InputError, match=r"max_iter: expected a whole number of at least 1, got 2\.5"):
        BregmanProjections(max_iter=2.5)
    with pytest.raises(InputError, match=r"start: expected shape \(18,\), got \(3,\)"):
        DualNewton().solve(random_problem(), start=np.zeros(3))


def test_without_numba_the_compiled_sweep_says_how_to_get_it(monkeypatch):
    from isthmus.solvers import bregman

    bregman._sweep_compiled.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "numba", None)
    with pytest.raises(MissingDependencyError, match=r"isthmus\[fast\]"):
        BregmanProjections(compiled=True).solve(random_problem())
    bregman._sweep_compiled.cache_clear()


def test_stopped_early_it_returns_the_best_point_of_its_trace():
    problem = random_problem(
        1, n_left=40, n_right=6, d_left=30, d_right=20, weight=1e3, u=0.01, l=10.0, alignment="none"
    )
    for max_iter in (3, 8, 15, 20):
        with pytest.warns(ConvergenceWarning):
            result = DualNewton(max_iter=max_iter).solve(problem)
        assert result.relative_gap == pytest.approx(min(point.relative_gap for point in result.trace))


def test_a_gap_below_zero_by_more_than_the_tolerance_is_not_an_optimum(monkeypatch):
    monkeypatch.setattr("isthmus.objective.point.DualPoint.dual", property(lambda self: self.primal + 1.0))
    with pytest.warns(ConvergenceWarning):
        assert DualNewton(max_iter=3).solve(random_problem()).status is not Status.OPTIMAL
