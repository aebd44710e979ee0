"""From labels to constraints: bounds that need no unit, and pairs of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._validation import FloatArray, IntArray, number
from isthmus.exceptions import InputError
from isthmus.objective import Pairs
from isthmus.objective.graph import PairGraph

EQUAL = 1e-8
"""Rows nearer than this (squared, in units of the variance of all) count as equal: its square is lost in rounding."""
UPPER, LOWER = 0.5, 1.5
"""The automatic bounds, in units of :func:`spread`."""


def spread(A: FloatArray, B: FloatArray) -> float:
    """What the mean squared distance across the domains would be if their means coincided.

    The sum of the variances of all coordinates of both domains: a squared distance that needs no labels, follows
    the scale of the features, does not depend on where their origin is, and exists where all cross-domain
    distances are equal (an RBF kernel). Where no row differs from another it is the mean squared distance itself,
    or one where that is zero too.
    """
    variance = float(A.var(axis=0).sum() + B.var(axis=0).sum())
    squared = float((A**2).sum(axis=1).mean() + (B**2).sum(axis=1).mean())
    rounding = ((len(A) + len(B)) * np.finfo(np.float64).eps) ** 2
    return variance if variance > rounding * squared else squared or 1.0


def as_bounds(bounds: Any, scale: float) -> tuple[float, float]:
    """(u, l) from the parameter ``bounds``: given squared distances, or "auto" in units of ``scale``."""
    if isinstance(bounds, str) and bounds == "auto":
        return UPPER * scale, LOWER * scale
    if not isinstance(bounds, tuple | list | np.ndarray) or len(bounds) != 2:
        raise InputError(f'bounds: expected "auto" or two squared distances (u, l), got {bounds!r}.')
    u, l = (number(value, "bounds", low=0.0, strict=True) for value in bounds)  # noqa: E741
    if u >= l:
        raise InputError(f"bounds: expected u < l, got u = {u:g} and l = {l:g}.")
    return u, l


def label_pairs(
    rows: FloatArray, y: IntArray, left: slice, right: slice, weight: float, bounds: tuple[float, float]
) -> tuple[Pairs, int]:
    """All pairs of two runs of rows, bounded by whether their labels agree.

    Equal rows with different labels can't be told apart by any metric, and nearly equal ones not in double
    precision: such pairs get no weight, and are counted in the second value.
    """
    sign = np.where(y[left, None] == y[None, right], 1.0, -1.0)
    weights = np.full(sign.shape, weight)
    if left == right:
        weights = np.triu(weights, k=1)
    pairs = Pairs(left, right, sign, weights, np.where(sign > 0, *bounds))
    distances = PairGraph((pairs,), len(rows)).distances(rows).reshape(sign.shape)
    hopeless = (distances <= EQUAL * rows.var(axis=0).sum()) & (sign < 0) & (weights > 0)
    if not hopeless.any():
        return pairs, 0
    return Pairs(left, right, sign, np.where(hopeless, 0.0, weights), pairs.bound), int(hopeless.sum())
