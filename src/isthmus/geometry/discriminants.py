"""Parts of self-training, over arrays: soft assignments with given class shares, discriminants from soft labels.

:func:`balance` scales likelihoods by Sinkhorn's algorithm until every class has its share; :class:`SoftLDA` fits
linear discriminants to rows that belong to classes by weights, with a covariance shrunk by OAS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from isthmus._core.validation import FloatArray

SINKHORN_SWEEPS = 100
# The lowest logarithm of a score below the best of its row: further down, a column could be all zeros.
FLOOR = -200.0


def balance(scores: FloatArray, marginal: FloatArray) -> FloatArray:
    r"""Assign rows to classes softly, such that every class has its share.

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
    r"""Return the offsets (C,) of scores that give every class its share: :math:`\log v` of :func:`balance`.

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
    """Subtract from scores (n, C) the mean of each row."""
    return np.asarray(scores - scores.mean(axis=1, keepdims=True))


def score_deviation(scores: FloatArray) -> float:
    """Return the standard deviation of centred scores; one where they are all equal."""
    return float(centre_scores(scores).std()) or 1.0


def _sinkhorn_factors(scores: FloatArray, marginal: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the likelihoods K (n, C), and the factors of its rows and columns."""
    K = np.exp(np.maximum(scores - scores.max(axis=1, keepdims=True), FLOOR))
    u = np.ones(len(K))
    for _ in range(SINKHORN_SWEEPS):
        v = len(K) * marginal / (u @ K)
        u = 1.0 / (K @ v)
    return K, u, v


def oas_shrinkage(S: FloatArray, n: int) -> float:
    """Return the weight of the scaled identity by Chen et al. (2010), for a covariance S (k, k) of n rows."""
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
        """Fit centred rows Z (n, k) that belong to classes by weights P (n, C); shrinkage None means OAS."""
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
        """Return logarithms of the classes' probabilities, up to a constant per row (n, C)."""
        return np.asarray(Z @ self.weights + self.offsets)
