"""Checks of a run by pairs that it has not learned from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from isthmus._arrays import FloatArray, IntArray
from isthmus.matching.neighbours import Best, best, without_hubs
from isthmus.matching.problem import Links, Problem
from isthmus.matching.refinement import chosen
from isthmus.matching.run import Run, whole
from isthmus.matching.scores import Scores

FOLDS, FOLDS_OF_MANY = 10, 4
MANY = 4_000_000
"""With more cells than this, there are fewer folds."""
TIE = 1e-6
"""Scores that differ by less are equal, to rounding."""


def folds_of(problem: Problem) -> int:
    """How many parts the rows are in."""
    return FOLDS if problem.cells <= MANY else FOLDS_OF_MANY


def out_of_fold(done: Run, rng: Generator, tick: Callable[[], None]) -> Best:
    """The best partner of each row when its own pair was not learned from, and the score; of columns nothing.

    The rows are in some parts: those of each are matched by what is learned from the pairs of all others.
    """
    problem, n = done.problem, len(done.problem.A)
    links = chosen(done.best)
    folds = folds_of(problem)
    fold = rng.permutation(n) % folds
    partner, score = np.zeros(n, np.intp), np.zeros(n, np.float32)
    for part in range(folds):
        tick()
        others, rows = links.some(fold[links.i] != part), np.flatnonzero(fold == part)
        fair = problem.allowed(without_hubs(problem.scores(problem.bridge(others, None, done.refined.bridge))))
        b = best(fair.among(rows, np.arange(len(problem.B))))
        partner[rows], score[rows] = b.of_rows, b.row_scores
    return Best(partner, np.zeros(0, np.intp), score, np.zeros(0, np.float32))


def confirmed(done: Run, left_out: Best) -> float:
    """The share of the pairs that choose each other that are found when they are left out, too."""
    i = done.best.mutual
    return float((left_out.of_rows[i] == done.best.of_rows[i]).mean()) if len(i) else 0.0


def ranks(done: Run, problem: Problem, pairs: Links) -> IntArray:
    """The place of the partner of each row of A, from 1, among all rows of B; pairs by numbers in the collections."""
    if not len(pairs):
        return np.zeros(0, np.intp)
    done = whole(done, problem)
    i, j = np.searchsorted(done.problem.rows, pairs.i), np.searchsorted(done.problem.columns, pairs.j)
    return _places(done.refined.fair, i, j)


def without_known(problem: Problem, done: Run, known: Links) -> tuple[IntArray, FloatArray]:
    """The same ranks of known pairs, and their scores, by what is learned from the other pairs that a run found."""
    if not len(known):
        return np.zeros(0, np.intp), np.zeros(0)
    others = chosen(done.best)
    links = Links.of(done.problem.rows[others.i], done.problem.columns[others.j])
    fair = without_hubs(problem.scores(problem.bridge(links if len(links) > 1 else known)))
    return _places(fair, known.i, known.j), fair.at(known.i, known.j).astype(np.float64)


def _places(scores: Scores, i: IntArray, j: IntArray) -> IntArray:
    own = scores.at(i, j)
    places = np.empty(len(i), np.intp)
    for rows, S in scores.among(i, np.arange(scores.shape[1])).blocks():
        places[rows] = 1 + (S - own[rows, None] > TIE).sum(axis=1)
    return places
