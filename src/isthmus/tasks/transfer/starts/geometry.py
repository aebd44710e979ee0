"""Each row's best partners in the other collection, found block by block, and the means of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from isthmus._core.arrays import FloatArray, IntArray
from isthmus.geometry.coordinates import normalize_rows
from isthmus.geometry.scores import NO_PARTNER, Scores, apply_csls
from isthmus.maps.ridge import RidgeFit, fit_ridge
from isthmus.tasks.matching.problem import label_veto

PARTNERS = 20
"""Rows in a barycentre, where either collection has four times as many."""


@dataclass(frozen=True, eq=False)
class Partners:
    """The k best partners of each row of A, and of each row of B, with their scores; in no order.

    Parameters
    ----------
    of_rows, row_scores : array (n, k)
        Rows of B.
    of_columns, column_scores : array (m, k)
        Rows of A.
    """

    of_rows: IntArray
    row_scores: FloatArray
    of_columns: IntArray
    column_scores: FloatArray


def find_partners(scores: Scores, k: int | None = None) -> Partners:
    """The best ``k`` in each row and each column of a table, of which a block is held at a time.

    Examples
    --------
    >>> found = find_partners(Scores(np.eye(3), np.eye(3)), 1)
    >>> found.of_rows.ravel(), found.of_columns.ravel()
    (array([0, 1, 2]), array([0, 1, 2]))
    """
    n, m = scores.shape
    k = max(1, min(PARTNERS, n // 4, m // 4)) if k is None else k
    of_rows, row_scores = np.empty((n, k), np.intp), np.empty((n, k), scores.left.dtype)
    of_columns, column_scores = np.empty((m, 0), np.intp), np.empty((m, 0), scores.left.dtype)
    for rows, S in scores.blocks():
        of_rows[rows], row_scores[rows] = _largest(S, k)
        i, found = _largest(np.ascontiguousarray(S.T), min(k, len(S)))
        of_columns, column_scores = np.hstack([of_columns, i + rows.start]), np.hstack([column_scores, found])
        if column_scores.shape[1] > k:
            kept, column_scores = _largest(column_scores, k)
            of_columns = np.take_along_axis(of_columns, kept, axis=1)
    return Partners(of_rows, row_scores, of_columns, column_scores)


def _largest(S: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """Places and values of the k largest of each row."""
    places = np.argpartition(S, S.shape[1] - k, axis=1)[:, -k:]
    return places, np.take_along_axis(S, places, axis=1)


def compute_barycentres(X: FloatArray, places: IntArray, scores: FloatArray) -> FloatArray:
    r"""Means of partners, of unit length: :math:`\sum_j X_{p_{ij}}` over those that are allowed (n, d).

    A row of which fewer partners than asked for are allowed, because few rows of its class are known, has the mean
    of these; one that has none, the mean of all that were offered.

    Parameters
    ----------
    X : array (m, d)
        Rows of the other collection.
    places, scores : array (n, k)
        The partners of each row, and how good they are; forbidden ones have scores far below zero.
    """
    allowed = scores > NO_PARTNER
    weights = np.where(allowed.any(axis=1, keepdims=True), allowed, True).astype(X.dtype)
    total = np.zeros((len(places), X.shape[1]), X.dtype)
    for j in range(
        places.shape[1]
    ):  # one partner of all rows at a time: an array (n, k, d) would be k times as large
        total += weights[:, j, None] * X[places[:, j]]
    return normalize_rows(total)


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
class UnitRows:
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

    def among(self, rows: IntArray, columns: IntArray) -> UnitRows:
        """Some rows of either."""
        return UnitRows(self.A[rows], self.ys[rows], self.B[columns], self.yt[columns], self.guess[columns])

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

    def scores(self, sides: UnitRows) -> Scores:
        """Cosines on the source's side, plus those on the target's."""
        left = np.hstack([sides.A, normalize_rows(self.to_target.map(sides.A))])
        right = np.hstack([normalize_rows(self.to_source.map(sides.B)), sides.B])
        return Scores(left, right)


Teacher: TypeAlias = Callable[[Maps, UnitRows], FloatArray]
"""Guesses (m, C) of the target rows' classes by maps that were learned."""


