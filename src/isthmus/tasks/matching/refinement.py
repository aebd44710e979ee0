"""Refinement: rows that choose each other become pairs, the maps are learned anew, and so on, from coarse to fine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from isthmus._core.progress import EXPECTED, WorkCounter
from isthmus._core.validation import BoolArray, FloatArray, IntArray
from isthmus.geometry.similarity import Best, Hubness, Scores, apply_csls, find_best, measure_hubness
from isthmus.tasks.matching.engine import Bridge
from isthmus.tasks.matching.problem import NONE, Links, Problem

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
    crowd: Hubness
    schedule: Schedule

    @property
    def value(self) -> float:
        """The mean best score of a row over the highest possible one: what a refinement makes large."""
        return 0.5 * self.crowd.value

    @property
    def fair(self) -> Scores:
        """The scores without hubs."""
        return apply_csls(self.scores, self.crowd)


def refine_matches(
    problem: Problem, start: Scores, schedule: Schedule, rng: Generator, tick: Callable[[], None]
) -> Refined:
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
        fair = start if found is None else _add_prior(found.fair, start, round_)
        shown, axes = schedule.shown(round_), schedule.axes(round_, problem.axes)
        links = mutual_pairs(find_best(problem.allowed(fair), 1.0 - shown, rng))
        if len(links) + len(problem.anchors) < FEWEST:
            break
        settled = round_ > 0 and shown == 1.0 and axes == problem.axes
        before = found.bridge if found is not None and axes == problem.axes else None
        bridge = problem.bridge(links, axes, before)
        scores = problem.scores(bridge, axes)
        found = Refined(bridge, scores, measure_hubness(scores), schedule)
        if settled:
            stalled = 0 if top is None or found.value > top.value + PROGRESS else stalled + 1
            top = found if top is None or found.value > top.value else top
            if stalled == PATIENCE:
                break
    return top or found or match_without_refinement(problem, start, schedule)


def match_without_refinement(problem: Problem, start: Scores, schedule: Schedule) -> Refined:
    """Without refinement: what the engine learns from the known pairs alone."""
    bridge = problem.bridge(NONE if len(problem.anchors) else mutual_pairs(find_best(problem.allowed(start))))
    scores = problem.scores(bridge)
    return Refined(bridge, scores, measure_hubness(scores), schedule)


def continue_refinement(problem: Problem, found: Refined, rounds: int, tick: Callable[[], None]) -> Refined:
    """Some more rounds with nothing hidden, on all rows of the problem."""
    for _ in range(rounds):
        tick()
        links = mutual_pairs(find_best(problem.allowed(found.fair)))
        bridge = problem.bridge(links, None, found.bridge)
        scores = problem.scores(bridge)
        found = Refined(bridge, scores, measure_hubness(scores), found.schedule)
    return found


def mutual_pairs(found: Best) -> Links:
    """Rows that choose each other."""
    i = found.mutual
    return Links.of(i, found.of_rows[i])


def _add_prior(fair: Scores, start: Scores, round_: int) -> Scores:
    weight = PRIOR * DECAY**round_
    return fair.standardize() + weight * start if weight > NEGLIGIBLE else fair


SAMPLE_CELLS = 10_000_000
"""With more cells than this, the refinement is done on a sample of so many, and ends on all."""
SAMPLED = 2000
"""Rows of such a sample."""
ROUNDS_ON_ALL = 2


@dataclass(frozen=True, eq=False)
class Partners:
    """The best partner of each row of A, by numbers in the collections.

    Parameters
    ----------
    partner : array (n,)
        The row of B, -1 for rows of A that were not asked for.
    score : array (n,)
        Its score without hubs.
    mutual : array (n,)
        Whether the partner's best is this row.
    """

    partner: IntArray
    score: FloatArray
    mutual: BoolArray

    @classmethod
    def of(cls, problem: Problem, found: Best, n: int) -> Partners:
        """From the places of a problem's rows, for n rows in all."""
        partner, score, mutual = np.full(n, -1, np.intp), np.zeros(n), np.zeros(n, dtype=bool)
        partner[problem.rows], score[problem.rows] = problem.columns[found.of_rows], found.row_scores
        mutual[problem.rows[found.mutual]] = True
        return cls(partner, score, mutual)


@dataclass(frozen=True, eq=False)
class Run:
    """A refinement that has ended, with the rows that it was of, and the best partner of each."""

    problem: Problem
    refined: Refined
    best: Best

    @classmethod
    def of(cls, problem: Problem, found: Refined) -> Run:
        """With the best partners that the labels allow."""
        return cls(problem, found, find_best(problem.allowed(found.fair)))

    @property
    def value(self) -> float:
        """Of the refinement."""
        return self.refined.value


