"""Evidence that needs no further label: agreement of guesses, of class geometries, of row signatures; calibration.

The gates of the recipe (:mod:`isthmus.tasks.transfer.engine`) and the temperature of its probabilities are computed
here. Names are tested against *relabellings*: the same measure with the source's classes in random order, as z =
(value - mean) / deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg as sla
from scipy.optimize import linear_sum_assignment, minimize_scalar
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, softmax
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from isthmus._core.linalg import normalize_rows
from isthmus._core.validation import FloatArray, IntArray
from isthmus.geometry.discriminants import SoftLDA, centre_scores
from isthmus.geometry.similarity import signatures
from isthmus.tasks.transfer.problem import AXES_PER_CLASS, TransferRows, sample_rows
from isthmus.tasks.transfer.scoring import class_means, means_of_guesses, polish_guesses
from isthmus.tasks.transfer.starts import guess_by_relative_means, guess_by_zero_shot

if TYPE_CHECKING:
    from isthmus.tasks.transfer.engine import TransferOutcome

# A deviation below this share of the largest count is none.
ROUNDING = 1e-9


def kappa(P: FloatArray, Q: FloatArray) -> float:
    r"""Return Cohen's κ of two guesses (n, C); zero where both always guess the same one class.

    Examples
    --------
    >>> kappa(np.eye(2), np.eye(2)), kappa(np.eye(2), np.eye(2)[::-1])
    (1.0, -1.0)
    """
    a, b = P.argmax(axis=1), Q.argmax(axis=1)
    return float(cohen_kappa_score(a, b)) if len(np.union1d(a, b)) > 1 else 0.0


def identity_share(P: FloatArray, Q: FloatArray) -> float:
    """Return the rows on which two guesses agree, over those on which they would under the best relabelling.

    One where no relabelling does better: both guesses have the same names for the same classes. A source whose
    classes were relabelled gives a guess that agrees well with the target's own, but under other names.

    Examples
    --------
    >>> identity_share(np.eye(3), np.eye(3)), identity_share(np.eye(3), np.eye(3)[[1, 0, 2]]).__round__(2)
    (1.0, 0.33)
    """
    F = confusion_matrix(P.argmax(axis=1), Q.argmax(axis=1), labels=np.arange(P.shape[1]))
    i, j = linear_sum_assignment(-F)
    best = float(F[i, j].sum())
    return float(np.trace(F)) / best if best else 0.0


def naming_z(F: FloatArray) -> float:
    r"""Return how far two guesses agree under the names that they have, in deviations over all relabellings.

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
    if deviation <= ROUNDING * float(np.abs(F).max(initial=0.0)):  # all relabellings are equally good
        return 0.0
    return float(np.trace(F) - F.sum() / C) / deviation


# Random relabellings whose class geometries are compared.
RELABELLINGS = 300
# Relabelled sources that the starts are run with, rounds of their polish, and unlabelled rows in it at most.
REFITS, REFIT_ROUNDS, MOST_ROWS = 10, 5, 1500
LEAST_CLASSES = 4


def correlate_upper(A: FloatArray, B: FloatArray) -> float:
    """Return the correlation of the entries above the diagonals; 0 for fewer than three, or where all are equal."""
    above = np.triu_indices(len(A), 1)
    a, b = A[above] - A[above].mean(), B[above] - B[above].mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if len(a) >= 3 and size > 0.0 else 0.0


def measure_agreement(rows: TransferRows, P: FloatArray) -> float:
    r"""Return the agreement of the class geometries of the source and of the target under guesses P (n_u, C).

    .. math:: r = \mathrm{corr}_{c < d}\big(\cos(\mu^s_c, \mu^s_d),\; \cos(\mu^t_c, \mu^t_d)\big)

    over the classes that both domains have. It needs no feature in common and no label that is not given.
    """
    view, both = rows.at(), rows.shared
    source = class_means(view.S, np.searchsorted(both, view.ys), len(both))
    target = means_of_guesses(view.L, rows.one_hot, view.U, P)[both]
    A, B = (normalize_rows(M - M.mean(axis=0)) for M in (source, target))
    return correlate_upper(A @ A.T, B @ B.T)


