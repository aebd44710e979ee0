r"""Linkage: weights of agreeing fields without labels, probabilities of matches, and which of them to accept.

1. **Weights.** The log-odds of a candidate pair are :math:`e = b^T z + b_0`, z its features, centred and scaled. The
   weights are those of a logistic regression, :math:`b \ge 0` for agreement. Its labels come from the data: first the
   pairs that choose each other clearly, then the probabilities of step 2, and so on. Known pairs add true labels.
2. **Probabilities.** A pair competes with the other candidates of both its rows:
   :math:`c = e - \log(1 + \sum_{rivals} \exp e)`. The best other candidate of a matched row is what the row would
   have had without its partner. So the density of wrong matches at c is that of these runners-up, times the number
   of rows without a partner over the number with one, plus the share of true pairs that score lower; up to no score
   can there be more wrong matches than matches. One minus the ratio of both densities, made monotone, is the
   probability.
3. **Acceptance.** The pairs of highest expected F1 whose probability is at least one half.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from isthmus._core.validation import BoolArray, FloatArray, IntArray
from isthmus.tasks.matching.fields import Agreement

# The ridge penalty of the weights; of their difference from those, where known pairs correct them.
PENALTY, KNOWN_PENALTY = 1.0, 30.0
# How often weights and probabilities are fitted in turn, at most; the share of change in the labels that ends it.
ROUNDS, SETTLED = 12, 0.01
# The most candidate pairs that weights are fitted to; of more, those of some rows of A are taken.
MOST_FITTED = 60_000
# Candidates whose features are in double precision at the same time.
BLOCK = 200_000
# Log-odds beyond this are certain, and would overflow.
MOST_ODDS = 30.0
# What breaks a tie between neighbouring candidates.
TIE = 1e-9
# The percentile of the scores of matches from which on another row fits as well.
FITTING = 25.0
# Rounds of the fixed point of probabilities, and the change that ends them.
FIXED_POINT, CHANGE = 100, 1e-4
# With fewer matches than this there is nothing to estimate a density from.
FEWEST_MATCHES = 10
# With fewer known pairs, their scores say nothing about the scores of true pairs.
FEWEST_KNOWN = 10
# Fewer wrong matches than this are not limited; by how many deviations counts may exceed what is expected.
FEWEST_WRONG, DEVIATIONS = 5.0, 2.0
# The least probability of an accepted match.
LEAST_PROBABILITY = 0.5


@dataclass(frozen=True, eq=False)
class CandidateGraph:
    """Candidate pairs (i, j) of n and m rows, and how their scores compare with those of their rivals."""

    i: IntArray
    j: IntArray
    shape: tuple[int, int]

    def best_other(self, scores: FloatArray, side: int) -> FloatArray:
        """Return the best score (p,) of the other candidates of the same row (side 0) or column (side 1)."""
        group, n = (self.j if side else self.i), self.shape[side]
        best = np.full(n, -np.inf)
        np.maximum.at(best, group, scores)
        # One of the best is the best; of equal ones, the others have it as their rival.
        top = np.flatnonzero(scores >= best[group])
        first = np.full(n, -1, np.intp)
        first[group[top[::-1]]] = top[::-1]
        rest = scores.copy()
        rest[first[first >= 0]] = -np.inf
        second = np.full(n, -np.inf)
        np.maximum.at(second, group, rest)
        return np.where(first[group] == np.arange(len(group)), second[group], best[group])

    def sum_rivals(self, odds: FloatArray, side: int) -> FloatArray:
        """Return the sum (p,) of the odds of the other candidates of the same row or column."""
        group = self.j if side else self.i
        return np.maximum(np.bincount(group, odds, self.shape[side])[group] - odds, 0.0)

    def find_matches(self, scores: FloatArray, one_to_one: bool) -> IntArray:
        """Return the candidates that are the best of their row, and of their column unless several may share it."""
        # Of equal candidates, such as rows that a table has twice, the first is the best.
        order = scores - TIE * np.arange(len(scores))
        best = order > self.best_other(order, 0)
        return np.flatnonzero(best & (order > self.best_other(order, 1)) if one_to_one else best)

    def measure_margins(self, scores: FloatArray) -> FloatArray:
        """Return by how much each candidate exceeds its best rival; 0 where it has none."""
        margins = scores - np.maximum(self.best_other(scores, 0), self.best_other(scores, 1))
        return np.where(np.isfinite(margins), margins, 0.0)


@dataclass(frozen=True, eq=False)
class FieldDesign:
    """Features of candidate pairs for a logistic regression: centred, scaled, and 0 where they are absent.

    Each pattern of absent features has a column of its own, as rows without a field may match more or less often. The
    matrix is computed for some candidates at a time: for all of them it would be the largest array of a matching.
    """

    agreement: Agreement
    mean: FloatArray
    spread: FloatArray
    marks: IntArray
    shares: FloatArray

    @classmethod
    def of(cls, agreement: Agreement) -> FieldDesign:
        """Scale the features by the candidates that have them."""
        there, q = agreement.present, len(agreement.features)
        present = there.sum(axis=0)
        counts, sums, squares = np.maximum(present, 1), np.zeros(q), np.zeros(q)
        for part in _split(len(agreement)):
            V = agreement.values[part].astype(np.float64)
            sums += V.sum(axis=0)
            squares += np.einsum("ij,ij->j", V, V)
        mean = sums / counts
        spread = np.sqrt(np.maximum(squares / counts - mean**2, 0.0))
        patterns = {there[:, k].tobytes(): k for k in range(q) if 0 < present[k] < len(there)}
        marks = np.array(sorted(patterns.values()), dtype=np.intp)
        shares = present[marks] / max(1, len(there))
        return cls(agreement, mean, np.where(spread > 1e-6, spread, 1.0), marks, shares)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.mean) + len(self.marks) + 1

    def rows(self, places: IntArray | slice) -> FloatArray:
        """Return the columns of some candidates."""
        there = self.agreement.present[places]
        Z = np.where(there, (self.agreement.values[places] - self.mean) / self.spread, 0.0)
        return np.hstack([Z, there[:, self.marks] - self.shares, np.ones((len(Z), 1))])

    def apply(self, weights: FloatArray) -> FloatArray:
        """Return the log-odds (p,) of all candidates."""
        parts = [self.rows(part) @ weights for part in _split(len(self.agreement))]
        return np.concatenate([np.zeros(0), *parts])

    def fit(
        self, labels: FloatArray, used: BoolArray, penalty: float, prior: FloatArray, start: FloatArray
    ) -> FloatArray:
        """Fit weights to labels from 0 to 1, with a ridge penalty on their distance from a prior."""
        D, y = self.rows(np.flatnonzero(used)), labels[used]
        ridge = np.append(np.full(D.shape[1] - 1, penalty), 1e-3)

        def loss(b: FloatArray) -> tuple[float, FloatArray]:
            e, d = D @ b, b - prior
            value = (np.logaddexp(0.0, e) - y * e).sum() + 0.5 * (ridge * d * d).sum()
            return float(value), D.T @ (expit(e) - y) + ridge * d

        # Agreement can only speak for a pair; what an absent field says is open.
        q = len(self.mean)
        bounds = [(0.0, None)] * q + [(None, None)] * (self.width - q)
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200})
        return np.asarray(found.x)


@dataclass(frozen=True, eq=False)
class Linkage:
    """Candidate pairs with learned weights, and the probabilities of the best of them.

    Parameters
    ----------
    agreement : Agreement
        The candidates.
    design : FieldDesign
        Their features as they are weighted.
    weights : array (q,)
        b.
    free : array (f,)
        The places of the candidates that are neither known nor forbidden.
    matches : array (r,)
        The places of candidates that are the best of both their rows.
    probability : array (r,)
        That they are right.
    n_known : int
        The number of known pairs.
    """

    agreement: Agreement
    design: FieldDesign
    weights: FloatArray
    free: IntArray
    matches: IntArray
    probability: FloatArray
    n_known: int = 0

    @cached_property
    def log_odds(self) -> FloatArray:
        """The log-odds e (p,) of all candidates, before their rivals count."""
        return self.design.apply(self.weights)

    @cached_property
    def scores(self) -> FloatArray:
        """The log-odds (p,) of all candidates against no match and all their rivals."""
        return compete(self.graph, self.log_odds, one_to_one=True)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that were compared, of most weight first."""
        weight = self._sum_by_field(self.weights)
        return tuple(sorted(weight, key=lambda name: -weight[name]))

    @property
    def accepted(self) -> IntArray:
        """The places of the accepted matches among all matches."""
        return np.flatnonzero(accept_by_expected_f1(self.probability))

    @property
    def pairs(self) -> IntArray:
        """The rows (r, 2) of the matches."""
        return np.column_stack([self.agreement.i[self.matches], self.agreement.j[self.matches]])

    @cached_property
    def graph(self) -> CandidateGraph:
        """All candidates with their rivals."""
        return CandidateGraph(self.agreement.i, self.agreement.j, self.agreement.shape)

    @cached_property
    def ranks(self) -> IntArray:
        """The rank (p,) of each candidate among those of its row, from 1."""
        order, ranks = np.lexsort((-self.log_odds, self.agreement.i)), np.empty(len(self.agreement), np.intp)
        ranks[order] = 1 + np.arange(len(order)) - np.searchsorted(self.agreement.i, self.agreement.i[order])
        return ranks

    def rank_pairs(self, pairs: IntArray) -> FloatArray:
        """Return the rank of the partner of each pair (r, 2) among the candidates of its row; inf: it is none."""
        places = self.agreement.find(pairs)
        return np.where(places >= 0, self.ranks[places] if len(self.ranks) else np.inf, np.inf)

    def find_best(self) -> tuple[IntArray, IntArray]:
        """Return the best and the second best row of B for each row of A, -1 where there is no such candidate."""
        best = np.full((2, self.agreement.shape[0]), -1, np.intp)
        for k in (0, 1):
            kth = self.ranks == k + 1
            best[k, self.agreement.i[kth]] = self.agreement.j[kth]
        return best[0], best[1]

    def count_sharing(self) -> int:
        """Return how many rows of A without a match fit a matched row of B, but for the row that has it."""
        taken = np.zeros(self.agreement.shape[1], dtype=bool)
        matched = np.zeros(self.agreement.shape[0], dtype=bool)
        accepted = self.matches[self.accepted]
        taken[self.agreement.j[accepted]] = matched[self.agreement.i[accepted]] = True
        if not len(accepted):
            return 0
        scores = compete(self.graph, self.log_odds, one_to_one=False)
        enough = np.percentile(scores[accepted], FITTING)
        fits = taken[self.agreement.j] & ~matched[self.agreement.i] & (scores >= enough)
        return len(np.unique(self.agreement.i[fits]))

    def contributions(self, place: int) -> dict[str, float]:
        """Return what each field adds to the log-odds of a candidate."""
        return self._sum_by_field(self.design.rows(np.array([place]))[0] * self.weights)

    def _sum_by_field(self, values: FloatArray) -> dict[str, float]:
        found: dict[str, float] = {}
        for (field, _), value in zip(self.agreement.features, values, strict=False):
            found[field] = found.get(field, 0.0) + float(value)
        return found


