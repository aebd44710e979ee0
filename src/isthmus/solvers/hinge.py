r"""A bilinear similarity across two domains, bounded by squared hinges: smooth, unconstrained, strongly convex.

.. math:: f(W) = \|W\|_F^2 + \lambda \sum_{ij} h_{ij}^2, \qquad
   h_{ij} = \max(0,\; \delta_{ij} (b_{ij} - x_i^T W y_j))

Newton steps by conjugate gradients and a line search minimise it; :math:`\|\nabla f\|^2 / 4` bounds the gap, since
:math:`f - \|\cdot\|^2` is convex. With a number for every pair (:class:`HingeProblem`, :class:`HingeNewton`), or over
blocks of source rows (:class:`HingeBlocks`, :class:`BlockHingeNewton`), where the curvature is that of a sample while
value, gradient and gap are of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from isthmus._core.linalg import conjugate_gradients
from isthmus._core.rows import Rows
from isthmus._core.validation import FloatArray, IntArray, Matrix, ShortRepr, as_dense
from isthmus.exceptions import InputError
from isthmus.solvers.logdet import Point, check_range
from isthmus.solvers.result import IterativeSolver, relative_gap


@dataclass(frozen=True, eq=False, repr=False)
class HingeProblem(ShortRepr):
    r"""The objective of Kulis et al. (2011), similar and dissimilar pairs alike by a sign.

    .. math:: f(W) = \|W\|_F^2 + \lambda \sum_{ij} h_{ij}^2, \qquad
       h_{ij} = \max(0,\; \delta_{ij} (b_{ij} - x_i^T W y_j))
    """

    source: FloatArray  # X (n_s, r_s).
    target: FloatArray  # Y (n_l, r_l).
    sign: FloatArray  # δ (n_s, n_l): 1 for a pair whose similarity is bounded from below, -1 from above.
    bound: FloatArray  # b (n_s, n_l).
    weight: float  # λ.

    def __post_init__(self) -> None:
        for name, power in (("source", 1), ("target", 1), ("bound", 2)):
            check_range(np.abs(getattr(self, name)).max(initial=0.0), name, power)

    @property
    def held_shape(self) -> tuple[int, int]:
        """All rows and all columns, for :func:`isthmus._core.threads.cap_threads`."""
        (n, d), (m, e) = self.source.shape, self.target.shape
        return n + m, d + e

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return int(np.size(self.sign))

    def start(self, W: FloatArray | None = None) -> HingePoint:
        """Return the point at a given W, such as that of a similar problem, or at zero."""
        return self.at(_as_start(W, (self.source.shape[1], self.target.shape[1])))

    def value(self, W: FloatArray) -> float:
        """Return f(W)."""
        return self.at(W).primal

    def at(self, W: FloatArray) -> HingePoint:
        """Return a point of the problem."""
        return HingePoint(self, W, self.similarities(W))

    def similarities(self, W: FloatArray) -> FloatArray:
        """Return X W Yᵀ (n_s, n_l)."""
        return np.asarray(self.source @ (W @ self.target.T))

    def collect(self, C: FloatArray) -> FloatArray:
        """Return Xᵀ C Y (r_s, r_l), the adjoint of :meth:`similarities`."""
        return np.asarray(self.source.T @ (C @ self.target))


def _as_start(W: FloatArray | None, shape: tuple[int, int]) -> FloatArray:
    if W is not None and np.shape(W) != shape:
        raise InputError(f"start: expected shape {shape}, got {np.shape(W)}.")
    return np.zeros(shape) if W is None else np.array(W, dtype=np.float64)


class HingeCertificate(Point):
    """The gap that the gradient at a matrix W proves, however value and gradient were computed."""

    W: FloatArray
    gradient: Any

    def along(self, V: FloatArray) -> Callable[[float], Any]:
        """Return the points after steps along V."""
        return lambda step: self.problem.at(self.W + step * V)

    @cached_property
    def gradient_norm(self) -> float:
        """The Frobenius norm of the gradient."""
        return float(np.linalg.norm(self.gradient))

    @cached_property
    def gap(self) -> float:
        """No matrix has a value lower than f(W) by more than this: ‖∇f‖²/4, as f − ‖·‖² is convex."""
        return 0.25 * self.gradient_norm**2

    @property
    def scale(self) -> float:
        """The unit of a relative gap: f itself, so that any unit of W or of the rows cancels."""
        return float(self.primal)

    def components(self) -> FloatArray:
        """Return W."""
        return self.W


@dataclass(frozen=True, eq=False, repr=False)
class HingePoint(ShortRepr, HingeCertificate):
    """A matrix W (r_s, r_l) with its similarities X W Yᵀ; all else is a property."""

    problem: HingeProblem
    W: FloatArray
    similarities: FloatArray

    @cached_property
    def violations(self) -> FloatArray:
        """The distance of each pair to its bound where it is on the wrong side, else zero (n_s, n_l)."""
        problem = self.problem
        return np.maximum(problem.sign * (problem.bound - self.similarities), 0.0)

    @cached_property
    def primal(self) -> float:
        """f(W)."""
        return float(np.vdot(self.W, self.W) + self.problem.weight * np.vdot(self.violations, self.violations))

    @cached_property
    def gradient(self) -> FloatArray:
        """The gradient 2 W − 2 λ Xᵀ (δ ∘ h) Y."""
        problem = self.problem
        return 2.0 * (self.W - problem.weight * problem.collect(problem.sign * self.violations))

    def along(self, V: FloatArray) -> Callable[[float], HingePoint]:
        """Return the points along V, whose similarities cost one product for all steps."""
        change = self.problem.similarities(V)
        return lambda step: HingePoint(self.problem, self.W + step * V, self.similarities + step * change)

    def curvature(self, V: FloatArray) -> FloatArray:
        """Apply the (generalised) Hessian to V: 2 V + 2 λ Xᵀ ([h > 0] ∘ X V Yᵀ) Y."""
        problem = self.problem
        active = np.where(self.violations > 0.0, problem.similarities(V), 0.0)
        return 2.0 * (V + problem.weight * problem.collect(active))


# Newton's equation is solved at least this well, and better as the gradient falls.
LOOSEST_STEP = 0.1
# The part of the decrease that the slope predicts without which no step is taken.
DECREASE = 1e-4
SHORTEST_STEP = 1e-10
ROUNDING = 1e-13
# On the way to a large weight, by how much it grows at once, and how well each problem is solved.
STAGE_FACTOR, STAGE_GAP = 30.0, 1e-4


@dataclass(frozen=True)
class HingeNewton(IterativeSolver[HingePoint]):
    """Newton steps by preconditioned conjugate gradients, with a line search, from W = 0.

    Parameters
    ----------
    tol, max_iter
        As in :class:`~isthmus.solvers.result.IterativeSolver`: ‖∇f‖² ≤ 4 · tol · f proves that f is within tol · f of
        its minimum.
    """

    tol: float = 1e-10
    max_iter: int = 100

    def iterates(self, start: HingePoint) -> Iterator[HingePoint]:
        """Yield ever better points, without end unless no progress is possible.

        A large weight is approached through smaller ones: Newton's method from afar loses its way among the kinks.
        """
        yield start
        problem, W = start.problem, start.W
        for weight in _weights(problem.weight, float(_squares(problem).sum()) / problem.n_pairs):
            stage = replace(problem, weight=weight)
            point, preconditioner = stage.at(W), _preconditioner(stage)
            first = point.gradient_norm
            while weight == problem.weight or relative_gap(point.gap, point.scale) > STAGE_GAP:
                accuracy = min(LOOSEST_STEP, point.gradient_norm / first)
                V = _newton_step(point, point.gradient, preconditioner, accuracy)
                following = _line_search(point, V)
                if following is None:
                    break
                W = following.W
                point = stage.at(W)  # similarities from W: the sums of updates would drift
                yield point if weight == problem.weight else problem.at(W)


def _weights(goal: float, scale: float) -> list[float]:
    """Return weights from one that is 1 for rows of unit length, by equal factors, to the goal."""
    ratio = goal * scale
    n_stages = int(np.ceil(np.log(ratio) / np.log(STAGE_FACTOR))) if ratio > STAGE_FACTOR else 0
    return [goal * ratio ** (-k / n_stages) for k in range(n_stages, 0, -1)] + [goal]


def _squares(problem: HingeProblem) -> FloatArray:
    """Return the diagonal (r_s, r_l) of the pairs' part of the Hessian, were all of them active."""
    return np.outer((problem.source**2).sum(axis=0), (problem.target**2).sum(axis=0))


