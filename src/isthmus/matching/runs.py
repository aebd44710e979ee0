"""All runs of a matching: both schedules, restarts, a run from nothing to compare with, and what they agree on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from isthmus._arrays import BoolArray, IntArray
from isthmus.matching.left_out import OutOfFold, out_of_fold, ranks
from isthmus.matching.neighbours import Best, best
from isthmus.matching.problem import Links, Problem
from isthmus.matching.progress import Counter
from isthmus.matching.refinement import COARSE, FLAT, Schedule
from isthmus.matching.run import Run, run

ENOUGH_TO_HOLD_BACK = 15
"""With fewer known pairs than this, none is held back."""
FAR = 100.0
"""Taken off the scores of rows whose partner is known."""


@dataclass(frozen=True, eq=False)
class Runs:
    """What came out.

    Parameters
    ----------
    final : Run
        From all known pairs.
    found, again : Best
        The partners of each row by this run, and by another one.
    left_out : OutOfFold
        The partners that this run finds for rows that are left out of it.
    null : Run
        From shuffled pairs, or from a start that belongs to other rows.
    null_confirmed : float
        The share of the mutual pairs of this that it finds when they are left out.
    held_back, shuffled : array (h,)
        The ranks of the partners of the rows that were held back, by a run from the others, and by the null run.
    unknown : array (n,)
        The rows of A whose partner is not known.
    """

    final: Run
    found: Best
    again: Best
    left_out: OutOfFold
    null: Run
    null_confirmed: float
    held_back: IntArray
    shuffled: IntArray
    unknown: BoolArray


def all_runs(
    problem: Problem, known: Links, restarts: int, rng: Generator, counter: Counter, *, refine: bool, one_to_one: bool
) -> Runs:
    """Both schedules; the better one again, from all pairs, and from nothing."""
    seeds = rng.integers(2**32, size=restarts + 3)
    held, kept = _held_back(known, np.random.default_rng(seeds[-1]))

    def one(name: str, links: Links, schedule: Schedule, seed: int, null: bool = False) -> Run:
        return run(problem, links, schedule, int(seed), counter.of(name), refine=refine, null=null)

    trials = [one(s.name, kept, s, seeds[0]) for s in ((COARSE, FLAT) if refine else (FLAT,))]
    trial = max(trials, key=lambda r: r.value)
    schedule = trial.refined.schedule
    null = one("from nothing", _shuffled(kept, np.random.default_rng(seeds[-2])), schedule, seeds[0], null=True)
    finals = [one("again", known, schedule, seed) for seed in seeds[1:restarts]]
    # A run that knew only some of the pairs is not the last word, but its agreement counts.
    order = sorted(finals if len(held) else [trial, *finals], key=lambda r: -r.value)
    final, other = (order[0], trial if len(held) else order[1])
    found, again, nothing = (_best(problem, r, known, one_to_one) for r in (final, other, null))
    folds = np.random.default_rng(seeds[-3])
    left_out = out_of_fold(problem, final, found, folds, counter.of("rows left out"))
    null_left_out = out_of_fold(problem, null, nothing, folds, counter.of("rows left out"))
    unknown = ~np.isin(np.arange(len(problem.A)), known.i)
    return Runs(
        final=final,
        found=found,
        again=again,
        left_out=left_out,
        null=null,
        null_confirmed=null_left_out.confirmed(nothing, nothing.mutual),
        held_back=ranks(trial.refined.fair, held),
        shuffled=ranks(null.refined.fair, held),
        unknown=unknown,
    )


def _held_back(known: Links, rng: Generator) -> tuple[Links, Links]:
    """A third of the known pairs, if there are enough, and the others."""
    p = len(known)
    order = rng.permutation(p)
    h = p // 3 if p >= ENOUGH_TO_HOLD_BACK else 0
    return known.some(order[:h]), known.some(order[h:])


def _shuffled(links: Links, rng: Generator) -> Links:
    """Each row with the partner of another."""
    if len(links) < 2:
        return links
    order = rng.permutation(len(links))
    return Links(links.i[order], links.j[np.roll(order, 1)], links.weights[order])


def _best(problem: Problem, done: Run, known: Links, one_to_one: bool) -> Best:
    """The partners by a run; the rows of known pairs are taken."""
    scores = problem.allowed(done.refined.fair)
    if len(known) and one_to_one:
        rows, columns = np.zeros(scores.shape[0]), np.zeros(scores.shape[1])
        rows[known.i], columns[known.j] = -FAR, -FAR
        scores = scores.shifted(rows, columns)
    return best(scores)
