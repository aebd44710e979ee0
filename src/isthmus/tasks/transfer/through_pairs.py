r"""Label transfer through known pairs, where no target row has a label of its own.

The paired target rows have the names of their partners (:func:`name_partners`). Four experts learn from them:

- *no map*: a linear classifier of the paired target rows, which never sees another source row;
- *target*: the target's own self-trained discriminants;
- *map*: the source's classifier on rows that are mapped to the source by ridge regression of the pairs;
- *soft pairs*: the same, with the map of soft pairs in which known partners are fixed.

Their weights are those under which the names of held-out pairs are most likely (:func:`fit_weights`): a source that
is of no use beyond its names has little weight. Pairs whose names can't be predicted from other pairs better than by
chance were shuffled, and are not used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from isthmus._core.validation import FloatArray, IntArray
from isthmus.data.domains import KnownPairs
from isthmus.geometry.discriminants import NEVER, SoftLDA
from isthmus.geometry.similarity import normalize_rows
from isthmus.tasks.transfer import starts
from isthmus.tasks.transfer.problem import TransferRows, take_rows
from isthmus.tasks.transfer.scoring import MAP_TEMPERATURE, Discriminant, LinearRule, MappedScores, Rule
from isthmus.tasks.transfer.soft_pairs import map_by_known_partners

EXPERTS = ("no map", "target", "map", "soft pairs")
# Added to probabilities before their logarithm: no expert has a veto.
FLOOR = 0.01
# Pairs are held out in so many folds; of more rows than the second of both domains together, in one of them.
FOLDS, MOST_REFITTED = 3, 4000
# How strongly weights are drawn to equal ones that sum to one.
PULL = 10.0
# Deviations above chance at which held-out names count as predicted: perhaps, and surely.
LEAST_Z, SURE_Z = 1.5, 3.0


def name_partners(rows: TransferRows) -> IntArray:
    """Return the class of the source row of each pair (P,): its label, or what the source's own rules predict."""
    assert rows.pairs is not None
    partners, taught = rows.pairs.source, rows.ys >= 0
    names = rows.ys[partners]
    if (free := names < 0).any():
        A = normalize_rows(rows.source)
        scores = LinearRule.of(A[taught], rows.ys[taught]).scores(A[partners[free]])
        own = starts.fit_target_vote(replace(rows, target=rows.source, yt=rows.ys)).scores(
            rows.source[partners[free]]
        )
        P = softmax(scores / (MAP_TEMPERATURE * (scores.std() or 1.0)), axis=1) + softmax(own, axis=1)
        names[free] = P.argmax(axis=1)
    return names


def pass_names(rows: TransferRows, names: IntArray) -> TransferRows:
    """Return the rows with the names of the pairs (P,) as labels of their target rows."""
    assert rows.pairs is not None
    yt = rows.yt.copy()
    yt[rows.pairs.target] = names
    return replace(rows, yt=yt)


def fit_linear_rule(Z: FloatArray, names: IntArray, n_classes: int) -> Rule:
    """Fit linear support vectors to coordinates Z (P, k) with names of some of C classes; others are never predicted.

    Scores are in units of their deviation, so that they count as logarithms of probabilities.
    """
    X, present = normalize_rows(Z), np.unique(names)
    found = LinearRule.of(X, np.searchsorted(present, names))
    unit = MAP_TEMPERATURE * (float(found.scores(X).std()) or 1.0)
    weights, offsets = np.zeros((X.shape[1], n_classes)), np.full(n_classes, NEVER)
    weights[:, present], offsets[present] = found.weights / unit, found.offsets / unit
    return Discriminant(np.zeros(X.shape[1]), SoftLDA(weights, offsets))