def align(sides: UnitRows, start: Scores, rounds: int, teacher: Teacher | None, tick: Callable[[], None]) -> Maps:
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
        return _iterate(sides, start, rounds, teacher, tick)
    rows, columns = sample_rows(sides.ys), sample_rows(sides.yt)
    on_all = 0 if teacher is None else min(ROUNDS_ON_ALL, rounds - 1)  # a probe need not be exact
    maps = _iterate(sides.among(rows, columns), start.among(rows, columns), rounds - on_all, teacher, tick)
    return _iterate(sides, _next_maps(maps, sides, teacher), on_all, teacher, tick) if on_all else maps


def align_coarse_to_fine(sides: UnitRows, start: Scores, rounds: int, tick: Callable[[], None]) -> Maps:
    """The maps after rounds on few axes at first, then on more and more, with the start as a fading term.

    Labels and guesses are not looked at. The leading axes are common to both collections most of all, and a start
    that fades keeps the first rounds, that know few axes, from forgetting it. The last round is on all axes.
    """
    n, m = start.shape
    if max(n, m) > SAMPLED:
        rows, columns = sample_rows(sides.ys), sample_rows(sides.yt)
        sides, start = sides.among(rows, columns), start.among(rows, columns)
    most = max(sides.A.shape[1], sides.B.shape[1])
    scores = start
    maps: Maps | None = None
    for round_ in range(rounds):
        tick()
        axes = most if round_ == rounds - 1 else int(FEWEST_AXES * GROWTH**round_)
        part = replace(sides, A=normalize_rows(sides.A[:, :axes]), B=normalize_rows(sides.B[:, :axes]))
        maps = _fit_maps(part, apply_csls(scores), maps)
        scores = maps.scores(part).standardised() + START * DECAY ** (round_ + 1) * start
    assert maps is not None
    return maps


def sample_rows(codes: IntArray, most: int = SAMPLED) -> IntArray:
    """Places of ``most`` rows drawn at random, and of some more so that no class has too few for a barycentre.

    Examples
    --------
    >>> codes = np.repeat([0, 1], [5000, 3])
    >>> len(sample_rows(codes)) >= 4000, set(range(5000, 5003)) <= set(sample_rows(codes).tolist())
    (True, True)
    """
    order = np.random.default_rng(0).permutation(len(codes))
    some = [order[codes[order] == c][:PARTNERS] for c in np.unique(codes)]
    return np.unique(np.concatenate([order[:most], *some]))


def _iterate(sides: UnitRows, scores: Scores, rounds: int, teacher: Teacher | None, tick: Callable[[], None]) -> Maps:
    forbidden = label_veto(sides.ys, sides.yt) if (sides.yt >= 0).any() else None
    maps: Maps | None = None
    for round_ in range(rounds):
        tick()
        fair = apply_csls(scores)
        maps = _fit_maps(sides, fair if forbidden is None else fair + forbidden, maps)
        if round_ < rounds - 1:
            scores = _next_maps(maps, sides, teacher)
    assert maps is not None
    return maps


def _next_maps(maps: Maps, sides: UnitRows, teacher: Teacher | None) -> Scores:
    scores = maps.scores(sides)
    if teacher is None:
        return scores
    return scores.standardised() + GUESSES * sides.class_scores(teacher(maps, sides))


def _fit_maps(sides: UnitRows, fair: Scores, before: Maps | None) -> Maps:
    """The maps of soft pairs; the search for penalties goes on from where it was."""
    found = find_partners(fair)
    of_target = compute_barycentres(sides.A, found.of_columns, found.column_scores)
    of_source = compute_barycentres(sides.B, found.of_rows, found.row_scores)
    near = (None, None) if before is None else (before.to_source.place, before.to_target.place)
    return Maps(fit_ridge(sides.B, of_target, near=near[0]), fit_ridge(sides.A, of_source, near=near[1]))
