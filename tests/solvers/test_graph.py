"""Sums over pairs as products of blocks."""

import numpy as np
import pytest

from isthmus.solvers.logdet import LogDetProblem, curvature, curvature_by_coordinates, curvature_by_gram
from problems import explicit_pairs, random_multipliers, random_problem


@pytest.mark.parametrize("shape", [(9, 3, 4, 3), (4, 3, 9, 9)], ids=["by coordinates", "by Gram matrix"])
@pytest.mark.parametrize("within", [False, True])
def test_curvature_is_the_square_of_inner_products(shape, within):
    problem = random_problem(3, *shape, within=within, alignment="constraint")
    point = problem.at(random_multipliers(problem))
    Z = np.array([z for z, *_ in explicit_pairs(problem)])
    H = (Z @ (point.components() @ point.components().T) @ Z.T) ** 2
    v = np.random.default_rng(0).normal(size=problem.n_pairs)
    graph, B = problem.graph, point.rows
    G = B @ B.T
    ways = curvature(graph, B)(v), curvature_by_coordinates(graph, B, v), curvature_by_gram(graph, G, G * G, v)
    for product in ways:
        np.testing.assert_allclose(product, H @ v, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n_left", [6, 1500])
@pytest.mark.parametrize("n_right", [1, 3])
def test_the_form_of_the_laplacian_is_the_sum_over_pairs(n_left, n_right, monkeypatch):
    monkeypatch.setattr("isthmus.solvers.logdet.CHUNK", 64)
    problem = random_problem(4, n_left=n_left, n_right=n_right, alignment="constraint", within=n_left < 100)
    graph, B = problem.graph, np.random.default_rng(0).normal(size=(problem.graph.n_rows, 5))
    v = np.random.default_rng(1).normal(size=problem.n_pairs)
    Z = B[graph.ends[0]] - B[graph.ends[1]]
    np.testing.assert_allclose(graph.laplacian_form(v, B), Z.T @ (v[:, None] * Z), rtol=1e-9, atol=1e-9)


def test_columns_of_the_other_domain_are_left_out(monkeypatch):
    monkeypatch.setattr("isthmus.solvers.logdet.CHUNK", 64)
    problem = random_problem(5, n_left=1200, n_right=3, d_left=6, d_right=4, alignment="penalty")
    w = np.random.default_rng(2).normal(size=problem.n_pairs)
    graph, A = problem.graph, problem.rows
    Z = A[graph.ends[0]] - A[graph.ends[1]]
    np.testing.assert_allclose(graph.laplacian_form(w, A), Z.T @ (w[:, None] * Z), rtol=1e-9, atol=1e-9)
    F = problem.factor
    np.testing.assert_allclose(problem.scatter(w), graph.laplacian_form(w, F), rtol=1e-9, atol=1e-9)
    assert not graph.laplacian_form(w, np.zeros_like(A)).any()


@pytest.mark.parametrize("unit", [1.0, 1e-30, 1e30])
def test_products_in_single_precision_have_its_digits_at_any_scale(unit, monkeypatch):
    problem = random_problem(6, n_left=40, n_right=5)
    B, v = unit * problem.factor, unit * np.random.default_rng(3).normal(size=problem.n_pairs)
    exact = curvature(problem.graph, B)(v)
    monkeypatch.setattr("isthmus.solvers.logdet.MOST_DOUBLE", 10)
    single = curvature(problem.graph, B)(v)
    assert single.dtype == np.float64
    np.testing.assert_allclose(single, exact, atol=1e-5 * np.abs(exact).max())
    assert not curvature(problem.graph, B)(0.0 * v).any()


@pytest.mark.parametrize("alignment", ["constraint", "penalty"])
def test_rows_as_their_own_basis_give_the_same_point(alignment, monkeypatch):
    monkeypatch.setattr("isthmus.solvers.logdet.SPARE", 0.3)
    problem = random_problem(7, n_left=20, n_right=6, d_left=30, d_right=20, alignment=alignment)
    rows = problem.rows.copy()
    rows[3] = rows[8]  # a row that depends on others
    problem = LogDetProblem(rows, problem.pairs, problem.alignment)
    w = random_multipliers(problem)
    expected = problem.at(w)
    monkeypatch.setattr("isthmus.solvers.logdet.MOST_DOUBLE", 10)
    again = LogDetProblem(rows, problem.pairs, problem.alignment)
    assert problem.row_basis is None
    assert again.row_basis is not None
    point = again.at(w)
    for name in ("dual", "primal", "distances"):
        np.testing.assert_allclose(getattr(point, name), getattr(expected, name), rtol=1e-9)
    W, V = point.components(), expected.components()
    np.testing.assert_allclose(W @ W.T, V @ V.T, rtol=1e-8, atol=1e-10)
    assert again.at(-1e6 * np.abs(w)) is None


def test_nearly_dependent_rows_are_no_basis(monkeypatch):
    monkeypatch.setattr("isthmus.solvers.logdet.MOST_DOUBLE", 10)
    problem = random_problem(8, n_left=20, n_right=6, d_left=30, d_right=20)
    rows = problem.rows.copy()
    rows[3] = rows[8] + 1e-5 * rows[3]
    assert problem.row_basis is not None
    assert LogDetProblem(rows, problem.pairs, problem.alignment).row_basis is None
