r"""Matching by what two collections share, joined with maps that are learned from the matches.

Shared fields propose matches (:mod:`~isthmus.tasks.matching.linkage`). Maps between all other features are learned
from these, each match weighted by its probability; the score of a candidate by maps that have not seen its row is one
more feature. Fields and geometry are weighted together, and so on.

Two checks come before a claim. A field that contradicts the others, which agree with each other, is dropped
(:func:`find_misleading_fields`). And where few rows are matched, the same procedure is run between two halves of one
table, which have no row in common: what it claims there is the chance level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.random import Generator

from isthmus._core.validation import BoolArray, FloatArray, IntArray
from isthmus.geometry.similarity import Prepared, Scores, apply_csls, measure_hubness
from isthmus.tasks.matching.evidence import ENOUGH_TO_SETTLE
from isthmus.tasks.matching.fields import NEAREST, WHOLE_ROW, Agreement, Comparer, TableComparer, nearest_by_scores
from isthmus.tasks.matching.linkage import CandidateGraph, Linkage, expect_f1, fit_linkage
from isthmus.tasks.matching.problem import FEWEST_PAIRS, Links, fit_bridge

GEOMETRY = "other features"
# How often maps are learned from the matches, at most; the share of matches that change which ends it.
ROUNDS, SETTLED = 8, 0.01
# Folds of rows whose scores come from maps that have not seen them.
FOLDS = 5
# The least weight of a match that maps are learned from: many matches of small probability add up, too.
LEAST_WEIGHT = 0.3
# How much the likeness by shared fields counts next to the score of the maps, in the first labels of a round.
LIKENESS = 4.0
# With more cells than this, the maps propose no candidates, and hubs are measured on a sample of this many rows.
MOST_CELLS, HUB_SAMPLE = 10_000_000, 2000
# Standard errors from which on two fields support, or contradict, each other.
SUPPORT = 4.0
# Where known pairs judge a field: by this many standard errors, and random rivals of each pair.
KNOWN_SUPPORT, RANDOM_RIVALS = 2.0, 20
# With an expected F1 above this, fields alone decide.
CLEAR_F1 = 0.9
# Columns of numbers count if maps confirm this many of their matches, so many standard errors and this much more.
FEWEST_CONFIRMED, CONFIRMED, LEAST_GAIN = 10, 4.0, 0.05
# Matches that are looked at for that, at most.
MOST_CONFIRMED = 2000
# From this share of matched rows on no control is needed, unless tables are small, or tiny; rows of half a control.
CLEAR, SMALL, TINY, HALF = 0.5, 500, 100, 2000
# How often A, and B, are cut into halves where tables are small.
CONTROLS = 2
# The share of the matches that are at least as alike as a match of a control has to be to count.
AS_ALIKE = 0.75


@dataclass(frozen=True, eq=False)
class FusionProblem:
    """Two collections that share something.

    Parameters
    ----------
    comparer : Comparer
        What proposes and compares candidates by shared fields.
    prepare : callable
        Returns all features of either collection along principal axes; called where maps are learned.
    known : Links
        Known pairs.
    forbid : callable
        From rows i and j of candidates (p,) to which of them can't be pairs (p,).
    one_to_one : bool
        Whether a row of B has one partner only.
    """

    comparer: Comparer
    prepare: Callable[[], tuple[Prepared, Prepared]]
    known: Links
    forbid: Callable[[IntArray, IntArray], BoolArray]
    one_to_one: bool = True

    def compare(self, cells: IntArray) -> Agreement:
        """Compare candidates and known pairs."""
        known = self.known.i.astype(np.int64) * self.comparer.shape[1] + self.known.j
        return self.comparer.compare(np.unique(np.concatenate([cells, known])))

    def link(self, agreement: Agreement, start: FloatArray) -> Linkage:
        """Learn weights and probabilities of candidates."""
        forbidden = self.forbid(agreement.i, agreement.j)
        return fit_linkage(agreement, start, self.known.rows, forbidden, one_to_one=self.one_to_one)


@dataclass(frozen=True, eq=False)
class FusedMatch:
    """The matches by shared fields and maps, and the checks of them.

    Parameters
    ----------
    problem : FusionProblem
        What was matched, without dropped columns.
    linkage : Linkage
        The candidates with weights and probabilities.
    dropped : tuple of str
        Shared columns that contradict the others.
    contradiction : tuple of str
        Shared columns that contradict each other, where nothing says which is right.
    confirmed : bool
        Whether the maps confirm what shared columns of numbers propose; True where that is not asked.
    null_share : float or None
        The largest share of rows that are matched between two halves of one table; None where no control was run.
    """

    problem: FusionProblem
    linkage: Linkage
    dropped: tuple[str, ...] = ()
    contradiction: tuple[str, ...] = ()
    confirmed: bool = True
    null_share: float | None = None


def match_by_fields_and_maps(
    problem: FusionProblem, rng: Generator, progress: Callable[[str], None]
) -> FusedMatch | None:
    """Match by shared fields, and by maps where these leave doubts; None where no field says anything."""
    progress("shared columns")
    comparer = problem.comparer
    first = problem.compare(comparer.candidates())
    dropped, contradiction = find_misleading_fields(comparer, first, problem.known.rows, rng)
    if dropped:
        if not isinstance(comparer, TableComparer) or len(dropped) == len(comparer.fields):
            return None
        comparer = comparer.without(dropped)
        problem = replace(problem, comparer=comparer)
        first = problem.compare(comparer.candidates())
    linkage = problem.link(first, _start(first))
    # Names and words show that columns mean the same in both; of two matrices, known pairs or maps have to show it.
    settled = len(problem.known) >= ENOUGH_TO_SETTLE
    confirmed = settled or isinstance(comparer, TableComparer)
    if not confirmed:
        progress("confirmation by other features")
        confirmed = confirm_by_maps(linkage, problem, rng)
    if expect_f1(linkage.probability) < CLEAR_F1 and confirmed:
        linkage = join_maps(problem, linkage, rng, progress)
    found = FusedMatch(problem, linkage, dropped, contradiction, confirmed)
    smaller, accepted = min(comparer.shape), len(linkage.accepted)
    unclear = smaller <= SMALL or accepted / max(1, smaller - linkage.n_known) < CLEAR
    if accepted and unclear and not settled and isinstance(comparer, TableComparer):
        sides = (0, 1) if problem.one_to_one else (1,)
        found = replace(found, null_share=measure_null_share(comparer, linkage, sides, rng, progress))
    return found


def link_again(found: FusedMatch, known: Links) -> FusedMatch:
    """Return the matches with more known pairs, from the same candidates and maps."""
    problem, old = replace(found.problem, known=known), found.linkage.agreement
    agreement = problem.compare(old.cells)
    if (GEOMETRY, "map") in old.features:
        scores = np.zeros(len(agreement), np.float32)
        places = agreement.find(np.column_stack([old.i, old.j]))
        scores[places] = old.values[:, -1]
        agreement = agreement.append(GEOMETRY, "map", scores)
    return replace(found, problem=problem, linkage=problem.link(agreement, _start(agreement)))


def as_links(linkage: Linkage) -> Links:
    """Return the matches as weighted pairs to learn maps from."""
    pairs, weights = linkage.pairs, np.maximum(linkage.probability, LEAST_WEIGHT)
    return Links.of(pairs[:, 0], pairs[:, 1], weights)


def likeness(agreement: Agreement) -> FloatArray:
    """Return how alike the rows of candidates are by shared fields, before anything is learned."""
    whole = (WHOLE_ROW, "characters"), (WHOLE_ROW, "words")
    kinds = [k for k, name in enumerate(agreement.features) if name in whole]
    return np.asarray(agreement.values[:, kinds or [0]].sum(axis=1), dtype=np.float64)


def join_maps(problem: FusionProblem, linkage: Linkage, rng: Generator, progress: Callable[[str], None]) -> Linkage:
    """Learn maps from matches by fields, and weigh their scores with the fields, until the matches settle."""
    base, links, before = linkage.agreement, as_links(linkage), set[tuple[int, ...]]()
    for _ in range(ROUNDS):
        progress("maps and shared columns")
        if len(links) < FEWEST_PAIRS:
            break
        scores = score_out_of_fold(links, problem, rng)
        cells = np.unique(np.concatenate([base.cells, scores.proposed]))
        agreement = base if len(cells) == len(base) else problem.compare(cells)
        agreement = agreement.append(GEOMETRY, "map", scores.at(agreement.i, agreement.j))
        linkage = problem.link(agreement, _start(agreement))
        links = as_links(linkage)
        after = set(map(tuple, linkage.pairs[linkage.accepted].tolist()))
        if after and len(before ^ after) <= SETTLED * len(after):
            break
        before = after
    return linkage


def confirm_by_maps(linkage: Linkage, problem: FusionProblem, rng: Generator) -> bool:
    """Return whether maps of the matches of other rows find more of the matches than maps of shuffled ones do."""
    links = as_links(linkage)
    if len(links) < FEWEST_CONFIRMED:
        return False
    wrong = Links(links.i, np.roll(links.j[rng.permutation(len(links))], 1), links.weights)
    asked = rng.permutation(len(links))[:MOST_CONFIRMED]
    near = [score_out_of_fold(some, problem, rng).share_near(some.select(asked)) for some in (links, wrong)]
    deviation = np.sqrt(sum(p * (1.0 - p) for p in near) / len(asked))
    return bool(near[0] - near[1] > max(CONFIRMED * deviation, LEAST_GAIN))


def _start(agreement: Agreement) -> FloatArray:
    """Return scores for the first labels: by likeness, and by the maps if there are some."""
    start = LIKENESS * _unit(likeness(agreement))
    return start + _unit(agreement.values[:, -1]) if (GEOMETRY, "map") in agreement.features else start


def _unit(scores: FloatArray) -> FloatArray:
    spread = float(scores.std())
    return np.asarray(scores / (spread if spread > 0.0 else 1.0), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """The score of a pair by the maps that have not seen its row of A, and the pairs that these propose."""

    folds: IntArray
    tables: tuple[Scores, ...]
    proposed: IntArray

    def share_near(self, links: Links) -> float:
        """Return the share of pairs whose row of B is among the ten best of its row of A."""
        near = 0
        for fold, scores in enumerate(self.tables):
            some = links.select(self.folds[links.i] == fold)
            near += int((scores.rank(some.i, some.j) <= NEAREST).sum())
        return near / max(1, len(links))

    def at(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the scores of pairs."""
        found = np.empty(len(i), np.float32)
        for fold, scores in enumerate(self.tables):
            rows = np.flatnonzero(self.folds[i] == fold)
            found[rows] = scores.at(i[rows], j[rows])
        return found


