r"""What both domains have in common as evidence for classes: shared features, and known pairs.

**Shared features.** With p the guesses of the source's classifier on the shared features of target rows, balanced and
without a target label, :func:`probe_shared_features` tests them (the gate), and where they pass, they start the
target's own self-training and are its prior. Experts on own features (discriminants, a linear rule taught by sure
guesses) and on the shared ones (taught by the source and by target labels) are pooled:
:math:`\sum_m \log(p_m + 0.01)`.

**Known pairs**, where no target row has a label of its own.
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

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from isthmus._core.linalg import normalize_rows
from isthmus._core.validation import FloatArray, IntArray, Matrix, is_sparse
from isthmus.data.cells import parse_number
from isthmus.data.domains import KnownPairs, SharedFeatures
from isthmus.data.shared_columns import SharedColumns
from isthmus.geometry.discriminants import SoftLDA, balance, floor_shares
from isthmus.geometry.similarity import normalize_precisely
from isthmus.geometry.terms import TermRows
from isthmus.tasks.transfer import scoring, starts
from isthmus.tasks.transfer.evidence import DEVIATIONS, iterate_folds, kappa
from isthmus.tasks.transfer.problem import AXES_PER_CLASS, TransferRows, sample_rows, take_rows
from isthmus.tasks.transfer.scoring import (
    GUESS_TEMPERATURE,
    MAP_TEMPERATURE,
    LinearRule,
    LinearScores,
    Pool,
    pool_term,
)
from isthmus.tasks.transfer.soft_pairs import ProbeEvidence, compare_probe, map_by_known_partners

# The gate: deviations over relabellings; κ of the guesses with the target's discriminants, which they teach on the
# other half of the rows (a block that says nothing of the rows' own features has none); enough classes.
LEAST_Z, LEAST_KAPPA, LEAST_CLASSES = 2.5, 0.15, 5
# Guesses that teach the linear rule of own features are at least as sure.
SURE = 0.8
# Terms of a text: runs of so many characters. A column is of numbers if so many of its cells are.
CHARACTERS, MOSTLY = (3, 5), 0.8


def make_shared_features(columns: SharedColumns) -> SharedFeatures:
    """Return shared columns as features of unit length: z-scores of numbers, and terms of all texts together.

    Where no columns are paired, the terms are those of whole rows.
    """
    texts: list[tuple[Sequence[str], Sequence[str]]] = []
    numbers = []
    if not columns.pairs:
        texts = [columns.join_rows()]
    for a, b in columns.pairs:
        both = np.array([parse_number(cell) for cell in (*columns.source[a], *columns.target[b])])
        known, n = np.isfinite(both), len(columns.source[a])
        if known.mean() >= MOSTLY and np.ptp(both[known]) > 0.0:
            z = np.where(known, (both - both[known].mean()) / both[known].std(), 0.0)
            numbers.append((z[:n], z[n:]))
        else:
            texts.append((columns.source[a], columns.target[b]))
    blocks: list[tuple[Any, Any]] = []
    if texts:
        joined = [[" ".join(cells) for cells in zip(*side, strict=True)] for side in zip(*texts, strict=True)]
        terms = TermRows.of(joined[0], joined[1], CHARACTERS, drop_one_sided=True)
        blocks.append((terms.rows(0), terms.rows(1)))
    if numbers:
        ours, theirs = (normalize_rows(np.stack(side, axis=1)) for side in zip(*numbers, strict=True))
        blocks.append((ours, theirs))
    sides = zip(*blocks, strict=True)
    return SharedFeatures(*(side[0] if len(side) == 1 else sp.hstack(side, format="csr") for side in sides))


def add_shared_scores(scores: FloatArray, rule: LinearScores | None, shared: Matrix | None) -> FloatArray:
    """Add to scores of own features (n, C) those of shared ones (n, k), where there are any and they are used."""
    if rule is None or shared is None:
        return scores
    return np.asarray(scores + pool_term(rule.scores(shared)))


def probe_shared_features(
    rows: TransferRows, guess: FloatArray, shares: FloatArray
) -> tuple[FloatArray, ProbeEvidence, float, bool]:
    """Guess by the source's classifier on shared features, without a target label, and test it.

    Parameters
    ----------
    rows : TransferRows
        With shared features; every class has a source row.
    guess : array (n_t, C)
        The target's own guesses, which know nothing of the source.
    shares : array (C,)
        Of the classes.

    Returns
    -------
    p : array (n_t, C)
        The guesses.
    probe : ProbeEvidence
        Their agreement with the target's own.
    cross : float
        How far the target's own features can learn them (:func:`cross_fit_kappa`).
    is_open : bool
        Whether the gate is open.
    """
    assert rows.features is not None
    S, T = (normalize_precisely(X) for X in (rows.features.source[rows.ys >= 0], rows.features.target))
    codes = rows.ys[rows.ys >= 0]
    blind = LinearRule.of(S, codes).scores(T)
    p = balance(blind / (GUESS_TEMPERATURE * (float(blind.std()) or 1.0)), shares)
    probe, cross = compare_probe(p, guess, rows.yt), cross_fit_kappa(rows, p)
    agrees = probe.n_classes >= LEAST_CLASSES and probe.z > LEAST_Z and cross >= LEAST_KAPPA
    return p, probe, cross, agrees and separates_classes(S, codes)


def teach_by_shared_features(
    rows: TransferRows, p: FloatArray, shares: FloatArray, trust: float
) -> tuple[Pool, LinearScores]:
    """Return the rule of own features that guesses p (n_t, C) have taught, and the rule of the shared features."""
    assert rows.features is not None
    S, T = (normalize_precisely(X) for X in (rows.features.source, rows.features.target))
    C, taught, known = rows.n_classes, rows.ys >= 0, ~rows.unlabelled
    Z, prior = normalize_rows(rows.target), np.log((1.0 - trust) / C + trust * p)
    P = scoring.self_train(Z, rows.yt, p, shares, prior)
    P[known] = rows.one_hot
    sure = known | (P.max(axis=1) > SURE)
    linear = LinearScores.of(Z[sure], P[sure].argmax(axis=1), C, Z, MAP_TEMPERATURE)
    settled = replace(rows, shares=floor_shares(P[~known].mean(axis=0)), strictness=1.0)
    discriminants = scoring.fit_target_vote(settled, P[~known], rounds=0)
    stack = sp.vstack if is_sparse(S) else np.vstack
    both = stack([S[taught], T[known]]), np.r_[rows.ys[taught], rows.yt[known]]
    return Pool((linear, discriminants), np.ones(2)), LinearScores.of(*both, C, T, GUESS_TEMPERATURE)


def separates_classes(S: Matrix, codes: IntArray) -> bool:
    """Return whether a linear rule finds more held-out classes of the source than its largest class has, by far."""
    some = sample_rows(codes)
    known, asked = next(iter(iterate_folds(codes[some])))
    X, y = S[some], codes[some]
    present, places = np.unique(y[known], return_inverse=True)
    if len(present) < 2:
        return False
    right = np.mean(present[LinearRule.of(X[known], places).scores(X[asked]).argmax(axis=1)] == y[asked])
    chance = np.bincount(y).max() / len(y)
    return bool(right > chance + DEVIATIONS * np.sqrt(chance * (1.0 - chance) / len(asked)))


def cross_fit_kappa(rows: TransferRows, p: FloatArray) -> float:
    """Return κ of guesses p (n_t, C) with discriminants of own features that p teaches on the other half of rows."""
    Z = normalize_rows(rows.target[:, : AXES_PER_CLASS * rows.n_classes])
    half, Q = np.random.default_rng(0).permutation(len(Z)) % 2, np.zeros_like(p)
    for k in (0, 1):
        mean = Z[half != k].mean(axis=0)
        Q[half == k] = SoftLDA.of(Z[half != k] - mean, p[half != k]).scores(Z[half == k] - mean)
    return kappa(Q, p)


EXPERTS = ("no map", "target", "map", "soft pairs")
# Pairs are held out in so many folds; of more rows than the second of both domains together, in one of them.
PAIR_FOLDS, MOST_REFITTED = 3, 4000
# How strongly weights are drawn to equal ones that sum to one.
PULL = 10.0
# Deviations above chance at which held-out names count as predicted: perhaps, and surely.
PAIRS_Z, SURE_Z = 1.5, 3.0


def name_partners(rows: TransferRows) -> IntArray:
    """Return the class of the source row of each pair (P,): its label, or what the source's own rules predict."""
    assert rows.pairs is not None
    partners, taught = rows.pairs.source, rows.ys >= 0
    names = rows.ys[partners]
    if (free := names < 0).any():
        A = normalize_rows(rows.source)
        scores = LinearRule.of(A[taught], rows.ys[taught]).scores(A[partners[free]])
        vote = scoring.fit_target_vote(replace(rows, target=rows.source, yt=rows.ys))
        own = vote.scores(rows.source[partners[free]])
        P = softmax(scores / (MAP_TEMPERATURE * (scores.std() or 1.0)), axis=1) + softmax(own, axis=1)
        names[free] = P.argmax(axis=1)
    return names


