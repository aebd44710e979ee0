r"""Entropic Gromov–Wasserstein plans in single precision, and the search for the best one.

.. math:: \min_{\pi}\; \sum_{ijkl} (C_{ik} - D_{jl})^2\, \pi_{ij} \pi_{kl}
          + 2 \varepsilon \sum_{ij} \pi_{ij} \log \pi_{ij}

over plans π with uniform margins. The problem is not convex. Plans of a few hundred landmarks are annealed, from much
entropy to little, under several costs and for several draws of landmarks. They are spread over the sample, and those
that differ are refined there under the mean cost, where their values can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.spatial.distance import cdist

from isthmus._core.progress import WorkCounter
from isthmus._core.validation import FloatArray, IntArray
from isthmus.tasks.alignment.evidence import Rival
from isthmus.tasks.alignment.problem import AlignmentProblem, Collection

# ε, from much entropy to little; costs are at most one.
ANNEALING = (3e-2, 1e-2, 3e-3, 1e-3)
STEPS = 15
# Rounds of Sinkhorn's scaling in a step, and the error of the margins at which they stop; each fifth is tested.
SCALINGS, MARGIN_ERROR, TESTED = 20, 1e-3, 5
# The change of a plan, in all, at which the steps stop.
SETTLED = 1e-4
TINY = np.float32(1e-30)
# The share of the uniform plan in every plan, so that a row whose mass vanishes in single precision has a barycentre.
FLOOR = np.float32(1e-6)
# Landmarks of either collection in a draw, at most, and as a share of the sample: draws of all rows would be equal.
MOST_LANDMARKS, LANDMARK_SHARE = 350, 2 / 3
N_DRAWS = 3
# Plans whose barycentres differ by more, in units of the mean distance between barycentres, are both refined.
APART = 0.35
MOST_REFINED = 6
# The work of refining a plan on the sample, in plans of landmarks.
COST_OF_REFINEMENT = 4.0


def refine_plan(C: FloatArray, D: FloatArray, plan: FloatArray, epsilon: float, steps: int = STEPS) -> FloatArray:
    """Improve a plan (n, m) between rows with distances C (n, n) and D (m, m), by mirror descent.

    Each step replaces the quadratic cost by its gradient at the plan, and solves that entropic transport problem.

    Examples
    --------
    >>> C = np.abs(np.subtract.outer(*2 * [np.float32([0.0, 0.3, 1.0])]))
    >>> start = np.full((3, 3), 1 / 9, np.float32) + np.float32(0.01) * np.eye(3, dtype=np.float32)
    >>> refine_plan(C, C, start, 1e-2).argmax(axis=1)
    array([0, 1, 2])
    """
    (n, m), eps = plan.shape, np.float32(epsilon)
    a, b, g = np.float32(1.0 / n), np.float32(1.0 / m), np.zeros(m, np.float32)
    for _ in range(steps):
        M = -_gradient(C, D, plan) / eps
        # Potentials from sums of logarithms first: the scaling after them then stays within single precision.
        f = np.log(a) - _log_sums(M + g, 1)
        g = np.log(b) - _log_sums(M + f[:, None], 0)
        f = np.log(a) - _log_sums(M + g, 1)
        K, v = np.exp(M + f[:, None] + g), np.ones(m, np.float32)
        for k in range(1, SCALINGS + 1):
            u = a / np.maximum(K @ v, TINY)
            v = b / np.maximum(K.T @ u, TINY)
            if k % TESTED == 0 and np.abs(u * (K @ v) - a).sum() < MARGIN_ERROR:
                break
        before, plan = plan, u[:, None] * K * v
        plan /= plan.sum()
        g = g + np.log(np.clip(v, TINY, 1.0 / TINY))
        if np.abs(plan - before).sum() < SETTLED:
            break
    return plan


def _gradient(C: FloatArray, D: FloatArray, plan: FloatArray) -> FloatArray:
    """Return half the gradient (n, m) of the quadratic cost, whose inner product with the plan is that cost."""
    return np.asarray((C**2).mean(axis=1)[:, None] + (D**2).mean(axis=1) - 2.0 * (C @ plan) @ D)


def _log_sums(M: FloatArray, axis: int) -> FloatArray:
    largest = M.max(axis=axis, keepdims=True)
    return np.asarray((np.log(np.exp(M - largest).sum(axis=axis, keepdims=True)) + largest).squeeze(axis))


@dataclass(frozen=True, eq=False)
class Plan:
    """A plan between the samples (s, t), what it costs by row and by column, and where it takes the first one's rows.

    Parameters
    ----------
    mass : array (s, t)
        The plan, of total one.
    by_row, by_column : array (s,), (t,)
        Costs under the mean cost, in units of that of the uniform plan; the mean of either is the value.
    points : array (s, d')
        Barycentres of the rows of the first collection in the space of the second.
    """

    mass: FloatArray
    by_row: FloatArray
    by_column: FloatArray
    points: FloatArray

    @classmethod
    def of(cls, problem: AlignmentProblem, mass: FloatArray) -> Plan:
        """Compute costs and barycentres."""
        C, D = problem.first.costs[-1], problem.second.costs[-1]
        mass = (1 - FLOOR) * mass + FLOOR / np.float32(mass.size)
        unit = float((C**2).mean() + (D**2).mean() - 2.0 * C.mean() * D.mean())
        costs = mass * _gradient(C, D, mass) / unit
        points = mass @ problem.second.points / mass.sum(axis=1, keepdims=True)
        return cls(mass, len(C) * costs.sum(axis=1), len(D) * costs.sum(axis=0), points)

    @property
    def value(self) -> float:
        """The cost, in units of that of the uniform plan."""
        return float(self.by_row.mean(dtype=np.float64))

    def distance(self, other: Plan) -> float:
        """Return how far barycentres are from another plan's, in units of the mean distance between barycentres."""
        moved = np.linalg.norm(self.points - other.points, axis=1).mean()
        return float(moved / max(cdist(self.points, self.points).mean(), 1e-12))

    def compare(self, other: Plan) -> Rival:
        r"""Return by how much another plan costs more, also in standard errors.

        The value is a mean over pairs of rows, so its error is twice that of a mean over rows,
        :math:`2 \sqrt{\mathrm{var}_i / s + \mathrm{var}_j / t}`, here of the difference of both plans.
        """
        parts = (other.by_row - self.by_row, other.by_column - self.by_column)
        error = 2.0 * np.sqrt(sum(float(part.var()) / len(part) for part in parts))
        excess = other.value - self.value
        share, errors = excess / max(self.value, 1e-12), excess / max(float(error), 1e-12)
        return Rival(share, errors, self.distance(other))


def search_plans(problem: AlignmentProblem, rng: Generator, work: WorkCounter) -> tuple[list[Plan], list[int]]:
    """Return refined plans, the best first, and how many searches led to each of the different ones."""
    work.expect(N_DRAWS * len(problem.first.costs) + COST_OF_REFINEMENT)
    found = [plan for _ in range(N_DRAWS) for plan in _search_landmarks(problem, rng, work)]
    different: list[Plan] = []
    counts: list[int] = []
    for plan in sorted(found, key=lambda plan: plan.value):
        same = next((k for k, other in enumerate(different) if other.distance(plan) <= APART), None)
        if same is None:
            different.append(plan)
            counts.append(1)
        else:
            counts[same] += 1
    C, D = problem.first.costs[-1], problem.second.costs[-1]
    work.expect(COST_OF_REFINEMENT * (len(different[:MOST_REFINED]) - 1))
    refined = []
    for plan in different[:MOST_REFINED]:
        work.count("refining", COST_OF_REFINEMENT)
        refined.append(Plan.of(problem, refine_plan(C, D, plan.mass, ANNEALING[-1])))
    return sorted(refined, key=lambda plan: plan.value), counts


def _search_landmarks(problem: AlignmentProblem, rng: Generator, work: WorkCounter) -> list[Plan]:
    """Return a plan for each cost, from one draw of landmarks."""
    one, other = (_draw_landmarks(side, rng) for side in (problem.first, problem.second))
    left, right = problem.first.spread(one), problem.second.spread(other)
    plans = []
    for C, D in zip(problem.first.costs, problem.second.costs, strict=True):
        work.count("landmarks")
        mass: FloatArray = np.full((len(one), len(other)), 1.0 / (len(one) * len(other)), np.float32)
        for epsilon in ANNEALING:
            mass = refine_plan(C[np.ix_(one, one)], D[np.ix_(other, other)], mass, epsilon)
        spread = left @ mass @ right.T
        plans.append(Plan.of(problem, spread / spread.sum()))
    return plans


def _draw_landmarks(side: Collection, rng: Generator) -> IntArray:
    s = len(side.sample)
    return np.sort(rng.permutation(s)[: min(MOST_LANDMARKS, int(LANDMARK_SHARE * s))])
