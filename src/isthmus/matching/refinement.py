"""Refinement: rows that choose each other become pairs, the maps are learned anew, and so on, from coarse to fine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from numpy.random import Generator

from isthmus.matching.engines import Bridge
from isthmus.matching.neighbours import Best, Crowding, best, crowding, without_hubs
from isthmus.matching.problem import NONE, Links, Problem
from isthmus.matching.scores import Scores

SHOWN = 0.3
"""The share of the candidates that are not hidden in the first round."""
GROWTH = 1.1
"""By how much that share, and the number of axes, grow per round."""
AXES_AT_FIRST = 10
PRIOR, DECAY = 3.0, 0.9
"""The weight of the start in the scores (both have deviation 1), and what is left of it after each round."""
NEGLIGIBLE = 0.02
"""Below this weight the start no longer counts."""
ROUNDS = 60
"""The most rounds; most refinements end before, where the value no longer grows."""
PROGRESS, PATIENCE = 1e-4, 2
"""So much growth counts; without it for so many rounds, the refinement ends."""
FEWEST = 5
"""With fewer pairs than this that choose each other there is nothing to learn from."""


@dataclass(frozen=True)
class Schedule:
    """How a refinement goes about it: from few axes to all ("coarse to fine"), or on all from the start ("flat")."""

    name: str
    axes_at_first: int | None

    def shown(self, round_: int) -> float:
        """The share of the candidates that are not hidden."""
        return min(1.0, SHOWN * GROWTH**round_) if round_ else 1.0

    def axes(self, round_: int, most: int) -> int:
        """How many leading axes are used, of so many."""
        return most if self.axes_at_first is None else min(most, int(self.axes_at_first * GROWTH**round_))


COARSE, FLAT = Schedule("coarse to fine", AXES_AT_FIRST), Schedule("flat", None)


@dataclass(frozen=True, eq=False)
class Refined:
    """Where a refinement has ended.

    Parameters
    ----------
    bridge : Bridge
        What was learned last.
    scores : Scores
        Its scores of all pairs.
    crowd : Crowding
        Of these scores.
    schedule : Schedule
        How it was found.
    """

    bridge: Bridge
    scores: Scores
    crowd: Crowding
    schedule: Schedule

    @property
    def value(self) -> float:
        """The mean best score of a row over the highest possible one: what a refinement makes large."""
        return 0.5 * self.crowd.value

    @property
    def fair(self) -> Scores:
        """The scores without hubs."""
        return without_hubs(self.scores, self.crowd)


def refined(problem: Problem, start: Scores, schedule: Schedule, rng: Generator, tick: Callable[[], None]) -> Refined:
    """The best of the rounds in which nothing is hidden and all axes count.

    In each round, the rows of A and B that choose each other among the candidates (of which a share is hidden, less
    and less of them) become pairs, beside the known ones; the engine learns from them. The start counts as one more
    score, less and less: it keeps the first rounds, that know few axes, from forgetting what was known.
    """
    found: Refined | None = None
    top: Refined | None = None
    stalled = 0
    for round_ in range(ROUNDS):
        tick()
        fair = start if found is None else _with_prior(found.fair, start, round_)
        shown, axes = schedule.shown(round_), schedule.axes(round_, problem.axes)
        links = chosen(best(problem.allowed(fair), 1.0 - shown, rng))
        if len(links) + len(problem.anchors) < FEWEST:
            break
        settled = round_ > 0 and shown == 1.0 and axes == problem.axes
        before = found.bridge if found is not None and axes == problem.axes else None
        bridge = problem.bridge(links, axes, before)
        scores = problem.scores(bridge, axes)
        found = Refined(bridge, scores, crowding(scores), schedule)
        if settled:
            stalled = 0 if top is None or found.value > top.value + PROGRESS else stalled + 1
            top = found if top is None or found.value > top.value else top
            if stalled == PATIENCE:
                break
    return top or found or plain(problem, start, schedule)


def plain(problem: Problem, start: Scores, schedule: Schedule) -> Refined:
    """Without refinement: what the engine learns from the known pairs alone."""
    bridge = problem.bridge(NONE if len(problem.anchors) else chosen(best(problem.allowed(start))))
    scores = problem.scores(bridge)
    return Refined(bridge, scores, crowding(scores), schedule)


def continued(problem: Problem, found: Refined, rounds: int, tick: Callable[[], None]) -> Refined:
    """Some more rounds with nothing hidden, on all rows of the problem."""
    for _ in range(rounds):
        tick()
        links = chosen(best(problem.allowed(found.fair)))
        bridge = problem.bridge(links, None, found.bridge)
        scores = problem.scores(bridge)
        found = Refined(bridge, scores, crowding(scores), found.schedule)
    return found


def chosen(found: Best) -> Links:
    """Rows that choose each other."""
    i = found.mutual
    return Links.of(i, found.of_rows[i])


def _with_prior(fair: Scores, start: Scores, round_: int) -> Scores:
    weight = PRIOR * DECAY**round_
    return fair.standardised() + weight * start if weight > NEGLIGIBLE else fair
