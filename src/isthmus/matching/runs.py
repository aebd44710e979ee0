"""All runs of a matching: both schedules, restarts, a run from nothing to compare with, and what they agree on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from isthmus._arrays import BoolArray, FloatArray, IntArray
from isthmus.matching.left_out import confirmed, out_of_fold, ranks, without_known
from isthmus.matching.polishing import polished
from isthmus.matching.problem import Links, Problem
from isthmus.matching.progress import Counter
from isthmus.matching.refinement import COARSE, FLAT
from isthmus.matching.run import Partners, Run, on_all, run, run_from_nothing

ENOUGH_TO_HOLD_BACK = 15
"""With fewer known pairs than this, none is held back."""


@dataclass(frozen=True, eq=False)
class Runs:
    """What came out.

    Parameters
    ----------
    final, null : Run
        From all known pairs; from shuffled pairs and a start that belongs to other rows.
    value : float
        Of the final run, before pairs that are not confirmed were given less weight.
    found, again : Partners
        The partners of each row by the final run, and by another one.
    found_left_out : array (n,)
        Whether the final run finds the partner of a row also when it is left out.
    left_out_score : array (n,)
        The best score of a row that is left out.
    agreement : float
        Among the rows that two runs find mutual partners for, the share for which these are the same.
    confirmed, null_confirmed : float
        The share of the pairs that choose each other that are found when they are left out; of the null run.
    known_ranks, known_scores : array (p,)
        The ranks of the partners in known pairs, and their scores, by what is learned from all other pairs.
    held_back, shuffled : array (h,)
        The ranks of the partners of the rows that were held back, by a run from the others, and by the null run.
    """

    final: Run
    null: Run
    value: float
    found: Partners
    again: Partners
    found_left_out: BoolArray
    left_out_score: FloatArray
    agreement: float
    confirmed: float
    null_confirmed: float
    known_ranks: IntArray
    known_scores: FloatArray
    held_back: IntArray
    shuffled: IntArray


def all_runs(
    problem: Problem, known: Links, restarts: int, rng: Generator, counter: Counter, *, refine: bool, one_to_one: bool
) -> Runs:
    """Both schedules; the better one again, from all pairs, and from nothing."""
    seeds = rng.spawn(restarts + 4)
    held, kept = _held_back(known, seeds[-1])
    wrong = _shuffled(kept, seeds[-2])
    some, nothing, all_known = (problem.knowing(pairs, one_to_one) for pairs in (kept, wrong, known))
    schedules = (COARSE, FLAT) if refine else (FLAT,)
    trials = [run(some, s, held.i, seeds[-3].spawn(1)[0], counter.of(s.name), refine=refine) for s in schedules]
    trial = max(trials, key=lambda r: r.value)
    schedule = trial.refined.schedule
    null = run_from_nothing(nothing, schedule, held.i, seeds[-2], counter.of("from nothing"), refine=refine)
    finals = [
        run(all_known, schedule, held.i[:0], seed, counter.of("again"), refine=refine) for seed in seeds[1:restarts]
    ]
    # A run that knew only some of the pairs is not the last word, but its agreement counts.
    order = sorted(finals if len(held) else [trial, *finals], key=lambda r: -r.value)
    best_two = (order[0], order[1] if len(order) > 1 else trial)
    held_back = ranks(trial, held)
    tick, folds = counter.of("all rows"), seeds[-4]
    final, other = (on_all(r, some if r is trial else all_known, tick) for r in best_two)
    n, tick = len(problem.A), counter.of("rows left out")
    sides = [(r, out_of_fold(r, folds, tick)) for r in (final, other)]
    # Whether it worked is asked before polishing, which brings even wrong pairs into line.
    share, agreement = confirmed(*sides[0]), _agreement(*(Partners.of(r.problem, r.best, n) for r, _ in sides))
    if refine:
        final, other = (polished(*side) for side in sides)
    left_out = out_of_fold(final, folds, tick) if refine else sides[0][1]
    found_left_out, left_out_score = np.zeros(n, dtype=bool), np.zeros(n)
    found_left_out[final.problem.rows] = left_out.of_rows == final.best.of_rows
    left_out_score[final.problem.rows] = left_out.row_scores
    known_ranks, known_scores = without_known(problem, final, known)
    return Runs(
        final=final,
        null=null,
        value=order[0].value,
        found=Partners.of(final.problem, final.best, n),
        again=Partners.of(other.problem, other.best, n),
        found_left_out=found_left_out,
        left_out_score=left_out_score,
        agreement=agreement,
        confirmed=share,
        null_confirmed=confirmed(null, out_of_fold(null, folds, tick)),
        known_ranks=known_ranks,
        known_scores=known_scores,
        held_back=held_back,
        shuffled=ranks(null, held),
    )


def _agreement(found: Partners, again: Partners) -> float:
    both = found.mutual & again.mutual
    return float((found.partner[both] == again.partner[both]).mean()) if both.any() else 0.0


def _held_back(known: Links, rng: Generator) -> tuple[Links, Links]:
    """A third of the known pairs, if there are enough, and the others."""
    p = len(known)
    order = rng.permutation(p)
    h = p // 3 if p >= ENOUGH_TO_HOLD_BACK else 0
    return known.some(order[:h]), known.some(order[h:])


def _shuffled(links: Links, rng: Generator) -> Links:
    """Each row with the partner of another."""
    order = rng.permutation(len(links))
    return Links(links.i[order], links.j[np.roll(order, 1)], links.weights[order])
