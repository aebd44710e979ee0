r"""A problem over blocks in small coordinates, and a metric as blocks of rows need it.

:class:`ReducedProblem` is the problem in an orthonormal basis of what the pairs and shifts span. With M = L Lᵀ and L
lower triangular, a source row has the whitened coordinates t = L₁₁ᵀx, around a centre, a labelled target row b and c
(:class:`WhitenedFrame`), and

.. math:: d^2_{ij} = \|t_i\|^2 - 2\, t_i^T b_j + \|b_j\|^2 + \|c_j\|^2.

:class:`BlockMetric` is the part of this that a block of source rows has to know: small, and sent to wherever the rows
are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla
from numpy.typing import DTypeLike
from scipy.linalg.blas import dsyrk, dtrmm, ssyrk, strmm

from isthmus._core.linalg import principal_axes
from isthmus._core.rows import ArrayRows, Rows, sample_systematically
from isthmus._core.validation import FloatArray, IntArray, Matrix, as_dense, is_sparse, short_repr
from isthmus.solvers.blocks.problem import BlockProblem, equal_rows

__all__ = ["PairBounds", "Sums", "WhitenedFrame", "multipliers"]


# Labelled target rows that a block is compared with at once: tables of these pairs stay in the cache.
WIDTH = 512
EVERY = slice(None)


class Sums(NamedTuple):
    """The sums over pairs of a block, or of several: lower triangle of Tᵀ diag(W 1) T, Tᵀ W, Wᵀ 1."""

    rows: FloatArray
    across: FloatArray
    target: FloatArray

    def __add__(self, other: Any) -> Sums:
        return Sums(*(a + b for a, b in zip(self, other, strict=True)))


class PairBounds(NamedTuple):
    """The bounds of the pairs of a block (m, n_l): 1/ξ⁰, δ and λ."""

    inverse_bound: FloatArray
    sign: FloatArray
    weight: FloatArray | float


def multipliers(distances: FloatArray, bounds: PairBounds) -> FloatArray:
    """Return W = λ (1/ξ⁰ − 1/d²) of each pair whose bound is broken, else zero."""
    with np.errstate(divide="ignore"):
        W = bounds.inverse_bound - 1.0 / distances
    W *= bounds.sign
    np.maximum(W, 0.0, out=W)
    W *= bounds.sign
    W *= bounds.weight
    return np.asarray(W)


@dataclass(frozen=True, eq=False)
class BlockMetric:
    """A metric as a block of source rows sees it, in single or double precision."""

    L: FloatArray  # L₁₁ (p, p), lower triangular.
    centre: FloatArray  # Subtracted from all coordinates (p,).
    b: FloatArray  # −2 times the labelled target rows along the source's coordinates (p, n_l).
    lengths: FloatArray  # Their squared lengths along all coordinates (n_l,).
    table: PairBounds  # The bounds of each code (C, n_l); one weight where all are equal.
    least: float  # The least squared distance that counts.

    @property
    def dtype(self) -> DTypeLike:
        """The precision."""
        return self.L.dtype

    def strips(self) -> Iterator[slice]:
        """Yield runs of the labelled target rows."""
        return (slice(start, start + WIDTH) for start in range(0, len(self.lengths), WIDTH))

    def select_bounds(self, codes: IntArray, strip: slice = EVERY) -> PairBounds:
        """Return the bounds of the rows of a block with these target rows."""
        inverse, sign, weight = self.table
        weight = weight if isinstance(weight, float) else weight[:, strip][codes]
        return PairBounds(inverse[:, strip][codes], sign[:, strip][codes], weight)

    def rows(self, X: Matrix) -> FloatArray:
        """Return coordinates t (m, p) of source rows X, dense or sparse."""
        if is_sparse(X):
            T = np.asarray(X.astype(self.dtype) @ self.L)
        else:
            trmm = strmm if self.dtype == np.float32 else dtrmm
            T = trmm(1.0, self.L, np.asarray(X, dtype=self.dtype).T, side=0, lower=1, trans_a=1).T
        T -= self.centre
        return np.asarray(T)

    def distances(self, T: FloatArray, strip: slice = EVERY) -> FloatArray:
        """Return d² (m, n_l), or of some of the target rows."""
        D = T @ self.b[:, strip]
        D += np.einsum("ij,ij->i", T, T)[:, None]
        D += self.lengths[strip]
        return np.maximum(D, self.least, out=D)

    def sums(self, T: FloatArray, W: FloatArray) -> Sums:
        """Return the sums over the pairs of a block."""
        rows = self.squares(T, W.sum(axis=1))
        return Sums(rows, np.asarray(T.T @ W, dtype=np.float64), W.sum(axis=0, dtype=np.float64))

    def squares(self, T: FloatArray, degrees: FloatArray) -> FloatArray:
        """Return the lower triangle of Tᵀ diag(degrees) T by rank-k updates of either sign, half a product's cost."""
        rows, syrk = np.zeros((T.shape[1], T.shape[1])), ssyrk if self.dtype == np.float32 else dsyrk
        for sign in (1.0, -1.0):
            chosen = np.flatnonzero(sign * degrees > 0.0)
            if len(chosen):
                part = T[chosen]
                part *= np.sqrt(np.abs(degrees[chosen]))[:, None]
                rows += sign * syrk(1.0, part.T, lower=1)
        return rows


