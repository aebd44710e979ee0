r"""The problem in the few coordinates that matter: the span of labelled target rows and mean shifts.

Outside the span of everything that is asked, the optimum is the identity. A target with 1,000 columns and 60 labelled
rows has 61 coordinates here; a source with fewer rows than columns is cut in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray, as_dense
from isthmus._rows import ArrayRows, Rows, systematic
from isthmus._validation import short_repr
from isthmus.linalg import principal_axes
from isthmus.solvers.blocks.problem import BlockProblem, equal_rows


@short_repr
@dataclass(frozen=True, eq=False)
class Reduced:
    """What does not depend on the source rows one by one, in an orthonormal basis: small, and the same everywhere."""

    target: FloatArray
    """Y (n_l, q)."""
    sign: FloatArray
    """δ (C, n_l)."""
    weight: FloatArray
    """λ (C, n_l)."""
    bound: FloatArray
    """ξ⁰ (C, n_l)."""
    precision: FloatArray
    """P (d, d), d = p + q."""
    shifts: FloatArray
    """Constrained mean shifts (K, d)."""
    shift_weight: FloatArray
    shift_bound: FloatArray
    n_source: int
    """p, how many of the coordinates are the source's."""
    basis: tuple[FloatArray | None, FloatArray | None]
    """Orthonormal columns (d_s, p) and (d_t, q); None where the coordinates are the columns themselves."""

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return len(self.precision)

    def weighted(self, factor: float) -> Reduced:
        """The same with all pairs' weights times a factor."""
        return replace(self, weight=factor * self.weight)

    def among(self, n: int, random: np.random.Generator) -> Reduced:
        """The same over about n of the labelled target rows, which weigh as much as all: an importance sample.

        A row is drawn with a probability in proportion to the weight of its pairs, and weighs as much more as it was
        less likely; of each kind of rows, that is class, there is its share.
        """
        mass = self.weight.sum(axis=0)
        if n >= len(mass) or not mass.any():
            return self
        chance = np.minimum(n * mass / mass.sum(), 1.0)
        chosen = systematic(chance, equal_rows(np.vstack([self.sign, self.bound]).T)[1], random)
        return replace(
            self,
            target=self.target[chosen],
            sign=self.sign[:, chosen],
            weight=self.weight[:, chosen] / chance[chosen],
            bound=self.bound[:, chosen],
        )

    def inside(self, W: FloatArray) -> FloatArray:
        """A lower triangular factor (d, d) of the metric W Wᵀ within the span."""
        return triangular(self._lifted_basis().T @ W)

    def lifted(self, L: FloatArray) -> FloatArray:
        """A factor W (d_s + d_t, d_s + d_t) of the metric that is L Lᵀ in the span and the identity outside."""
        if all(B is None for B in self.basis):
            return L
        B = self._lifted_basis()
        return np.asarray(np.eye(len(B)) + B @ (L - np.eye(self.d)) @ B.T)

    def _lifted_basis(self) -> FloatArray:
        sizes = self.n_source, self.d - self.n_source
        parts = (np.eye(size) if B is None else B for B, size in zip(self.basis, sizes, strict=True))
        return np.asarray(sla.block_diag(*parts))


def reduced(problem: BlockProblem) -> tuple[Reduced, Rows]:
    """The problem in an orthonormal basis of what is asked, and the source rows in it."""
    rows, d = problem.rows, problem.rows.d
    penalty, constraint = problem.penalty, problem.constraint
    shifts = np.vstack([penalty.rows, constraint.rows])
    source, target = None, _basis(np.vstack([problem.target, shifts[:, d:]]))
    if rows.n + len(shifts) < d:
        X, codes = next(iter(rows.blocks(max(1, rows.n))))
        source = _basis(np.vstack([as_dense(X), shifts[:, :d]]))
        rows = rows if source is None else ArrayRows(X @ source, codes)
    shifts = np.hstack([_within(shifts[:, :d], source), _within(shifts[:, d:], target)])
    n = len(penalty.rows)
    precision = np.eye(shifts.shape[1]) + (shifts[:n].T * penalty.weight) @ shifts[:n]
    tables = problem.sign, problem.weight, problem.bound
    asked = shifts[n:], constraint.weight, np.asarray(constraint.slack)
    return Reduced(_within(problem.target, target), *tables, precision, *asked, rows.d, (source, target)), rows


def triangular(A: FloatArray) -> FloatArray:
    """The lower triangular L with positive diagonal and L Lᵀ = A Aᵀ."""
    R = np.asarray(np.linalg.qr(A.T, mode="r"))
    return np.asarray(np.tril((R * np.where(np.diagonal(R) < 0.0, -1.0, 1.0)[:, None]).T))


def _basis(rows: FloatArray) -> FloatArray | None:
    """An orthonormal basis of the rows' span; None where that is everything."""
    if len(rows) >= rows.shape[1]:
        return None
    return principal_axes(rows, centre=False).axes


def _within(rows: FloatArray, basis: FloatArray | None) -> FloatArray:
    return rows if basis is None else np.asarray(rows @ basis)
