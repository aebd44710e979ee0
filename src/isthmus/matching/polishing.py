"""Polishing: pairs that are not found when they are left out count less, and what is learned gets cleaner."""

from __future__ import annotations

import numpy as np

from isthmus.matching.neighbours import Best, crowding
from isthmus.matching.problem import Links
from isthmus.matching.refinement import Refined, chosen
from isthmus.matching.run import Run

LEAST, STEEP = 0.1, 4.0
"""The least weight of a pair that is not confirmed; how fast it falls with the share of such pairs."""


def polished(done: Run, left_out: Best) -> Run:
    """The run after it has learned again from its pairs, with less weight for those that others don't confirm.

    Where many rows have no partner, as many of the pairs that choose each other are wrong. A pair that is not found
    when it is left out is likely one of them; where nearly all are found, the few others are likely right.
    """
    problem, links = done.problem, chosen(done.best)
    kept = left_out.of_rows[links.i] == links.j
    if not kept.any():
        return done
    weight = max(LEAST, 1.0 - STEEP * float((~kept).mean()))
    weights = np.where(kept, 1.0, weight)
    bridge = problem.bridge(Links(links.i, links.j, weights), None, done.refined.bridge)
    scores = problem.scores(bridge)
    return Run.of(problem, Refined(bridge, scores, crowding(scores), done.refined.schedule))