@short_repr
@dataclass(frozen=True, eq=False)
class ReducedProblem:
    """The problem without its source rows, in an orthonormal basis: small, and the same for every block."""

    target: FloatArray  # Y (n_l, q).
    sign: FloatArray  # δ (C, n_l).
    weight: FloatArray  # λ (C, n_l).
    bound: FloatArray  # ξ⁰ (C, n_l).
    precision: FloatArray  # P (d, d), d = p + q.
    shifts: FloatArray  # Constrained mean shifts (K, d).
    shift_weight: FloatArray
    shift_bound: FloatArray
    n_source: int  # p, how many of the coordinates are the source's.
    # Orthonormal columns (d_s, p) and (d_t, q); None where the coordinates are the columns themselves.
    basis: tuple[FloatArray | None, FloatArray | None]

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return len(self.precision)

    def among(self, n: int, random: np.random.Generator) -> ReducedProblem:
        """Draw about n of the labelled target rows, which weigh as much as all: an importance sample.

        A row is drawn with a probability in proportion to the weight of its pairs, and its weight is divided by that;
        each kind of rows, that is class, has its share.
        """
        mass = self.weight.sum(axis=0)
        if n >= len(mass) or not mass.any():
            return self
        chance = np.minimum(n * mass / mass.sum(), 1.0)
        chosen = sample_systematically(chance, equal_rows(np.vstack([self.sign, self.bound]).T)[1], random)
        return replace(
            self,
            target=self.target[chosen],
            sign=self.sign[:, chosen],
            weight=self.weight[:, chosen] / chance[chosen],
            bound=self.bound[:, chosen],
        )

    def restrict(self, W: FloatArray) -> FloatArray:
        """Return a lower triangular factor (d, d) of the metric W Wᵀ within the span."""
        return lower_factor(self._joint_basis().T @ W)

    def extend(self, L: FloatArray) -> FloatArray:
        """Return a factor W (d_s + d_t, d_s + d_t) of the metric L Lᵀ in the span, the identity outside."""
        if all(B is None for B in self.basis):
            return L
        B = self._joint_basis()
        return np.asarray(np.eye(len(B)) + B @ (L - np.eye(self.d)) @ B.T)

    def _joint_basis(self) -> FloatArray:
        sizes = self.n_source, self.d - self.n_source
        parts = (np.eye(size) if B is None else B for B, size in zip(self.basis, sizes, strict=True))
        return np.asarray(sla.block_diag(*parts))


def reduce_problem(problem: BlockProblem) -> tuple[ReducedProblem, Rows]:
    """Return the problem in an orthonormal basis of its pairs and shifts, and the source rows in it."""
    rows, d = problem.rows, problem.rows.d
    penalty, constraint = problem.penalty, problem.constraint
    shifts = np.vstack([penalty.rows, constraint.rows])
    source, target = None, _span_basis(np.vstack([problem.target, shifts[:, d:]]))
    if rows.n + len(shifts) < d:
        X, codes = next(iter(rows.blocks(max(1, rows.n))))
        source = _span_basis(np.vstack([as_dense(X), shifts[:, :d]]))
        rows = rows if source is None else ArrayRows(X @ source, codes)
    shifts = np.hstack([_in_basis(shifts[:, :d], source), _in_basis(shifts[:, d:], target)])
    n = len(penalty.rows)
    precision = np.eye(shifts.shape[1]) + (shifts[:n].T * penalty.weight) @ shifts[:n]
    tables = problem.sign, problem.weight, problem.bound
    bounded = shifts[n:], constraint.weight, np.asarray(constraint.slack)
    return ReducedProblem(
        _in_basis(problem.target, target), *tables, precision, *bounded, rows.d, (source, target)
    ), rows