def score_out_of_fold(links: Links, problem: FusionProblem, rng: Generator) -> HeldOutScores:
    """Score pairs by maps of known pairs and of the matches of all other folds of rows."""
    A, B = (side.points for side in problem.prepare())
    n, m = len(A), len(B)
    i, j, weights = (
        np.concatenate(parts) for parts in zip(*((k.i, k.j, k.weights) for k in (problem.known, links)), strict=True)
    )
    folds = rng.permutation(n) % FOLDS
    small = n * m <= MOST_CELLS
    sample = [np.arange(size) if small else rng.choice(size, min(size, HUB_SAMPLE), replace=False) for size in (n, m)]
    tables, proposed = [], [np.zeros(0, np.int64)]
    for fold in range(FOLDS):
        others = folds[i] != fold
        bridge = fit_bridge(A[i[others]], B[j[others]], weights[others].astype(A.dtype))
        scores = Scores(bridge.embed_a(A), bridge.embed_b(B))
        tables.append(apply_csls(scores) if small else _apply_sampled_csls(scores, sample))
        if small:
            rows = np.flatnonzero(folds == fold)
            near, column = nearest_by_scores(tables[-1].among(rows, np.arange(m)))
            proposed.append(rows[near].astype(np.int64) * m + column)
    return HeldOutScores(folds, tuple(tables), np.concatenate(proposed))


