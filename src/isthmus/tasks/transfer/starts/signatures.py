"""A rule from row signatures to classes, learned and calibrated on the source alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sla
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, softmax

from isthmus._core.arrays import BoolArray, FloatArray, IntArray
from isthmus.geometry.coordinates import Prepared
from isthmus.geometry.discriminants import SoftLDA, centre_scores
from isthmus.tasks.matching.starts import signatures
from isthmus.tasks.transfer.guesses import naming_z
from isthmus.tasks.transfer.starts.geometry import sample_rows

RATE, PENALTY = 0.3, 1.0
"""Of the kernel exp(-0.3 |a - b|² / q), with q statistics, and of its ridge."""
FOLDS = 5
STEEPEST = 30.0
"""The largest factor of the rule's scores."""
DEVIATIONS = 3.0
"""By so many deviations the source's classes must be learnable from the source itself, beyond chance."""
BLOCK = 2000
"""Rows of a kernel matrix that are held at once."""


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
        What makes logarithms of probabilities of its scores.

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
        """From signatures F (n, q) of rows whose classes are known."""
        K = _kernel(F, F)
        K[np.diag_indices_from(K)] += PENALTY
        return cls(F, sla.solve(K, np.eye(n_classes)[codes] - 1.0 / n_classes, assume_a="pos"))

    @classmethod
    def calibrated(cls, F: FloatArray, codes: IntArray, n_classes: int) -> SignatureRule:
        """With the slope that makes the classes of left-out source rows most likely: zero if it can't tell them."""
        left_out = np.zeros((len(F), n_classes))
        for known, asked in iterate_folds(codes):
            left_out[asked] = cls.of(F[known], codes[known], n_classes).scores(F[asked])
        Y = np.eye(n_classes)[codes]

        def loss(slope: float) -> float:
            return -float((Y * log_softmax(slope * left_out, axis=1)).sum())

        best = minimize_scalar(loss, bounds=(0.0, STEEPEST), method="bounded")
        return replace(cls.of(F, codes, n_classes), slope=float(best.x) if best.fun < loss(0.0) else 0.0)

    def scores(self, F: FloatArray) -> FloatArray:
        """Logarithms of the classes' probabilities (m, C), up to a constant per row: here they sum to zero."""
        parts = [_kernel(F[i : i + BLOCK], self.rows) @ self.weights for i in range(0, len(F), BLOCK)]
        return self.slope * centre_scores(np.concatenate(parts))


def source_accuracy(Z: FloatArray, codes: IntArray, n_classes: int) -> tuple[float, bool]:
    """How many source rows the discriminants of the others name rightly, and whether that is beyond chance.

    Parameters
    ----------
    Z : array (n, k)
        Source rows along their principal axes, of which three per class count.
    codes : array (n,)
        Their classes.
    n_classes : int
        C.

    Returns
    -------
    accuracy : float
        The mean over the classes.
    beyond : bool
        Whether it is above 1 / C by three deviations of a rule that guesses.
    """
    rows, hits = Z[:, : 3 * n_classes].astype(np.float64), np.zeros(len(Z))
    for known, asked in iterate_folds(codes):
        present, of_present = np.unique(codes[known], return_inverse=True)
        mean = rows[known].mean(axis=0)
        rule = SoftLDA.of(rows[known] - mean, np.eye(len(present))[of_present])
        hits[asked] = present[rule.scores(rows[asked] - mean).argmax(axis=1)] == codes[asked]
    sizes = np.bincount(codes, minlength=n_classes).clip(1)
    accuracy = float((np.bincount(codes, hits, minlength=n_classes) / sizes).mean())
    chance = 1.0 / n_classes
    deviation = float(np.sqrt((chance * (1.0 - chance) / sizes).sum()) / n_classes)
    return accuracy, accuracy > chance + DEVIATIONS * deviation


def iterate_folds(codes: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """The rows of all folds but one, and of that one; the classes are dealt out evenly, always in the same way."""
    rng, fold = np.random.default_rng(0), np.zeros(len(codes), np.intp)
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        fold[rng.permutation(rows)] = np.arange(len(rows)) % FOLDS
    for k in np.unique(fold):
        if (fold != k).any():
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def _kernel(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-RATE / A.shape[1] * cdist(A, B, "sqeuclidean")))


MOST_SOURCE = 2000
"""Rows of the source that the rule is learned from, about: a signature has twelve numbers."""
MULTIPLES = (1, 2, 3, 5)
"""Numbers of leading axes whose share of a row is a statistic of it, in multiples of the number of classes."""
TRUST = 0.25
"""How far the rule is trusted once it is let in."""
HALF, FULL = 0.1, 0.2
"""The least trust that the target's own guesses bear out, to let it in by half, and in full."""
OFFERED: FloatArray = np.append(np.arange(0.0, 0.96, 0.05), 0.98)
"""The values of trust that are tried."""
ROUNDING = 1e-12
"""A difference of likelihoods per row that is none."""


