"""Sums over pairs as products of blocks."""

import numpy as np
import pytest

from isthmus.solvers.logdet import curvature, curvature_by_coordinates, curvature_by_gram
from problems import explicit_pairs, random_multipliers, random_problem


@pytest.mark.parametrize("shape", [(9, 3, 4, 3), (4, 3, 9, 9)], ids=["by coordinates", "by Gram matrix"])
@pytest.mark.parametrize("within", [False, True])
def test_curvature_is_the_square_of_inner_products(shape, within):
    problem = random_problem(3, *shape, within=within, alignment="constraint")
    point = problem.at(random_multipliers(problem))
    Z = np.array([z for z, *_ in explicit_pairs(problem)])
    H = (Z @ point.matrix() @ Z.T) ** 2
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
