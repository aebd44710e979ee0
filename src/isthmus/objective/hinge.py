"""A bilinear similarity across two domains, bounded by squared hinges: smooth, unconstrained, strongly convex."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isthmus._arrays import FloatArray
from isthmus._validation import short_repr
from isthmus.exceptions import InputError
from isthmus.objective.pairs import in_range
from isthmus.objective.point import Compact


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
            in_range(np.abs(getattr(self, name)).max(initial=0.0), name, power)

    @property
    def held_shape(self) -> tuple[int, int]:
        """All rows and all columns, for :func:`isthmus._threads.cap_threads`."""
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

    def collected(self, C: FloatArray) -> FloatArray:
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
        return 2.0 * (self.W - problem.weight * problem.collected(problem.sign * self.violations))

    def curvature(self, V: FloatArray) -> FloatArray:
        """The (generalised) Hessian applied to V: 2 V + 2 λ Xᵀ ([h > 0] ∘ X V Yᵀ) Y."""
        problem = self.problem
        active = np.where(self.violations > 0.0, problem.similarities(V), 0.0)
        return 2.0 * (V + problem.weight * problem.collected(active))