def fit_linkage(
    agreement: Agreement, start: FloatArray, known: IntArray, forbidden: BoolArray, *, one_to_one: bool = True
) -> Linkage:
    """Learn weights and probabilities.

    Parameters
    ----------
    agreement : Agreement
        Candidates, among them all known pairs.
    start : array (p,)
        Scores whose clear best pairs are the first labels.
    known : array (r, 2)
        Known pairs: their rows need no partner.
    forbidden : array (p,)
        Candidates that can't be pairs.
    one_to_one : bool
        Whether a row of B has one partner only.
    """
    (n, m), i, j = agreement.shape, agreement.i, agreement.j
    partner_a, partner_b = np.full(n, -1, np.intp), np.full(m, -1, np.intp)
    partner_a[known[:, 0]], partner_b[known[:, 1]] = known[:, 1], known[:, 0]
    of_known = (partner_a[i] >= 0) | (one_to_one & (partner_b[j] >= 0))
    right = partner_a[i] == j
    free = np.flatnonzero(~of_known & ~forbidden)
    graph, every = CandidateGraph(i[free], j[free], (n, m)), CandidateGraph(i, j, (n, m))
    labels, used = _first_labels(graph, start[free], free, len(agreement), one_to_one)
    design = FieldDesign.of(agreement)
    # Weights are fitted to all candidates, or to those of evenly spread rows of A.
    fitted = i % max(1, -(-len(agreement) // MOST_FITTED)) == 0
    zero: FloatArray = np.zeros(design.width)
    by_data = weights = zero
    for _ in range(ROUNDS):
        by_data = design.fit(labels, used & fitted, PENALTY, zero, by_data)
        weights = design.fit(right * 1.0, of_known, KNOWN_PENALTY, by_data, by_data) if len(known) else by_data
        e = design.apply(weights)
        known_scores = compete(every, e, one_to_one)[right] if len(known) else np.zeros(0)
        places, probability = estimate_probabilities(graph, e[free], known_scores, one_to_one)
        before, labels, used = labels, right * 1.0, np.ones(len(agreement), dtype=bool)
        labels[free[places]] = probability
        if np.abs(labels - before).sum() < SETTLED * labels.sum():
            break
    return Linkage(agreement, design, weights, free, free[places], probability, len(known))


def _split(n: int) -> Iterator[slice]:
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


def _first_labels(
    graph: CandidateGraph, start: FloatArray, free: IntArray, p: int, one_to_one: bool
) -> tuple[FloatArray, BoolArray]:
    """Return labels (p,) of 1 for the clear half of the best pairs, and which candidates have a label."""
    labels, used = np.zeros(p), np.zeros(p, dtype=bool)
    used[free] = True
    best = graph.find_matches(start, one_to_one)
    if len(best):
        margins = graph.measure_margins(start)[best]
        clear = margins > np.median(margins)
        labels[free[best[clear]]] = 1.0
        used[free[best[~clear]]] = False
    return labels, used


def compete(graph: CandidateGraph, log_odds: FloatArray, one_to_one: bool) -> FloatArray:
    """Return the log-odds of candidates against no match and all their rivals."""
    odds = np.exp(np.clip(log_odds, -MOST_ODDS, MOST_ODDS))
    rivals = graph.sum_rivals(odds, 0) + (graph.sum_rivals(odds, 1) if one_to_one else 0.0)
    return np.asarray(log_odds - np.log1p(rivals))


def estimate_probabilities(
    graph: CandidateGraph, log_odds: FloatArray, known_scores: FloatArray, one_to_one: bool
) -> tuple[IntArray, FloatArray]:
    """Return the places of the matches, and the probability that each of them is right."""
    scores = compete(graph, log_odds, one_to_one)
    matches = graph.find_matches(scores, one_to_one)
    own = scores[matches]
    if len(matches) < FEWEST_MATCHES:
        return matches, np.zeros(len(matches))
    sides = (0, 1) if one_to_one else (0,)
    # Rows without a candidate can't be matched wrongly.
    rows = [len(np.unique(group)) for group in (graph.i, graph.j)]
    runners_up = [find_runners_up(graph, log_odds, scores, matches, side, one_to_one) for side in sides]
    grid = _DensityGrid.of(own, [found for _, found in runners_up])
    total = grid.density(own)
    p = (own > np.median(own)).astype(np.float64)
    monotone = IsotonicRegression(y_min=0.0, y_max=1.0)
    for _ in range(FIXED_POINT):
        # Squares: a match of middling probability says little about true pairs.
        weights = p * p
        count = max(float(weights.sum()), 1.0)
        true = grid.density(own, weights)
        if len(known_scores) >= FEWEST_KNOWN:
            true = true + grid.density(known_scores)
        lower = np.cumsum(true) / max(float(true.sum()), 1e-12)
        wrong = np.zeros(len(total))
        for side, (match, found) in zip(sides, runners_up, strict=True):
            alone = max(rows[side] - count, 0.0) / count
            wrong += grid.density(found, weights[match]) * (alone + lower) / len(sides)
        wrong *= limit_wrong(total, wrong)
        share = 1.0 - np.minimum(wrong / np.maximum(total, 1e-12), 5.0)
        curve = monotone.fit(grid.points, share, sample_weight=total + 1e-9 * total.max()).predict(grid.points)
        new = np.interp(own, grid.points, curve)
        if np.abs(new - p).max() < CHANGE:
            break
        p = 0.5 * (p + new)
    return matches, p


def limit_wrong(total: FloatArray, wrong: FloatArray) -> float:
    """Return the factor, at most 1, by which expected wrong matches stay below all matches up to any score.

    Rows of little evidence have weaker runners-up than the sure matches from which wrong ones are extrapolated, so
    that more of them can be expected than there are matches. Counts may exceed their expectation by chance.
    """
    matches, expected = np.cumsum(total), np.cumsum(wrong)
    most = matches + DEVIATIONS * np.sqrt(matches) + 0.5 * DEVIATIONS**2
    enough = expected > FEWEST_WRONG
    return float(min(1.0, (most[enough] / expected[enough]).min(initial=1.0)))


def find_runners_up(
    graph: CandidateGraph, log_odds: FloatArray, scores: FloatArray, matches: IntArray, side: int, one_to_one: bool
) -> tuple[IntArray, FloatArray]:
    """Return what matched rows would have without their partner: the numbers of matches, and scores.

    The best other candidate of a row counts if it would be a match: if it is the best of its own column, too.
    """
    group, other = (graph.j, graph.i) if side else (graph.i, graph.j)
    n, m = graph.shape[side], graph.shape[1 - side]
    number = np.full(n, -1, np.intp)
    number[group[matches]] = np.arange(len(matches))
    rest = np.flatnonzero(number[group] >= 0)
    rest = rest[matches[number[group[rest]]] != rest]
    if not len(rest):
        return np.zeros(0, np.intp), np.zeros(0)
    odds = np.exp(np.clip(log_odds, -MOST_ODDS, MOST_ODDS))
    partner = odds[matches[number[group[rest]]]]
    rivals = np.maximum(np.bincount(group, odds, n)[group[rest]] - odds[rest] - partner, 0.0)
    if one_to_one:
        rivals += np.maximum(np.bincount(other, odds, m)[other[rest]] - odds[rest], 0.0)
    found = log_odds[rest] - np.log1p(rivals)
    # The best by these scores: a candidate that has a partner of its own is out of reach for a row without one, too.
    order = np.lexsort((-found, group[rest]))
    first = order[np.concatenate([[True], np.diff(group[rest[order]]) != 0])]
    best, found = rest[first], found[first]
    if one_to_one:
        wins = found > graph.best_other(scores, 1 - side)[best]
        best, found = best[wins], found[wins]
    return number[group[best]], found


@dataclass(frozen=True, eq=False)
class _DensityGrid:
    """Gaussian kernel densities on a grid of scores, by a histogram and a filter."""

    points: FloatArray
    width: float

    @classmethod
    def of(cls, scores: FloatArray, others: list[FloatArray]) -> _DensityGrid:
        """Cover all scores; the width is Silverman's for the first ones."""
        spread = min(float(scores.std()), float(np.subtract(*np.percentile(scores, [75, 25]))) / 1.34)
        width = 0.9 * spread * len(scores) ** -0.2 + 1e-3
        every = np.concatenate([scores, *others])
        low, high = every.min() - 3.0 * width, every.max() + 3.0 * width
        return cls(np.linspace(low, high, int(np.clip((high - low) / width * 6.0, 200, 4000))), width)

    def density(self, scores: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Return the density at the points, whose sum is the number (or the weight) of the scores."""
        step = self.points[1] - self.points[0]
        places = np.clip(((scores - self.points[0]) / step + 0.5).astype(np.intp), 0, len(self.points) - 1)
        counts = np.bincount(places, weights, len(self.points)).astype(np.float64)
        return np.asarray(gaussian_filter1d(counts, self.width / step))


def accept_by_expected_f1(probability: FloatArray) -> BoolArray:
    """Return which matches to accept: those of highest probability for which the expected F1 is largest.

    Examples
    --------
    >>> accept_by_expected_f1(np.array([0.9, 0.3, 0.8, 0.45]))
    array([ True, False,  True, False])
    """
    order, expected = _expect_f1(probability)
    accepted = np.zeros(len(probability), dtype=bool)
    accepted[order[: int(expected.argmax()) + 1 if len(order) else 0]] = True
    return accepted & (probability >= LEAST_PROBABILITY)


def expect_f1(probability: FloatArray) -> float:
    """Return the expected F1 of the best choice of matches; 0 where there are none."""
    return float(_expect_f1(probability)[1].max(initial=0.0))


def _expect_f1(probability: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the order of falling probability, and the expected F1 of the first matches of it."""
    order = np.argsort(-probability, kind="stable")
    ranks = np.arange(1, len(order) + 1)
    return order, 2.0 * np.cumsum(probability[order]) / (ranks + probability.sum())