def pass_names(rows: TransferRows, names: IntArray) -> TransferRows:
    """Return the rows with the names of the pairs (P,) as labels of their target rows."""
    assert rows.pairs is not None
    yt = rows.yt.copy()
    yt[rows.pairs.target] = names
    return replace(rows, yt=yt)


def fit_experts(rows: TransferRows, names: IntArray) -> Pool:
    """Fit the experts to the names of the pairs (P,), of two classes at least; their weights are equal."""
    assert rows.pairs is not None
    paired = normalize_rows(rows.target[rows.pairs.target])
    own = LinearScores.of(paired, names, rows.n_classes, paired, MAP_TEMPERATURE)
    mapped = starts.fit_paired_rule(rows)
    named = pass_names(rows, names)
    # Discriminants start from the nearest name; where a class has none, or every row is paired, from the map.
    start = None
    if len(named.unknown) or not named.unlabelled.any():
        start = mapped.posterior(normalize_rows(rows.target[named.unlabelled]))
    vote = scoring.fit_target_vote(named, start)
    soft = map_by_known_partners(named, scoring.predict_target(vote, named))
    return Pool((own, vote, mapped, soft), np.full(4, 0.25))


def hold_out_pairs(rows: TransferRows, names: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the experts' logarithms (n, K, C) for target rows of held-out pairs, and the numbers of these pairs.

    The source rows of held-out pairs are left out: a new target row has no partner in the source either.
    """
    assert rows.pairs is not None
    pairs, P = rows.pairs, len(names)
    fold = np.random.default_rng(0).permutation(np.arange(P) % PAIR_FOLDS)
    found: list[FloatArray] = [np.empty((0, len(EXPERTS), rows.n_classes))]
    numbers = [np.empty(0, np.intp)]
    for k in range(1 if len(rows.source) + len(rows.target) > MOST_REFITTED else PAIR_FOLDS):
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


def weigh_experts(rows: TransferRows, names: IntArray) -> tuple[Pool, float]:
    """Return the experts with weights by held-out pairs, and z of the names that these get without such weights."""
    terms, held_out = hold_out_pairs(rows, names)
    z = measure_prediction_z(terms, names[held_out])
    return replace(fit_experts(rows, names), weights=fit_weights(terms, names[held_out])), z


def measure_prediction_z(terms: FloatArray, names: IntArray) -> float:
    r"""Return how far names (n,) are likelier than the same in another order, in deviations over all orders.

    .. math:: z = \sum_i b_{i y_i} \Big/ \sqrt{\tfrac{1}{n - 1} \sum_{ij} b_{i y_j}^2},

    b being log-probabilities (n, C) by the mean of the ``terms`` (n, K, C) without row and column means (Hoeffding
    1951). How sure the experts are counts, not only whether they are right.

    Examples
    --------
    >>> names = np.repeat([0, 1], 20)
    >>> right = np.log(0.8 * np.eye(2)[names] + 0.1)[:, None]
    >>> round(measure_prediction_z(right, names), 1), round(measure_prediction_z(right[::-1], names), 1)
    (6.2, -6.2)
    """
    n, C = len(names), terms.shape[2]
    if n < 2:
        return 0.0
    L, counts = log_softmax(terms.mean(axis=1), axis=1), np.bincount(names, minlength=C) / n
    B = L - (L @ counts)[:, None] - L.mean(axis=0) + float(np.mean(L @ counts))
    V = float(np.sum(B**2 @ counts)) * n / (n - 1)
    return float(B[np.arange(n), names].sum() / V**0.5) if V > 1e-9 else 0.0
