"""Whether two guesses of the same rows' classes say the same, and under the same names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import log_softmax, softmax
from sklearn.svm import LinearSVC

from isthmus._core.validation import FloatArray, IntArray
from isthmus.geometry.discriminants import SoftLDA, balance, balancing_offsets, centre_scores, score_deviation
from isthmus.geometry.similarity import normalize_rows
from isthmus.maps.regression import AffineMap
from isthmus.tasks.transfer.problem import TransferRows

ROUNDING = 1e-9
"""A deviation below this share of the largest count is none."""


def count_agreements(P: FloatArray, Q: FloatArray) -> FloatArray:
    """How many rows have class a by one guess and class b by the other (C, C)."""
    C = P.shape[1]
    cells = P.argmax(axis=1) * C + Q.argmax(axis=1)
    return np.bincount(cells, minlength=C * C).reshape(C, C).astype(np.float64)


def kappa(P: FloatArray, Q: FloatArray) -> float:
    r"""Cohen's κ: :math:`(a - e) / (1 - e)`, with the share a of rows that agree, and e what chance would give.

    Parameters
    ----------
    P, Q : array (n, C)
        Two guesses: how likely each class is for each row.

    Returns
    -------
    float
        One for the same guesses, around zero for unrelated ones; zero where both always say the same one class.

    Examples
    --------
    >>> kappa(np.eye(2), np.eye(2)), kappa(np.eye(2), np.eye(2)[::-1])
    (1.0, -1.0)
    """
    F = count_agreements(P, Q)
    n = F.sum()
    if not n:
        return 0.0
    chance = float(F.sum(axis=0) @ F.sum(axis=1)) / n**2
    return float((np.trace(F) / n - chance) / (1.0 - chance)) if chance < 1.0 else 0.0


def identity_share(P: FloatArray, Q: FloatArray) -> float:
    """The rows on which two guesses agree, over those on which they would under the best renaming of the classes.

    One where no renaming does better: both speak of the same classes by the same names. A source whose classes were
    renamed gives a guess that agrees well with the target's own, but under other names.

    Examples
    --------
    >>> identity_share(np.eye(3), np.eye(3)), identity_share(np.eye(3), np.eye(3)[[1, 0, 2]]).__round__(2)
    (1.0, 0.33)
    """
    F = count_agreements(P, Q)
    i, j = linear_sum_assignment(-F)
    best = float(F[i, j].sum())
    return float(np.trace(F)) / best if best else 0.0


def naming_z(F: FloatArray) -> float:
    r"""How far two guesses agree under the names that they have, against all renamings of the classes.

    .. math:: z = \frac{\mathrm{tr}\,F - \frac1C \sum_{ab} F_{ab}}{\sqrt{\frac{1}{C - 1} \sum_{ab} G_{ab}^2}}, \qquad
              G = \bigl(I - \tfrac1C 1 1^T\bigr)\, F\, \bigl(I - \tfrac1C 1 1^T\bigr)

    Mean and deviation of :math:`\sum_a F_{a\,\pi(a)}` over all permutations π are known in closed form; z of perfect
    agreement of equally large classes is C - 1.

    Parameters
    ----------
    F : array (C, C)
        How often, or with which total probability, class a of one guess meets class b of the other.

    Examples
    --------
    >>> round(naming_z(np.eye(5)), 6), round(naming_z(np.roll(np.eye(5), 1, axis=0)), 6), naming_z(np.ones((5, 5)))
    (4.0, -1.0, 0.0)
    """
    C = len(F)
    G = F - F.mean(axis=0) - F.mean(axis=1)[:, None] + F.mean()
    deviation = float(np.sqrt((G**2).sum() / max(C - 1, 1)))
    if deviation <= ROUNDING * float(np.abs(F).max(initial=0.0)):  # all renamings are as good
        return 0.0
    return float(np.trace(F) - F.sum() / C) / deviation


GUESS_TEMPERATURE = 0.5
"""Of scores in units of their deviation, before they are balanced."""
AXES_PER_CLASS = 3
"""Where the classes of the two domains are compared."""


@dataclass(frozen=True, eq=False)
class Guess:
    """One idea of the classes of the unlabelled target rows: probabilities P (n_u, C), and whose idea it is."""

    name: str
    P: FloatArray


def guess_from_scores(scores: FloatArray, shares: FloatArray, prior: FloatArray | float = 0.0) -> FloatArray:
    """Balanced guesses (n, C) from scores of any unit, the larger the better, and a prior in logarithms.

    Examples
    --------
    >>> guess_from_scores(np.array([[5.0, 1.0], [4.0, 3.0]]), np.array([0.5, 0.5])).round(2)
    array([[0.88, 0.12],
           [0.12, 0.88]])
    """
    deviation = scores.std()
    return balance(scores / (deviation if deviation > 0.0 else 1.0) / GUESS_TEMPERATURE + prior, shares)


def class_means(Z: FloatArray, y: IntArray, n_classes: int) -> FloatArray:
    """The mean of the rows of each class (C, k)."""
    Y = np.eye(n_classes)[y]
    return np.asarray(Y.T @ Z / Y.sum(axis=0)[:, None])


def means_of_guesses(L: FloatArray, Y: FloatArray, U: FloatArray, P: FloatArray, weight: float = 1.0) -> FloatArray:
    """The mean of each class (C, k) by labels Y of rows L, of this weight each, and guesses P of rows U."""
    return np.asarray((P.T @ U + weight * Y.T @ L) / (P.sum(axis=0) + weight * Y.sum(axis=0))[:, None])


def squared_distances(A: FloatArray, M: FloatArray) -> FloatArray:
    """Of all rows A (n, k) to a few points M (C, k), as (n, C)."""
    D = (A * A).sum(axis=1)[:, None] + (M * M).sum(axis=1) - 2.0 * A @ M.T
    return np.asarray(np.maximum(D, 0.0))


def class_cosines(M: FloatArray) -> FloatArray:
    """Cosines (C, C) between class means (C, k), seen from their mean."""
    N = normalize_rows(M - M.mean(axis=0))
    return np.asarray(N @ N.T)


def correlation(A: FloatArray, B: FloatArray) -> float:
    """Of the entries above the diagonals; zero where there are fewer than three or one side is constant."""
    above = np.triu_indices(len(A), 1)
    a, b = A[above] - A[above].mean(), B[above] - B[above].mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if len(a) >= 3 and size > 0.0 else 0.0


def agreement(rows: TransferRows, P: FloatArray) -> float:
    r"""How far the classes lie to each other, in the target as guessed, as they do in the source.

    .. math:: r = \mathrm{corr}_{c < d}\big(\cos(\mu^s_c, \mu^s_d),\; \cos(\mu^t_c, \mu^t_d)\big)

    over the classes that both domains have. It needs no feature in common and no label that is not given.
    """
    view, both = rows.at(AXES_PER_CLASS), rows.shared
    A = class_means(view.S, view.ys, rows.n_classes) if len(both) == rows.n_classes else _means_of(rows, view.S)
    B = means_of_guesses(view.L, rows.one_hot, view.U, P)[both]
    return correlation(class_cosines(A), class_cosines(B))


def _means_of(rows: TransferRows, S: FloatArray) -> FloatArray:
    y = rows.ys[rows.ys >= 0]
    return class_means(S, np.searchsorted(rows.shared, y), len(rows.shared))


TEMPERATURE = 0.3
"""A deviation of the classifier's scores counts as so many units, the other way round, in a logarithm."""
MOST_TAUGHT = 20_000
"""Rows that the classifier is learned from, at most."""


