"""Random LogDet problems for the core's tests, written out pair by pair, and independent ways to their optimum."""

import warnings

import numpy as np
import pytest

from isthmus.solvers.bregman import BregmanProjections
from isthmus.solvers.logdet import LogDetProblem, MeanAlignment, Pairs
from isthmus.solvers.newton import DualNewton

ALIGNMENTS = ["penalty", "constraint", "none"]
TIGHT = DualNewton(tol=1e-9)
LONG = BregmanProjections(tol=1e-7, max_iter=20_000)


def random_problem(seed=0, n_left=6, n_right=3, d_left=4, d_right=3, weight=1.0, u=0.5, l=1.5, alignment="penalty",  # noqa: E741
                   alignment_weight=1.0, within=False, offset=0.0):  # fmt: skip
    """Cross-domain pairs of random rows; bounds in units of the mean squared distance before any offset."""
    rng = np.random.default_rng(seed)
    d = d_left + d_right
    rows = np.zeros((n_left + n_right, d))
    rows[:n_left, :d_left] = rng.normal(size=(n_left, d_left)) + 0.5
    rows[n_left:, d_left:] = rng.normal(size=(n_right, d_right)) - 0.5
    y = rng.integers(0, 2, size=n_left + n_right)
    scale = float((rows**2).sum(axis=1).mean() * 2)
    left, right = slice(0, n_left), slice(n_left, n_left + n_right)
    rows[left, :d_left] += offset
    rows[right, d_left:] += offset

    def pairs(a, b, triangle):
        sign = np.where(y[a, None] == y[None, b], 1.0, -1.0)
        weights = np.broadcast_to(weight, sign.shape)
        return Pairs(a, b, sign, np.triu(weights, 1) if triangle else weights, np.where(sign > 0, u, l) * scale)

    found = [pairs(left, right, False)]
    if within:
        found += [pairs(left, left, True), pairs(right, right, True)]
    shift = np.concatenate([rows[left, :d_left].mean(0), -rows[right, d_left:].mean(0)])
    align = {
        "penalty": lambda: MeanAlignment(shift, alignment_weight),
        "constraint": lambda: MeanAlignment(shift, alignment_weight, 0.05 * scale),
        "none": lambda: None,
    }[alignment]()
    return LogDetProblem(rows, tuple(found), align)


def random_multipliers(problem, seed=0, size=0.3):
    """Feasible multipliers somewhere in the domain of the dual."""
    graph = problem.graph
    raw = np.random.default_rng(seed).random(problem.n_pairs) * size
    w = np.where(graph.sign > 0, raw * graph.weight / graph.bound, -raw / graph.bound)
    w = np.where(graph.weight > 0, w, 0.0)
    while problem.at(w) is None:
        w = w / 2
    return w


def random_matrix(d, seed=0):
    """A positive definite matrix."""
    B = np.random.default_rng(seed).normal(size=(d, d))
    return B @ B.T / d + 0.1 * np.eye(d)


def explicit_pairs(problem):
    """Every pair as (z, δ, λ, ξ⁰), written out one by one."""
    for block in problem.pairs:
        for a, i in enumerate(range(block.left.start, block.left.stop)):
            for b, j in enumerate(range(block.right.start, block.right.stop)):
                yield problem.rows[i] - problem.rows[j], block.sign[a, b], block.weight[a, b], block.bound[a, b]
    if problem.alignment is not None and problem.alignment.slack is not None:
        for z, weight, slack in zip(
            problem.alignment.rows, problem.alignment.weight, problem.alignment.slack, strict=True
        ):
            yield z, 1.0, weight, slack


def explicit_primal(problem, M):
    value = np.trace(M) - np.linalg.slogdet(M)[1] - len(M)
    if problem.alignment is not None and problem.alignment.slack is None:
        for z, weight in zip(problem.alignment.rows, problem.alignment.weight, strict=True):
            value += weight * z @ M @ z
    for z, sign, weight, bound in explicit_pairs(problem):
        r = z @ M @ z / bound
        if sign * (r - 1) > 0 and weight > 0:
            value += weight * (r - np.log(r) - 1)
    return value


def explicit_precision(problem, w):
    P = np.eye(problem.rows.shape[1])
    if problem.alignment is not None and problem.alignment.slack is None:
        P += (problem.alignment.rows.T * problem.alignment.weight) @ problem.alignment.rows
    return P + sum(w_ * np.outer(z, z) for w_, (z, *_) in zip(w, explicit_pairs(problem), strict=True))


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
