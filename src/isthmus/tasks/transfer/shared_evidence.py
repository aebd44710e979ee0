r"""What both domains have in common as evidence for classes: the source's classifier on shared features.

With p the guesses of the source's classifier on the shared features of target rows, balanced and without a target
label, :func:`guess_by_shared_features` tests them (the gate), and where they pass, they start the target's own
self-training and are its prior. Experts on own features (discriminants, a linear rule taught by sure guesses) and on
the shared ones (taught by the source and by target labels) are pooled: :math:`\sum_m \log(p_m + 0.01)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax, softmax

from isthmus._core.validation import FloatArray, IntArray, Matrix, is_sparse
from isthmus.data.cells import parse_number
from isthmus.data.domains import SharedFeatures
from isthmus.data.shared_columns import SharedColumns
from isthmus.geometry.discriminants import NEVER, SoftLDA, balance
from isthmus.geometry.similarity import normalize_precisely, normalize_rows
from isthmus.geometry.terms import TermRows
from isthmus.tasks.transfer.evidence import DEVIATIONS, iterate_folds, kappa
from isthmus.tasks.transfer.problem import TransferRows, floor_shares, sample_rows
from isthmus.tasks.transfer.scoring import AXES_PER_CLASS, GUESS_TEMPERATURE, MAP_TEMPERATURE, LinearRule, Rule
from isthmus.tasks.transfer.soft_pairs import ProbeEvidence, compare_probe
from isthmus.tasks.transfer.starts import fit_target_vote, self_train

# The gate: deviations over relabellings; κ of the guesses with the target's discriminants, which they teach on the
# other half of the rows (a block that says nothing of the rows' own features has none); enough classes.
LEAST_Z, LEAST_KAPPA, LEAST_CLASSES = 2.5, 0.15, 5
# Guesses that teach the linear rule of own features are at least as sure; added to probabilities in the pool.
SURE, POOL_FLOOR = 0.8, 0.01
# Terms of a text: runs of so many characters. A column is of numbers if so many of its cells are.
CHARACTERS, MOSTLY = (3, 5), 0.8


def make_shared_features(columns: SharedColumns) -> SharedFeatures:
    """Return shared columns as features of unit length: z-scores of numbers, and terms of all texts together."""
    texts, numbers = [], []
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
    source, target = (
        side[0] if len(side) == 1 else sp.hstack(side, format="csr") for side in zip(*blocks, strict=True)
    )
    return SharedFeatures(source, target)


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Logarithms of probabilities (n, C) by a linear rule of some classes, whose scores have this unit."""

    rule: LinearRule
    classes: IntArray
    unit: float
    n_classes: int

    @classmethod
    def of(cls, X: Matrix, codes: IntArray, n_classes: int, asked: Matrix, temperature: float) -> LinearScores:
        """Fit to rows X; the unit is the deviation of the scores of the rows asked for, times the temperature."""
        classes, places = np.unique(codes, return_inverse=True)
        rule = LinearRule.of(X, places)
        return cls(rule, classes, temperature * (float(rule.scores(asked).std()) or 1.0), n_classes)

    def scores(self, Z: Matrix) -> FloatArray:
        """Return logarithms of probabilities."""
        S = np.full((Z.shape[0], self.n_classes), NEVER)
        S[:, self.classes] = self.rule.scores(Z) / self.unit
        return np.asarray(log_softmax(S, axis=1))


@dataclass(frozen=True, eq=False)
class UnitScores:
    """A linear rule of unit rows, as one of centred coordinates."""

    rule: LinearScores

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return logarithms of probabilities."""
        return self.rule.scores(normalize_rows(Z))


@dataclass(frozen=True, eq=False)
class Pool:
    """The sum of the logarithms of the probabilities that several rules give, each at least :data:`POOL_FLOOR`."""

    members: tuple[Rule, ...]

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return the sum."""
        return np.asarray(sum(pool_term(rule.scores(Z)) for rule in self.members))


def add_shared_scores(scores: FloatArray, rule: LinearScores | None, shared: Matrix | None) -> FloatArray:
    """Add to scores of own features (n, C) those of shared ones (n, k), where there are any and they are used."""
    if rule is None or shared is None:
        return scores
    return np.asarray(scores + pool_term(rule.scores(normalize_precisely(shared))))


def pool_term(scores: FloatArray) -> FloatArray:
    """Return what a rule adds to a pool."""
    return np.asarray(np.log(softmax(scores, axis=1) + POOL_FLOOR))


@dataclass(frozen=True, eq=False)
class SharedGuess:
    """The rule of own features that shared ones have taught, the rule of the shared ones, and the evidence."""

    own: Rule
    shared: LinearScores
    probe: ProbeEvidence
    cross: float
    source_learns: bool

    @property
    def is_open(self) -> bool:
        """Whether the gate is open."""
        return (
            self.source_learns
            and self.probe.n_classes >= LEAST_CLASSES
            and self.probe.z > LEAST_Z
            and self.cross >= LEAST_KAPPA
        )


def guess_by_shared_features(rows: TransferRows, guess: FloatArray, shares: FloatArray) -> SharedGuess:
    """Teach the target by the source's classifier on shared features, and test it.

    Parameters
    ----------
    rows : TransferRows
        With shared features; every class has a source row.
    guess : array (n_t, C)
        The target's own guesses, which know nothing of the source.
    shares : array (C,)
        Of the classes.
    """
    assert rows.features is not None
    S, T = (normalize_precisely(X) for X in (rows.features.source, rows.features.target))
    C, taught, known = rows.n_classes, rows.ys >= 0, ~rows.unlabelled
    learns = separates_classes(S[taught], rows.ys[taught])
    blind = LinearRule.of(S[taught], rows.ys[taught]).scores(T)
    p = balance(blind / (GUESS_TEMPERATURE * (float(blind.std()) or 1.0)), shares)
    probe, Z = compare_probe(p, guess, rows.yt), normalize_rows(rows.target)
    prior = np.log((1.0 - probe.trust) / C + probe.trust * p)
    P = self_train(Z, rows.yt, p, shares, prior)
    P[known] = rows.one_hot
    sure = known | (P.max(axis=1) > SURE)
    linear = LinearScores.of(Z[sure], P[sure].argmax(axis=1), C, Z, MAP_TEMPERATURE)
    settled = TransferRows(
        rows.source, rows.ys, rows.target, rows.yt, floor_shares(P[~known].mean(axis=0)), rows.prepared
    )
    discriminants = fit_target_vote(settled, P[~known], rounds=0)
    stack = sp.vstack if is_sparse(S) else np.vstack
    both = stack([S[taught], T[known]]), np.r_[rows.ys[taught], rows.yt[known]]
    shared = LinearScores.of(both[0], both[1], C, T, GUESS_TEMPERATURE)
    return SharedGuess(Pool((UnitScores(linear), discriminants)), shared, probe, cross_fit_kappa(rows, p), learns)


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
