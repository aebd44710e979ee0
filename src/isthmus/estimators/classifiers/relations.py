"""Key points: how rows of two domains relate to them, and the transport that keeps these relations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax, xlogy

from isthmus._arrays import FloatArray

BLOCK = 1024


def relations(X: FloatArray, keys: FloatArray, temperature: float) -> FloatArray:
    r"""How near rows (n, d) are to key points (k, d), as distributions (n, k).

    .. math:: R_{ij} \propto \exp(-\|x_i - k_j\|^2 / (\tau m)), \quad m = \max \|x - x'\|^2

    over all rows, key points among them.
    """
    every = np.vstack([keys, X])
    blocks = range(0, len(every), BLOCK)
    widest = max(float(cdist(every[i : i + BLOCK], every, "sqeuclidean").max()) for i in blocks)
    return np.asarray(softmax(-cdist(X, keys, "sqeuclidean") / (temperature * (widest or 1.0)), axis=1))


def jensen_shannon(P: FloatArray, Q: FloatArray) -> FloatArray:
    r"""All Jensen–Shannon divergences (n, m) between distributions P (n, k) and Q (m, k), in nats.

    .. math:: \mathrm{JS}(p, q) = H(\tfrac{p + q}{2}) - \tfrac12 H(p) - \tfrac12 H(q)

    Examples
    --------
    >>> jensen_shannon(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)
    array([[0.    , 0.6931]])
    """
    own = [0.5 * xlogy(R, R).sum(axis=1) for R in (P, Q)]
    table = own[0][:, None] + own[1][None, :]
    for p, q in zip(P.T, Q.T, strict=True):  # one table at a time, and never n × m × k
        middle = 0.5 * (p[:, None] + q[None, :])
        table -= xlogy(middle, middle)
    return np.asarray(np.maximum(table, 0.0))


@dataclass(frozen=True, eq=False)
class Plan:
    """A transport plan (n, m) between uniform weights, and by how much its row sums are off in all."""

    matrix: FloatArray
    error: float
    n_iter: int


def sinkhorn(cost: FloatArray, regularization: float, tol: float, max_iter: int) -> Plan:
    r"""The plan of least cost with entropy: :math:`\min \langle \pi, G \rangle - \varepsilon H(\pi)`.

    Costs are between 0 and 1 and ε at least 1/300, so that exp(-G/ε) is a number in double precision and no
    logarithms are needed.

    Examples
    --------
    >>> sinkhorn(np.array([[0.0, 1.0], [1.0, 0.0]]), 0.1, 1e-9, 100).matrix.round(3)
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    n, m = cost.shape
    # Rows and columns of large costs alone would start from rounding.
    K = np.exp(-(cost - cost.min(axis=1, keepdims=True)) / regularization)
    v = np.full(m, 1.0 / m)
    for k in range(max_iter):
        Kv = K @ v
        u = 1.0 / (n * Kv)
        v = 1.0 / (m * (u @ K))
        if k % 10 == 9 or k == max_iter - 1:
            error = float(np.abs(u * (K @ v) - 1.0 / n).sum())
            if error <= tol:
                break
    K *= u[:, None]
    K *= v
    return Plan(K, error, k + 1)
