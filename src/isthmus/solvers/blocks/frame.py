r"""Coordinates in which a metric is Euclidean, and the sums over pairs that a block of rows has a share in.

With M = L Lᵀ and L lower triangular, a source row [x; 0] becomes [t; 0], t = L₁₁ᵀx, and a target row [0; y] becomes
[b; c], so that only the source's own coordinates of a block are ever computed:

.. math:: d^2_{ij} = \|t_i - b_j\|^2 + \|c_j\|^2, \qquad
   \sum_{ij} w_{ij} \hat z_{ij} \hat z_{ij}^T \;\text{from}\; T^T \mathrm{diag}(W 1)\, T, \; T^T W, \; W^T 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike

from isthmus._arrays import FloatArray, IntArray, Matrix
from isthmus.solvers.blocks.lens import Asked, Lens, Sums, multipliers
from isthmus.solvers.blocks.reduction import Reduced

__all__ = ["Asked", "Frame", "Sums", "multipliers"]

LEAST = 1e-6
"""A squared distance counts as at least this part of the least bound: single precision has no more digits."""


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
    def lens(self) -> Lens:
        """What blocks of rows have to know of all this."""
        n, (b, c), task = self.task.n_source, (self.b, self.c), self.task
        lengths = np.einsum("ij,ij->i", b, b) + np.einsum("ij,ij->i", c, c)
        inverse, sign, weight = (np.asarray(t, dtype=self.dtype) for t in (1.0 / task.bound, task.sign, task.weight))
        first = float(task.weight.flat[0]) if task.weight.size else 0.0
        table = Asked(inverse, sign, first if (task.weight == first).all() else weight)
        L, centre, b, lengths = (
            np.asarray(array, dtype=self.dtype, order="K")
            for array in (np.asfortranarray(self.L[:n, :n]), self.centre, -2.0 * b.T, lengths)
        )
        return Lens(L, centre, b, lengths, table, self.least)

    @cached_property
    def least(self) -> float:
        """The least squared distance that counts."""
        return LEAST * float(self.task.bound.min(initial=1.0)) if self.dtype == np.float32 else 0.0

    def among(self, n: int, random: np.random.Generator) -> Frame:
        """With a sample of about n of the labelled target rows; itself where there are no more."""
        some = self.task.among(n, random)
        return self if some is self.task else Frame(some, self.L, self.dtype)

    def asked(self, codes: IntArray) -> Asked:
        """What is asked of the rows of a block."""
        return self.lens.asked(codes)

    def rows(self, X: Matrix) -> FloatArray:
        """Coordinates t (m, p) of source rows X."""
        return self.lens.rows(X)

    def distances(self, T: FloatArray) -> FloatArray:
        """d² (m, n_l)."""
        return self.lens.distances(T)

    def sums(self, T: FloatArray, W: FloatArray) -> Sums:
        """The block's share in the sums over pairs."""
        return self.lens.sums(T, W)

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
