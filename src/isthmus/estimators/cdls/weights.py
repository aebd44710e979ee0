"""Weights between 0 and 1 with a given sum in each group, of least cost: a quadratic program without a matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray, IntArray

HALVINGS = 60
"""Of an interval, until it is rounding."""


@dataclass(frozen=True, eq=False)
class Shares:
    """The set of weights z (n,) in [0, 1] whose sum in each group is a share of its size.

    Parameters
    ----------
    groups : array (n,)
        The group of every weight, counted from 0.
    share : float
        The mean weight, in (0, 1].
    """

    groups: IntArray
    share: float

    @property
    def sums(self) -> FloatArray:
        """What the weights of each group add up to."""
        return np.asarray(self.share * np.bincount(self.groups))

    def nearest(self, z: FloatArray) -> FloatArray:
        """The point of the set that is nearest to z: each group shifted by a number, and cut off at 0 and 1.

        Examples
        --------
        >>> Shares(np.array([0, 0, 0, 1, 1]), 0.5).nearest(np.array([5.0, 0.2, -3.0, 1.0, 1.0])).round(6)
        array([1. , 0.5, 0. , 0.5, 0.5])
        """
        sums, n = self.sums, len(self.sums)
        low, high = np.full(n, np.inf), np.full(n, -np.inf)
        np.minimum.at(low, self.groups, z - 1.0)
        np.maximum.at(high, self.groups, z)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            found = np.bincount(self.groups, np.clip(z - middle[self.groups], 0.0, 1.0), minlength=n)
            low, high = np.where(found > sums, middle, low), np.where(found > sums, high, middle)
        return np.asarray(np.clip(z - (0.5 * (low + high))[self.groups], 0.0, 1.0))

    def least(self, g: FloatArray) -> float:
        """The least value of gᵀz over the set: full weight for the smallest of each group."""
        order = np.lexsort((g, self.groups))
        sizes = np.bincount(self.groups)
        place = np.arange(len(g)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return float(g[order] @ np.clip(self.sums[self.groups[order]] - place, 0.0, 1.0))


def best_weights(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    shares: Shares,
    start: FloatArray,
    tol: float,
    max_iter: int = 2000,
) -> tuple[FloatArray, float, float]:
    """The minimum of a convex quadratic, given as value and gradient, over a set of weights; its value and its gap.

    Accelerated projected gradients with restarts; the step is halved where the quadratic is steeper than thought. The
    gap, gᵀz less its least value over the set, bounds what is left to gain.
    """
    z, x, momentum, step = shares.nearest(start), shares.nearest(start), 1.0, 1.0
    value = np.inf
    for k in range(max_iter):
        f, g = objective(x)
        if k == 0:
            step = 1.0 / (float(np.abs(g).max()) or 1.0)
        while True:
            new = shares.nearest(x - step * g)
            moved = new - x
            f_new, g_new = objective(new)
            if f_new <= f + g @ moved + 0.5 / step * (moved @ moved) + 1e-14 * abs(f):
                break
            step *= 0.5
        gap = float(g_new @ new) - shares.least(g_new)
        if gap <= tol * abs(f_new):
            return new, f_new, max(gap, 0.0)
        if f_new > value:  # the momentum has overshot
            x, momentum, value = z, 1.0, np.inf
            continue
        later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        x, z, momentum, value = new + (momentum - 1.0) / later * (new - z), new, later, f_new
        step *= 1.1
    f, g = objective(z)
    return z, f, max(float(g @ z) - shares.least(g), 0.0)
