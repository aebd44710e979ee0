"""B v = λ A v: SciPy finds the same, the certificate is earned, and what is arbitrary is said to be."""

import numpy as np
import pytest
import scipy.linalg as sla
from hypothesis import given
from hypothesis import strategies as st

from isthmus.exceptions import InputError
from isthmus.maps.eigen import (
    CoupledProblem,
    JointDirections,
    JointProblem,
    SharedCoordinates,
    _add_residual,
    agreement_factor,
    choose_signs,
)


def matrices(seed, r):
    rng = np.random.default_rng(seed)
    F, G = rng.normal(size=(2 * r, r)), rng.normal(size=(r, r))
    return F.T @ F, G + G.T


@given(st.integers(0, 10_000), st.integers(2, 12), st.data())
def test_scipy_finds_the_same_values_and_the_directions_are_orthonormal_under_a(seed, r, data):
    A, B = matrices(seed, r)
    k, r_s = data.draw(st.integers(1, r)), data.draw(st.integers(1, r - 1))
    problem = JointProblem.with_ridge(A, B, r_s, 1e-3)
    found = problem.directions(k)
    np.testing.assert_allclose(found.values, sla.eigvalsh(B, problem.A)[::-1][:k], rtol=1e-9, atol=1e-9)
    V = np.vstack([found.source, found.target])
    assert found.source.shape == (r_s, k)
    np.testing.assert_allclose(V.T @ problem.A @ V, np.eye(k), atol=1e-9)
    residual = np.linalg.norm(B @ V - problem.A @ V * found.values, axis=0) / np.linalg.norm(V, axis=0)
    assert (residual <= 1e-8 * (np.linalg.norm(B) + np.abs(found.values) * np.linalg.norm(problem.A))).all()
    assert found.residual <= 1e-12


@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 8), st.integers(1, 5))
def test_blocks_and_sums_are_the_same_problem_written_out(seed, r_s, r_t, g):
    (A_s, _), (A_t, _) = matrices(seed, r_s), matrices(seed + 1, r_t)
    rng = np.random.default_rng(seed + 2)
    M_s, M_t = rng.normal(size=(r_s, g)), rng.normal(size=(r_t, g))
    found = CoupledProblem((A_s, A_t), (M_s, M_t)).directions()
    k = len(found.values)
    assert k == min(r_s, r_t, g)
    across = M_s @ M_t.T
    B = np.block([[np.zeros((r_s, r_s)), across], [across.T, np.zeros((r_t, r_t))]])
    whole = JointProblem.with_ridge(sla.block_diag(A_s, A_t), B, r_s, 0.0).directions(k)
    np.testing.assert_allclose(found.values, whole.values, rtol=1e-8)
    V, A = np.vstack([found.source, found.target]), sla.block_diag(A_s, A_t)
    np.testing.assert_allclose(V.T @ A @ V, np.eye(k), atol=1e-8)
    np.testing.assert_allclose(B @ V, A @ V * found.values, atol=1e-8 * np.linalg.norm(B))
    assert found.residual <= 1e-12


def test_a_wrong_direction_has_a_residual():
    A, B = matrices(0, 6)
    right = JointProblem.with_ridge(A, B, 2, 0.0).directions(2)
    V = np.vstack([right.source, right.target]) + 1e-4
    wrong = JointDirections(V[:2], V[2:], right.values, 0.0)
    assert _add_residual(wrong, A @ V, B @ V, (A, B)).residual > 1e-6


def test_ties_are_told_and_zeros_left_out():
    problem = JointProblem.with_ridge(np.eye(4), np.diag([3.0, 3.0, 1.0, 0.0]), 2, 0.0)
    assert [problem.directions(k).tied for k in (1, 2, 3, 4)] == [True, False, False, False]
    assert len(problem.directions(4).above_zero().values) == 3
    assert len(JointProblem.with_ridge(np.eye(2), np.zeros((2, 2)), 1, 0.0).directions(2).above_zero().values) == 0


