"""Refinement of a matching, its restarts and its control.

Rows that choose each other become pairs, the maps are learned again from these, and so on: from few axes to many,
with part of the candidates hidden at first. Runs differ in what they hide; the best counts, another one has to agree
with it, and a control run, from shuffled pairs, has to do worse. Where that is not clear, so have further ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from isthmus._core.progress import EXPECTED, WorkCounter
from isthmus._core.validation import BoolArray, FloatArray, IntArray
from isthmus.evidence.held_out import NEAR, PairRecall, hold_out_pairs
from isthmus.geometry.similarity import (
    Best,
    Hubness,
    Scores,
    Shortlist,
    apply_csls,
    find_best,
    find_best_candidates,
    measure_density,
    measure_hubness,
)
from isthmus.tasks.matching.evidence import MatchingEvidence, add_null_runs
from isthmus.tasks.matching.problem import NONE, Bridge, Links, MatchingProblem

# The share of the candidates that are not hidden in the first round.
SHOWN = 0.3
# By how much that share, and the number of axes, grow per round.
GROWTH = 1.1
AXES_AT_FIRST = 10
# The weight of the initial scores (both have deviation 1), and what is left of it after each round.
PRIOR, DECAY = 3.0, 0.9
# Below this weight the initial scores no longer count.
NEGLIGIBLE = 0.02
# The most rounds; most refinements end before, where the value no longer grows.
ROUNDS = 60
# The least growth that counts; the rounds without it after which the refinement ends.
PROGRESS, PATIENCE = 1e-4, 2
# With fewer pairs than this that choose each other there is nothing to learn from.
FEWEST = 5
# With more cells than this, the refinement works on a sample of that size, and ends on all.
SAMPLE_CELLS = 10_000_000
# Rows of A and of B in such a sample, where enough pairs are known to draw likely partners.
SAMPLED, ENOUGH_ANCHORS = (1500, 3000), 10
# Rows of A and of B where not: of A, a random part of so many times as many dense ones.
DENSE, SPARE = (1500, 1900), 1.15
# Rows of A in the first round after the sample; rounds then, the first included.
MORE, ROUNDS_ON_ALL = 5000, 2
FOLDS, FOLDS_OF_MANY = 10, 4
# With more cells than this, there are fewer folds.
MANY = 4_000_000
# The least weight of a pair that is not confirmed; how fast it falls with the share of such pairs.
LEAST, STEEP = 0.1, 4.0
T = TypeVar("T")
# With fewer known pairs than this, none is held out.
FEWEST_TO_HOLD_OUT = 15
# Further control runs: with shuffled coordinates, then with a shuffled start.
SHUFFLED_POINTS, SHUFFLED_STARTS = 3, 2


@dataclass(frozen=True)
class Schedule:
    """The schedule of a refinement: from few axes to all ("coarse to fine"), or on all from the start ("flat")."""

    name: str
    axes_at_first: int | None


COARSE, FLAT = Schedule("coarse to fine", AXES_AT_FIRST), Schedule("flat", None)


@dataclass(frozen=True, eq=False)
class Run:
    """A state of a refinement: its problem, bridge and schedule, and the scores of all pairs with their hubness.

    Of very many rows only the candidates of a shortlist are compared.
    """

    problem: MatchingProblem
    bridge: Bridge
    schedule: Schedule
    scores: Scores
    hubness: Hubness
    shortlist: Shortlist | None = None

    @classmethod
    def of(
        cls, problem: MatchingProblem, bridge: Bridge, schedule: Schedule, shortlist: Shortlist | None = None
    ) -> Run:
        """Score all pairs of a problem by a bridge; candidates are as in an earlier run, if given."""
        scores = problem.score_pairs(bridge)
        if problem.cells <= SAMPLE_CELLS:
            return cls(problem, bridge, schedule, scores, measure_hubness(scores))
        shortlist = shortlist or Shortlist.of(problem.apply_veto(scores))
        return cls(problem, bridge, schedule, scores, measure_hubness(scores, shortlist), shortlist)

    def refit(self, links: Links, shortlist: Shortlist | None = None) -> Run:
        """Learn from other pairs."""
        return Run.of(self.problem, self.refit_bridge(links), self.schedule, shortlist)

    def refit_bridge(self, links: Links) -> Bridge:
        """Return the bridge that is learned from other pairs."""
        return self.problem.fit_bridge(links, None, self.bridge)

    @property
    def value(self) -> float:
        """The mean best score of a row over the highest possible one: what a refinement makes large."""
        return 0.5 * self.hubness.value

    @property
    def corrected(self) -> Scores:
        """The scores without hubs (cross-domain similarity local scaling)."""
        return apply_csls(self.scores, self.hubness)

    @cached_property
    def best(self) -> Best:
        """The best partners that the labels allow."""
        scores = self.problem.apply_veto(self.corrected)
        return find_best(scores) if self.shortlist is None else self.shortlist.find_best(scores)

    @property
    def mutual_share(self) -> float:
        """The share of the rows that choose each other with a row of B."""
        return len(self.best.mutual) / max(1, len(self.problem.rows))


def mutual_pairs(found: Best) -> Links:
    """Return the rows that choose each other."""
    i = found.mutual
    return Links.of(i, found.of_rows[i])


def refine_matches(
    problem: MatchingProblem, start: Scores, schedule: Schedule, rng: Generator, progress: Callable[[], None]
) -> Run:
    """Return the best of the rounds in which nothing is hidden and all axes count.

    In each round, the rows of A and B that choose each other among the candidates (part of which is hidden, less and
    less) become pairs, in addition to the known ones; maps are learned from them. The initial scores are added, with
    less and less weight: they keep the first rounds, on few axes, from losing what was known.
    """
    run: Run | None = None
    top: Run | None = None
    # Tables are held: products of slim arrays would be computed four times a round.
    prior = start.table()
    veto = None if problem.veto is None else problem.veto.table()
    table: FloatArray = prior
    stalled = 0
    for round_ in range(ROUNDS):
        progress()
        scores = prior.copy() if run is None else _add_prior(table, run.hubness, prior, round_)
        if veto is not None:
            scores += veto
        # The first round takes all of the initial scores; hiding keeps the next ones from settling early.
        shown = min(1.0, SHOWN * GROWTH**round_) if round_ else 1.0
        axes = min(problem.axes, int((schedule.axes_at_first or problem.axes) * GROWTH**round_))
        links = mutual_pairs(find_best(scores, 1.0 - shown, rng))
        if len(links) + len(problem.anchors) < FEWEST:
            break
        # Penalties found on fewer axes are no warm start.
        before = run.bridge if run is not None and axes == problem.axes else None
        bridge = problem.fit_bridge(links, axes, before)
        learned = problem.score_pairs(bridge, axes)
        table = learned.table()
        run = Run(problem, bridge, schedule, learned, measure_hubness(table))
        # Values of rounds with hidden candidates or fewer axes can't be compared with each other.
        if round_ > 0 and shown == 1.0 and axes == problem.axes:
            stalled = 0 if top is None or run.value > top.value + PROGRESS else stalled + 1
            top = run if top is None or run.value > top.value else top
            if stalled == PATIENCE:
                break
    return top or run or match_without_refinement(problem, start, schedule)


def _add_prior(table: FloatArray, hubness: Hubness, prior: FloatArray, round_: int) -> FloatArray:
    """Return the scores without hubs, plus the initial ones while these count."""
    scores = 2.0 * table - hubness.rows[:, None]
    scores -= hubness.columns
    weight = np.float32(PRIOR * DECAY**round_)
    if weight > NEGLIGIBLE:
        scores -= scores.mean(dtype=np.float64).astype(np.float32)
        deviation = scores.std()
        scores *= np.float32(1.0) / deviation if deviation > 0.0 else np.float32(0.0)
        scores += weight * prior
    return scores


def match_without_refinement(problem: MatchingProblem, start: Scores, schedule: Schedule) -> Run:
    """Fit maps to the known pairs alone; without any, to the rows that choose each other at the start."""
    links = NONE if len(problem.anchors) else mutual_pairs(find_best(problem.apply_veto(start)))
    return Run.of(problem, problem.fit_bridge(links), schedule)


def run_refinement(
    problem: MatchingProblem,
    schedule: Schedule,
    rng: Generator,
    progress: Callable[[], None],
    *,
    refine: bool,
    density: tuple[FloatArray, FloatArray] | None = None,
) -> Run:
    """Run a refinement from the initial scores; of many rows on a sample only."""
    if not refine:
        return match_without_refinement(problem, problem.initial_scores(), schedule)
    part = problem if density is None else sample_problem(problem, density, rng)
    return refine_matches(part, part.initial_scores(), schedule, rng, progress)


def sample_problem(
    problem: MatchingProblem, density: tuple[FloatArray, FloatArray], rng: Generator
) -> MatchingProblem:
    """Return the problem of some rows of A and of rows of B that are likely to be their partners.

    With enough known pairs, the initial scores tell who is. Without, they tell too little: the rows in the densest
    places of either collection are taken, as these are mostly the same objects. ``density`` is of all rows.
    """
    n = len(problem.A)
    if problem.cells <= SAMPLE_CELLS:
        return problem
    if len(problem.anchors) >= ENOUGH_ANCHORS:
        part = problem.select(np.sort(rng.choice(n, min(n, SAMPLED[0]), replace=False)))
        likely = find_best(part.apply_veto(part.initial_scores())).column_scores
        return part.select(columns=_find_highest(likely, SAMPLED[1]))
    a, b = density[0][problem.rows], density[1][problem.columns]
    dense = _find_highest(a, int(SPARE * DENSE[0]))
    # Runs have to differ in their rows too: of A they get others, of B as many as may be partners.
    rows = np.sort(rng.choice(dense, min(n, DENSE[0]), replace=False))
    return problem.select(rows, _find_highest(b, DENSE[1]))


def _find_highest(values: FloatArray, k: int) -> IntArray:
    """Return the places of the k highest values, rising."""
    return np.sort(np.argsort(-values, kind="stable")[:k])


def continue_on_all(run: Run, problem: MatchingProblem, progress: Callable[[], None]) -> Run:
    """Apply a run on a sample to all rows of the problem, and refine it for some more rounds with nothing hidden."""
    if run.problem is problem:
        return run
    # What was learned from a sample is learned again from more rows, before it has to find the candidates of all.
    rows = np.unique(np.linspace(0, len(problem.A) - 1, MORE).astype(np.intp))
    first = Run.of(problem.select(rows), run.bridge, run.schedule)
    progress()
    run = Run.of(problem, first.refit_bridge(mutual_pairs(first.best)), run.schedule)
    for _ in range(ROUNDS_ON_ALL - 1):
        progress()
        run = run.refit(mutual_pairs(run.best), run.shortlist)
    return run


def n_folds(problem: MatchingProblem) -> int:
    """Return how many folds the rows are in."""
    return FOLDS if problem.cells <= MANY else FOLDS_OF_MANY


def match_out_of_fold(run: Run, rng: Generator, progress: Callable[[], None]) -> Best:
    """Return the best partner of each row, and its score, when its own fold was held out; nothing of columns."""
    problem, n = run.problem, len(run.problem.A)
    links = mutual_pairs(run.best)
    folds = n_folds(problem)
    # By rows, not by pairs: rows that are in no pair are matched by all folds but their own, too.
    fold = rng.permutation(n) % folds
    partner, score = np.zeros(n, np.intp), np.zeros(n, np.float32)
    for part in range(folds):
        progress()
        others, rows = links.select(fold[links.i] != part), np.flatnonzero(fold == part)
        scores = problem.apply_veto(run.refit(others, run.shortlist).corrected)
        if run.shortlist is None:
            b = find_best(scores.among(rows, np.arange(len(problem.B))))
            partner[rows], score[rows] = b.of_rows, b.row_scores
        else:
            some = run.shortlist.rows[rows]
            partner[rows], score[rows] = find_best_candidates(scores.left[rows], scores.right, some)
    return Best(partner, np.zeros(0, np.intp), score, np.zeros(0, np.float32))


def refound_share(run: Run, held_out: Best) -> float:
    """Return the share of the pairs that choose each other that are re-found when held out."""
    i = run.best.mutual
    return float((held_out.of_rows[i] == run.best.of_rows[i]).mean()) if len(i) else 0.0


def rank_partners(run: Run, problem: MatchingProblem, pairs: Links) -> IntArray:
    """Return the ranks (p,) of partners among all rows of B; pairs are numbers of rows in the collections."""
    if not len(pairs):
        return np.zeros(0, np.intp)
    scores = run.corrected if run.problem is problem else apply_csls(problem.score_pairs(run.bridge))
    i, j = np.searchsorted(problem.rows, pairs.i), np.searchsorted(problem.columns, pairs.j)
    return scores.rank(i, j)


def rank_known_pairs(problem: MatchingProblem, run: Run, known: Links) -> tuple[IntArray, FloatArray]:
    """Return the ranks of known pairs, and their scores, by what is learned from the other pairs that a run found."""
    if not len(known):
        return np.zeros(0, np.intp), np.zeros(0)
    others = mutual_pairs(run.best)
    # By what the run found among other rows; where that is next to nothing, by the known pairs themselves.
    links = Links.of(run.problem.rows[others.i], run.problem.columns[others.j])
    scores = apply_csls(problem.score_pairs(problem.fit_bridge(links if len(links) > 1 else known)))
    return scores.rank(known.i, known.j), scores.at(known.i, known.j).astype(np.float64)


def polish_run(run: Run, held_out: Best) -> Run:
    """Learn again from the pairs of a run, with less weight for those that are not re-found when held out.

    Where many rows have no partner, as many of the pairs that choose each other are wrong. A pair that is not
    re-found is likely one of them; where nearly all are, the few others are likely right.
    """
    links = mutual_pairs(run.best)
    refound = held_out.of_rows[links.i] == links.j
    if not refound.any():
        return run
    weights = np.where(refound, 1.0, max(LEAST, 1.0 - STEEP * float((~refound).mean())))
    return run.refit(Links(links.i, links.j, weights), run.shortlist)


@dataclass(frozen=True, eq=False)
class Runs:
    """What all runs together found for each row of A, by numbers in the collections, and the evidence for it.

    Parameters
    ----------
    partner : array (n,)
        The row of B that the best run found, -1 for rows of A in known pairs.
    score : array (n,)
        Its score without hubs.
    mutual, repeated, refound : array (n,)
        Whether the partner's best is this row; whether another run finds it; and whether the best run does when the
        row is held out.
    held_out_score : array (n,)
        The best score of a row that is held out.
    known_scores : array (p,)
        The scores of known pairs by what is learned from all other pairs.
    held_out_pairs : Links
        The known pairs that were held out of the runs that are measured on them.
    evidence : MatchingEvidence
        The figures of all runs.
    """

    partner: IntArray
    score: FloatArray
    mutual: BoolArray
    repeated: BoolArray
    refound: BoolArray
    held_out_score: FloatArray
    known_scores: FloatArray
    held_out_pairs: Links
    evidence: MatchingEvidence


def run_all(
    problem: MatchingProblem,
    known: Links,
    restarts: int,
    rng: Generator,
    counter: WorkCounter,
    *,
    refine: bool,
    one_to_one: bool,
    n_jobs: int,
) -> Runs:
    """Run both schedules; the better one again, from all pairs, and the control; polish the best two."""
    # A generator for every run: the result does not depend on which thread is faster.
    for_runs, for_null, for_folds, for_pairs = (g.spawn(restarts + 2) for g in rng.spawn(4))
    held, kept = (known.select(part) for part in hold_out_pairs(len(known), FEWEST_TO_HOLD_OUT, for_pairs[0]))
    wrong = shuffle_links(kept, for_pairs[1])
    some, control, every = (problem.exclude_pairs(pairs, one_to_one) for pairs in (kept, wrong, known))
    control = control.shuffle_columns(for_null[0])

    cost = max(1.0, every.cells / SAMPLE_CELLS) if refine else 1.0
    density = (measure_density(problem.A), measure_density(problem.B)) if cost > 1.0 else None
    counter.expect(_estimate_rounds(every, restarts, cost, refine))

    def start(what: str, part: MatchingProblem, schedule: Schedule, seed: Generator) -> Callable[[], Run]:
        def work() -> Run:
            with counter.count_rounds(what, ROUNDS if refine else 0) as count:
                return run_refinement(part, schedule, seed, count, refine=refine, density=density)

        return work

    schedules = (COARSE, FLAT) if refine else (FLAT,)
    jobs = [start(s.name, some, s, seed) for s, seed in zip(schedules, for_runs, strict=False)]
    # The schedule is chosen on the pairs that are not held out, so that the measurement is of the choice too.
    trial = max(_run_jobs(jobs, n_jobs, counter), key=lambda run: run.value)
    jobs = [start("control", control, trial.schedule, for_null[1])]
    jobs += [start("restart", every, trial.schedule, seed) for seed in for_runs[2 : restarts + 1]]
    null, *finals = _run_jobs(jobs, n_jobs, counter)
    # A run that knew only some of the pairs can't be the best one, but its agreement counts.
    order = sorted(finals if len(held) else [trial, *finals], key=lambda run: -run.value)
    best_two = (order[0], order[1] if len(order) > 1 else trial)

    def finish(run: Run, seed: Generator) -> tuple[Run, Best]:
        count = partial(counter.count, "all rows", cost)
        run = continue_on_all(run, some if run is trial else every, count)
        return run, match_out_of_fold(run, seed, partial(counter.count, "held-out rows", cost))

    ends: list[Callable[[], tuple[Run, Best]]] = [
        *(partial(finish, run, seed) for run, seed in zip(best_two, for_folds, strict=False)),
        lambda: (null, match_out_of_fold(null, for_folds[2], partial(counter.count, "held-out rows"))),
    ]
    checked = _run_jobs(ends, n_jobs, counter)
    ranks = rank_partners(trial, some, held), rank_partners(null, control, held)
    polish = partial(match_out_of_fold, rng=for_folds[3], progress=partial(counter.count, "polishing", cost))
    runs = _collect_runs(problem, known, held, checked, order[0].value, ranks, polish if refine else None)

    def run_null(k: int, seed: Generator) -> float:
        part = every.shuffle_points(seed) if k < SHUFFLED_POINTS else every.shuffle_columns(seed)
        counter.expect(EXPECTED * ROUNDS + n_folds(part))
        run = start("further control", part, trial.schedule, seed)()
        found = match_out_of_fold(run, seed, partial(counter.count, "held-out rows"))
        return run.mutual_share * refound_share(run, found)

    # Known pairs are better evidence, and would have to be wrong in these runs.
    seeds = () if len(known) else rng.spawn(SHUFFLED_POINTS + SHUFFLED_STARTS)
    seen = add_null_runs(runs.evidence, (partial(run_null, k, seed) for k, seed in enumerate(seeds)))
    return replace(runs, evidence=seen)


def _estimate_rounds(problem: MatchingProblem, restarts: int, cost: float, refine: bool) -> float:
    """Return about how many rounds of a run all of it takes, where a round on all rows costs ``cost`` of them."""
    if not refine:
        return 3.0 * n_folds(problem)
    on_all = 2.0 * ROUNDS_ON_ALL * (cost > 1.0) + 3.0 * n_folds(problem)  # two runs, and one of them polished
    return (restarts + 2) * EXPECTED * ROUNDS + n_folds(problem) + cost * on_all


def _collect_runs(
    problem: MatchingProblem,
    known: Links,
    held: Links,
    checked: list[tuple[Run, Best]],
    value: float,
    ranks: tuple[IntArray, IntArray],
    polish: Callable[[Run], Best] | None,
) -> Runs:
    """Gather partners and evidence of the best run, another one and the control, each with its held-out partners."""
    n = len(problem.A)
    (first, held_out), second, (null, null_held_out) = checked
    # Whether it worked is asked before polishing, which brings even wrong pairs into line.
    (partner, mutual), (again, both) = (_list_partners(run, n) for run, _ in checked[:2])
    both &= mutual
    agreement = float((partner[both] == again[both]).mean()) if both.any() else 0.0
    refound = refound_share(first, held_out)
    final, other = first, second[0]
    if polish is not None:
        final, other = polish_run(first, held_out), polish_run(*second)
        held_out = polish(final)
    (partner, mutual), (again, _) = (_list_partners(run, n) for run in (final, other))
    score, held_out_score, is_refound = np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool)
    rows = final.problem.rows
    score[rows], held_out_score[rows] = final.best.row_scores, held_out.row_scores
    is_refound[rows] = held_out.of_rows == final.best.of_rows
    known_ranks, known_scores = rank_known_pairs(problem, final, known)
    evidence = MatchingEvidence(
        rows=len(rows),
        agreement=agreement,
        refound=refound,
        null_refound=refound_share(null, null_held_out),
        value=value,
        null_value=null.value,
        mutual=first.mutual_share,
        null_mutual=null.mutual_share,
        known=len(known),
        known_near=int((known_ranks <= NEAR).sum()),
        held_out=PairRecall.of(ranks[0]) if len(held) else None,
        shuffled=PairRecall.of(ranks[1]) if len(held) else None,
        schedule=final.schedule.name,
    )
    return Runs(partner, score, mutual, partner == again, is_refound, held_out_score, known_scores, held, evidence)


def _list_partners(run: Run, n: int) -> tuple[IntArray, BoolArray]:
    """Return the partner of each of n rows of A, -1 for rows outside the run, and whether it chooses the row, too."""
    problem, best = run.problem, run.best
    partner, mutual = np.full(n, -1, np.intp), np.zeros(n, dtype=bool)
    partner[problem.rows] = problem.columns[best.of_rows]
    mutual[problem.rows[best.mutual]] = True
    return partner, mutual


def shuffle_links(links: Links, rng: Generator) -> Links:
    """Return a control: each row with the partner of another; none, where there is one pair only."""
    # A rotation of a random order: unlike a random permutation it leaves no pair right.
    order = rng.permutation(len(links)) if len(links) > 1 else np.zeros(0, np.intp)
    return Links(links.i[order], links.j[np.roll(order, 1)], links.weights[order])


def _run_jobs(jobs: Sequence[Callable[[], T]], n_jobs: int, counter: WorkCounter) -> list[T]:
    """Return the results of jobs, up to ``n_jobs`` of them in threads; where one fails or is interrupted, all end."""
    if n_jobs == 1 or len(jobs) == 1:
        return [job() for job in jobs]
    with ThreadPoolExecutor(n_jobs) as pool:
        try:
            return list(pool.map(lambda job: job(), jobs))
        except BaseException:
            counter.stop()
            raise
