"""The problem object: values against their definitions, weak duality at any point, edge cases."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus import InputError
from isthmus.solvers.logdet import LogDetProblem, MeanAlignment, Pairs
from isthmus.solvers.newton import DualNewton
from isthmus.solvers.result import Status
from problems import (
    ALIGNMENTS,
    explicit_pairs,
    explicit_precision,
    explicit_primal,
    random_matrix,
    random_multipliers,
    random_problem,
)


@pytest.mark.parametrize("alignment", ALIGNMENTS)
@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("shape", [(6, 3, 4, 3), (3, 2, 8, 9), (12, 5, 2, 2)])
def test_values_match_their_definitions_written_out_pair_by_pair(alignment, within, shape):
    problem = random_problem(1, *shape, alignment=alignment, within=within)
    M = random_matrix(problem.rows.shape[1])
    assert problem.primal(M) == pytest.approx(explicit_primal(problem, M), rel=1e-10)
    w = random_multipliers(problem)
    precision = explicit_precision(problem, w)
    slack_part = sum(
        weight * np.log(1 - w_ * bound / weight)
        for w_, (_, _, weight, bound) in zip(w, explicit_pairs(problem), strict=True)
        if weight > 0
    )
    assert problem.dual(w) == pytest.approx(np.linalg.slogdet(precision)[1] + slack_part, rel=1e-9)
    point = problem.at(w)
    np.testing.assert_allclose(
        (point.components() @ point.components().T) @ precision, np.eye(len(precision)), atol=1e-9
    )
    assert point.primal == pytest.approx(
        explicit_primal(problem, (point.components() @ point.components().T)), rel=1e-9
    )


@given(
    seed=st.integers(0, 10_000),
    weight=st.sampled_from([1e-3, 1e-1, 1.0, 10.0, 1e3]),
    alignment=st.sampled_from(ALIGNMENTS),
    within=st.booleans(),
    bounds=st.sampled_from([(0.5, 1.5), (0.01, 0.02), (3.0, 9.0)]),
)
def test_weak_duality_at_any_matrix_and_any_multipliers(seed, weight, alignment, within, bounds):
    problem = random_problem(seed, weight=weight, u=bounds[0], l=bounds[1], alignment=alignment, within=within)
    M, w = random_matrix(problem.rows.shape[1], seed), random_multipliers(problem, seed)
    assert problem.primal(M) - problem.dual(w) >= -1e-9 * abs(problem.dual(w))


@pytest.mark.parametrize("within", [False, True])
def test_gradient_of_the_dual_is_distance_minus_slack(within):
    problem = random_problem(2, within=within, alignment="constraint")
    w = random_multipliers(problem, 3, size=0.4)
    point, weight = problem.at(w), problem.graph.weight
    gradient = point.distances - point.slack
    for k in np.flatnonzero((weight > 0) & (w != 0))[:12]:
        step = np.zeros_like(w)
        step[k] = 1e-6 * abs(w[k])
        slope = (problem.dual(w + step) - problem.dual(w - step)) / (2 * step[k])
        assert slope == pytest.approx(gradient[k], rel=1e-4, abs=1e-6)


def test_dual_is_minus_infinity_outside_its_domain():
    problem = random_problem(0, alignment="none")
    sign = problem.graph.sign
    w = np.zeros(problem.n_pairs)
    w[np.flatnonzero(sign > 0)[0]] = -1e-3
    assert problem.dual(w) == -np.inf, "wrong sign"
    w = np.where(sign > 0, 1.01 * problem.graph.weight / problem.graph.bound, 0.0)
    assert problem.dual(w) == -np.inf, "a slack without a value"
    w = np.where(sign < 0, -1e6, 0.0)
    assert problem.dual(w) == -np.inf, "an indefinite matrix"


def test_two_negative_eigenvalues_are_not_mistaken_for_a_feasible_point():
    # slogdet's sign is +1 here; only a Cholesky factorisation sees it.
    rows = np.vstack([np.eye(2), np.zeros((1, 2))])
    problem = LogDetProblem(rows, (Pairs(slice(0, 2), slice(2, 3), -1.0, 1.0, 1.0),))
    assert np.linalg.slogdet(explicit_precision(problem, [-3.0, -3.0]))[0] > 0
    assert problem.at(np.array([-3.0, -3.0])) is None


def test_zero_weight_means_no_pair():
    rng = np.random.default_rng(0)
    full = random_problem(4, weight=rng.random((6, 3)) * (rng.random((6, 3)) > 0.5), alignment="none")
    M = random_matrix(7)
    assert full.primal(M) == pytest.approx(explicit_primal(full, M))
    w = np.zeros(full.n_pairs)
    w[np.flatnonzero(full.graph.weight == 0)[0]] = 1e-9 * full.graph.sign[np.flatnonzero(full.graph.weight == 0)[0]]
    assert full.dual(w) == -np.inf


def test_several_alignment_rows_are_one_prior():
    rng = np.random.default_rng(5)
    rows, shifts, weights = rng.normal(size=(5, 4)), rng.normal(size=(3, 4)), np.array([0.5, 2.0, 7.0])
    pairs = Pairs(slice(0, 3), slice(3, 5), 1.0)
    M = random_matrix(4)
    together = LogDetProblem(rows, (pairs,), MeanAlignment(shifts, weights)).primal(M)
    alone = LogDetProblem(rows, (pairs,)).primal(M)
    assert together - alone == pytest.approx(sum(w * z @ M @ z for w, z in zip(weights, shifts, strict=True)))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Pairs(slice(0, 2), slice(2, 3), 0.5), r"pairs.sign: expected \+1 or -1"),
        (lambda: Pairs(slice(0, 2), slice(2, 3), 1.0, weight=-1.0), "pairs.weight: expected no negative weight"),
        (lambda: Pairs(slice(0, 2), slice(2, 3), 1.0, bound=0.0), "pairs.bound: expected positive squared distances"),
        (lambda: Pairs(slice(0, 2), slice(2, 3), np.ones((3, 3))), r"expected a number or shape \(2, 1\)"),
        (lambda: Pairs(slice(0, 2), slice(2, 3), 1.0, weight=np.nan), "pairs.weight: expected finite numbers"),
        (lambda: Pairs(slice(0, 4, 2), slice(2, 3), 1.0), "pairs.left: expected a slice"),
        (lambda: Pairs(slice(0, 2), slice(None), 1.0), "pairs.right: expected a slice"),
        (lambda: Pairs(slice(-2, 2), slice(2, 3), 1.0), "pairs.left: expected a slice"),
        (lambda: MeanAlignment([np.nan]), "alignment.rows: expected finite numbers"),
        (lambda: LogDetProblem([[np.nan]]), "rows: expected finite numbers"),
        (lambda: random_problem().primal(np.eye(3)), r"M: expected shape \(7, 7\), got \(3, 3\)"),
        (lambda: random_problem().dual(np.zeros(1)), r"multipliers: expected shape \(18,\), got \(1,\)"),
        (lambda: MeanAlignment([1.0], -1.0), "alignment.weight: expected no negative weight"),
        (lambda: MeanAlignment([1.0], 1.0, 0.0), "alignment.slack: expected positive numbers"),
        (lambda: LogDetProblem(1e150 * np.eye(2)), r"rows: expected sizes from 1e-70 to 1e\+70, got 1e\+150"),
        (lambda: LogDetProblem(1e-150 * np.eye(2)), r"rows: expected sizes from 1e-70 to 1e\+70, got 1e-150"),
        (lambda: Pairs(slice(0, 2), slice(2, 3), 1.0, bound=1e300), r"pairs.bound: expected sizes .* got 1e\+300"),
        (lambda: Pairs(slice(0, 2), slice(2, 3), 1.0, bound=1e-300), "pairs.bound: expected sizes .* got 1e-300"),
        (lambda: MeanAlignment([1e150]), r"alignment.rows: expected sizes .* got 1e\+150"),
        (lambda: MeanAlignment([1.0], 1.0, 1e300), r"alignment.slack: expected sizes .* got 1e\+300"),
        (lambda: LogDetProblem(np.zeros(3)), "rows: expected a two-dimensional array"),
        (lambda: LogDetProblem(np.eye(2), (Pairs(slice(0, 1), slice(1, 5), 1.0),)), "row numbers below 2, got 4"),
        (lambda: LogDetProblem(np.eye(2), (), MeanAlignment([1.0])), "expected 2 columns as in rows, got 1"),
        (lambda: LogDetProblem(np.ones((2, 2)), (Pairs(slice(0, 1), slice(1, 2), -1.0),)), "distinct rows"),
    ],
)  # fmt: skip
def test_bad_problems_are_refused_in_one_sentence(build, message):
    with pytest.raises(InputError, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("unit", [1e-65, 1e65])
@pytest.mark.parametrize("alignment", ["constraint", "none"])
def test_any_unit_that_is_not_refused_gives_the_same_optimum(unit, alignment):
    plain = random_problem(alignment=alignment)
    pairs = tuple(Pairs(b.left, b.right, b.sign, b.weight, unit**2 * b.bound) for b in plain.pairs)
    shift = plain.alignment and MeanAlignment(unit * plain.alignment.rows, 1.0, unit**2 * plain.alignment.slack)
    result = DualNewton().solve(LogDetProblem(unit * plain.rows, pairs, shift))
    assert result.status is Status.OPTIMAL
    assert result.primal == pytest.approx(DualNewton().solve(plain).primal, rel=1e-9)


def test_copies_and_pickles_of_a_problem_carry_its_data_only():
    problem = random_problem(n_left=4, n_right=2, d_left=60, d_right=40)
    DualNewton().solve(problem)
    thawed = pickle.loads(pickle.dumps(problem))
    assert set(vars(thawed)) == {"rows", "pairs", "alignment"}
    M = random_matrix(100)
    assert thawed.primal(M) == problem.primal(M)


@given(seed=st.integers(0, 10_000), size=st.sampled_from([0.1, 10.0, 1e4]), alignment=st.sampled_from(ALIGNMENTS))
def test_any_multipliers_make_a_feasible_start(seed, size, alignment):
    """Of another problem they may have other signs, belong to no pair, or be too large."""
    problem = random_problem(seed, alignment=alignment, within=True)
    rng = np.random.default_rng(seed)
    point = problem.start(size * rng.normal(size=problem.n_pairs))
    assert np.isfinite(point.dual)
    assert point.multipliers.any()
    feasible = random_multipliers(problem, seed)
    assert np.array_equal(problem.start(feasible).multipliers, feasible)