@dataclass(frozen=True, eq=False)
class LinearRule:
    """Scores x W + b of unit rows of the source: one column per class."""

    weights: FloatArray
    offsets: FloatArray

    @classmethod
    def of(cls, X: FloatArray, codes: IntArray) -> LinearRule:
        """A linear support vector machine, one class against the others, of source rows X (n, k)."""
        if len(X) > MOST_TAUGHT:
            some = np.random.default_rng(0).permutation(len(X))[:MOST_TAUGHT]
            firsts = np.unique(codes, return_index=True)[1]
            some = np.union1d(some, firsts)
            X, codes = X[some], codes[some]
        svm = LinearSVC(dual=len(X) <= X.shape[1], random_state=0, max_iter=10_000).fit(X, codes)
        W, b = svm.coef_.T, svm.intercept_
        if W.shape[1] == 1:  # of two classes the machine has one direction only
            W, b = np.hstack([-W, W]), np.concatenate([-b, b])
        return cls(W, b)

    def scores(self, X: FloatArray) -> FloatArray:
        """Of rows X (n, k), one column per class."""
        return np.asarray(X @ self.weights + self.offsets)


@dataclass(frozen=True, eq=False)
class MappedRule:
    r"""Probabilities :math:`\propto \exp(s(\hat f(x)) / \tau + o)` of the classes of a target row x.

    Parameters
    ----------
    map : AffineMap
        Target coordinates of unit length to source coordinates.
    rule : LinearRule
        The source's classifier s.
    unit : float
        :math:`\tau`: what its scores are divided by.
    offsets : array (C,)
        o: what gives each class its share of the target rows that the rule was learned with. With these fixed, a new
        row is scored by itself, whatever rows come with it.
    """

    map: AffineMap
    rule: LinearRule
    unit: float
    offsets: FloatArray

    @classmethod
    def of(cls, learned: AffineMap, rule: LinearRule, B: FloatArray, shares: FloatArray) -> MappedRule:
        """So that the classes have these shares among the target rows B (m, k)."""
        raw = rule.scores(normalize_rows(learned(B)))
        size = TEMPERATURE * (float(raw.std()) or 1.0)
        return cls(learned, rule, size, balancing_offsets(raw / size, shares))

    def mapped(self, B: FloatArray) -> FloatArray:
        """Target rows (m, k) as unit rows among those of the source."""
        return normalize_rows(self.map(B))

    def scores(self, B: FloatArray) -> FloatArray:
        """Logarithms of the classes' probabilities (m, C), up to a constant per row."""
        return np.asarray(self.rule.scores(self.mapped(B)) / self.unit + self.offsets)

    def posterior(self, B: FloatArray) -> FloatArray:
        """Probabilities of the classes (m, C) of target rows B (m, k) of unit length, seen before or not."""
        return np.asarray(softmax(self.scores(B), axis=1))

    def with_shares(self, B: FloatArray, shares: FloatArray) -> MappedRule:
        """The same rule with other shares of the classes among rows B."""
        return replace(self, offsets=balancing_offsets(self.rule.scores(self.mapped(B)) / self.unit, shares))