def lower_factor(A: FloatArray) -> FloatArray:
    """Return the lower triangular L with positive diagonal and L Lᵀ = A Aᵀ."""
    R = np.asarray(np.linalg.qr(A.T, mode="r"))
    return np.asarray(np.tril((R * np.where(np.diagonal(R) < 0.0, -1.0, 1.0)[:, None]).T))


def _span_basis(rows: FloatArray) -> FloatArray | None:
    """Return an orthonormal basis of the rows' span; None where that is everything."""
    if len(rows) >= rows.shape[1]:
        return None
    return principal_axes(rows, centre=False).axes


def _in_basis(rows: FloatArray, basis: FloatArray | None) -> FloatArray:
    return rows if basis is None else np.asarray(rows @ basis)


# A squared distance counts as at least this part of the least bound: single precision has no more digits.
LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class WhitenedFrame:
    """Coordinates in which the metric L Lᵀ is Euclidean."""

    task: ReducedProblem
    L: FloatArray
    dtype: DTypeLike = np.float32

    @cached_property
    def centre(self) -> FloatArray:
        """Subtracted from all source coordinates, t and b: a common offset would only cost digits."""
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
    def metric(self) -> BlockMetric:
        """The metric as blocks of rows need it, in the precision of the frame."""
        n, (b, c), task = self.task.n_source, (self.b, self.c), self.task
        lengths = np.einsum("ij,ij->i", b, b) + np.einsum("ij,ij->i", c, c)
        inverse, sign, weight = (np.asarray(t, dtype=self.dtype) for t in (1.0 / task.bound, task.sign, task.weight))
        first = float(task.weight.flat[0]) if task.weight.size else 0.0
        table = PairBounds(inverse, sign, first if (task.weight == first).all() else weight)
        L, centre, b, lengths = (
            np.asarray(array, dtype=self.dtype, order="K")
            for array in (np.asfortranarray(self.L[:n, :n]), self.centre, -2.0 * b.T, lengths)
        )
        return BlockMetric(L, centre, b, lengths, table, self.least)

    @cached_property
    def least(self) -> float:
        """The least squared distance that counts."""
        return LEAST * float(self.task.bound.min(initial=1.0)) if self.dtype == np.float32 else 0.0

    def among(self, n: int, random: np.random.Generator) -> WhitenedFrame:
        """Draw a sample of about n of the labelled target rows; all where there are no more."""
        some = self.task.among(n, random)
        return self if some is self.task else WhitenedFrame(some, self.L, self.dtype)

    def form(self, D: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return A, V and k of the quadratic form ẑᵀDẑ = tᵀAt + tᵀV_j + k_j of all pairs."""
        n, (b, c) = self.task.n_source, (self.b, self.c)
        across = b @ D[:n, :n] + c @ D[n:, :n]
        k = np.einsum("ij,ij->i", across + c @ D[n:, :n], b) + np.einsum("ij,ij->i", c @ D[n:, n:], c)
        arrays = D[:n, :n], -2.0 * across.T, k
        return tuple(np.ascontiguousarray(array, dtype=self.dtype) for array in arrays)  # type: ignore[return-value]

    def assemble(self, sums: Sums) -> FloatArray:
        """Return Σ w ẑ ẑᵀ (d, d) from the sums over all blocks."""
        n, (b, c), g = self.task.n_source, (self.b, self.c), sums.target[:, None]
        A = np.tril(sums.rows) + np.tril(sums.rows, -1).T
        B = sums.across @ b
        S = np.empty((self.task.d, self.task.d))
        S[:n, :n] = A - B - B.T + b.T @ (g * b)
        S[:n, n:] = (g * b - sums.across.T).T @ c
        S[n:, :n] = S[:n, n:].T
        S[n:, n:] = c.T @ (g * c)
        return S
