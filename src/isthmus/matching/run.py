"""One run of a matching, on all rows or at first on a sample of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from isthmus._arrays import IntArray
from isthmus.matching.neighbours import crowding
from isthmus.matching.problem import Links, Problem
from isthmus.matching.refinement import Refined, Schedule, continued, plain, refined

SAMPLE_CELLS = 40_000_000
"""With more cells than this, the refinement is done on a sample of the rows of A, and ends on all."""
FEWEST_SAMPLED = 2000
ROUNDS_ON_ALL = 3


@dataclass(frozen=True, eq=False)
class Run:
    """A refinement that has ended, with the pairs that it knew."""

    refined: Refined
    known: Links

    @property
    def value(self) -> float:
        """Of the refinement."""
        return self.refined.value


def run(
    problem: Problem,
    known: Links,
    schedule: Schedule,
    seed: int,
    tick: Callable[[], None],
    *,
    refine: bool,
    null: bool,
) -> Run:
    """One run; ``null``: from a start that belongs to other rows of B, to see what comes out of nothing."""
    rng = np.random.default_rng([seed, len(known), null])
    rows = _sample(problem, known, rng)
    part = problem if rows is None else problem.among(rows)
    links = known if rows is None else Links(np.searchsorted(rows, known.i), known.j, known.weights)
    start = (part.permuted(rng) if null else part).start(links)
    if not refine:
        return Run(plain(problem, known, start, schedule), known)
    found = refined(part, links, start, schedule, rng, tick)
    if rows is not None:
        found = continued(problem, known, _on_all(problem, found), ROUNDS_ON_ALL, tick)
    return Run(found, known)


def _sample(problem: Problem, known: Links, rng: Generator) -> IntArray | None:
    n, m = len(problem.A), len(problem.B)
    size = max(FEWEST_SAMPLED, SAMPLE_CELLS // m)
    if size >= n:
        return None
    return np.union1d(known.i, rng.choice(n, size, replace=False))


def _on_all(problem: Problem, found: Refined) -> Refined:
    scores = problem.scores(found.bridge)
    return Refined(found.bridge, scores, crowding(scores), found.schedule)
