"""A bilinear similarity across two domains, bounded by squared hinges: smooth, unconstrained, strongly convex."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isthmus._core.linalg import conjugate_gradients
from isthmus._core.validation import FloatArray, short_repr
from isthmus.exceptions import InputError
from isthmus.solvers.logdet import Compact, check_range
from isthmus.solvers.result import IterativeSolver, relative_gap


@short_repr
@dataclass(frozen=True, eq=False)
class HingeProblem:
    r"""The objective of Kulis et al. (2011), similar and dissimilar pairs alike by a sign.

    .. math:: f(W) = \|W\|_F^2 + \lambda \sum_{ij} h_{ij}^2, \qquad
       h_{ij} = \max(0,\; \delta_{ij} (b_{ij} - x_i^T W y_j))
    """

    source: FloatArray
    """X (n_s, r_s)."""
    target: FloatArray
    """Y (n_l, r_l)."""
    sign: FloatArray
    """δ (n_s, n_l): 1 for a pair whose similarity is bounded from below, -1 from above."""
    bound: FloatArray
    """b (n_s, n_l)."""
    weight: float
    """λ."""

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
        """The point at a given W, such as that of a similar problem, or at zero."""
        shape = self.source.shape[1], self.target.shape[1]
        if W is not None and np.shape(W) != shape:
            raise InputError(f"start: expected shape {shape}, got {np.shape(W)}.")
        return self.at(np.zeros(shape) if W is None else np.array(W, dtype=np.float64))

    def value(self, W: FloatArray) -> float:
        """f(W)."""
        return self.at(W).primal

    def at(self, W: FloatArray) -> HingePoint:
        """A point of the problem."""
        return HingePoint(self, W, self.similarities(W))

    def similarities(self, W: FloatArray) -> FloatArray:
        """X W Yᵀ (n_s, n_l)."""
        return np.asarray(self.source @ (W @ self.target.T))

    def collect(self, C: FloatArray) -> FloatArray:
        """Xᵀ C Y (r_s, r_l), the adjoint of :meth:`similarities`."""
        return np.asarray(self.source.T @ (C @ self.target))


class HingeCertificate(Compact):
    """What the gradient at a matrix W proves, however value and gradient were computed."""

    if TYPE_CHECKING:

        @property
        def W(self) -> FloatArray: ...  # noqa: D102

        @property
        def primal(self) -> float: ...  # noqa: D102

        @property
        def gradient(self) -> FloatArray: ...  # noqa: D102

    @cached_property
    def gradient_norm(self) -> float:
        """The Frobenius norm of the gradient."""
        return float(np.linalg.norm(self.gradient))

    @property
    def gap(self) -> float:
        """No matrix has a value lower than f(W) by more than this: ‖∇f‖²/4, as f − ‖·‖² is convex."""
        return 0.25 * self.gradient_norm**2

    @property
    def dual(self) -> float:
        """A lower bound of f at every matrix."""
        return self.primal - self.gap

    @property
    def scale(self) -> float:
        """The unit of a relative gap: f itself, so that any unit of W or of the rows cancels."""
        return self.primal

    def components(self) -> FloatArray:
        """W."""
        return self.W


@short_repr
@dataclass(frozen=True, eq=False)
class HingePoint(HingeCertificate):
    """A matrix W (r_s, r_l) with its similarities X W Yᵀ; all else is a property."""

    problem: HingeProblem
    W: FloatArray
    similarities: FloatArray

    @cached_property
    def violations(self) -> FloatArray:
        """How far each pair is on the wrong side of its bound (n_s, n_l)."""
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

    def curvature(self, V: FloatArray) -> FloatArray:
        """The (generalised) Hessian applied to V: 2 V + 2 λ Xᵀ ([h > 0] ∘ X V Yᵀ) Y."""
        problem = self.problem
        active = np.where(self.violations > 0.0, problem.similarities(V), 0.0)
        return 2.0 * (V + problem.weight * problem.collect(active))


LOOSEST_STEP = 0.1
"""Newton's equation is solved at least this well, and better as the gradient falls."""
DECREASE = 1e-4
SHORTEST_STEP = 1e-10
ROUNDING = 1e-13
STAGE_FACTOR, STAGE_GAP = 30.0, 1e-4
"""On the way to a large weight, by how much it grows at once, and how well each problem is solved."""


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
        """Ever better points, the last of them without end unless no progress is possible.

        A large weight is approached through smaller ones: Newton's method from afar loses its way among the kinks.
        """
        yield start
        problem, W = start.problem, start.W
        squares = np.outer((problem.source**2).sum(axis=0), (problem.target**2).sum(axis=0))
        for weight in _weights(problem.weight, float(squares.sum()) / problem.n_pairs):
            point = replace(problem, weight=weight).at(W)
            # The Hessian's diagonal if all pairs were active; all of it then, where XᵀX and YᵀY are diagonal.
            preconditioner = 1.0 / (2.0 + 2.0 * weight * squares).ravel()
            first = point.gradient_norm
            while weight == problem.weight or relative_gap(point.gap, point.scale) > STAGE_GAP:
                V = _newton_step(point, preconditioner, min(LOOSEST_STEP, point.gradient_norm / first))
                following = _line_search(point, V)
                if following is None:
                    break
                point, W = following, following.W
                yield point if weight == problem.weight else problem.at(W)


def _weights(goal: float, scale: float) -> list[float]:
    """From a weight that is one for rows of unit length, by equal factors, to the goal."""
    ratio = goal * scale
    n_stages = int(np.ceil(np.log(ratio) / np.log(STAGE_FACTOR))) if ratio > STAGE_FACTOR else 0
    return [goal * ratio ** (-k / n_stages) for k in range(n_stages, 0, -1)] + [goal]


def _newton_step(point: HingePoint, preconditioner: FloatArray, accuracy: float) -> FloatArray:
    shape, b = point.W.shape, -point.gradient.ravel()
    step = conjugate_gradients(lambda v: point.curvature(v.reshape(shape)).ravel(), b, preconditioner, accuracy)
    return step.reshape(shape)


def _line_search(point: HingePoint, V: FloatArray) -> HingePoint | None:
    change, slope, step = point.problem.similarities(V), float(np.vdot(point.gradient, V)), 1.0
    while step > SHORTEST_STEP:
        following = HingePoint(point.problem, point.W + step * V, point.similarities + step * change)
        lower = following.primal < point.primal + DECREASE * step * slope
        # Where values can't be told apart any more, slopes still can (Hager and Zhang's approximate rule).
        level = following.primal <= point.primal * (1.0 + ROUNDING)
        if lower or (level and np.vdot(following.gradient, V) <= -0.9 * slope):
            return point.problem.at(following.W)  # similarities anew: what the updates add up to would drift
        step *= 0.5
    return None
