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

SAMPLE_CELLS = 10_000_000
"""With more cells than this, the refinement is done on a sample of the rows of A, and ends on all."""
FEWEST_SAMPLED = 1000
ROUNDS_ON_ALL = 2


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


def run(
    problem: Problem, schedule: Schedule, always: IntArray, rng: Generator, tick: Callable[[], None], *, refine: bool
) -> Run:
    """From a start by what is known; of many rows on a sample only, in which some rows, by number, are always."""
    if not refine:
        return Run.of(problem, plain(problem, problem.start(), schedule))
    part = sampled(problem, always, rng)
    return Run.of(part, refined(part, part.start(), schedule, rng, tick))


def on_all(done: Run, problem: Problem, tick: Callable[[], None]) -> Run:
    """The run taken to all rows of the problem, if it was on a sample."""
    if len(done.problem.A) == len(problem.A):
        return done
    scores = problem.scores(done.refined.bridge)
    found = Refined(done.refined.bridge, scores, crowding(scores), done.refined.schedule)
    return Run.of(problem, continued(problem, found, ROUNDS_ON_ALL, tick))


def run_from_nothing(
    problem: Problem, schedule: Schedule, always: IntArray, rng: Generator, tick: Callable[[], None], *, refine: bool
) -> Run:
    """The same from a start that belongs to other rows of B."""
    return run(problem.permuted(rng), schedule, always, rng, tick, refine=refine)


def sampled(problem: Problem, always: IntArray, rng: Generator) -> Problem:
    """The problem of so many rows of A that their table with B is not too large; some rows, by number, are always."""
    n, m = len(problem.A), len(problem.B)
    size = max(FEWEST_SAMPLED, SAMPLE_CELLS // m)
    if size >= n:
        return problem
    return problem.among(np.union1d(np.searchsorted(problem.rows, always), rng.choice(n, size, replace=False)))