def _apply_sampled_csls(scores: Scores, sample: list[IntArray]) -> Scores:
    """Return scores less the hubness of either row, measured on a sample of the other collection."""
    (n, m), (rows, columns) = scores.shape, sample
    of_rows = measure_hubness(scores.among(np.arange(n), columns)).rows
    of_columns = measure_hubness(scores.among(rows, np.arange(m))).columns
    return (2.0 * scores).shift(-of_rows, -of_columns)


def find_misleading_fields(
    comparer: Comparer, agreement: Agreement, known: IntArray, rng: Generator
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields that mislead, and those that contradict one another where nothing says which is right.

    Two fields support each other if the pairs that one of them proposes agree in the other better than the other
    candidates of the same rows. A field that none supports misleads if known pairs do not agree in it better than
    random pairs do; without known pairs, if it contradicts a field that has support.
    """
    fields = comparer.fields
    columns = {name: _find_column(agreement, name) for name in fields}
    z = {}
    for name, column in columns.items():
        proposed = _propose(agreement, column)
        for other in fields:
            if other != name:
                z[name, other] = _standard_errors(_compare_with_rivals(agreement, proposed, columns[other]))
    supported = {name for pair in z for name in pair if z[pair] > SUPPORT or z[pair[::-1]] > SUPPORT}
    if len(known) >= ENOUGH_TO_SETTLE:
        judged = _judge_by_known_pairs(comparer, known, rng)
        return tuple(name for name in fields if name not in supported and judged[name] < KNOWN_SUPPORT), ()
    against = [pair for pair in combinations(fields, 2) if max(z[pair], z[pair[::-1]]) < -SUPPORT]
    dropped = {name for pair in against for name in pair if name not in supported and set(pair) & supported}
    open_ = {name for pair in against if not set(pair) & (supported | dropped) for name in pair}
    return tuple(name for name in fields if name in dropped), tuple(name for name in fields if name in open_)


def _judge_by_known_pairs(comparer: Comparer, known: IntArray, rng: Generator) -> dict[str, float]:
    """Return by how many standard errors known pairs agree in each field better than random pairs of their rows."""
    m = comparer.shape[1]
    rivals = rng.integers(0, m, (len(known), RANDOM_RIVALS))
    others = np.repeat(known[:, 0].astype(np.int64), RANDOM_RIVALS) * m + rivals.ravel()
    cells = np.unique(np.concatenate([known[:, 0].astype(np.int64) * m + known[:, 1], others]))
    agreement = comparer.compare(cells)
    places = agreement.find(known)
    found = {}
    for name in comparer.fields:
        shares = _compare_with_rivals(agreement, places, _find_column(agreement, name))
        # Of a field that says nothing, the share is uniform: its deviation is 0.29.
        found[name] = float((shares.mean() - 0.5) / 0.29 * np.sqrt(len(shares))) if len(shares) else KNOWN_SUPPORT
    return found


def _find_column(agreement: Agreement, name: str) -> int:
    """Return the feature that speaks for a field: its distance where it has one, otherwise its first."""
    kinds = {kind: k for k, (field_, kind) in reversed(list(enumerate(agreement.features))) if field_ == name}
    return kinds.get("distance", min(kinds.values()))


def _propose(agreement: Agreement, column: int) -> IntArray:
    """Return the candidates that choose each other by one feature."""
    there = agreement.present[:, column]
    scores = np.where(there, agreement.values[:, column], -1.0).astype(np.float64)
    best = CandidateGraph(agreement.i, agreement.j, agreement.shape).find_matches(scores, one_to_one=True)
    return best[scores[best] > 0.0]


def _compare_with_rivals(agreement: Agreement, places: IntArray, column: int) -> FloatArray:
    """Return, for each row of proposed candidates, the share of its other candidates that agree less in a feature."""
    n = agreement.shape[0]
    there, values = agreement.present[:, column], agreement.values[:, column]
    proposed = np.full(n, -1, np.intp)
    proposed[agreement.i[places[places >= 0]]] = places[places >= 0]
    own = proposed[agreement.i]
    rivals = np.flatnonzero((own >= 0) & (own != np.arange(len(own))) & there & there[own])
    difference = values[own[rivals]] - values[rivals]
    better = (difference > 1e-6) + 0.5 * (np.abs(difference) <= 1e-6)
    counts = np.bincount(agreement.i[rivals], minlength=n)
    return np.asarray((np.bincount(agreement.i[rivals], better, n) / np.maximum(counts, 1))[counts > 0])


def _standard_errors(shares: FloatArray) -> float:
    """Return by how many standard errors the mean of shares exceeds one half."""
    if not len(shares):
        return 0.0
    return float((shares.mean() - 0.5) / max(float(shares.std()), 0.05) * np.sqrt(len(shares)))


def measure_null_share(
    comparer: TableComparer, linkage: Linkage, sides: tuple[int, ...], rng: Generator, progress: Callable[[str], None]
) -> float:
    """Return the largest share of rows that are matched where no row has a partner: the chance level.

    Two halves of A, or of B, have no row in common. A match of a control counts if its rows are as alike as those of
    most matches of A and B: weights and probabilities that are learned from few rows can make a match of anything,
    but likeness is not learned. Of small tables every pair of rows that choose each other counts, accepted or not;
    such pairs are as many as pairs of rows, of which halves have a quarter. A tiny A is also matched with a table
    whose words are those of B, dealt to its cells at random. ``sides`` says what is cut: where rows of A may be the
    same object, B only (1).
    """
    (n, m), small = comparer.shape, min(comparer.shape) <= SMALL
    controls = [comparer.halves(side, rng, HALF) for side in sides * (CONTROLS if small else 1)]
    dealt = CONTROLS if min(n, m) <= TINY else 0
    controls += [TableComparer.of(comparer.columns.shuffle_words(rng)) for _ in range(dealt)]
    level = np.quantile(likeness(linkage.agreement)[linkage.matches[linkage.accepted]], 1.0 - AS_ALIKE)
    shares = []
    for control in controls:
        progress("control")
        agreement = control.compare(control.candidates())
        found = _match_control(agreement, small)
        n_alike = min(len(found), int((likeness(agreement)[found] >= level).sum()) / AS_ALIKE)
        share = n_alike / max(1, min(control.shape))
        shares.append(min(1.0, share * max(n, m) / max(control.shape)) if small else share)
    return max(shares)


def _match_control(agreement: Agreement, small: bool) -> IntArray:
    """Return the places of the accepted matches of a control; of a small one, of all rows that choose each other."""
    if small:
        graph = CandidateGraph(agreement.i, agreement.j, agreement.shape)
        return graph.find_matches(likeness(agreement), one_to_one=True)
    nothing = np.zeros((0, 2), np.intp)
    null = fit_linkage(agreement, likeness(agreement), nothing, np.zeros(len(agreement), dtype=bool))
    return null.matches[null.accepted]
