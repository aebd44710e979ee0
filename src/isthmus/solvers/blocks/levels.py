"""Ever more rows, each level started from the metric of the one before."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import FloatArray
from isthmus._rows import Rows
from isthmus.solvers.blocks.point import place, require_finite
from isthmus.solvers.blocks.reduction import Reduced
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
TARGET_SAMPLE, MOST_PAIRS = 2048, 16_000_000
"""Labelled target rows of which it is taken, at most, and pairs with these."""
COARSEST_TARGET = 2048


def sample_size(n: int, n_target: int = 1) -> tuple[int, int]:
    """How many of n rows and of n_target labelled target rows the curvature is taken of.

    Examples
    --------
    >>> sample_size(5_000), sample_size(100_000), sample_size(1_000_000), sample_size(1_000_000, 5_000)
    ((5000, 1), (12500, 1), (50000, 1), (8000, 2048))
    """
    most = max(SAMPLE, min(LARGEST_SAMPLE, n // SHARE))
    m = min(n_target, TARGET_SAMPLE)
    return min(n, max(SAMPLE, min(most, MOST_PAIRS // max(1, m)))), m


def level_sizes(n: int, n_target: int = 1) -> list[tuple[int, int]]:
    """How many rows and labelled target rows all levels have but the last, which has all of them.

    Examples
    --------
    >>> level_sizes(10_000), level_sizes(1_000_000)
    ([], [(15625, 1), (62500, 1), (250000, 1)])
    >>> level_sizes(100_000, 10_000)
    [(25000, 2500), (100000, 2500)]
    """
    sizes: list[tuple[int, int]] = []
    while True:
        if n_target // GROWTH >= COARSEST_TARGET:
            n_target //= GROWTH
        elif n // GROWTH >= COARSEST:
            n //= GROWTH
        else:
            return sizes[::-1]
        sizes.append((n, n_target))


def level_factor(task: Reduced, rows: Rows, random: np.random.Generator, L: FloatArray) -> tuple[FloatArray, float]:
    """The factor of a metric that is nearly the best on a sample of the rows, from one that is not, and the bend.

    A pair on a level weighs as much as it stands for, but at most one where it weighs less than that in the end: with
    more, few rows would be fitted far too closely.
    """
    most, bend = max(1.0, float(task.weight.max(initial=0.0))), 1.0
    for n, n_target in level_sizes(rows.n, len(task.target)):
        level, some = rows.sample(n, random), task.among(n_target, random)
        factor = rows.n / level.n
        heaviest = factor * float(some.weight.max(initial=0.0))
        at = require_finite(place(some.weighted(factor * most / max(heaviest, most)), level, L))
        for count, step in enumerate(newton_steps(at, level, sample_size(level.n, len(some.target)), random, bend)):
            at, bend = step.at, step.bend
            settled = bend <= SETTLED_BEND and step.promised <= SETTLED * max(1.0, abs(at.primal))
            if settled or count == MOST_STEPS:
                break
        L = at.frame.L
    return L, bend