def measure_geometry_z(rows: TransferRows, P: FloatArray, rng: np.random.Generator) -> float:
    """Return z of the agreement of the class means' inner products, against random relabellings of the source.

    Zero with fewer than three classes: two have one inner product, which every naming shares.
    """
    if rows.n_classes < 3:
        return 0.0
    view = rows.at()
    A = class_means(view.S, view.ys, rows.n_classes) - view.S.mean(axis=0)
    B = means_of_guesses(view.L, rows.one_hot, view.U, P) - view.target.mean(axis=0)
    A, B = A @ A.T, B @ B.T
    orders = [rng.permutation(rows.n_classes) for _ in range(RELABELLINGS)]
    null = np.array([correlate_upper(A[np.ix_(order, order)], B) for order in orders])
    return float((correlate_upper(A, B) - null.mean()) / (null.std() + 1e-12))


def measure_naming_z(rows: TransferRows, rng: np.random.Generator) -> float:
    """Return z of the mean agreement of two starts, against the same starts with relabelled sources.

    Each relabelled source is taken through the same starts and a short polish, because a start fits its guesses to
    any source. Zero with fewer than four classes, which have too few relabellings.
    """
    if rows.n_classes < LEAST_CLASSES:
        return 0.0
    some = rows.sample_target(MOST_ROWS, rng)
    orders = [rng.permutation(rows.n_classes) for _ in range(REFITS)]
    null = np.array([_mean_agreement(some.relabel_source(order)) for order in orders])
    return float((_mean_agreement(some) - null.mean()) / (null.std(ddof=1) + 1e-12))


def _mean_agreement(rows: TransferRows) -> float:
    starts = guess_by_zero_shot(rows), guess_by_relative_means(rows)
    polished = (polish_guesses(rows, P, rounds=REFIT_ROUNDS)[0] for P in starts)
    return float(np.mean([measure_agreement(rows, P) for P in polished]))


# Of the kernel exp(-0.3 |a - b|² / q), with q statistics, and of its ridge.
RATE, SIGNATURE_PENALTY = 0.3, 1.0
FOLDS = 5
# The largest factor of the rule's scores.
STEEPEST = 30.0
# Deviations above chance at which the source's classes count as separable within the source.
DEVIATIONS = 3.0
# Rows of a kernel matrix in memory at once.
BLOCK = 2000
# Source rows that the rule is fitted to, about: a signature has twelve numbers.
MOST_SOURCE = 2000
# Numbers of leading axes whose share of a row is a statistic of it, in multiples of the number of classes.
SIGNATURE_MULTIPLES = (1, 2, 3, 5)
# The trust in the rule once its gate is open.
TRUST = 0.25
# The least estimated trust at which the gate is half open, and open.
HALF, FULL = 0.1, 0.2
# The values of trust that are tried.
OFFERED: FloatArray = np.append(np.arange(0.0, 0.96, 0.05), 0.98)
# A difference of likelihoods per row that is none.
EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class SignatureRule:
    """Kernel ridge regression from signatures to classes.

    Parameters
    ----------
    rows : array (n, q)
        Signatures of source rows.
    weights : array (n, C)
        Of the kernel, for each class.
    slope : float
        The factor that makes its scores logarithms of probabilities.

    Examples
    --------
    >>> rule = SignatureRule.of(np.array([[-1.0], [1.0]]), np.array([0, 1]), 2)
    >>> rule.scores(np.array([[-1.0], [0.0], [1.0]])).argmax(axis=1)[[0, 2]]
    array([0, 1])
    """

    rows: FloatArray
    weights: FloatArray
    slope: float = 1.0

    @classmethod
    def of(cls, F: FloatArray, codes: IntArray, n_classes: int) -> SignatureRule:
        """Fit to signatures F (n, q) of rows whose classes are known."""
        K = _kernel(F, F)
        K[np.diag_indices_from(K)] += SIGNATURE_PENALTY
        return cls(F, sla.solve(K, np.eye(n_classes)[codes] - 1.0 / n_classes, assume_a="pos"))

    @classmethod
    def calibrate(cls, F: FloatArray, codes: IntArray, n_classes: int) -> SignatureRule:
        """Fit with the slope that makes the classes of held-out source rows most likely; zero if none does."""
        held_out = np.zeros((len(F), n_classes))
        for known, asked in iterate_folds(codes):
            held_out[asked] = cls.of(F[known], codes[known], n_classes).scores(F[asked])
        Y = np.eye(n_classes)[codes]

        def loss(slope: float) -> float:
            return -float((Y * log_softmax(slope * held_out, axis=1)).sum())

        best = minimize_scalar(loss, bounds=(0.0, STEEPEST), method="bounded")
        return replace(cls.of(F, codes, n_classes), slope=float(best.x) if best.fun < loss(0.0) else 0.0)

    def scores(self, F: FloatArray) -> FloatArray:
        """Return logarithms of the classes' probabilities (m, C), up to a constant per row: rows sum to zero."""
        parts = [_kernel(F[i : i + BLOCK], self.rows) @ self.weights for i in range(0, len(F), BLOCK)]
        return self.slope * centre_scores(np.concatenate(parts))