@dataclass(frozen=True, eq=False)
class SignatureStart:
    """What signatures say about target rows, and the evidence for it.

    Parameters
    ----------
    scores : array (n_t, C)
        Logarithms of the classes' probabilities by the source's rule; zeros where it can't tell the source's own.
    trust : float
        How far the target's own guesses, which know nothing of signatures, bear them out: 0 to 0.98.
    names : float
        How far both agree under the names that the classes have, in deviations over all renamings
        (:func:`~isthmus.tasks.transfer.guesses.naming_z`).
    source_accuracy : float
        Of left-out source rows by the source's own discriminants.
    source_learns : bool
        Whether that is beyond chance, so that it is a source of classes at all.
    """

    scores: FloatArray
    trust: float
    names: float
    source_accuracy: float
    source_learns: bool

    @property
    def gate(self) -> float:
        """0 (closed), 0.5 or 1."""
        steps = [self.trust >= least - 1e-9 for least in (HALF, FULL)]
        return 0.5 * sum(steps) if self.source_learns else 0.0

    @property
    def is_open(self) -> bool:
        """Whether the gate lets anything through."""
        return self.gate > 0.0

    @property
    def posterior(self) -> FloatArray:
        """Probabilities of the classes by the rule alone (n_t, C)."""
        return np.asarray(softmax(self.scores, axis=1))

    @property
    def prior(self) -> FloatArray:
        r""":math:`\log((1 - \rho) / C + \rho\,p)`, centred (n_t, C): a term of self-training where the gate is open.

        At a gate of one half, self-training with it and without are averaged.
        """
        C = self.scores.shape[1]
        return centre_scores(np.log((1.0 - TRUST) / C + TRUST * self.posterior))


def guess_by_signatures(
    source: Prepared, ys: IntArray, target: Prepared, guess: FloatArray, asked: BoolArray | None = None
) -> SignatureStart:
    """Classes of target rows by a rule that was learned from the source's signatures alone.

    New target rows need no signature: the prior teaches the target's own discriminants
    (:func:`~isthmus.tasks.transfer.starts.target.taught`), and these are the rule.

    Parameters
    ----------
    source, target : Prepared
        Both collections.
    ys : array (n_s,)
        Codes of the classes 0 … C - 1, each of which has a row.
    guess : array (n_t, C)
        The target's own guesses, with the shares that the classes are to have.
    asked : array (n_t,), optional
        The rows on which the guesses count: those without a label. All unless given.

    Examples
    --------
    >>> from isthmus.geometry.coordinates import prepared, scaled
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 60)
    >>> A, B = (rng.normal(size=(120, d)) ** (1 + 2 * y[:, None]) for d in (20, 30))
    >>> found = guess_by_signatures(prepared(scaled(A)), y, prepared(scaled(B)), np.eye(2)[y])
    >>> bool((found.posterior.argmax(axis=1) == y).mean() > 0.8), found.source_learns
    (True, False)
    """
    scores = signature_scores(source, ys, target, guess.shape[1])
    accuracy, learns = measure_separability(source, ys, guess.shape[1])
    rows = slice(None) if asked is None or not asked.any() else asked
    names = naming_z(softmax(scores[rows], axis=1).T @ guess[rows])
    return SignatureStart(scores, estimate_trust(scores[rows], guess[rows]), names, accuracy, learns)


def signature_scores(source: Prepared, ys: IntArray, target: Prepared, n_classes: int) -> FloatArray:
    """Logarithms of the classes' probabilities of target rows (n_t, C), by the rule of the source's signatures."""
    some = sample_rows(ys, MOST_SOURCE)
    leading = tuple(multiple * n_classes for multiple in MULTIPLES)
    rule = SignatureRule.calibrated(signatures(source, leading)[some], ys[some], n_classes)
    return rule.scores(signatures(target, leading))


def measure_separability(source: Prepared, ys: IntArray, n_classes: int) -> tuple[float, bool]:
    """How well discriminants tell the source's own classes apart, and whether that is beyond chance."""
    some = sample_rows(ys, MOST_SOURCE)
    return source_accuracy(source.points[some], ys[some], n_classes)


def estimate_trust(scores: FloatArray, P: FloatArray) -> float:
    r"""ρ of the largest :math:`\sum P \log((1 - \rho) / C + \rho\,\mathrm{softmax}(s))`: how far P bears out s.

    Examples
    --------
    >>> s = np.log([[0.9, 0.1], [0.1, 0.9]])
    >>> estimate_trust(s, np.eye(2)), estimate_trust(s, np.eye(2)[::-1])
    (0.98, 0.0)
    """
    p, C = softmax(scores, axis=1), P.shape[1]
    likelihoods = np.array([(P * np.log((1.0 - rho) / C + rho * p)).sum() for rho in OFFERED])
    as_good = likelihoods >= likelihoods.max() - ROUNDING * len(P)  # a rule that says nothing earns no trust
    return float(OFFERED[int(np.argmax(as_good))])
