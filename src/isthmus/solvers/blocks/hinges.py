"""Squared hinges over blocks of source rows: their sum and its gradient from all rows, curvature from a sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray, IntArray, Matrix, as_dense
from isthmus._rows import Rows
from isthmus.exceptions import InputError
from isthmus.linalg import conjugate_gradients
from isthmus.objective.hinge import HingeCertificate, HingePoint, HingeProblem
from isthmus.solvers.hinge import DECREASE, LOOSEST_STEP, ROUNDING, SHORTEST_STEP, HingeNewton
from isthmus.solvers.iteration import IterativeSolver
from isthmus.solvers.result import relative_gap

SAMPLE_PAIRS = 3_000_000
"""Pairs of the sample that curvature is taken from, at most."""
SAMPLE_GAP, SAMPLE_STEPS = 1e-6, 100
"""How well the sample's own problem is solved: the sample is no nearer to all rows than that."""
BEST_STEP = 1e-2
"""Newton's equation of a sample is never solved better than this: it is not that near to the one of all rows."""


@dataclass(frozen=True, eq=False)
class HingeBlocks:
    r"""The objective of Kulis et al. (2011) over source rows that are nowhere as one array.

    .. math:: f(W) = \|W\|_F^2 + \lambda \sum_{ij} \max(0,\; \delta_{c(i)j} (b_{c(i)j} - x_i^T Q W y_j))^2

    Parameters
    ----------
    rows : Rows
        x (n_s, d), with a code c each.
    axes : array (d, r_s)
        Q: orthonormal axes that the rows lie along.
    target : array (n_l, r_l)
        Y.
    sign, bound : array (C, n_l)
        δ and b, for each code.
    weight : float
        λ.
    """

    rows: Rows
    axes: FloatArray
    target: FloatArray
    sign: FloatArray
    bound: FloatArray
    weight: float

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return self.rows.n * len(self.target)

    def start(self, W: FloatArray | None = None) -> HingeBlockPoint:
        """The point at a given W, such as that of a similar problem, or at zero."""
        shape = self.axes.shape[1], self.target.shape[1]
        if W is not None and np.shape(W) != shape:
            raise InputError(f"start: expected shape {shape}, got {np.shape(W)}.")
        return self.at(np.zeros(shape) if W is None else np.array(W, dtype=np.float64))

    def value(self, W: FloatArray) -> float:
        """f(W)."""
        return self.at(W).primal

    def at(self, W: FloatArray) -> HingeBlockPoint:
        """A point of the problem, with its value and its gradient: one pass."""
        loss, G = self.rows.total(_Hinges(self.axes @ (W @ self.target.T), self.sign, self.bound))
        gradient = 2.0 * (W - self.weight * (self.axes.T @ G @ self.target))
        return HingeBlockPoint(self, W, float(np.vdot(W, W) + self.weight * loss), gradient)

    def sampled(self, random: np.random.Generator) -> HingeProblem:
        """The problem of a sample of rows, each of which counts for several."""
        return self.written_out(self.rows.sample(max(1, SAMPLE_PAIRS // max(1, len(self.target))), random))

    def written_out(self, drawn: Rows | None = None) -> HingeProblem:
        """The problem with a number for every pair, of all rows or of some that count for all."""
        drawn = self.rows if drawn is None else drawn
        parts, codes = zip(*drawn.blocks(max(1, drawn.n)), strict=True)
        X, c = np.vstack([as_dense(part @ self.axes) for part in parts]), np.concatenate(codes)
        weight = self.weight * self.rows.n / max(1, drawn.n)
        return HingeProblem(X, self.target, self.sign[c], self.bound[c], weight)


@dataclass(frozen=True, eq=False)
class HingeBlockPoint(HingeCertificate):
    """A matrix W (r_s, r_l) with f(W) and its gradient."""

    problem: HingeBlocks
    W: FloatArray
    primal: float
    gradient: FloatArray


@dataclass(frozen=True, eq=False)
class _Hinges:
    products: FloatArray
    """Q W Yᵀ (d, n_l)."""
    sign: FloatArray
    bound: FloatArray

    def __call__(self, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
        """Σ h² () and Σ x (δ h)ᵀ (d, n_l)."""
        X, sign = X.astype(np.float64), self.sign[codes]
        h = np.maximum(sign * (self.bound[codes] - X @ self.products), 0.0)
        return np.asarray(np.vdot(h, h)), np.asarray(X.T @ (sign * h))


@dataclass(frozen=True)
class BlockHingeNewton(IterativeSolver[HingeBlockPoint]):
    """Newton steps whose gradient is that of all rows and whose curvature is that of a sample, from its optimum.

    A step costs a pass over the rows; value, gradient and so the gap are exact.

    Parameters
    ----------
    tol, max_iter
        As in :class:`~isthmus.solvers.HingeNewton`.

    Examples
    --------
    >>> from isthmus.solvers.blocks import ArrayRows
    >>> rows = ArrayRows(np.array([[1.0], [2.0], [-1.0]]), np.array([0, 0, 1]))
    >>> sign = np.array([[1.0], [-1.0]])
    >>> problem = HingeBlocks(rows, np.eye(1), np.ones((1, 1)), sign, np.maximum(sign, 0.0), 1.0)
    >>> BlockHingeNewton().solve(problem).components().round(4)  # 2 w = 2 (1 - w) + 4 (1 - 2 w)
    array([[0.5]])
    """

    tol: float = 1e-10
    max_iter: int = 100

    def iterates(self, start: HingeBlockPoint) -> Iterator[HingeBlockPoint]:
        """Ever better points, the last of them without end unless no progress is possible."""
        yield start
        problem = start.problem
        sample = problem.sampled(np.random.default_rng(0))
        point, first = problem.at(_optimum(sample, start.W)), start.gradient_norm
        if point.primal > start.primal:
            point = start
        squares = np.outer((sample.source**2).sum(axis=0), (sample.target**2).sum(axis=0))
        preconditioner = 1.0 / (2.0 + 2.0 * sample.weight * squares).ravel()
        while True:
            yield point
            accuracy = min(LOOSEST_STEP, max(BEST_STEP, point.gradient_norm / first))
            following = _line_search(point, _step(sample.at(point.W), point.gradient, preconditioner, accuracy))
            if following is None:
                return
            point = following


def _step(model: HingePoint, gradient: FloatArray, preconditioner: FloatArray, accuracy: float) -> FloatArray:
    """Newton's step for a gradient, with the curvature of a model."""
    V = conjugate_gradients(
        lambda v: model.curvature(v.reshape(gradient.shape)).ravel(), -gradient.ravel(), preconditioner, accuracy
    )
    return V.reshape(gradient.shape)


def _optimum(sample: HingeProblem, W: FloatArray) -> FloatArray:
    """Of the sample, nearly."""
    for step, point in enumerate(HingeNewton().iterates(sample.start(W))):
        if relative_gap(point.gap, point.scale) <= SAMPLE_GAP or step == SAMPLE_STEPS:
            return point.W
    return point.W


def _line_search(point: HingeBlockPoint, V: FloatArray) -> HingeBlockPoint | None:
    slope, step = float(np.vdot(point.gradient, V)), 1.0
    while step > SHORTEST_STEP:
        following = point.problem.at(point.W + step * V)
        lower = following.primal < point.primal + DECREASE * step * slope
        # Where values can't be told apart any more, slopes still can.
        level = following.primal <= point.primal * (1.0 + ROUNDING)
        if lower or (level and np.vdot(following.gradient, V) <= -0.9 * slope):
            return following
        step *= 0.5
    return None
