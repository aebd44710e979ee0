r"""Coordinates in which a metric is Euclidean, and the sums over pairs that a block of rows has a share in.

With M = L Lᵀ and L lower triangular, a source row [x; 0] becomes [t; 0], t = L₁₁ᵀx, and a target row [0; y] becomes
[b; c], so that only the source's own coordinates of a block are ever computed:

.. math:: d^2_{ij} = \|t_i - b_j\|^2 + \|c_j\|^2, \qquad
   \sum_{ij} w_{ij} \hat z_{ij} \hat z_{ij}^T \;\text{from}\; T^T \mathrm{diag}(W 1)\, T, \; T^T W, \; W^T 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg.blas import dsyrk, dtrmm, ssyrk, strmm

from isthmus._arrays import FloatArray, IntArray
from isthmus.solvers.blocks.reduction import Reduced

LEAST = 1e-6
"""A squared distance counts as at least this part of the least bound: single precision has no more digits."""


class Sums(NamedTuple):
    """The sums over pairs of a block, or of several: lower triangle of Tᵀ diag(W 1) T, Tᵀ W, Wᵀ 1."""

    rows: FloatArray
    across: FloatArray
    target: FloatArray

    def __add__(self, other: Any) -> Sums:
        return Sums(*(a + b for a, b in zip(self, other, strict=True)))


class Asked(NamedTuple):
    """What is asked of the pairs of a block (m, n_l): 1/ξ⁰, δ and λ."""

    inverse_bound: FloatArray
    sign: FloatArray
    weight: FloatArray | float


def multipliers(distances: FloatArray, asked: Asked) -> FloatArray:
    """W = λ (1/ξ⁰ − 1/d²) of each pair whose bound is broken, else zero."""
    with np.errstate(divide="ignore"):
        W = asked.inverse_bound - 1.0 / distances
    W *= asked.sign
    np.maximum(W, 0.0, out=W)
    W *= asked.sign
    W *= asked.weight
    return np.asarray(W)


@dataclass(frozen=True, eq=False)
class Frame:
    """The frame of the metric L Lᵀ."""

    task: Reduced
    L: FloatArray
    dtype: DTypeLike = np.float32

    @cached_property
    def centre(self) -> FloatArray:
        """What is taken off all source coordinates, t and b: a common offset would only cost digits."""
        n = self.task.n_source
        return np.asarray((self.task.target @ self.L[n:, :n]).mean(axis=0))

    @cached_property
    def b(self) -> FloatArray:
        """The target rows (n_l, p) along the source's coordinates, around the centre."""
        n = self.task.n_source
        return np.asarray(self.task.target @ self.L[n:, :n] - self.centre)

    @cached_property
    def c(self) -> FloatArray:
        """The target rows (n_l, q) along their own coordinates."""
        n = self.task.n_source
        return np.asarray(self.task.target @ self.L[n:, n:])

    @cached_property
    def _constants(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        n, (b, c) = self.task.n_source, (self.b, self.c)
        lengths = np.einsum("ij,ij->i", b, b) + np.einsum("ij,ij->i", c, c)
        arrays = np.asfortranarray(self.L[:n, :n]), -2.0 * b.T, lengths, self.centre
        return tuple(np.asarray(array, dtype=self.dtype, order="K") for array in arrays)  # type: ignore[return-value]

    @cached_property
    def _tables(self) -> tuple[FloatArray, FloatArray, FloatArray | None, float]:
        task = self.task
        inverse, sign, weight = (np.asarray(t, dtype=self.dtype) for t in (1.0 / task.bound, task.sign, task.weight))
        first = float(task.weight.flat[0]) if task.weight.size else 0.0
        return inverse, sign, None if (task.weight == first).all() else weight, first

    @cached_property
    def least(self) -> float:
        """The least squared distance that counts."""
        return LEAST * float(self.task.bound.min(initial=1.0)) if self.dtype == np.float32 else 0.0

    def asked(self, codes: IntArray) -> Asked:
        """What is asked of the rows of a block."""
        inverse, sign, weight, first = self._tables
        return Asked(inverse[codes], sign[codes], first if weight is None else weight[codes])

    def rows(self, X: FloatArray) -> FloatArray:
        """The coordinates t (m, p) of source rows X."""
        L, _, _, centre = self._constants
        trmm = strmm if self.dtype == np.float32 else dtrmm
        T = trmm(1.0, L, np.asarray(X, dtype=self.dtype).T, side=0, lower=1, trans_a=1).T
        T -= centre
        return np.asarray(T)

    def distances(self, T: FloatArray) -> FloatArray:
        """d² (m, n_l)."""
        _, b, lengths, _ = self._constants
        D = T @ b
        D += np.einsum("ij,ij->i", T, T)[:, None]
        D += lengths
        return np.maximum(D, self.least, out=D)

    def sums(self, T: FloatArray, W: FloatArray) -> Sums:
        """The block's share; the first by rank-k updates of either sign, at half the price of a product."""
        degrees, syrk = W.sum(axis=1), ssyrk if self.dtype == np.float32 else dsyrk
        rows = np.zeros((T.shape[1], T.shape[1]))
        for sign in (1.0, -1.0):
            chosen = np.flatnonzero(sign * degrees > 0.0)
            if len(chosen):
                part = T[chosen]
                part *= np.sqrt(np.abs(degrees[chosen]))[:, None]
                rows += sign * syrk(1.0, part.T, lower=1)
        return Sums(rows, np.asarray(T.T @ W, dtype=np.float64), W.sum(axis=0, dtype=np.float64))

    def form(self, D: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What a quadratic form ẑᵀDẑ of all pairs is made of: tᵀAt + tᵀV_j + k_j."""
        n, (b, c) = self.task.n_source, (self.b, self.c)
        across = b @ D[:n, :n] + c @ D[n:, :n]
        k = np.einsum("ij,ij->i", across + c @ D[n:, :n], b) + np.einsum("ij,ij->i", c @ D[n:, n:], c)
        arrays = D[:n, :n], -2.0 * across.T, k
        return tuple(np.ascontiguousarray(array, dtype=self.dtype) for array in arrays)  # type: ignore[return-value]

    def lifted(self, sums: Sums) -> FloatArray:
        """Σ w ẑ ẑᵀ (d, d) from the sums over all blocks."""
        n, (b, c), g = self.task.n_source, (self.b, self.c), sums.target[:, None]
        A = np.tril(sums.rows) + np.tril(sums.rows, -1).T
        B = sums.across @ b
        S = np.empty((self.task.d, self.task.d))
        S[:n, :n] = A - B - B.T + b.T @ (g * b)
        S[:n, n:] = (g * b - sums.across.T).T @ c
        S[n:, :n] = S[:n, n:].T
        S[n:, n:] = c.T @ (g * c)
        return S
