"""The parts of self-training, over arrays: balanced guesses, discriminants from soft labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from isthmus._core.validation import FloatArray

SINKHORN_SWEEPS = 100
# The lowest logarithm of a score below the best of its row: further down, a column could be all zeros.
FLOOR = -200.0


def balance(scores: FloatArray, marginal: FloatArray) -> FloatArray:
    r"""Soft assignments of rows to classes, of which every class has its share.

    .. math:: P = \mathrm{diag}(u)\, e^{S}\, \mathrm{diag}(v), \qquad P\,1 = 1, \quad P^T 1 = n\,\pi

    by the alternate scaling of Sinkhorn and Knopp: S (n, C) are logarithms of how well a row fits a class, up to a
    constant per row, and π (C,) is the share of each class. Rows of P sum to one exactly, its columns as nearly as
    the sweeps allow.

    Examples
    --------
    >>> import numpy as np
    >>> balance(np.log([[0.9, 0.1], [0.6, 0.4]]), np.array([0.5, 0.5])).round(2)
    array([[0.71, 0.29],
           [0.29, 0.71]])
    """
    K, u, v = _sinkhorn_factors(scores, marginal)
    return np.asarray(u[:, None] * K * v)


def balancing_offsets(scores: FloatArray, marginal: FloatArray) -> FloatArray:
    r"""What to add to the scores of each class (C,), so that every class has its share: :math:`\log v` of `balanced`.

    With it, rows that come later are assigned as they would have been: :math:`\mathrm{softmax}(S + \log v)`.

    Examples
    --------
    >>> import numpy as np
    >>> added = balancing_offsets(np.log([[0.9, 0.1], [0.6, 0.4]]), np.array([0.5, 0.5]))
    >>> round(float(added[1] - added[0]), 2)
    1.3
    """
    with np.errstate(divide="ignore"):  # a class that has no share has a logarithm of minus infinity
        return np.asarray(np.log(_sinkhorn_factors(scores, marginal)[2]))


def centre_scores(scores: FloatArray) -> FloatArray:
    """Scores (n, C) up to a constant per row: here they sum to zero."""
    return np.asarray(scores - scores.mean(axis=1, keepdims=True))


def score_deviation(scores: FloatArray) -> float:
    """The standard deviation of centred scores; one where they are all equal."""
    return float(centre_scores(scores).std()) or 1.0


def _sinkhorn_factors(scores: FloatArray, marginal: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The likelihoods K (n, C), and the factors of its rows and columns."""
    K = np.exp(np.maximum(scores - scores.max(axis=1, keepdims=True), FLOOR))
    u = np.ones(len(K))
    for _ in range(SINKHORN_SWEEPS):
        v = len(K) * marginal / (u @ K)
        u = 1.0 / (K @ v)
    return K, u, v


def oas_shrinkage(S: FloatArray, n: int) -> float:
    """The weight of the scaled identity by Chen et al. (2010), for a covariance S (k, k) of n rows."""
    mean, mean_square = np.trace(S) / len(S), np.mean(S**2)
    excess = (n + 1.0) * (mean_square - mean**2 / len(S))
    return 1.0 if excess <= 0 else float(min(1.0, (mean_square + mean**2) / excess))


# The offset of a class that no row belongs to: finite, for files, and far below any other.
NEVER = -1e6


@dataclass(frozen=True, eq=False)
class SoftLDA:
    """Linear discriminants z ↦ z W + b: weights W (k, C), offsets b (C,), classes equally likely beforehand."""

    weights: FloatArray
    offsets: FloatArray

    @classmethod
    def of(cls, Z: FloatArray, P: FloatArray, shrinkage: float | None = None) -> SoftLDA:
        """From centred rows Z (n, k) that belong to the classes by the weights P (n, C); no shrinkage is OAS."""
        sizes = P.sum(axis=0)
        M = (P.T @ Z) / np.where(sizes > 0, sizes, 1.0)[:, None]
        S = (Z.T @ Z - (M.T * sizes) @ M) / len(Z)
        scale = np.trace(S) / len(S)
        if scale <= 1e-12 * np.mean(Z**2) or scale == 0.0:  # every row at the mean of its class
            S, scale, shrinkage = np.zeros_like(S), max(float(np.mean(Z**2)), np.finfo(float).tiny), 1.0
        a = oas_shrinkage(S, len(Z)) if shrinkage is None else shrinkage
        S = (1 - a) * S + a * scale * np.eye(len(S))
        W = sla.solve(S, M.T, assume_a="pos")
        return cls(W, np.where(sizes > 0, -0.5 * np.sum(M.T * W, axis=0), NEVER))

    def scores(self, Z: FloatArray) -> FloatArray:
        """Logarithms of the classes' probabilities, up to a constant per row (n, C)."""
        return np.asarray(Z @ self.weights + self.offsets)
