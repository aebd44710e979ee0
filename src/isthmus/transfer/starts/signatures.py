"""Row signatures: statistics that mean the same in any features tell classes of the target by the source alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from isthmus._arrays import BoolArray, FloatArray, IntArray
from isthmus.controls.discriminants import centred
from isthmus.matching.preparation import Prepared
from isthmus.matching.starts import signatures
from isthmus.transfer.agreement import naming_z
from isthmus.transfer.starts.alignment import sampled
from isthmus.transfer.starts.signature_rule import SignatureRule, source_accuracy

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
        (:func:`~isthmus.transfer.agreement.naming_z`).
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
        return centred(np.log((1.0 - TRUST) / C + TRUST * self.posterior))


def signature_start(
    source: Prepared, ys: IntArray, target: Prepared, guess: FloatArray, asked: BoolArray | None = None
) -> SignatureStart:
    """Classes of target rows by a rule that was learned from the source's signatures alone.

    New target rows need no signature: the prior teaches the target's own discriminants
    (:func:`~isthmus.transfer.starts.own_learner.taught`), and these are the rule.

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
    >>> from isthmus.matching.preparation import prepared, scaled
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 60)
    >>> A, B = (rng.normal(size=(120, d)) ** (1 + 2 * y[:, None]) for d in (20, 30))
    >>> found = signature_start(prepared(scaled(A)), y, prepared(scaled(B)), np.eye(2)[y])
    >>> bool((found.posterior.argmax(axis=1) == y).mean() > 0.8), found.source_learns
    (True, False)
    """
    scores = signature_scores(source, ys, target, guess.shape[1])
    accuracy, learns = learned(source, ys, guess.shape[1])
    rows = slice(None) if asked is None or not asked.any() else asked
    names = naming_z(softmax(scores[rows], axis=1).T @ guess[rows])
    return SignatureStart(scores, trust(scores[rows], guess[rows]), names, accuracy, learns)


def signature_scores(source: Prepared, ys: IntArray, target: Prepared, n_classes: int) -> FloatArray:
    """Logarithms of the classes' probabilities of target rows (n_t, C), by the rule of the source's signatures."""
    some = sampled(ys, MOST_SOURCE)
    leading = tuple(multiple * n_classes for multiple in MULTIPLES)
    rule = SignatureRule.calibrated(signatures(source, leading)[some], ys[some], n_classes)
    return rule.scores(signatures(target, leading))


def learned(source: Prepared, ys: IntArray, n_classes: int) -> tuple[float, bool]:
    """How well discriminants tell the source's own classes apart, and whether that is beyond chance."""
    some = sampled(ys, MOST_SOURCE)
    return source_accuracy(source.points[some], ys[some], n_classes)


def trust(scores: FloatArray, P: FloatArray) -> float:
    r"""ρ of the largest :math:`\sum P \log((1 - \rho) / C + \rho\,\mathrm{softmax}(s))`: how far P bears out s.

    Examples
    --------
    >>> s = np.log([[0.9, 0.1], [0.1, 0.9]])
    >>> trust(s, np.eye(2)), trust(s, np.eye(2)[::-1])
    (0.98, 0.0)
    """
    p, C = softmax(scores, axis=1), P.shape[1]
    likelihoods = np.array([(P * np.log((1.0 - rho) / C + rho * p)).sum() for rho in OFFERED])
    as_good = likelihoods >= likelihoods.max() - ROUNDING * len(P)  # a rule that says nothing earns no trust
    return float(OFFERED[int(np.argmax(as_good))])