def _preconditioner(problem: HingeProblem) -> FloatArray:
    """Return one over the Hessian's diagonal, all pairs active; its inverse where XᵀX and YᵀY are diagonal."""
    return np.asarray(1.0 / (2.0 + 2.0 * problem.weight * _squares(problem)))


def _newton_step(model: HingePoint, gradient: FloatArray, preconditioner: FloatArray, accuracy: float) -> FloatArray:
    """Return Newton's step for a gradient, with the curvature of a model."""
    return conjugate_gradients(model.curvature, -gradient, lambda r: preconditioner * r, accuracy)


def _line_search(point: HingeCertificate, V: FloatArray) -> Any:
    """Return the longest of the steps 1, ½, ¼, … along V that gains enough; None where none does."""
    move = point.along(V)
    slope, step = float(np.vdot(point.gradient, V)), 1.0
    while step > SHORTEST_STEP:
        following = move(step)
        lower = following.primal < point.primal + DECREASE * step * slope
        # Where values differ by rounding only, slopes still decide (Hager and Zhang's approximate rule).
        level = following.primal <= point.primal * (1.0 + ROUNDING)
        if lower or (level and np.vdot(following.gradient, V) <= -0.9 * slope):
            return following
        step *= 0.5
    return None


# The most pairs of the sample that the curvature is computed from.
SAMPLE_PAIRS = 3_000_000
# The relative gap and the most steps of the sample's own problem: it is no nearer to that of all rows.
SAMPLE_GAP, SAMPLE_STEPS = 1e-6, 100
# Newton's equation of a sample is never solved better than this: it is no nearer to the one of all rows.
BEST_STEP = 1e-2


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
        """Return the point at a given W, such as that of a similar problem, or at zero."""
        return self.at(_as_start(W, (self.axes.shape[1], self.target.shape[1])))

    def value(self, W: FloatArray) -> float:
        """Return f(W)."""
        return self.at(W).primal

    def at(self, W: FloatArray) -> HingeBlockPoint:
        """Return a point of the problem, with its value and its gradient: one pass."""
        loss, G = self.rows.total(partial(_sum_hinges, self.axes @ (W @ self.target.T), self.sign, self.bound))
        gradient = 2.0 * (W - self.weight * (self.axes.T @ G @ self.target))
        return HingeBlockPoint(self, W, float(np.vdot(W, W) + self.weight * loss), gradient)

    def write_out(self, drawn: Rows | None = None) -> HingeProblem:
        """Return the problem with a number for every pair, of all rows or of some that count for all."""
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


