"""HCDRank: the convex form against CVXPY and against the paper's own, its certificate, and what it says of order."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg as sla
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from conftest import make_domains, one_sentence
from isthmus import HCDRank, InputError
from isthmus.estimators.hcdrank import CoupledRanking, draw_preferences


def differences(seed, n=60, d=5, noise=1.5):
    """Preferences of two rankings whose directions are related."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    parts = []
    for size, direction in ((n, w), (n // 3, w + 0.7 * rng.normal(size=d))):
        D = rng.normal(size=(size, d))
        parts.append(D * np.sign(D @ direction + noise * rng.normal(size=size))[:, None])
    return parts


def problem(seed, weight):
    S, T = differences(seed)
    return CoupledRanking(S, T, (1 / len(S), 1 / len(T)), weight)


def by_cvxpy(p):
    A = cp.Variable((p.source.shape[1], 2))
    losses = [
        c * cp.sum(cp.pos(1 - D @ A[:, k]))
        for k, (c, D) in enumerate(zip(p.costs, (p.source, p.target), strict=True))
    ]
    found = cp.Problem(cp.Minimize(sum(losses) + p.weight * cp.square(cp.normNuc(A))))
    found.solve(solver="CLARABEL")
    return found.value, A.value


@pytest.mark.parametrize(("seed", "weight"), [(0, 0.02), (1, 0.05), (2, 0.05), (3, 1.0)])
def test_the_optimum_is_that_of_cvxpy(seed, weight):
    p = problem(seed, weight)
    A, value, gap = p.solve(1e-6)
    expected, directions = by_cvxpy(p)
    assert value == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(A, directions, atol=0.01 * np.abs(directions).max())
    assert 0.0 <= gap <= 1e-6 * value


def test_a_low_temperature_from_the_start_stalls_above_the_optimum(monkeypatch):
    """Why it is lowered step by step, as ε in the alternating solution of the paper."""
    p = problem(0, 0.02)
    expected = by_cvxpy(p)[0]
    monkeypatch.setattr("isthmus.estimators.hcdrank.TEMPERATURES", [1e-9])
    _, value, gap = p.solve(1e-6)
    assert value > expected * (1 + 1e-5)
    assert gap >= value - expected - 1e-6, "and the certificate says so"


@given(st.integers(0, 10_000), st.floats(0.01, 2.0))
@settings(max_examples=15)
def test_the_gap_is_a_bound_everywhere(seed, weight):
    p = problem(seed, weight)
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(5, 2))
    x = np.repeat(p.costs, [len(p.source), len(p.target)]) * rng.uniform(size=len(p.source) + len(p.target))
    assert p.dual(x) <= p.primal(A) + 1e-12


@given(st.integers(0, 10_000))
def test_the_trace_norm_is_the_least_of_the_papers_norm_over_all_rotations(seed):
    A = np.random.default_rng(seed).normal(size=(4, 2))
    trace = sla.svdvals(A).sum()

    def of_rotation(U):
        return np.linalg.norm(U.T @ A, axis=1).sum()

    rotations = ortho_group.rvs(4, size=20, random_state=seed % 2**32)
    assert all(of_rotation(U) >= trace - 1e-9 for U in rotations)
    assert of_rotation(np.linalg.svd(A)[0]) == pytest.approx(trace)


D = make_domains(seed=3, n_source=45, n_target=40, n_labelled=12, d_source=6, d_target=6, shift=3.0)


@cache
def learned():
    """A model that tests only read."""
    return HCDRank().fit(*D.args)


def test_rows_are_put_in_the_order_of_their_grades():
    model = learned()
    for X, y, domain in ((D.X_target, D.y_true, "target"), (D.X_source, D.y_source, "source")):
        scores, above = model.rank(X, domain), y[:, None] > y
        assert (scores[:, None] > scores)[above].mean() > 0.85
    assert model.duality_gap_ <= 1e-4 * model.objective_
    backwards = HCDRank().fit(D.X_source, 2 - D.y_source, D.X_target, np.where(D.y_target >= 0, 2 - D.y_target, -1))
    np.testing.assert_allclose(backwards.rank(D.X_target), -model.rank(D.X_target), atol=0.05)


def test_the_mean_of_the_grades_says_which_one_a_row_is_of():
    model = learned()
    scores, known = model.rank(D.X_target), D.y_target
    means = np.array([scores[known == c].mean() for c in range(3)])
    np.testing.assert_array_equal(model.predict(D.X_target), np.abs(scores[:, None] - means).argmin(axis=1))
    np.testing.assert_array_equal(model.transform(D.X_target)[:, 0], scores)
    missing = HCDRank().fit(D.X_source, D.y_source, D.X_target, np.where(D.y_target == 2, -1, D.y_target))
    assert 2 not in missing.predict(D.X_target)


def test_preferences_are_all_or_so_many_and_always_from_the_better_row():
    y = np.random.default_rng(0).integers(-1, 4, 60)
    above, below = draw_preferences(y, 10_000, np.random.default_rng(0))
    table = (y[:, None] > y[None, :]) & (y[None, :] >= 0)
    assert sorted(zip(above, below, strict=True)) == sorted(zip(*np.nonzero(table), strict=True))
    above, below = draw_preferences(y, 100, np.random.default_rng(0))
    assert len(above) == 100
    assert (y[above] > y[below]).all()
    assert (y[below] >= 0).all()


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda: HCDRank().fit(D.X_source[:, :4], *D.args[1:]),
            "X_target: expected the 4 columns of X_source",
        ),
        (
            lambda: HCDRank().fit(D.X_source, D.y_source, D.X_target, np.where(D.y_target == 0, 0, -1)),
            "y_target: expected rows of two grades, so that one is preferred to another, got one",
        ),
        (lambda: HCDRank(regularization=0.0).fit(*D.args), "regularization: expected a number above 0, got 0.0"),
        (lambda: HCDRank(n_preferences=0).fit(*D.args), "n_preferences: expected a whole number of at least 1"),
        (lambda: HCDRank(random_state="x").fit(*D.args), "random_state: expected"),
    ],
)
def test_bad_input_is_one_sentence(use, message):
    with pytest.raises(InputError, match=message) as caught:
        use()
    assert one_sentence(caught)
