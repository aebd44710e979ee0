r"""What a block of rows has to know of a metric, and no more: it travels to wherever the rows are.

With M = L Lᵀ a source row has the coordinates t = L₁₁ᵀx, around a centre, and

.. math:: d^2_{ij} = \|t_i\|^2 - 2\, t_i^T b_j + \|b_j\|^2 + \|c_j\|^2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg.blas import dsyrk, dtrmm, ssyrk, strmm

from isthmus._arrays import FloatArray, IntArray, Matrix, is_sparse

WIDTH = 512
"""Labelled target rows that a block meets at once: what has a number for each of these pairs stays in the cache."""
EVERY = slice(None)


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
class Lens:
    """A metric as a block of source rows sees it, in single or double precision."""

    L: FloatArray
    """L₁₁ (p, p), lower triangular."""
    centre: FloatArray
    """What is taken off all coordinates (p,)."""
    b: FloatArray
    """−2 times the labelled target rows along the source's coordinates (p, n_l)."""
    lengths: FloatArray
    """Their squared lengths along all coordinates (n_l,)."""
    table: Asked
    """What is asked of each code (C, n_l); one weight where all are equal."""
    least: float
    """The least squared distance that counts."""

    @property
    def dtype(self) -> DTypeLike:
        """The precision."""
        return self.L.dtype

    def strips(self) -> Iterator[slice]:
        """All labelled target rows, some at a time."""
        return (slice(start, start + WIDTH) for start in range(0, len(self.lengths), WIDTH))

    def asked(self, codes: IntArray, strip: slice = EVERY) -> Asked:
        """What is asked of the rows of a block and these target rows."""
        inverse, sign, weight = self.table
        weight = weight if isinstance(weight, float) else weight[:, strip][codes]
        return Asked(inverse[:, strip][codes], sign[:, strip][codes], weight)

    def rows(self, X: Matrix) -> FloatArray:
        """Coordinates t (m, p) of source rows X, dense or sparse."""
        if is_sparse(X):
            T = np.asarray(X.astype(self.dtype) @ self.L)
        else:
            trmm = strmm if self.dtype == np.float32 else dtrmm
            T = trmm(1.0, self.L, np.asarray(X, dtype=self.dtype).T, side=0, lower=1, trans_a=1).T
        T -= self.centre
        return np.asarray(T)

    def distances(self, T: FloatArray, strip: slice = EVERY) -> FloatArray:
        """d² (m, n_l), or of some of the target rows."""
        D = T @ self.b[:, strip]
        D += np.einsum("ij,ij->i", T, T)[:, None]
        D += self.lengths[strip]
        return np.maximum(D, self.least, out=D)

    def sums(self, T: FloatArray, W: FloatArray) -> Sums:
        """The block's share."""
        rows = self.squares(T, W.sum(axis=1))
        return Sums(rows, np.asarray(T.T @ W, dtype=np.float64), W.sum(axis=0, dtype=np.float64))

    def squares(self, T: FloatArray, degrees: FloatArray) -> FloatArray:
        """The lower triangle of Tᵀ diag(degrees) T, by rank-k updates of either sign: half the price of a product."""
        rows, syrk = np.zeros((T.shape[1], T.shape[1])), ssyrk if self.dtype == np.float32 else dsyrk
        for sign in (1.0, -1.0):
            chosen = np.flatnonzero(sign * degrees > 0.0)
            if len(chosen):
                part = T[chosen]
                part *= np.sqrt(np.abs(degrees[chosen]))[:, None]
                rows += sign * syrk(1.0, part.T, lower=1)
        return rows
