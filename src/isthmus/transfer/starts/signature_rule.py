"""A rule from row signatures to classes, learned and calibrated on the source alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sla
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from scipy.special import log_softmax

from isthmus._arrays import FloatArray, IntArray
from isthmus.controls.discriminants import SoftLDA, centred

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
        for known, asked in folds(codes):
            left_out[asked] = cls.of(F[known], codes[known], n_classes).scores(F[asked])
        Y = np.eye(n_classes)[codes]

        def loss(slope: float) -> float:
            return -float((Y * log_softmax(slope * left_out, axis=1)).sum())

        best = minimize_scalar(loss, bounds=(0.0, STEEPEST), method="bounded")
        return replace(cls.of(F, codes, n_classes), slope=float(best.x) if best.fun < loss(0.0) else 0.0)

    def scores(self, F: FloatArray) -> FloatArray:
        """Logarithms of the classes' probabilities (m, C), up to a constant per row: here they sum to zero."""
        parts = [_kernel(F[i : i + BLOCK], self.rows) @ self.weights for i in range(0, len(F), BLOCK)]
        return self.slope * centred(np.concatenate(parts))


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
    for known, asked in folds(codes):
        present, of_present = np.unique(codes[known], return_inverse=True)
        mean = rows[known].mean(axis=0)
        rule = SoftLDA.of(rows[known] - mean, np.eye(len(present))[of_present])
        hits[asked] = present[rule.scores(rows[asked] - mean).argmax(axis=1)] == codes[asked]
    sizes = np.bincount(codes, minlength=n_classes).clip(1)
    accuracy = float((np.bincount(codes, hits, minlength=n_classes) / sizes).mean())
    chance = 1.0 / n_classes
    deviation = float(np.sqrt((chance * (1.0 - chance) / sizes).sum()) / n_classes)
    return accuracy, accuracy > chance + DEVIATIONS * deviation


def folds(codes: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
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
