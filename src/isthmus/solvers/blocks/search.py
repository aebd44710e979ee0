r"""How far to go along a direction, judged on the sample.

A step turns M = L Lᵀ into :math:`L V h(t\mu) V^T L^T`, with D = V diag(μ) Vᵀ. Far from the optimum the way is a geodesic,
:math:`h(\mu) = e^\mu`, which never leaves the positive definite matrices; near it is straight, :math:`h(\mu) = 1 + \mu`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.solvers.blocks.curvature import Curvature
from isthmus.solvers.blocks.frame import Asked, multipliers
from isthmus.solvers.blocks.point import shift_asked

TRIALS = 12
FLAT = 0.1
"""A slope of this part of the first one is flat enough."""
GROWTH = 30.0
"""The largest logarithm of what a geodesic step may do to an axis."""
BOUNDARY = 0.9
"""The part of the way to the boundary of the positive definite matrices that a straight step may go."""
LONGEST = 64.0


@dataclass(frozen=True, eq=False)
class Path:
    """The way from L along a direction."""

    L: FloatArray
    mu: FloatArray
    axes: FloatArray
    straight: bool

    @property
    def longest(self) -> float:
        """The longest step that is allowed."""
        if self.straight:
            return min(LONGEST, BOUNDARY / max(-float(self.mu.min(initial=0.0)), 1e-9))
        return min(LONGEST, GROWTH / max(float(np.abs(self.mu).max(initial=0.0)), 1e-9))

    def stretch(self, t: float) -> FloatArray:
        """h(t μ)."""
        return np.asarray(1.0 + t * self.mu if self.straight else np.exp(t * self.mu))

    def rate(self, t: float) -> FloatArray:
        """The derivative of h(t μ) in t."""
        return np.asarray(self.mu if self.straight else self.mu * np.exp(t * self.mu))

    def factor(self, t: float) -> FloatArray:
        """A factor of the metric there, not triangular."""
        return np.asarray(self.L @ (self.axes * np.sqrt(self.stretch(t))))


def step_length(path: Path, H: Curvature, slope: float) -> float:
    """The length at which the sample's objective is flat along the path, its slope at zero set to that of all rows."""
    slopes = _Slopes.of(path, H)
    bias = slope - slopes(0.0)
    low, high, t = 0.0, np.inf, min(1.0, path.longest)
    at_low, at_high = slope, 0.0
    for _ in range(TRIALS):
        g = slopes(t) + bias
        if abs(g) <= FLAT * abs(slope) or (g < 0.0 and t >= path.longest):
            break
        if g > 0.0:
            high, at_high = t, g
        else:
            low, at_low = t, g
        # Between the two by the secant, kept away from either end.
        inside = min(0.9, max(0.1, at_low / (at_low - at_high)))
        t = min(2.0 * t, path.longest) if high == np.inf else low + (high - low) * inside
    return t


@dataclass(frozen=True, eq=False)
class _Slopes:
    """The derivative of the sample's objective along a path, at any length."""

    path: Path
    H: Curvature
    rows: tuple[FloatArray, ...]
    """The sample's rows along the axes of the path."""
    target: FloatArray
    prior: FloatArray
    shifts: FloatArray

    @classmethod
    def of(cls, path: Path, H: Curvature) -> _Slopes:
        frame, V = H.frame, path.axes
        n = frame.task.n_source
        turn = V[:n].astype(frame.dtype)
        target = frame.b @ V[:n] + frame.c @ V[n:]
        LV = frame.L @ V
        prior = np.einsum("ij,ij->j", LV, frame.task.precision @ LV)
        rows = tuple(part.T @ turn for part in H.parts)
        return cls(path, H, rows, target.astype(frame.dtype), prior, H.shifts @ V)

    def __call__(self, t: float) -> float:
        h, rate = self.path.stretch(t), self.path.rate(t)
        squares, task = self.shifts**2, self.H.frame.task
        slope = float((self.prior - 1.0 / h) @ rate)
        slope += _slope(squares @ h, squares @ rate, shift_asked(task), 0.0)
        both = np.stack([h, rate], axis=1).astype(self.target.dtype)
        target = np.concatenate([self.target * both[:, 0], self.target * both[:, 1]])
        lengths, m = self.target**2 @ both, len(self.target)
        for R, part in zip(self.rows, self.H.parts, strict=True):
            cross, own = R @ target.T, R**2 @ both
            cross *= -2.0
            distances, changes = cross[:, :m], cross[:, m:]
            distances += own[:, :1] + lengths[:, 0]
            changes += own[:, 1:] + lengths[:, 1]
            slope += self.H.factor * _slope(distances, changes, part.asked, self.H.frame.least)
        return slope


def _slope(distances: FloatArray, changes: FloatArray, asked: Asked, least: float) -> float:
    W = multipliers(np.maximum(distances, least), asked)
    W *= changes
    return float(W.sum(dtype=np.float64))
