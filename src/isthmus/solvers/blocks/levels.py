"""Ever more rows, each level started from the metric of the one before."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.solvers.blocks.point import place, require_finite
from isthmus.solvers.blocks.reduction import Reduced
from isthmus.solvers.blocks.rows import Rows
from isthmus.solvers.blocks.steps import newton_steps

GROWTH = 4
"""How many times the rows of the level before."""
COARSEST = 8000
"""With no more rows than twice this there is one level: fewer rows than that tell little of more."""
SETTLED, SETTLED_BEND = 1e-4, 0.25
"""A level is left when steps of no more than this bend promise a fall of no more than this part of the objective."""
MOST_STEPS = 60
"""Steps on one level, at most: what is missing is made up for on the next one."""
SAMPLE, LARGEST_SAMPLE, SHARE = 8000, 50_000, 8
"""Rows of which the curvature is taken: the eighth part of a level, within these limits."""


def sample_size(n: int) -> int:
    """How many of n rows the curvature is taken of.

    Examples
    --------
    >>> sample_size(5_000), sample_size(100_000), sample_size(1_000_000)
    (5000, 12500, 50000)
    """
    return min(n, max(SAMPLE, min(LARGEST_SAMPLE, n // SHARE)))


def level_sizes(n: int) -> list[int]:
    """The sizes of all levels but the last, which has all n rows.

    Examples
    --------
    >>> level_sizes(10_000), level_sizes(1_000_000)
    ([], [15625, 62500, 250000])
    """
    sizes: list[int] = []
    while (n := n // GROWTH) >= COARSEST:
        sizes.append(n)
    return sizes[::-1]


def level_factor(task: Reduced, rows: Rows, random: np.random.Generator, L: FloatArray) -> tuple[FloatArray, float]:
    """The factor of a metric that is nearly the best on a sample of the rows, from one that is not, and the bend.

    A pair on a level weighs as much as it stands for, but at most one where it weighs less than that in the end: with
    more, few rows would be fitted far too closely.
    """
    most, bend = float(task.weight.max(initial=0.0)), 1.0
    for n in level_sizes(rows.n):
        level = rows.sample(n, random)
        factor = rows.n / level.n
        factor = max(1.0, min(factor, 1.0 / most)) if most > 0.0 else 1.0
        at = require_finite(place(task.weighted(factor), level, L))
        for count, step in enumerate(newton_steps(at, level, sample_size(level.n), random, bend)):
            at, bend = step.at, step.bend
            settled = bend <= SETTLED_BEND and step.promised <= SETTLED * max(1.0, abs(at.primal))
            if settled or count == MOST_STEPS:
                break
        L = at.frame.L
    return L, bend