def run_refinement(
    problem: Problem, schedule: Schedule, rng: Generator, tick: Callable[[], None], *, refine: bool
) -> Run:
    """From a start by what is known; of many rows on a sample only."""
    if not refine:
        return Run.of(problem, match_without_refinement(problem, problem.start(), schedule))
    part = sample_problem(problem, rng)
    return Run.of(part, refine_matches(part, part.start(), schedule, rng, tick))


def apply_to_all(done: Run, problem: Problem) -> Run:
    """What a run has learned, applied to all rows of the problem, if it was on a sample."""
    if done.problem is problem:
        return done
    scores = problem.scores(done.refined.bridge)
    return Run.of(problem, Refined(done.refined.bridge, scores, measure_hubness(scores), done.refined.schedule))


def continue_on_all(done: Run, problem: Problem, tick: Callable[[], None]) -> Run:
    """The run continued on all rows of the problem, if it was on a sample."""
    if done.problem is problem:
        return done
    return Run.of(problem, continue_refinement(problem, apply_to_all(done, problem).refined, ROUNDS_ON_ALL, tick))


def sample_problem(problem: Problem, rng: Generator) -> Problem:
    """The problem of some rows of A, drawn at random, and of the rows of B that the start has as likely partners.

    Rows of B drawn at random would mostly not have their partner among those of A.
    """
    n, m = len(problem.A), len(problem.B)
    if problem.cells <= SAMPLE_CELLS:
        return problem
    part = problem.among(np.sort(rng.choice(n, min(n, SAMPLED), replace=False)))
    wanted = SAMPLE_CELLS // len(part.A)
    if wanted >= m:
        return part
    likely = find_best(part.allowed(part.start())).column_scores
    return part.of_columns(np.sort(np.argpartition(-likely, wanted)[:wanted]))


FOLDS, FOLDS_OF_MANY = 10, 4
MANY = 4_000_000
"""With more cells than this, there are fewer folds."""
TIE = 1e-6
"""Scores that differ by less are equal, to rounding."""


def n_folds(problem: Problem) -> int:
    """How many parts the rows are in."""
    return FOLDS if problem.cells <= MANY else FOLDS_OF_MANY


def match_out_of_fold(done: Run, rng: Generator, tick: Callable[[], None]) -> Best:
    """The best partner of each row when its own pair was not learned from, and the score; of columns nothing.

    The rows are in some parts: those of each are matched by what is learned from the pairs of all others.
    """
    problem, n = done.problem, len(done.problem.A)
    links = mutual_pairs(done.best)
    folds = n_folds(problem)
    fold = rng.permutation(n) % folds
    partner, score = np.zeros(n, np.intp), np.zeros(n, np.float32)
    for part in range(folds):
        tick()
        others, rows = links.some(fold[links.i] != part), np.flatnonzero(fold == part)
        fair = problem.allowed(apply_csls(problem.scores(problem.bridge(others, None, done.refined.bridge))))
        b = find_best(fair.among(rows, np.arange(len(problem.B))))
        partner[rows], score[rows] = b.of_rows, b.row_scores
    return Best(partner, np.zeros(0, np.intp), score, np.zeros(0, np.float32))


def refound_share(done: Run, left_out: Best) -> float:
    """The share of the pairs that choose each other that are found when they are left out, too."""
    i = done.best.mutual
    return float((left_out.of_rows[i] == done.best.of_rows[i]).mean()) if len(i) else 0.0


def partner_ranks(done: Run, problem: Problem, pairs: Links) -> IntArray:
    """The place of the partner of each row of A, from 1, among all rows of B; pairs by numbers in the collections."""
    if not len(pairs):
        return np.zeros(0, np.intp)
    done = apply_to_all(done, problem)
    i, j = np.searchsorted(done.problem.rows, pairs.i), np.searchsorted(done.problem.columns, pairs.j)
    return _ranks_of(done.refined.fair, i, j)


def rank_held_out_pairs(problem: Problem, done: Run, known: Links) -> tuple[IntArray, FloatArray]:
    """The same ranks of known pairs, and their scores, by what is learned from the other pairs that a run found."""
    if not len(known):
        return np.zeros(0, np.intp), np.zeros(0)
    others = mutual_pairs(done.best)
    links = Links.of(done.problem.rows[others.i], done.problem.columns[others.j])
    fair = apply_csls(problem.scores(problem.bridge(links if len(links) > 1 else known)))
    return _ranks_of(fair, known.i, known.j), fair.at(known.i, known.j).astype(np.float64)


