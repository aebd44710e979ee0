"""The central path: its step is the one that the module's equations ask for."""

from dataclasses import replace

import numpy as np
import pytest

from isthmus.solvers import newton as central
from problems import ALIGNMENTS, random_matrix, random_problem


@pytest.mark.parametrize("alignment", ALIGNMENTS)
@pytest.mark.parametrize("beside", [False, True], ids=["M is the inverse of S", "M is another matrix"])
@pytest.mark.parametrize("n_steps", [0, 4])
def test_a_step_solves_the_linearised_equations(alignment, beside, n_steps, monkeypatch):
    problem = random_problem(1, 12, 5, weight=30.0, u=0.05, alignment=alignment)
    graph, F = problem.graph, problem.factor
    state = central._start(problem)
    for _ in range(n_steps):
        state = central._advance(state)
    if beside:
        state = replace(state, primal=np.linalg.cholesky(random_matrix(F.shape[1])))
    monkeypatch.setattr(central, "CENTRAL_CG_TOLERANCE", 1e-13)
    theta, tau = 0.7 * state.theta, 0.3
    v = central._central_direction(state, central._scaling(state), theta, tau)
    dw, dy, dxi, ds = central._changes(state, v, tau)

    w, xi, s, y, sigma = state.w, state.xi, state.s, state.y, state.sigma
    sign, weight, bound = graph.sign, graph.weight, graph.bound
    S = sigma * np.eye(F.shape[1]) + graph.laplacian_form(w, F)
    M = state.theta * np.linalg.inv(S) if state.primal is None else state.primal @ state.primal.T
    root = np.linalg.cholesky(S)
    values, vectors = np.linalg.eigh(root.T @ M @ root)
    back = np.linalg.inv(root).T @ vectors
    G = back * np.sqrt(values) @ back.T
    dS = graph.laplacian_form(dw, F) - (sigma - 1.0) * np.eye(len(S))
    dM = theta * np.linalg.inv(S) - M - G @ dS @ G
    Z = F[graph.ends[0]] - F[graph.ends[1]]
    np.testing.assert_allclose(G @ S @ G, M, rtol=1e-6, atol=1e-9 * np.abs(M).max())
    np.testing.assert_allclose(y + dy, weight / bound - (w + dw), rtol=1e-9, atol=1e-9 * np.abs(y).max())
    np.testing.assert_allclose(xi * y + y * dxi + xi * dy, weight, rtol=1e-9)
    np.testing.assert_allclose(s * np.abs(w) + np.abs(w) * ds + s * sign * dw, tau, rtol=1e-9)
    d2 = np.einsum("ij,jk,ik->i", Z, M + dM, Z)
    np.testing.assert_allclose(d2 + sign * (s + ds), xi + dxi, atol=1e-7 * np.abs(xi).max())
