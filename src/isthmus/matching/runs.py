"""All runs of a matching: both schedules, restarts, a run from nothing to compare with, and what they agree on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from isthmus._arrays import BoolArray, FloatArray, IntArray
from isthmus._progress import EXPECTED, WorkCounter
from isthmus.matching.left_out import confirmed, folds_of, out_of_fold, ranks, without_known
from isthmus.matching.neighbours import Best
from isthmus.matching.polishing import polished
from isthmus.matching.problem import Links, Problem
from isthmus.matching.refinement import COARSE, FLAT, ROUNDS, Schedule
from isthmus.matching.run import ROUNDS_ON_ALL, SAMPLE_CELLS, Partners, Run, on_all, run

T = TypeVar("T")
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
    mutual, null_mutual : float
        The share of the rows that choose each other with a row of B; of the null run.
    known_ranks, known_scores : array (p,)
        The ranks of the partners in known pairs, and their scores, by what is learned from all other pairs.
    held_back, shuffled : array (h,)
        The ranks of the partners of the rows that were held back, by a run from the others, and by the null run.
    held_pairs : Links
        These rows and their partners.
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
    mutual: float
    null_mutual: float
    known_ranks: IntArray
    known_scores: FloatArray
    held_back: IntArray
    shuffled: IntArray
    held_pairs: Links


def all_runs(
    problem: Problem,
    known: Links,
    restarts: int,
    rng: Generator,
    counter: WorkCounter,
    *,
    refine: bool,
    one_to_one: bool,
    n_jobs: int,
) -> Runs:
    """Both schedules; the better one again, from all pairs, and from nothing; the best two are polished."""
    for_runs, for_null, for_folds, for_pairs = (g.spawn(restarts + 2) for g in rng.spawn(4))
    held, kept = _held_back(known, for_pairs[0])
    wrong = _shuffled(kept, for_pairs[1])
    some, nothing, all_known = (problem.knowing(pairs, one_to_one) for pairs in (kept, wrong, known))

    cost = max(1.0, all_known.cells / SAMPLE_CELLS) if refine else 1.0
    counter.expect(_work(all_known, restarts, cost, refine))

    def one(what: str, asked: Problem, schedule: Schedule, seed: Generator) -> Callable[[], Run]:
        def work() -> Run:
            with counter.count_rounds(what, ROUNDS if refine else 0) as count:
                return run(asked, schedule, seed, count, refine=refine)

        return work

    schedules = (COARSE, FLAT) if refine else (FLAT,)
    jobs = [one(s.name, some, s, seed) for s, seed in zip(schedules, for_runs, strict=False)]
    trial = max(_run_jobs(jobs, n_jobs, counter), key=lambda r: r.value)
    schedule = trial.refined.schedule
    nothing = nothing.permuted(for_null[0])
    jobs = [one("from nothing", nothing, schedule, for_null[1])]
    jobs += [one("again", all_known, schedule, seed) for seed in for_runs[2 : restarts + 1]]
    null, *finals = _run_jobs(jobs, n_jobs, counter)
    # A run that knew only some of the pairs is not the last word, but its agreement counts.
    order = sorted(finals if len(held) else [trial, *finals], key=lambda r: -r.value)
    best_two = (order[0], order[1] if len(order) > 1 else trial)

    def side(r: Run, seed: Generator) -> tuple[Run, Best]:
        r = on_all(r, some if r is trial else all_known, partial(counter.count, "all rows", cost))
        return r, out_of_fold(r, seed, partial(counter.count, "rows left out", cost))

    sides = _run_jobs(
        [partial(side, r, seed) for r, seed in zip(best_two, for_folds, strict=False)]
        + [lambda: (null, out_of_fold(null, for_folds[2], partial(counter.count, "rows left out")))],
        n_jobs,
        counter,
    )
    places = held, ranks(trial, some, held), ranks(null, nothing, held)
    polish = (
        partial(out_of_fold, rng=for_folds[3], tick=partial(counter.count, "polishing", cost)) if refine else None
    )
    return _seen(problem, known, sides, order[0].value, places, polish)


def _work(problem: Problem, restarts: int, cost: float, refine: bool) -> float:
    """About how many rounds of a run all of it takes, where a round on all rows costs so many of them."""
    if not refine:
        return 3.0 * folds_of(problem)
    on_all = 2.0 * ROUNDS_ON_ALL * (cost > 1.0) + 3.0 * folds_of(problem)  # two sides, and one of them polished
    return (restarts + 2) * EXPECTED * ROUNDS + folds_of(problem) + cost * on_all


def _seen(
    problem: Problem,
    known: Links,
    sides: list[tuple[Run, Best]],
    value: float,
    held: tuple[Links, IntArray, IntArray],
    polish: Callable[[Run], Best] | None,
) -> Runs:
    """What all runs come to: whether it worked is asked before polishing, which brings even wrong pairs into line."""
    n = len(problem.A)
    (_, left_out), second, null = sides
    agreement = _agreement(*(Partners.of(r.problem, r.best, n) for r, _ in sides[:2]))
    final, other = (s[0] if polish is None else polished(*s) for s in (sides[0], second))
    if polish is not None:
        left_out = polish(final)
    found_left_out, left_out_score = np.zeros(n, dtype=bool), np.zeros(n)
    found_left_out[final.problem.rows] = left_out.of_rows == final.best.of_rows
    left_out_score[final.problem.rows] = left_out.row_scores
    known_ranks, known_scores = without_known(problem, final, known)
    return Runs(
        final=final,
        null=null[0],
        value=value,
        found=Partners.of(final.problem, final.best, n),
        again=Partners.of(other.problem, other.best, n),
        found_left_out=found_left_out,
        left_out_score=left_out_score,
        agreement=agreement,
        confirmed=confirmed(*sides[0]),
        null_confirmed=confirmed(*null),
        mutual=_mutual(sides[0][0]),
        null_mutual=_mutual(null[0]),
        known_ranks=known_ranks,
        known_scores=known_scores,
        held_back=held[1],
        shuffled=held[2],
        held_pairs=held[0],
    )


def _mutual(done: Run) -> float:
    return len(done.best.mutual) / max(1, len(done.problem.rows))


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
    """Each row with the partner of another; none, where there is one pair only."""
    order = rng.permutation(len(links)) if len(links) > 1 else np.zeros(0, np.intp)
    return Links(links.i[order], links.j[np.roll(order, 1)], links.weights[order])


def _run_jobs(jobs: Sequence[Callable[[], T]], n_jobs: int, counter: WorkCounter) -> list[T]:
    """Return the results of jobs, up to ``n_jobs`` of them in threads; where one fails or is interrupted, all end."""
    if n_jobs == 1 or len(jobs) == 1:
        return [job() for job in jobs]
    with ThreadPoolExecutor(n_jobs) as pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            return [future.result() for future in _await_all(futures)]
        except BaseException:
            counter.stop()
            for future in futures:
                future.cancel()
            raise


def _await_all(futures: list[Future[T]]) -> list[Future[T]]:
    """Return the futures when all are done; or, when one has failed, those that failed, the cause first."""
    done, _ = wait(futures, return_when=FIRST_EXCEPTION)
    failed = [future for future in done if future.exception() is not None]
    return sorted(failed, key=lambda f: isinstance(f.exception(), CancelledError)) or futures
