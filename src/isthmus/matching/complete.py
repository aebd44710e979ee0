"""The matching of collections of which one has all its rows in known pairs: there is nothing to find, or to check."""

from __future__ import annotations

import numpy as np

from isthmus.matching.matching import Matching
from isthmus.matching.neighbours import NO_PARTNER, best, without_hubs
from isthmus.matching.problem import Links, Problem


def side_without_rows(problem: Problem, known: Links, one_to_one: bool) -> str | None:
    """The collection that has no row left to be matched: "A", "B" or None."""
    left = problem.knowing(known, one_to_one)
    return "A" if not len(left.A) else "B" if not len(left.B) else None


def known_alone(problem: Problem, known: Links, side: str) -> Matching:
    """The known pairs, with the scores that are learned from them."""
    shape = len(problem.A), len(problem.B)
    known = known.some(np.argsort(known.i))
    fair = without_hubs(problem.scores(problem.bridge(known)))
    found = best(problem.allowed(fair))
    nearest = np.where(found.row_scores > NO_PARTNER, found.of_rows, -1)
    nearest[known.i] = known.j
    return Matching(
        pairs=np.stack([known.i, known.j], axis=1),
        score=fair.at(known.i, known.j).astype(np.float64),
        confidence=np.ones(len(known)),
        nearest=nearest,
        shape=shape,
        succeeded=True,
        verdict=(
            f"matched: {len(known):,} pairs of {shape[0]:,} and {shape[1]:,} rows; nothing is left to match, as all "
            f"rows of {side} are in known pairs, which were not checked."
        ),
        evidence=None,
    )