class Rule(Protocol):
    """Scores of the classes (n, C), the larger the better, of centred coordinates Z (n, k) of target rows."""

    def scores(self, Z: FloatArray) -> FloatArray:
        """The scores."""


@dataclass(frozen=True, eq=False)
class Discriminant:
    """Logarithms of probabilities by linear discriminants of unit rows on the first k axes, seen from a mean (k,)."""

    mean: FloatArray
    lda: SoftLDA

    def scores(self, Z: FloatArray) -> FloatArray:
        """Logarithms of probabilities."""
        return np.asarray(log_softmax(self.lda.scores(normalize_rows(Z[:, : len(self.mean)]) - self.mean), axis=1))


@dataclass(frozen=True, eq=False)
class NearestMean:
    """Minus the squared distances of unit rows on the first k axes to the means (C, k) of the classes."""

    means: FloatArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Minus squared distances."""
        return -squared_distances(normalize_rows(Z[:, : self.means.shape[1]]), self.means)


@dataclass(frozen=True, eq=False)
class Vote:
    """The logarithm of the weighted mean of the probabilities that several rules give."""

    members: tuple[Rule, ...]
    weights: FloatArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Logarithms of probabilities."""
        shares = self.weights / self.weights.sum()
        P = sum(w * softmax(rule.scores(Z), axis=1) for w, rule in zip(shares, self.members, strict=True))
        return np.asarray(np.log(np.maximum(P, np.finfo(float).tiny)))