def _sum_hinges(
    products: FloatArray, sign: FloatArray, bound: FloatArray, X: Matrix, codes: IntArray
) -> tuple[FloatArray, ...]:
    """Return Σ h² () and Σ x (δ h)ᵀ (d, n_l) of a block, from Q W Yᵀ (d, n_l)."""
    X, sign = X.astype(np.float64), sign[codes]
    h = np.maximum(sign * (bound[codes] - X @ products), 0.0)
    return np.asarray(np.vdot(h, h)), np.asarray(X.T @ (sign * h))


@dataclass(frozen=True)
class BlockHingeNewton(IterativeSolver[HingeBlockPoint]):
    """Newton steps with the gradient of all rows and the curvature of a sample, from the sample's optimum.

    A step costs a pass over the rows; value, gradient and so the gap are exact.

    Parameters
    ----------
    tol, max_iter
        As in :class:`~isthmus.solvers.hinge.HingeNewton`.

    Examples
    --------
    >>> from isthmus._core.rows import ArrayRows
    >>> rows = ArrayRows(np.array([[1.0], [2.0], [-1.0]]), np.array([0, 0, 1]))
    >>> sign = np.array([[1.0], [-1.0]])
    >>> problem = HingeBlocks(rows, np.eye(1), np.ones((1, 1)), sign, np.maximum(sign, 0.0), 1.0)
    >>> BlockHingeNewton().solve(problem).components().round(4)  # 2 w = 2 (1 - w) + 4 (1 - 2 w)
    array([[0.5]])
    """

    tol: float = 1e-10
    max_iter: int = 100

    def iterates(self, start: HingeBlockPoint) -> Iterator[HingeBlockPoint]:
        """Yield ever better points, without end unless no progress is possible."""
        yield start
        problem = start.problem
        n = max(1, SAMPLE_PAIRS // max(1, len(problem.target)))
        sample = problem.write_out(problem.rows.sample(n, np.random.default_rng(0)))
        point, first = problem.at(_optimum(sample, start.W)), start.gradient_norm
        if point.primal > start.primal:
            point = start
        preconditioner = _preconditioner(sample)
        following: HingeBlockPoint | None = point
        while following is not None:
            yield (point := following)
            accuracy = min(LOOSEST_STEP, max(BEST_STEP, point.gradient_norm / first))
            V = _newton_step(sample.at(point.W), point.gradient, preconditioner, accuracy)
            following = _line_search(point, V)


def _optimum(sample: HingeProblem, W: FloatArray) -> FloatArray:
    """Return the optimum of the sample, nearly."""
    for step, point in enumerate(HingeNewton().iterates(sample.start(W))):
        if relative_gap(point.gap, point.scale) <= SAMPLE_GAP or step == SAMPLE_STEPS:
            return point.W
    return point.W
