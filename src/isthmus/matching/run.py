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
"""With more cells than this, the refinement is done on a sample of so many, and ends on all."""
SAMPLED = 2000
"""Rows of such a sample."""
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


def run(problem: Problem, schedule: Schedule, rng: Generator, tick: Callable[[], None], *, refine: bool) -> Run:
    """From a start by what is known; of many rows on a sample only."""
    if not refine:
        return Run.of(problem, plain(problem, problem.start(), schedule))
    part = sampled(problem, rng)
    return Run.of(part, refined(part, part.start(), schedule, rng, tick))


def whole(done: Run, problem: Problem) -> Run:
    """What a run has learned, applied to all rows of the problem, if it was on a sample."""
    if done.problem is problem:
        return done
    scores = problem.scores(done.refined.bridge)
    return Run.of(problem, Refined(done.refined.bridge, scores, crowding(scores), done.refined.schedule))


def on_all(done: Run, problem: Problem, tick: Callable[[], None]) -> Run:
    """The run continued on all rows of the problem, if it was on a sample."""
    if done.problem is problem:
        return done
    return Run.of(problem, continued(problem, whole(done, problem).refined, ROUNDS_ON_ALL, tick))


def sampled(problem: Problem, rng: Generator) -> Problem:
    """The problem of some rows of A, drawn at random, and of the rows of B that the start has as likely partners.

    Rows of B drawn at random would mostly not have their partner among those of A.
    """
    n, m = len(problem.A), len(problem.B)
    if problem.cells <= SAMPLE_CELLS:
        return problem
    part = problem.among(np.sort(rng.choice(n, min(n, SAMPLED), replace=False)))
    wanted = SAMPLE_CELLS // len(part.A)
    if wanted >= m:
        return part
    likely = best(part.allowed(part.start())).column_scores
    return part.of_columns(np.sort(np.argpartition(-likely, wanted)[:wanted]))
