r"""How far to go along a direction, judged on the sample.

A step turns M = L Lᵀ into :math:`L V h(t\mu) V^T L^T`, with D = V diag(μ) Vᵀ and a bend κ from 0 to 1:

.. math:: h(\mu) = (1 + (1 - \kappa)\mu)^{1/(1 - \kappa)}, \qquad h(\mu) = 1 + \mu + \tfrac{\kappa}{2} \mu^2 + \dots

At κ = 0 it is a straight line, best near the optimum; at κ = 1 the exponential function, a geodesic, best far away.
Below h = ½ it goes on as a hyperbola: no step leaves the positive definite matrices, and none makes an axis of M
collapse, which would need many steps to grow again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray
from isthmus._threads import mapped, summed
from isthmus.solvers.blocks.curvature import Curvature, Part
from isthmus.solvers.blocks.frame import Asked, multipliers
from isthmus.solvers.blocks.point import shift_asked

TRIALS = 12
FLAT = 0.1
"""A slope of this part of the first one is flat enough."""
TAIL = 0.5
"""Where the hyperbola begins."""
PAIRS = 2_000_000
"""About so many pairs of the sample are enough to tell a slope, which is one number."""
LONGEST, MOST_GROWTH, MOST_GROWTH_LOGARITHM = 64.0, 100.0, 300.0
"""The longest step, the largest t μ, and the logarithm of what is out of the question in any case."""


@dataclass(frozen=True, eq=False)
class Path:
    """The way from L along a direction."""

    L: FloatArray
    mu: FloatArray
    axes: FloatArray
    bend: float
    """κ."""

    @property
    def longest(self) -> float:
        """The longest step that is allowed."""
        return min(LONGEST, MOST_GROWTH / max(float(self.mu.max(initial=0.0)), 1e-9))

    def stretch(self, t: float) -> tuple[FloatArray, FloatArray]:
        """H(t μ) and its derivative in t."""
        p, m = 1.0 - self.bend, t * self.mu
        if p > 0.0:
            edge, rate = (TAIL**p - 1.0) / p, TAIL ** (1.0 - p)
            base = 1.0 + p * np.maximum(m, edge)
            h, change = base ** (1.0 / p), base ** (1.0 / p - 1.0)
        else:
            edge, rate = float(np.log(TAIL)), TAIL
            h = change = np.exp(np.clip(m, edge, MOST_GROWTH_LOGARITHM))
        below = np.maximum(edge - m, 0.0) * (rate / TAIL)
        return h / (1.0 + below), self.mu * np.where(below > 0.0, rate / (1.0 + below) ** 2, change)

    def factor(self, t: float) -> FloatArray:
        """A factor of the metric there, not triangular."""
        return np.asarray(self.L @ (self.axes * np.sqrt(self.stretch(t)[0])))


def step_length(path: Path, H: Curvature, slope: float) -> float:
    """The length at which the sample's objective is flat along the path, with the slope of all rows at zero."""
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
    every: int
    """Of so many rows of the sample one is looked at."""
    rows: tuple[FloatArray, ...]
    """These rows along the axes of the path."""
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
        every = max(1, sum(part.c.size for part in H.parts) // PAIRS)
        rows = tuple(mapped(lambda part: part.T[::every] @ turn, H.parts))
        return cls(path, H, every, rows, target.astype(frame.dtype), prior, H.shifts @ V)

    def __call__(self, t: float) -> float:
        h, rate = self.path.stretch(t)
        squares, task = self.shifts**2, self.H.frame.task
        slope = float((self.prior - 1.0 / h) @ rate)
        slope += _slope(squares @ h, squares @ rate, shift_asked(task), 0.0)
        both = np.stack([h, rate], axis=1).astype(self.target.dtype)
        target = np.concatenate([self.target * both[:, 0], self.target * both[:, 1]])
        lengths, m = self.target**2 @ both, len(self.target)

        def share(block: tuple[FloatArray, Part]) -> tuple[FloatArray]:
            R, part = block
            cross, own = R @ target.T, R**2 @ both
            cross *= -2.0
            distances, changes = cross[:, :m], cross[:, m:]
            distances += own[:, :1] + lengths[:, 0]
            changes += own[:, 1:] + lengths[:, 1]
            asked = self.H.frame.asked(part.codes[:: self.every])
            return (np.asarray(_slope(distances, changes, asked, self.H.frame.least)),)

        sums = summed(share, list(zip(self.rows, self.H.parts, strict=True)))
        return slope + self.H.factor * self.every * float(sums[0]) if sums else slope


def _slope(distances: FloatArray, changes: FloatArray, asked: Asked, least: float) -> float:
    W = multipliers(np.maximum(distances, least), asked)
    W *= changes
    return float(W.sum(dtype=np.float64))
