r"""A metric with its value, its gradient and a certificate, from one pass over the rows.

.. math:: w_{ij} = \lambda_{ij} (1/\xi^0_{ij} - 1/d^2_{ij}) \;\text{where the bound is broken}, \qquad
   E = L^T \Big(P + \sum w_{ij} z_{ij} z_{ij}^T\Big) L

In the frame of M = L Lᵀ the gradient is E − I. The same multipliers w are a point of the dual and prove the gap
:math:`\operatorname{tr} E - \log\det E - d`, exactly; it is finite where E is positive definite.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sla
from numpy.typing import DTypeLike

from isthmus._core.rows import Rows
from isthmus._core.validation import FloatArray, IntArray, Matrix
from isthmus.exceptions import InputError
from isthmus.solvers.blocks.metric import (
    BlockMetric,
    PairBounds,
    ReducedProblem,
    Sums,
    WhitenedFrame,
    multipliers,
    reduce_problem,
)
from isthmus.solvers.blocks.problem import BlockProblem
from isthmus.solvers.logdet import LogDetProblem


@dataclass(frozen=True, eq=False)
class Place:
    """A metric L Lᵀ with its losses and its gradient, from one pass over the rows."""

    frame: WhitenedFrame
    loss: float  # The losses of all pairs and shifts.
    E: FloatArray  # (d, d), the gradient plus the identity.

    @cached_property
    def spectrum(self) -> tuple[FloatArray, FloatArray]:
        """The eigenvalues of E, in rising order, and its axes."""
        values, axes = sla.eigh(self.E, driver="evd", check_finite=False)
        return values, axes

    @cached_property
    def primal(self) -> float:
        """f(M)."""
        task, L = self.frame.task, self.frame.L
        trace = float(np.einsum("ij,ij->", L, task.precision @ L))
        return trace - 2.0 * float(np.log(np.diagonal(L)).sum()) - task.d + self.loss

    @cached_property
    def gap(self) -> float:
        """f(M) is at most this far above its minimum."""
        e = self.spectrum[0]
        return float((e - 1.0 - np.log(e)).sum()) if not len(e) or e[0] > 0.0 else np.inf

    @property
    def relative_gap(self) -> float:
        """The gap in units of the objective, or of one nat."""
        return self.gap / max(1.0, abs(self.primal), abs(self.primal - self.gap)) if self.gap < np.inf else np.inf


@dataclass(frozen=True, eq=False)
class PassShare:
    """The share of a block in a pass: its pairs' loss, and their :class:`Sums`. It is sent to where the rows are."""

    metric: BlockMetric

    def __call__(self, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
        """Return the loss (), and sums over the pairs of a block."""
        metric, T = self.metric, self.metric.rows(X)
        across, target = np.empty((T.shape[1], len(metric.lengths))), np.empty(len(metric.lengths))
        loss, degrees = 0.0, np.zeros(len(T), dtype=T.dtype)
        for strip in metric.strips():
            part, W = pair_losses(metric.distances(T, strip), metric.select_bounds(codes, strip))
            loss, degrees = loss + part, degrees + W.sum(axis=1)
            across[:, strip], target[strip] = T.T @ W, W.sum(axis=0, dtype=np.float64)
        return np.asarray(loss), *Sums(metric.squares(T, degrees), across, target)


@dataclass(frozen=True, eq=False)
class LossShare:
    """The loss of a block's pairs alone."""

    metric: BlockMetric

    def __call__(self, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
        """Return the loss ()."""
        metric, T = self.metric, self.metric.rows(X)
        losses = (
            pair_losses(metric.distances(T, strip), metric.select_bounds(codes, strip))[0]
            for strip in metric.strips()
        )
        return (np.asarray(sum(losses)),)


def evaluate_metric(task: ReducedProblem, rows: Rows, L: FloatArray, dtype: DTypeLike = np.float32) -> Place:
    """Evaluate a metric by one pass over all rows."""
    frame = WhitenedFrame(task, L, dtype)
    loss, *sums = rows.total(PassShare(frame.metric))
    Z = task.shifts @ L
    share, w = pair_losses(np.einsum("ij,ij->i", Z, Z), shift_bounds(task))
    E = L.T @ task.precision @ L + frame.assemble(Sums(*sums)) + (Z.T * w) @ Z
    return Place(frame, float(loss) + share, 0.5 * (E + E.T))


def check_finite(at: Place) -> Place:
    """Return the place, or raise where rows that are not finite have spoilt it."""
    if not np.isfinite(at.E).all():
        raise InputError("rows: expected finite numbers, got NaN, inf, or numbers too large to be squared.")
    return at


def shift_bounds(task: ReducedProblem) -> PairBounds:
    """Return the bounds of the constrained shifts."""
    return PairBounds(1.0 / task.shift_bound, np.ones(len(task.shifts)), task.shift_weight)


def pair_losses(distances: FloatArray, bounds: PairBounds) -> tuple[float, FloatArray]:
    """Return the loss of pairs at these squared distances, which are overwritten, and w."""
    W = multipliers(distances, bounds)
    distances *= bounds.inverse_bound
    ratio = np.where(W != 0.0, distances, 1.0)
    with np.errstate(divide="ignore"):
        losses = ratio - np.log(ratio)
    losses -= 1.0
    losses *= bounds.weight
    return float(losses.sum(dtype=np.float64)), W


def objective_value(problem: BlockProblem, W: FloatArray) -> float:
    """Return the objective at W Wᵀ, in double precision; infinite where that is not definite."""
    task, rows = reduce_problem(problem)
    try:
        logdet = 2.0 * float(np.log(np.diagonal(np.linalg.cholesky(W @ W.T))).sum())
    except np.linalg.LinAlgError:
        return np.inf
    L = task.restrict(W)
    frame, Z = WhitenedFrame(task, L, np.float64), task.shifts @ L
    loss = pair_losses(np.einsum("ij,ij->i", Z, Z), shift_bounds(task))[0]
    loss += float(rows.total(LossShare(frame.metric))[0])
    penalty = problem.penalty
    shifts = penalty.rows @ W
    loss += float(penalty.weight @ np.einsum("ij,ij->i", shifts, shifts))
    value = float(np.einsum("ij,ij->", W, W)) - logdet - len(W) + loss
    return value if np.isfinite(value) else np.inf


def pair_multipliers(problem: Any, W: FloatArray) -> FloatArray:
    """Return the multipliers (n_pairs,) at the metric W Wᵀ, the shifts' after the pairs'."""
    if isinstance(problem, LogDetProblem):
        graph = problem.graph
        return multipliers(problem.distances(W), PairBounds(1.0 / graph.bound, graph.sign, graph.weight))
    task, rows = reduce_problem(problem)
    L = task.restrict(W)
    frame, Z = WhitenedFrame(task, L, np.float64), task.shifts @ L
    metric = frame.metric
    parts = [
        multipliers(metric.distances(metric.rows(X)), metric.select_bounds(codes)).ravel()
        for X, codes in rows.blocks()
    ]
    return np.concatenate([*parts, multipliers(np.einsum("ij,ij->i", Z, Z), shift_bounds(task))])