def _ranks_of(scores: Scores, i: IntArray, j: IntArray) -> IntArray:
    own = scores.at(i, j)
    places = np.empty(len(i), np.intp)
    for rows, S in scores.among(i, np.arange(scores.shape[1])).blocks():
        places[rows] = 1 + (S - own[rows, None] > TIE).sum(axis=1)
    return places


LEAST, STEEP = 0.1, 4.0
"""The least weight of a pair that is not confirmed; how fast it falls with the share of such pairs."""


def polish_run(done: Run, left_out: Best) -> Run:
    """The run after it has learned again from its pairs, with less weight for those that others don't confirm.

    Where many rows have no partner, as many of the pairs that choose each other are wrong. A pair that is not found
    when it is left out is likely one of them; where nearly all are found, the few others are likely right.
    """
    problem, links = done.problem, mutual_pairs(done.best)
    kept = left_out.of_rows[links.i] == links.j
    if not kept.any():
        return done
    weight = max(LEAST, 1.0 - STEEP * float((~kept).mean()))
    weights = np.where(kept, 1.0, weight)
    bridge = problem.bridge(Links(links.i, links.j, weights), None, done.refined.bridge)
    scores = problem.scores(bridge)
    return Run.of(problem, Refined(bridge, scores, measure_hubness(scores), done.refined.schedule))


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


def run_all(
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
    held, kept = _hold_out_pairs(known, for_pairs[0])
    wrong = _shuffle_links(kept, for_pairs[1])
    some, nothing, all_known = (problem.knowing(pairs, one_to_one) for pairs in (kept, wrong, known))

    cost = max(1.0, all_known.cells / SAMPLE_CELLS) if refine else 1.0
    counter.expect(_estimate_rounds(all_known, restarts, cost, refine))

    def one(what: str, asked: Problem, schedule: Schedule, seed: Generator) -> Callable[[], Run]:
        def work() -> Run:
            with counter.count_rounds(what, ROUNDS if refine else 0) as count:
                return run_refinement(asked, schedule, seed, count, refine=refine)

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
        r = continue_on_all(r, some if r is trial else all_known, partial(counter.count, "all rows", cost))
        return r, match_out_of_fold(r, seed, partial(counter.count, "rows left out", cost))

    sides = _run_jobs(
        [partial(side, r, seed) for r, seed in zip(best_two, for_folds, strict=False)]
        + [lambda: (null, match_out_of_fold(null, for_folds[2], partial(counter.count, "rows left out")))],
        n_jobs,
        counter,
    )
    places = held, partner_ranks(trial, some, held), partner_ranks(null, nothing, held)
    polish = (
        partial(match_out_of_fold, rng=for_folds[3], tick=partial(counter.count, "polishing", cost))
        if refine
        else None
    )
    return _collect_evidence(problem, known, sides, order[0].value, places, polish)


def _estimate_rounds(problem: Problem, restarts: int, cost: float, refine: bool) -> float:
    """About how many rounds of a run all of it takes, where a round on all rows costs so many of them."""
    if not refine:
        return 3.0 * n_folds(problem)
    on_all = 2.0 * ROUNDS_ON_ALL * (cost > 1.0) + 3.0 * n_folds(problem)  # two sides, and one of them polished
    return (restarts + 2) * EXPECTED * ROUNDS + n_folds(problem) + cost * on_all


def _collect_evidence(
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
    final, other = (s[0] if polish is None else polish_run(*s) for s in (sides[0], second))
    if polish is not None:
        left_out = polish(final)
    found_left_out, left_out_score = np.zeros(n, dtype=bool), np.zeros(n)
    found_left_out[final.problem.rows] = left_out.of_rows == final.best.of_rows
    left_out_score[final.problem.rows] = left_out.row_scores
    known_ranks, known_scores = rank_held_out_pairs(problem, final, known)
    return Runs(
        final=final,
        null=null[0],
        value=value,
        found=Partners.of(final.problem, final.best, n),
        again=Partners.of(other.problem, other.best, n),
        found_left_out=found_left_out,
        left_out_score=left_out_score,
        agreement=agreement,
        confirmed=refound_share(*sides[0]),
        null_confirmed=refound_share(*null),
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


def _hold_out_pairs(known: Links, rng: Generator) -> tuple[Links, Links]:
    """A third of the known pairs, if there are enough, and the others."""
    p = len(known)
    order = rng.permutation(p)
    h = p // 3 if p >= ENOUGH_TO_HOLD_BACK else 0
    return known.some(order[:h]), known.some(order[h:])


def _shuffle_links(links: Links, rng: Generator) -> Links:
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
