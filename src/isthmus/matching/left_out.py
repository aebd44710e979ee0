"""Checks of a run by pairs that it has not learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from isthmus._arrays import FloatArray, IntArray
from isthmus.matching.neighbours import Best, best, without_hubs
from isthmus.matching.problem import Links, Problem
from isthmus.matching.refinement import chosen
from isthmus.matching.run import Run
from isthmus.matching.scores import Scores

FOLDS = 5
TIE = 1e-6
"""Scores that differ by less are equal, to rounding."""


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """The best partner of each row of A when its own pair was not learned from, and the score without hubs."""

    partner: IntArray
    score: FloatArray

    def confirmed(self, found: Best, rows: IntArray) -> float:
        """The share of these rows whose partner is the same as in the run itself."""
        return float((self.partner[rows] == found.of_rows[rows]).mean()) if len(rows) else 0.0


def out_of_fold(problem: Problem, final: Run, found: Best, rng: Generator, tick: Callable[[], None]) -> OutOfFold:
    """The mutual pairs in five parts: the rows of each are matched by what is learned from the four others."""
    n = len(problem.A)
    links = chosen(found, final.known)
    fold = rng.permutation(n) % FOLDS
    partner, score = np.zeros(n, np.intp), np.zeros(n, np.float32)
    for part in range(FOLDS):
        tick()
        others, rows = links.some(fold[links.i] != part), np.flatnonzero(fold == part)
        bridge = problem.bridge(others, None, final.refined.bridge)
        # How crowded a row of B is, is told by rows that are left out too: the others are nearer than they should be.
        fair = without_hubs(problem.among(rows).scores(bridge))
        b = best(problem.among(rows).allowed(fair))
        partner[rows], score[rows] = b.of_rows, b.row_scores
    return OutOfFold(partner, score)


def ranks(scores: Scores, links: Links) -> IntArray:
    """The place of the partner of each linked row of A among all rows of B, from 1."""
    own = scores.at(links.i, links.j)
    places = np.empty(len(links), np.intp)
    for rows, S in scores.among(links.i, np.arange(scores.shape[1])).blocks():
        places[rows] = 1 + (S - own[rows, None] > TIE).sum(axis=1)
    return places
