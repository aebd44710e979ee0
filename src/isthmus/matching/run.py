"""One run of a matching, on all rows or at first on a sample of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from isthmus._arrays import BoolArray, FloatArray, IntArray
from isthmus.matching.neighbours import Best, best, crowding
from isthmus.matching.problem import Problem
from isthmus.matching.refinement import Refined, Schedule, continued, plain, refined

SAMPLE_CELLS = 40_000_000
"""With more cells than this, the refinement is done on a sample of the rows of A, and ends on all."""
FEWEST_SAMPLED = 2000
ROUNDS_ON_ALL = 3


@dataclass(frozen=True, eq=False)
class Partners:
    """The best partner of each row of A, by numbers in the collections.

    Parameters
    ----------
    partner : array (n,)
        The row of B, -1 for rows of A that were not asked for.
    score : array (n,)
        Its score without hubs.
    mutual : array (n,)
        Whether the partner's best is this row.
    """

    partner: IntArray
    score: FloatArray
    mutual: BoolArray

    @classmethod
    def of(cls, problem: Problem, found: Best, n: int) -> Partners:
        """From the places of a problem's rows, for n rows in all."""
        partner, score, mutual = np.full(n, -1, np.intp), np.zeros(n), np.zeros(n, dtype=bool)
        partner[problem.rows], score[problem.rows] = problem.columns[found.of_rows], found.row_scores
        mutual[problem.rows[found.mutual]] = True
        return cls(partner, score, mutual)


@dataclass(frozen=True, eq=False)
class Run:
    """A refinement that has ended, with the rows that it was of, and the best partner of each."""

    problem: Problem
    refined: Refined
    best: Best

    @classmethod
    def of(cls, problem: Problem, found: Refined) -> Run:
        """With the best partners that the labels allow."""
        return cls(problem, found, best(problem.allowed(found.fair)))

    @property
    def value(self) -> float:
        """Of the refinement."""
        return self.refined.value


def run(problem: Problem, schedule: Schedule, rng: Generator, tick: Callable[[], None], *, refine: bool) -> Run:
    """From a start by what is known; with many rows on a sample, then on all."""
    if not refine:
        return Run.of(problem, plain(problem, problem.start(), schedule))
    part = sampled(problem, np.zeros(0, np.intp), rng)
    found = refined(part, part.start(), schedule, rng, tick)
    if part is not problem:
        scores = problem.scores(found.bridge)
        found = continued(problem, Refined(found.bridge, scores, crowding(scores), schedule), ROUNDS_ON_ALL, tick)
    return Run.of(problem, found)


def run_from_nothing(
    problem: Problem, always: IntArray, schedule: Schedule, rng: Generator, tick: Callable[[], None], *, refine: bool
) -> Run:
    """The same from a start that belongs to other rows of B; on a sample only, in which some rows are always."""
    part = sampled(problem.permuted(rng), always, rng)
    start = part.start()
    return Run.of(part, refined(part, start, schedule, rng, tick) if refine else plain(part, start, schedule))


def sampled(problem: Problem, always: IntArray, rng: Generator) -> Problem:
    """The problem of so many rows of A that their table with B is not too large; some rows, by number, are always."""
    n, m = len(problem.A), len(problem.B)
    size = max(FEWEST_SAMPLED, SAMPLE_CELLS // m)
    if size >= n:
        return problem
    return problem.among(np.union1d(np.searchsorted(problem.rows, always), rng.choice(n, size, replace=False)))
