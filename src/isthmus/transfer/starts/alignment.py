"""Rounds of soft pairs: partners, their means, ridge maps both ways, new scores; of many rows on a sample first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.maps import RidgeFit, ridge
from isthmus.matching.labels import veto
from isthmus.matching.neighbours import without_hubs
from isthmus.matching.preparation import unit
from isthmus.matching.scores import Scores
from isthmus.transfer.starts.barycentres import PARTNERS, barycentres, partners

GUESSES = 0.25
"""The weight of the class guesses, in the start and in every later round; both have deviation 1."""
FLOOR = 1e-3
"""Added to guesses before their logarithm."""
SAMPLED = 4000
"""Of more rows than this, all rounds but the last ones are on a sample of so many, on either side."""
ROUNDS_ON_ALL = 2
FEWEST_AXES, GROWTH = 20, 1.25
"""Axes of the first round from coarse to fine, and by how much their number grows in each."""
START, DECAY = 3.0, 0.7
"""The weight of the start in these rounds' scores (both have deviation 1), and what is left of it after each."""


@dataclass(frozen=True, eq=False)
class Sides:
    """Unit rows of both collections.

    Parameters
    ----------
    A, B : array (n, k), array (m, k')
        Source and target rows.
    ys, yt : array (n,), array (m,)
        Codes of their classes, -1 where unknown.
    guess : array (m, C)
        Probabilities of the target rows' classes.
    """

    A: FloatArray
    ys: IntArray
    B: FloatArray
    yt: IntArray
    guess: FloatArray

    def among(self, rows: IntArray, columns: IntArray) -> Sides:
        """Some rows of either."""
        return Sides(self.A[rows], self.ys[rows], self.B[columns], self.yt[columns], self.guess[columns])

    def class_scores(self, guess: FloatArray | None = None) -> Scores:
        """How likely the target row is of the source row's class: the logarithm of the guess, with deviation 1."""
        P = self.guess if guess is None else guess
        L = np.log(P + FLOOR)
        member = self.ys[:, None] == np.arange(P.shape[1])
        return Scores(member.astype(np.float32), (L / (L.std() or 1.0)).astype(np.float32))


@dataclass(frozen=True, eq=False)
class Maps:
    """Ridge maps from target to source rows and back."""

    to_source: RidgeFit
    to_target: RidgeFit

    def scores(self, sides: Sides) -> Scores:
        """Cosines on the source's side, plus those on the target's."""
        left = np.hstack([sides.A, unit(self.to_target.map(sides.A))])
        right = np.hstack([unit(self.to_source.map(sides.B)), sides.B])
        return Scores(left, right)


Teacher: TypeAlias = Callable[[Maps, Sides], FloatArray]
"""Guesses (m, C) of the target rows' classes by maps that were learned."""


def aligned(sides: Sides, start: Scores, rounds: int, teacher: Teacher | None, tick: Callable[[], None]) -> Maps:
    """The maps after so many rounds.

    Parameters
    ----------
    sides : Sides
        Labelled target rows are paired with source rows of their class only.
    start : Scores
        The first scores.
    rounds : int
        At least one.
    teacher : Teacher, optional
        Its guesses are a weak term of the scores in every round after the first.
    tick : callable
        Called once in every round.
    """
    n, m = start.shape
    if max(n, m) <= SAMPLED:
        return _after(sides, start, rounds, teacher, tick)
    rows, columns = sampled(sides.ys), sampled(sides.yt)
    on_all = 0 if teacher is None else min(ROUNDS_ON_ALL, rounds - 1)  # a probe need not be exact
    maps = _after(sides.among(rows, columns), start.among(rows, columns), rounds - on_all, teacher, tick)
    return _after(sides, _next(maps, sides, teacher), on_all, teacher, tick) if on_all else maps


def from_coarse_to_fine(sides: Sides, start: Scores, rounds: int, tick: Callable[[], None]) -> Maps:
    """The maps after rounds on few axes at first, then on more and more, with the start as a fading term.

    Labels and guesses are not looked at. The leading axes are common to both collections most of all, and a start
    that fades keeps the first rounds, that know few axes, from forgetting it. The last round is on all axes.
    """
    n, m = start.shape
    if max(n, m) > SAMPLED:
        rows, columns = sampled(sides.ys), sampled(sides.yt)
        sides, start = sides.among(rows, columns), start.among(rows, columns)
    most = max(sides.A.shape[1], sides.B.shape[1])
    scores = start
    maps: Maps | None = None
    for round_ in range(rounds):
        tick()
        axes = most if round_ == rounds - 1 else int(FEWEST_AXES * GROWTH**round_)
        part = replace(sides, A=unit(sides.A[:, :axes]), B=unit(sides.B[:, :axes]))
        maps = _learned(part, without_hubs(scores), maps)
        scores = maps.scores(part).standardised() + START * DECAY ** (round_ + 1) * start
    assert maps is not None
    return maps


def sampled(codes: IntArray, most: int = SAMPLED) -> IntArray:
    """Places of ``most`` rows drawn at random, and of some more so that no class has too few for a barycentre.

    Examples
    --------
    >>> codes = np.repeat([0, 1], [5000, 3])
    >>> len(sampled(codes)) >= 4000, set(range(5000, 5003)) <= set(sampled(codes).tolist())
    (True, True)
    """
    order = np.random.default_rng(0).permutation(len(codes))
    some = [order[codes[order] == c][:PARTNERS] for c in np.unique(codes)]
    return np.unique(np.concatenate([order[:most], *some]))


def _after(sides: Sides, scores: Scores, rounds: int, teacher: Teacher | None, tick: Callable[[], None]) -> Maps:
    forbidden = veto(sides.ys, sides.yt) if (sides.yt >= 0).any() else None
    maps: Maps | None = None
    for round_ in range(rounds):
        tick()
        fair = without_hubs(scores)
        maps = _learned(sides, fair if forbidden is None else fair + forbidden, maps)
        if round_ < rounds - 1:
            scores = _next(maps, sides, teacher)
    assert maps is not None
    return maps


def _next(maps: Maps, sides: Sides, teacher: Teacher | None) -> Scores:
    scores = maps.scores(sides)
    if teacher is None:
        return scores
    return scores.standardised() + GUESSES * sides.class_scores(teacher(maps, sides))


def _learned(sides: Sides, fair: Scores, before: Maps | None) -> Maps:
    """The maps of soft pairs; the search for penalties goes on from where it was."""
    found = partners(fair)
    of_target = barycentres(sides.A, found.of_columns, found.column_scores)
    of_source = barycentres(sides.B, found.of_rows, found.row_scores)
    near = (None, None) if before is None else (before.to_source.place, before.to_target.place)
    return Maps(ridge(sides.B, of_target, near=near[0]), ridge(sides.A, of_source, near=near[1]))