def test_an_indefinite_matrix_is_one_sentence():
    with pytest.raises(
        InputError, match="regularization: expected one that makes the rows' scatter positive definite"
    ):
        JointProblem.with_ridge(np.diag([1.0, -1.0]), np.eye(2), 1, 0.0).directions(1)
    with pytest.raises(
        InputError, match="regularization: expected one that makes the rows' scatter positive definite"
    ):
        CoupledProblem((np.eye(1), -np.eye(1)), (np.ones((1, 1)), np.ones((1, 1)))).directions()


def test_the_first_group_that_stands_out_is_high():
    heights = np.array([[0.1, 2.0, 0.0], [-3.0, -1.9, 0.0], [2.0, 0.0, 0.0]])
    np.testing.assert_array_equal(choose_signs(heights), [-1.0, 1.0, 1.0])


# --- HeMap's coordinates ----------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.floats(0.05, 8.0))
def test_the_objective_without_its_maps_is_a_constant_less_a_trace(seed, beta):
    """Of the problem as published, with either half of B orthonormal: P is found by least squares."""
    rng = np.random.default_rng(seed)
    r, k = 12, 3
    S, T = rng.normal(size=(r, 5)), rng.normal(size=(r, 4))
    B_T, B_S = (np.linalg.qr(rng.normal(size=(r, k)))[0] for _ in range(2))
    both = {
        name: np.vstack([own, np.sqrt(beta / 2) * other]) for name, own, other in (("T", B_T, B_S), ("S", B_S, B_T))
    }
    value = 0.0
    for name, X in (("T", T), ("S", S)):
        rows = np.vstack([X, np.sqrt(beta / 2) * X])
        P = np.linalg.lstsq(both[name], rows, rcond=None)[0]
        value += np.sum((rows - both[name] @ P) ** 2)
    B, F = np.vstack([B_T, B_S]), agreement_factor(S, T, beta)
    trace = np.trace(B.T @ (F @ F.T / 2) @ B)
    whole = (1 + beta / 2) * (np.sum(T**2) + np.sum(S**2))
    assert value == pytest.approx(whole - trace / (2 + beta), rel=1e-10)
    A = np.block([[2 * T @ T.T + beta**2 / 2 * S @ S.T, beta * (S @ S.T + T @ T.T)],
                  [beta * (S @ S.T + T @ T.T), 2 * S @ S.T + beta**2 / 2 * T @ T.T]])  # fmt: skip
    np.testing.assert_allclose(F @ F.T / 2, A, atol=1e-10)


@pytest.mark.parametrize("r", [4, 40])
def test_coordinates_are_eigenvectors_of_the_large_matrix_that_agree_across_the_halves(r):
    rng = np.random.default_rng(0)
    H = rng.normal(size=(r, 3))
    S, T = (
        H @ rng.normal(size=(3, 6)) + rng.normal(size=(r, 6)),
        H @ rng.normal(size=(3, 5)) + rng.normal(size=(r, 5)),
    )
    shared = SharedCoordinates.of(S, T, 1.0)
    A = shared.F @ shared.F.T / 2
    values, vectors = np.linalg.eigh(A)
    halves = np.split(vectors, 2)
    agree = (np.einsum("ij,ij->j", *halves) > 0) & (values > 1e-9 * values[-1])
    np.testing.assert_allclose(shared.values, values[agree][::-1], rtol=1e-8)
    k = len(shared.values)
    B = shared.coordinates(k)
    np.testing.assert_allclose(B.T @ B, np.eye(k), atol=1e-9)
    np.testing.assert_allclose(A @ B, B * shared.values, atol=1e-8 * values[-1])
    maps = shared.maps(min(k, 3))
    assert maps.residual <= 1e-8
    B_T, B_S = np.split(B[:, :3], 2)
    np.testing.assert_allclose(maps.target, np.linalg.pinv(np.linalg.pinv(B_T) @ T), atol=1e-8)
    np.testing.assert_allclose(maps.source, np.linalg.pinv(np.linalg.pinv(B_S) @ S), atol=1e-8)