@dataclass(frozen=True, eq=False)
class Probabilities:
    """The probabilities of a rule, as scores."""

    rule: Rule

    def scores(self, Z: FloatArray) -> FloatArray:
        """Probabilities."""
        return np.asarray(softmax(self.rule.scores(Z), axis=1))


@dataclass(frozen=True, eq=False)
class MappedScores:
    """A rule of the source for target rows that are mapped to it, as one for centred coordinates of target rows."""

    rule: MappedRule

    def scores(self, Z: FloatArray) -> FloatArray:
        """Logarithms of probabilities."""
        return np.asarray(log_softmax(self.rule.scores(normalize_rows(Z)), axis=1))


@dataclass(frozen=True, eq=False)
class SubsetRule:
    """A rule over some of the classes, as one over all: the others keep what another rule gives them."""

    rule: Rule
    classes: IntArray
    own: Rule

    def scores(self, Z: FloatArray) -> FloatArray:
        """Logarithms of probabilities."""
        P = softmax(self.own.scores(Z), axis=1)
        P[:, self.classes] = 0.0
        P[:, self.classes] = softmax(self.rule.scores(Z), axis=1) * (1.0 - P.sum(axis=1, keepdims=True))
        return np.asarray(np.log(np.maximum(P, np.finfo(float).tiny)))


@dataclass(frozen=True, eq=False)
class TiedClasses:
    """A rule that can't tell some classes from each other: they share their probability evenly."""

    rule: Rule
    classes: IntArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Logarithms of probabilities."""
        P = softmax(self.rule.scores(Z), axis=1)
        P[:, self.classes] = P[:, self.classes].mean(axis=1, keepdims=True)
        return np.asarray(np.log(np.maximum(P, np.finfo(float).tiny)))


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A weighted sum of scores, each brought to mean zero per row and divided by its own unit."""

    members: tuple[Rule, ...]
    units: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, members: tuple[Rule, ...], Z: FloatArray, weights: FloatArray | None = None) -> WeightedSum:
        """With the deviation of the scores of rows Z as the unit of each."""
        units = np.array([score_deviation(rule.scores(Z)) for rule in members])
        return cls(members, units, np.ones(len(members)) if weights is None else weights)

    def scores(self, Z: FloatArray) -> FloatArray:
        """The sum."""
        parts = zip(self.members, self.weights / self.units, strict=True)
        return np.asarray(sum(factor * centre_scores(rule.scores(Z)) for rule, factor in parts))


ROUNDS = 10
"""How often the discriminants learn from their own balanced guesses."""


def polish_guesses(
    rows: TransferRows,
    P: FloatArray,
    *,
    multiple: int = AXES_PER_CLASS,
    rounds: int = ROUNDS,
    prior: FloatArray | float = 0.0,
) -> tuple[FloatArray, Discriminant]:
    """Guesses (n_u, C) and discriminants after some rounds of self-training from guesses P; labels are kept.

    A ``prior`` (n_u, C), in logarithms, is added to the scores of the unlabelled rows in every round.
    """
    view = rows.at(multiple)
    Z = view.target
    mean, n = Z.mean(axis=0), len(view.L)
    Z = Z - mean
    for _ in range(rounds):
        lda = SoftLDA.of(Z, np.vstack([rows.one_hot, P]))
        P = balance(lda.scores(Z[n:]) + prior, rows.shares) if len(P) else P
    # Discriminants know of no shares. What balances old rows would do for new ones, but is worse.
    likely = np.log(rows.n_classes * rows.shares)
    return P, Discriminant(mean, SoftLDA(lda.weights, lda.offsets + likely))
