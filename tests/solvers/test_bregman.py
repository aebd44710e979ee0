"""Cyclic projections, compiled or not."""

import numpy as np
import pytest

from isthmus import ConvergenceWarning, MissingDependencyError
from isthmus.solvers import bregman
from isthmus.solvers.bregman import BregmanProjections
from problems import LONG, random_problem


def test_compiled_and_plain_sweeps_are_the_same_algorithm():
    pytest.importorskip("numba")
    problem = random_problem(3, alignment="constraint", within=True)
    with pytest.warns(ConvergenceWarning):
        plain = BregmanProjections(max_iter=5, tol=1e-14, compiled=False).solve(problem)
    with pytest.warns(ConvergenceWarning):
        compiled = BregmanProjections(max_iter=5, tol=1e-14, compiled=True).solve(problem)
    np.testing.assert_allclose(plain.multipliers, compiled.multipliers, rtol=1e-9)


def test_projections_never_lower_the_dual():
    result = LONG.solve(random_problem(6, weight=5.0, alignment="constraint", within=True))
    duals = [point.dual for point in result.trace]
    assert len(duals) > 10
    assert min(np.diff(duals)) >= -1e-9 * abs(duals[-1])


def test_without_numba_the_compiled_sweep_says_how_to_get_it(monkeypatch):
    bregman._compile_sweep.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "numba", None)
    with pytest.raises(MissingDependencyError, match=r"isthmus\[fast\]"):
        BregmanProjections(compiled=True).solve(random_problem())
    bregman._compile_sweep.cache_clear()


@pytest.mark.slow
def test_without_a_writable_cache_it_is_compiled_all_the_same(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])  # none of its folders can be written to
    bregman._compile_sweep.cache_clear()
    problem = random_problem(3)
    compiled = BregmanProjections(max_iter=500, compiled=True).solve(problem)
    bregman._compile_sweep.cache_clear()
    plain = BregmanProjections(max_iter=500, compiled=False).solve(problem)
    np.testing.assert_allclose(compiled.multipliers, plain.multipliers, rtol=1e-9)