@dataclass(frozen=True, eq=False)
class LogPool:
    r"""The sum :math:`\sum_k w_k \log(p_k + 0.01)` of the probabilities of several rules."""

    members: tuple[Rule, ...]
    weights: FloatArray

    def terms(self, Z: FloatArray) -> FloatArray:
        """Return the logarithms of each member (n, K, C)."""
        return np.stack([np.log(softmax(rule.scores(Z), axis=1) + FLOOR) for rule in self.members], axis=1)

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return the sum (n, C)."""
        return np.asarray(np.einsum("nkc,k->nc", self.terms(Z), self.weights))


def fit_experts(rows: TransferRows, names: IntArray) -> LogPool:
    """Fit the experts to the names of the pairs (P,), of two classes at least; their weights are equal."""
    assert rows.pairs is not None
    own = fit_linear_rule(rows.target[rows.pairs.target], names, rows.n_classes)
    mapped = starts.fit_paired_rule(rows)
    named = pass_names(rows, names)
    # Discriminants start from the nearest name; where a class has none, or every row is paired, from the map.
    start = None
    if len(named.unknown) or not named.unlabelled.any():
        start = mapped.posterior(normalize_rows(rows.target[named.unlabelled]))
    vote = starts.fit_target_vote(named, start)
    soft = map_by_known_partners(named, starts.predict_target(vote, named))
    return LogPool((own, vote, MappedScores(mapped), MappedScores(soft)), np.full(4, 0.25))


def hold_out_pairs(rows: TransferRows, names: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the experts' logarithms (n, K, C) for target rows of held-out pairs, and the numbers of these pairs.

    The source rows of held-out pairs are left out: a new target row has no partner in the source either.
    """
    assert rows.pairs is not None
    pairs, P = rows.pairs, len(names)
    fold = np.random.default_rng(0).permutation(np.arange(P) % FOLDS)
    found: list[FloatArray] = [np.empty((0, len(EXPERTS), rows.n_classes))]
    numbers = [np.empty(0, np.intp)]
    for k in range(1 if len(rows.source) + len(rows.target) > MOST_REFITTED else FOLDS):
        out = fold == k
        left = ~np.isin(pairs.target, pairs.target[out]) & ~np.isin(pairs.source, pairs.source[out])
        kept = np.ones(len(rows.ys), dtype=bool)
        kept[pairs.source[out]] = False
        ys = rows.ys[kept]
        if not out.any() or len(np.unique(names[left])) < 2 or len(np.unique(ys[ys >= 0])) < rows.n_classes:
            continue
        renumbered = np.stack([(np.cumsum(kept) - 1)[pairs.source[left]], pairs.target[left]], axis=1)
        prepared = take_rows(rows.prepared[0], kept), rows.prepared[1]
        some = replace(rows, source=rows.source[kept], ys=ys, prepared=prepared)
        some = replace(some, pairs=KnownPairs(renumbered, pairs.weights[left]))
        found.append(fit_experts(some, names[left]).terms(rows.target[pairs.target[out]]))
        numbers.append(np.flatnonzero(out))
    return np.concatenate(found), np.concatenate(numbers)


def fit_weights(terms: FloatArray, names: IntArray) -> FloatArray:
    r"""Return the weights w ≥ 0 (K,) under which the names (n,) of held-out pairs are most likely.

    .. math:: \min_w -\sum_i \log \mathrm{softmax}\Bigl(\sum_k w_k \ell_{ik}\Bigr)_{y_i}
              + 10 \sum_k \bigl(w_k - \tfrac1K\bigr)^2

    They need not sum to one: what they sum to makes probabilities as sure as held-out pairs are right.

    Examples
    --------
    >>> right, wrong = np.log([[0.9, 0.1], [0.1, 0.9]]), np.log([[0.2, 0.8], [0.8, 0.2]])
    >>> w = fit_weights(np.repeat(np.stack([right, wrong], axis=1), 20, axis=0), np.repeat([0, 1], 20))
    >>> bool(w[0] > 0.5 > w[1])
    True
    """
    K, rows = terms.shape[1], np.arange(len(names))
    equal = np.full(K, 1.0 / K)
    chosen = terms[rows, :, names]

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        L = log_softmax(np.einsum("nkc,k->nc", terms, w), axis=1)
        slope = np.einsum("nkc,nc->k", terms, np.exp(L)) - chosen.sum(axis=0)
        return float(-L[rows, names].sum() + PULL * ((w - equal) ** 2).sum()), slope + 2.0 * PULL * (w - equal)

    return np.asarray(minimize(loss, equal, jac=True, bounds=[(0.0, None)] * K).x)


def weigh_experts(rows: TransferRows, names: IntArray) -> tuple[LogPool, float]:
    """Return the experts with weights by held-out pairs, and z of the names that these get without such weights."""
    terms, held_out = hold_out_pairs(rows, names)
    z = measure_prediction_z(terms.sum(axis=1).argmax(axis=1), names[held_out])
    return replace(fit_experts(rows, names), weights=fit_weights(terms, names[held_out])), z


def measure_prediction_z(predicted: IntArray, names: IntArray) -> float:
    """Return how far predictions (n,) agree with names (n,) beyond chance, in deviations of a binomial number.

    Examples
    --------
    >>> names = np.repeat([0, 1], 20)
    >>> round(measure_prediction_z(names, names), 1), measure_prediction_z(np.zeros(40, int), names)
    (6.3, 0.0)
    """
    n, agreed = len(names), float(np.sum(predicted == names))
    chance = float(np.sum(predicted[:, None] == names)) / max(n, 1)  # expected, of n
    V = chance * (1.0 - chance / max(n, 1))
    return (agreed - chance) / V**0.5 if V > 1e-9 else 0.0