def _kernel(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-RATE / A.shape[1] * cdist(A, B, "sqeuclidean")))


def iterate_folds(codes: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the rows of all folds but one, and of that one; classes are dealt out evenly, always in the same way."""
    rng, fold = np.random.default_rng(0), np.zeros(len(codes), np.intp)
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        fold[rng.permutation(rows)] = np.arange(len(rows)) % FOLDS
    for k in np.unique(fold):
        if (fold != k).any():
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def is_separable(rows: TransferRows, most: int = MOST_SOURCE) -> bool:
    """Return whether discriminants of the source tell its own classes apart, on rows held out, beyond chance.

    The mean accuracy over the classes has to be above 1 / C by three deviations of a rule that guesses. Of more
    source rows than ``most``, a sample is taken.
    """
    C, some = rows.n_classes, sample_rows(rows.ys, most)
    codes = rows.ys[some]
    Z, hits = rows.prepared[0].points[some, : AXES_PER_CLASS * C].astype(np.float64), np.zeros(len(some))
    for known, asked in iterate_folds(codes):
        present, of_present = np.unique(codes[known], return_inverse=True)
        mean = Z[known].mean(axis=0)
        rule = SoftLDA.of(Z[known] - mean, np.eye(len(present))[of_present])
        hits[asked] = present[rule.scores(Z[asked] - mean).argmax(axis=1)] == codes[asked]
    sizes, chance = np.bincount(codes, minlength=C).clip(1), 1.0 / C
    accuracy = float((np.bincount(codes, hits, minlength=C) / sizes).mean())
    deviation = float(np.sqrt((chance * (1.0 - chance) / sizes).sum()) / C)
    return accuracy > chance + DEVIATIONS * deviation


@dataclass(frozen=True, eq=False)
class SignatureStart:
    """Classes of unlabelled target rows by their signatures, and the evidence for them.

    Parameters
    ----------
    scores : array (n_u, C)
        Logarithms of the classes' probabilities by the source's rule; zeros where it can't tell the source's own.
    trust : float
        How far the target's own guesses, which know nothing of signatures, support them: 0 to 0.98.
    names : float
        How far both agree under the names that the classes have, in deviations over all relabellings
        (:func:`~isthmus.tasks.transfer.evidence.naming_z`).
    source_learns : bool
        Whether discriminants of the source tell its own classes apart.
    """

    scores: FloatArray
    trust: float
    names: float
    source_learns: bool

    @property
    def gate(self) -> float:
        """The weight of the signatures: 0 (closed), 0.5 or 1."""
        steps = [self.trust >= least - 1e-9 for least in (HALF, FULL)]
        return 0.5 * sum(steps) if self.source_learns else 0.0

    @property
    def prior(self) -> FloatArray:
        r""":math:`\log((1 - \rho) / C + \rho\,p)`, centred (n_u, C): a term of self-training where the gate is open.

        p are the probabilities of the classes by the rule alone. At a gate of one half, self-training with it and
        without are averaged.
        """
        p = softmax(self.scores, axis=1)
        return centre_scores(np.log((1.0 - TRUST) / p.shape[1] + TRUST * p))


def guess_by_signatures(rows: TransferRows, guesses: FloatArray) -> SignatureStart:
    """Guess the classes of unlabelled target rows by a rule that was fitted to the source's signatures alone.

    It is tested by the target's own ``guesses`` (n_u, C), with the shares that the classes are to have. New target
    rows need no signature: the prior teaches the target's own ensemble
    (:func:`~isthmus.tasks.transfer.scoring.fit_target_ensemble`), which is the rule.
    """
    scores = signature_scores(rows)
    names = naming_z(softmax(scores, axis=1).T @ guesses)
    return SignatureStart(scores, estimate_trust(scores, guesses), names, is_separable(rows))


def signature_scores(rows: TransferRows) -> FloatArray:
    """Return logarithms of the classes' probabilities of unlabelled rows (n_u, C), by the rule of signatures."""
    (source, target), C, some = rows.prepared, rows.n_classes, sample_rows(rows.ys, MOST_SOURCE)
    leading = tuple(multiple * C for multiple in SIGNATURE_MULTIPLES)
    rule = SignatureRule.calibrate(signatures(source, leading)[some], rows.ys[some], C)
    return rule.scores(signatures(target, leading)[rows.unlabelled])


def estimate_trust(scores: FloatArray, P: FloatArray) -> float:
    r"""Return how far guesses P support scores s: the ρ of the largest likelihood.

    .. math:: \sum P \log\bigl((1 - \rho) / C + \rho\,\mathrm{softmax}(s)\bigr)

    Examples
    --------
    >>> s = np.log([[0.9, 0.1], [0.1, 0.9]])
    >>> estimate_trust(s, np.eye(2)), estimate_trust(s, np.eye(2)[::-1])
    (0.98, 0.0)
    """
    p, C = softmax(scores, axis=1), P.shape[1]
    likelihoods = np.array([(P * np.log((1.0 - rho) / C + rho * p)).sum() for rho in OFFERED])
    as_good = likelihoods >= likelihoods.max() - EQUAL * len(P)  # the least trust of equals: an even rule earns none
    return float(OFFERED[int(np.argmax(as_good))])


def measure_merit(rows: TransferRows, weight: float) -> Callable[[FloatArray], float]:
    """Return the function that scores the names of guesses (n_u, C): agreement r + ``weight`` × s of signatures.

    s counts only where the source tells its own classes apart.
    """
    some = rows.drop_target_classes()
    if not is_separable(some):
        return lambda P: measure_agreement(rows, P)
    signed = softmax(signature_scores(some), axis=1)
    unit = weight / (some.n_classes - 1)  # two perfect guesses have z = C - 1
    return lambda P: measure_agreement(rows, P) + unit * naming_z(signed.T @ P[:, rows.shared])


# A probability below this counts as this: no power brings back what a rule excludes with certainty.
LEAST = 1e-12
# The prior deviation of the logarithm of the power.
SPREAD = 0.5
# The logarithm of the largest power, and minus that of the smallest.
WIDEST = np.log(20.0)
# Reruns with held-out labels; one only for more rows than this, in both domains together.
RERUNS, MOST_RERUN = 3, 8000
# Without a held-out label: the mean probability by the share of rows whose class a simpler rule confirms.
LEAST_SURE, SURE_BY_AGREEMENT = 0.2, 0.75
# The power that few held-out labels are shrunk to: self-trained rules are too sure.
USUAL_POWER = 0.7


def temper(P: FloatArray, power: float) -> FloatArray:
    r"""Return probabilities (n, C) raised to a power, rows summing to one: :math:`P_{ic}^a / \sum_k P_{ik}^a`.

    Zeros stay zero.

    Examples
    --------
    >>> temper(np.array([[0.8, 0.2, 0.0]]), 0.5).round(2)
    array([[0.67, 0.33, 0.  ]])
    """
    T = np.where(P > 0.0, softmax(power * np.log(np.maximum(P, LEAST)), axis=1), 0.0)
    return np.asarray(T / T.sum(axis=1, keepdims=True))


def fit_power(P: FloatArray, y: IntArray, weights: FloatArray | float = 1.0, centre: float = 1.0) -> float:
    r"""Return the power a under which probabilities P (n, C) of held-out rows make their classes y most likely.

    .. math:: \max_a \sum_i \log \frac{P_{i y_i}^a}{\sum_k P_{ik}^a} - \frac{(\log a / a_0)^2}{2 \sigma^2}

    with σ = 0.5 (temperature scaling, Guo et al. 2017) and the ``centre`` a₀, rows counting by ``weights``. The
    second term keeps a few rows, which may all be right, from asking for probabilities of one. Without rows it is 1.

    Examples
    --------
    >>> P = np.array([[0.99, 0.01], [0.99, 0.01], [0.99, 0.01], [0.01, 0.99]])
    >>> fit_power(P, np.array([0, 0, 1, 1])).__round__(1)  # three of four are right, and each was certain
    0.6
    """
    n, C = P.shape
    if n == 0 or C < 2:
        return 1.0
    logarithms = np.log(np.maximum(P, LEAST))

    def loss(t: float) -> float:
        likely = log_softmax(np.exp(t) * logarithms, axis=1)[np.arange(n), y]
        return float(0.5 * ((t - np.log(centre)) / SPREAD) ** 2 - (weights * likely).sum())

    return float(np.exp(minimize_scalar(loss, bounds=(-WIDEST, WIDEST), method="bounded").x))


def make_folds(y: IntArray, n_folds: int) -> IntArray:
    """Return the fold (n,) in which each row is held out, -1 for never: a class always keeps a row to learn from.

    Rows of a class are dealt to the folds in turn; rows that are alone in their class, and those without a class
    (code -1), are never held out.

    Examples
    --------
    >>> make_folds(np.array([0, 0, 0, 1, -1]), 2)
    array([ 0,  1,  0, -1, -1])
    """
    fold = np.full(len(y), -1)
    for c in np.unique(y[y >= 0]):
        rows = np.flatnonzero(y == c)
        if len(rows) > 1:
            fold[rows] = np.arange(len(rows)) % n_folds
    return fold


def cross_fit_power(fit: Callable[[IntArray], Callable[[IntArray], FloatArray]], y: IntArray, n_folds: int) -> float:
    """Return the calibrating power of a rule, from rows whose class it was not fitted to.

    Parameters
    ----------
    fit : callable
        Given the numbers of the rows whose class may be learned from, a rule: given row numbers, probabilities.
    y : array (n,)
        Codes of the classes, -1 for none.
    n_folds : int
        How many times a rule is fitted.
    """
    fold = make_folds(y, n_folds)
    held_out = [np.flatnonzero(fold == k) for k in np.unique(fold[fold >= 0])]
    parts = [fit(np.setdiff1d(np.flatnonzero(y >= 0), out))(out) for out in held_out]
    return fit_power(np.vstack(parts), y[np.concatenate(held_out)]) if parts else 1.0


def fit_temperature(
    rows: TransferRows, rerun: Callable[[TransferRows], TransferOutcome], recipe: TransferOutcome
) -> float:
    r"""Return the τ that divides the scores of a recipe so that held-out labels are most likely.

    The recipe is rerun with labels held out, whose rows are then unlabelled ones; 1 / τ is the power of
    :func:`~isthmus.tasks.transfer.evidence.fit_power`. Rows weigh such that classes count by their predicted shares.
    Where classes have no label, a rerun also hides whole classes, which stand for these: their names are tested.
    Where no label can be held out, τ makes the mean probability 0.2 + 0.75 a, a being the share of rows that have
    the class of the nearest labelled row, or, where shared features are used, one class by these and by own ones.
    """
    unlabelled, C = rows.unlabelled, rows.n_classes
    if not unlabelled.any():
        return 1.0
    labelled = np.flatnonzero(~unlabelled)
    scores, y = recipe.score(rows, unlabelled), rows.yt[labelled]
    shares = np.bincount(scores.argmax(axis=1), minlength=C) / len(scores)
    many = len(rows.source) + len(rows.target) > MOST_RERUN
    found, true, strata = [], [], []
    for k in range(1 if many else RERUNS):
        hidden = np.isin(y, rows.known[k::RERUNS]) & bool(len(rows.unknown))
        out = (make_folds(y, RERUNS) == k) | hidden
        if not out.any() or out.all():
            continue
        yt = rows.yt.copy()
        yt[labelled[out]] = -1
        without = replace(rows, yt=yt)
        found.append(softmax(rerun(without).score(without, labelled[out]), axis=1))
        true.append(y[out])
        strata.append(np.where(hidden, C, y)[out])
    if not found:
        return _match_confidence(scores, recipe.measure_agreement(rows))
    stratum = np.concatenate(strata)
    sizes = np.bincount(stratum, minlength=C + 1)
    weights = (np.append(shares, shares[rows.unknown].sum()) / np.maximum(sizes, 1))[stratum]
    total = weights.sum()
    even = total <= 0.0  # no held-out class is ever predicted
    weights = np.ones(len(stratum)) if even else weights * len(stratum) / total
    return 1.0 / fit_power(np.vstack(found), np.concatenate(true), weights, USUAL_POWER)


def _match_confidence(scores: FloatArray, agreement: float) -> float:
    """Return the τ at which the mean probability of the best class (n_u, C) is that of the agreement."""
    goal = LEAST_SURE + SURE_BY_AGREEMENT * agreement
    logarithms = np.maximum(log_softmax(scores, axis=1), np.log(LEAST))

    def miss(t: float) -> float:
        return abs(float(softmax(np.exp(-t) * logarithms, axis=1).max(axis=1).mean()) - goal)

    return float(np.exp(minimize_scalar(miss, bounds=(-WIDEST, WIDEST), method="bounded").x))
