r"""The Newton system in the frame of a metric, from a sample of rows, and a preconditioner for it.

.. math:: \sum_{ij} c_{ij} (\hat z_{ij}^T D \hat z_{ij})\, \hat z_{ij} \hat z_{ij}^T
   + \tfrac12 (E_\kappa D + D E_\kappa) = I - E, \qquad c = \lambda/d^4 \;\text{where the bound is broken}

with :math:`E_\kappa = I + \kappa (E - I)`, no less than a half along any axis: the second order of a step with the
bend κ (:mod:`isthmus.solvers.blocks.solver`). Were the :math:`\hat z` normal
with :math:`\sum c \hat z \hat z^T = C` and :math:`\sum c = N`, the sum would be
:math:`2/N\, C D C + \langle C, D\rangle C / N`, which is diagonal but for a rank of one on the axes of C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from isthmus._core.rows import Rows
from isthmus._core.threads import map_over_items, sum_over_items
from isthmus._core.validation import FloatArray, IntArray, Matrix
from isthmus.solvers.blocks.metric import PairBounds, Sums, WhitenedFrame
from isthmus.solvers.blocks.point import Place, shift_bounds

MOST_PRODUCTS = 40
# The least eigenvalue of E_κ.
FLOOR = 0.5


@dataclass(frozen=True, eq=False)
class Part:
    """A block of the sample: coordinates, codes, and c."""

    T: FloatArray
    codes: IntArray
    c: FloatArray


@dataclass(frozen=True, eq=False)
class Curvature:
    """The left side of the Newton system at a place."""

    frame: WhitenedFrame
    factor: float  # How many rows each row of the sample stands for.
    parts: tuple[Part, ...]
    shifts: FloatArray  # ẑ of the constrained shifts (K, d).
    shift_c: FloatArray
    upper: FloatArray | None  # E_κ; None where it is the identity.

    def __call__(self, D: FloatArray) -> FloatArray:
        """Return the product with a symmetric D (d, d)."""
        form, metric = self.frame.form(D), self.frame.metric
        sums = sum_over_items(lambda part: metric.sums(part.T, pair_changes(part.T, *form) * part.c), self.parts)
        product = D.copy()
        if self.upper is not None:
            ED = self.upper @ D
            product = 0.5 * (ED + ED.T)
        if sums:
            product += self.frame.assemble(Sums(*sums))
        Z = self.shifts
        return np.asarray(product + (Z.T * (self.shift_c * np.einsum("ij,ij->i", Z @ D, Z))) @ Z)


def pair_changes(T: FloatArray, A: FloatArray, V: FloatArray, k: FloatArray) -> FloatArray:
    """Return ẑᵀDẑ of all pairs of a block, from :meth:`WhitenedFrame.form`."""
    change = T @ V
    change += np.einsum("ij,ij->i", T @ A, T)[:, None]
    change += k
    return np.asarray(change)


def estimate_curvature(at: Place, frame: WhitenedFrame, sample: Rows, n: int, *, bend: float) -> Curvature:
    """Estimate the curvature at a place from a sample of its n rows and the target rows of a frame."""
    metric, factor = frame.metric, n / max(1, sample.n)

    def part(block: tuple[Matrix, IntArray]) -> Part:
        T, codes = metric.rows(block[0]), block[1]
        return Part(T, codes, _second(metric.distances(T), metric.select_bounds(codes), factor))

    parts = map_over_items(part, list(sample.blocks()))
    Z = frame.task.shifts @ frame.L
    c = _second(np.einsum("ij,ij->i", Z, Z), shift_bounds(frame.task), 1.0)
    upper = None
    if bend > 0.0:
        values, axes = at.spectrum
        upper = (axes * np.maximum(1.0 + bend * (values - 1.0), FLOOR)) @ axes.T
    return Curvature(frame, factor, tuple(parts), Z, c, upper)


def _second(distances: FloatArray, bounds: PairBounds, factor: float) -> FloatArray:
    """Return the c of each pair, times a factor."""
    with np.errstate(divide="ignore"):
        inverse = 1.0 / distances
    kept = (bounds.inverse_bound - inverse) * bounds.sign > 0.0
    inverse *= inverse
    inverse *= factor * bounds.weight
    inverse *= kept
    return np.asarray(inverse)


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """The inverse of the normal approximation, on the axes of C; single precision is good enough for it."""

    axes: FloatArray
    diagonal: FloatArray
    v: FloatArray
    scale: float

    def __call__(self, G: FloatArray) -> FloatArray:
        """Return the product with a symmetric G (d, d)."""
        g = self.axes.T @ np.asarray(G, dtype=self.axes.dtype) @ self.axes
        h = g / self.diagonal
        h[np.diag_indices_from(h)] -= self.scale * float(np.diagonal(g) @ self.v) * self.v
        return np.asarray(self.axes @ h @ self.axes.T, dtype=np.float64)


def make_preconditioner(H: Curvature) -> Preconditioner:
    """Make the preconditioner from the second moments of the sample."""
    frame, Z = H.frame, H.shifts
    total = float(H.shift_c.sum()) + sum(float(part.c.sum(dtype=np.float64)) for part in H.parts)
    sums = sum_over_items(lambda part: frame.metric.sums(part.T, part.c), H.parts)
    C = (Z.T * H.shift_c) @ Z + (frame.assemble(Sums(*sums)) if sums else 0.0)
    values, axes = sla.eigh(C, driver="evd", check_finite=False)
    values, total = np.maximum(values, 0.0), max(total, float(np.finfo(np.float64).tiny))
    e = np.ones(len(C)) if H.upper is None else np.einsum("ij,ij->j", axes, H.upper @ axes)
    diagonal = 0.5 * (e[:, None] + e) + (2.0 / total) * np.outer(values, values)
    v = values / np.diagonal(diagonal)
    axes, diagonal, v = (np.asarray(array, dtype=frame.dtype) for array in (axes, diagonal, v))
    return Preconditioner(axes, diagonal, v, 1.0 / (total + float(values @ v)))


def solve_direction(H: Curvature, R: FloatArray, tolerance: float) -> FloatArray:
    """Solve H D = R by conjugate gradients, to a part of the residual."""
    apply = make_preconditioner(H)
    x, r = np.zeros_like(R), R
    z = apply(r)
    p, rz = z, float(np.vdot(r, z))
    enough, k = tolerance**2 * rz, 0
    while rz > enough and k < MOST_PRODUCTS:
        Hp = H(p)
        alpha = rz / float(np.vdot(p, Hp))
        x, r, k = x + alpha * p, r - alpha * Hp, k + 1
        z = apply(r)
        rz, previous = float(np.vdot(r, z)), rz
        p = z + (rz / previous) * p
    return np.asarray(0.5 * (x + x.T))
