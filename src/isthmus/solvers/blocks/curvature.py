r"""The Newton system in the frame of a metric, from a sample of rows, and a preconditioner for it.

.. math:: \sum_{ij} c_{ij} (\hat z_{ij}^T D \hat z_{ij})\, \hat z_{ij} \hat z_{ij}^T
   + \tfrac12 (E_\kappa D + D E_\kappa) = I - E, \qquad c = \lambda/d^4 \;\text{where the bound is broken}

with :math:`E_\kappa = I + \kappa (E - I)`, no less than a half along any axis: the second order of a step with the
bend κ (:mod:`isthmus.solvers.blocks.solver`). Were the :math:`\hat z` normal
with :math:`\sum c \hat z \hat z^T = C` and :math:`\sum c = N`, the sum would be
:math:`2/N\, C D C + \langle C, D\rangle C / N`, which is diagonal but for a rank of one on the axes of C.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from isthmus._core.linalg import conjugate_gradients
from isthmus._core.rows import Rows
from isthmus._core.threads import map_over_items, sum_over_items
from isthmus._core.validation import FloatArray, IntArray, Matrix, as_dense
from isthmus.exceptions import InputError
from isthmus.solvers.blocks.metric import PairBounds, Sums, WhitenedFrame
from isthmus.solvers.blocks.point import Place, shift_bounds
from isthmus.solvers.hinge import (
    DECREASE,
    LOOSEST_STEP,
    ROUNDING,
    SHORTEST_STEP,
    HingeCertificate,
    HingeNewton,
    HingePoint,
    HingeProblem,
)
from isthmus.solvers.result import IterativeSolver, relative_gap

MOST_PRODUCTS = 40
FLOOR = 0.5
"""The least eigenvalue of E_κ."""


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
    factor: float
    """How many rows each row of the sample stands for."""
    parts: tuple[Part, ...]
    shifts: FloatArray
    """ẑ of the constrained shifts (K, d)."""
    shift_c: FloatArray
    upper: FloatArray | None
    """E_κ; None where it is the identity."""

    def __call__(self, D: FloatArray) -> FloatArray:
        """The product with a symmetric D (d, d)."""
        form, lens = self.frame.form(D), self.frame.lens
        sums = sum_over_items(lambda part: lens.sums(part.T, pair_changes(part.T, *form) * part.c), self.parts)
        product = D.copy()
        if self.upper is not None:
            ED = self.upper @ D
            product = 0.5 * (ED + ED.T)
        if sums:
            product += self.frame.lifted(Sums(*sums))
        Z = self.shifts
        return np.asarray(product + (Z.T * (self.shift_c * np.einsum("ij,ij->i", Z @ D, Z))) @ Z)


def pair_changes(T: FloatArray, A: FloatArray, V: FloatArray, k: FloatArray) -> FloatArray:
    """ẑᵀDẑ of all pairs of a block, from :meth:`WhitenedFrame.form`."""
    change = T @ V
    change += np.einsum("ij,ij->i", T @ A, T)[:, None]
    change += k
    return np.asarray(change)


def estimate_curvature(at: Place, frame: WhitenedFrame, sample: Rows, n: int, *, bend: float) -> Curvature:
    """The curvature at a place, from a sample of its n rows and of its labelled target rows, those of the frame."""
    lens, factor = frame.lens, n / max(1, sample.n)

    def part(block: tuple[Matrix, IntArray]) -> Part:
        T, codes = lens.rows(block[0]), block[1]
        return Part(T, codes, _second(lens.distances(T), lens.asked(codes), factor))

    parts = map_over_items(part, list(sample.blocks()))
    Z = frame.task.shifts @ frame.L
    c = _second(np.einsum("ij,ij->i", Z, Z), shift_bounds(frame.task), 1.0)
    upper = None
    if bend > 0.0:
        values, axes = at.spectrum
        upper = (axes * np.maximum(1.0 + bend * (values - 1.0), FLOOR)) @ axes.T
    return Curvature(frame, factor, tuple(parts), Z, c, upper)


def _second(distances: FloatArray, asked: PairBounds, factor: float) -> FloatArray:
    """The c of each pair, times a factor."""
    with np.errstate(divide="ignore"):
        inverse = 1.0 / distances
    kept = (asked.inverse_bound - inverse) * asked.sign > 0.0
    inverse *= inverse
    inverse *= factor * asked.weight
    inverse *= kept
    return np.asarray(inverse)


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """The inverse of the normal approximation, on the axes of C; in single precision, which is good enough for it."""

    axes: FloatArray
    diagonal: FloatArray
    v: FloatArray
    scale: float

    def __call__(self, G: FloatArray) -> FloatArray:
        """The product with a symmetric G (d, d)."""
        g = self.axes.T @ np.asarray(G, dtype=self.axes.dtype) @ self.axes
        h = g / self.diagonal
        h[np.diag_indices_from(h)] -= self.scale * float(np.diagonal(g) @ self.v) * self.v
        return np.asarray(self.axes @ h @ self.axes.T, dtype=np.float64)


def make_preconditioner(H: Curvature) -> Preconditioner:
    """From the second moments of the sample."""
    frame, Z = H.frame, H.shifts
    total = float(H.shift_c.sum()) + sum(float(part.c.sum(dtype=np.float64)) for part in H.parts)
    sums = sum_over_items(lambda part: frame.lens.sums(part.T, part.c), H.parts)
    C = (Z.T * H.shift_c) @ Z + (frame.lifted(Sums(*sums)) if sums else 0.0)
    values, axes = sla.eigh(C, driver="evd", check_finite=False)
    values, total = np.maximum(values, 0.0), max(total, float(np.finfo(np.float64).tiny))
    e = np.ones(len(C)) if H.upper is None else np.einsum("ij,ij->j", axes, H.upper @ axes)
    diagonal = 0.5 * (e[:, None] + e) + (2.0 / total) * np.outer(values, values)
    v = values / np.diagonal(diagonal)
    axes, diagonal, v = (np.asarray(array, dtype=frame.dtype) for array in (axes, diagonal, v))
    return Preconditioner(axes, diagonal, v, 1.0 / (total + float(values @ v)))


def solve_direction(H: Curvature, R: FloatArray, tolerance: float) -> FloatArray:
    """The solution of H D = R by conjugate gradients, to a part of the residual."""
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


SAMPLE_PAIRS = 3_000_000
"""Pairs of the sample that curvature is taken from, at most."""
SAMPLE_GAP, SAMPLE_STEPS = 1e-6, 100
"""How well the sample's own problem is solved: the sample is no nearer to all rows than that."""
BEST_STEP = 1e-2
"""Newton's equation of a sample is never solved better than this: it is not that near to the one of all rows."""


@dataclass(frozen=True, eq=False)
class HingeBlocks:
    r"""The objective of Kulis et al. (2011) over source rows that are nowhere as one array.

    .. math:: f(W) = \|W\|_F^2 + \lambda \sum_{ij} \max(0,\; \delta_{c(i)j} (b_{c(i)j} - x_i^T Q W y_j))^2

    Parameters
    ----------
    rows : Rows
        x (n_s, d), with a code c each.
    axes : array (d, r_s)
        Q: orthonormal axes that the rows lie along.
    target : array (n_l, r_l)
        Y.
    sign, bound : array (C, n_l)
        δ and b, for each code.
    weight : float
        λ.
    """

    rows: Rows
    axes: FloatArray
    target: FloatArray
    sign: FloatArray
    bound: FloatArray
    weight: float

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return self.rows.n * len(self.target)

    def start(self, W: FloatArray | None = None) -> HingeBlockPoint:
        """The point at a given W, such as that of a similar problem, or at zero."""
        shape = self.axes.shape[1], self.target.shape[1]
        if W is not None and np.shape(W) != shape:
            raise InputError(f"start: expected shape {shape}, got {np.shape(W)}.")
        return self.at(np.zeros(shape) if W is None else np.array(W, dtype=np.float64))

    def value(self, W: FloatArray) -> float:
        """f(W)."""
        return self.at(W).primal

    def at(self, W: FloatArray) -> HingeBlockPoint:
        """A point of the problem, with its value and its gradient: one pass."""
        loss, G = self.rows.total(_Hinges(self.axes @ (W @ self.target.T), self.sign, self.bound))
        gradient = 2.0 * (W - self.weight * (self.axes.T @ G @ self.target))
        return HingeBlockPoint(self, W, float(np.vdot(W, W) + self.weight * loss), gradient)

    def draw_sample(self, random: np.random.Generator) -> HingeProblem:
        """The problem of a sample of rows, each of which counts for several."""
        return self.write_out(self.rows.sample(max(1, SAMPLE_PAIRS // max(1, len(self.target))), random))

    def write_out(self, drawn: Rows | None = None) -> HingeProblem:
        """The problem with a number for every pair, of all rows or of some that count for all."""
        drawn = self.rows if drawn is None else drawn
        parts, codes = zip(*drawn.blocks(max(1, drawn.n)), strict=True)
        X, c = np.vstack([as_dense(part @ self.axes) for part in parts]), np.concatenate(codes)
        weight = self.weight * self.rows.n / max(1, drawn.n)
        return HingeProblem(X, self.target, self.sign[c], self.bound[c], weight)


@dataclass(frozen=True, eq=False)
class HingeBlockPoint(HingeCertificate):
    """A matrix W (r_s, r_l) with f(W) and its gradient."""

    problem: HingeBlocks
    W: FloatArray
    primal: float
    gradient: FloatArray


@dataclass(frozen=True, eq=False)
class _Hinges:
    products: FloatArray
    """Q W Yᵀ (d, n_l)."""
    sign: FloatArray
    bound: FloatArray

    def __call__(self, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
        """Σ h² () and Σ x (δ h)ᵀ (d, n_l)."""
        X, sign = X.astype(np.float64), self.sign[codes]
        h = np.maximum(sign * (self.bound[codes] - X @ self.products), 0.0)
        return np.asarray(np.vdot(h, h)), np.asarray(X.T @ (sign * h))


@dataclass(frozen=True)
class BlockHingeNewton(IterativeSolver[HingeBlockPoint]):
    """Newton steps whose gradient is that of all rows and whose curvature is that of a sample, from its optimum.

    A step costs a pass over the rows; value, gradient and so the gap are exact.

    Parameters
    ----------
    tol, max_iter
        As in :class:`~isthmus.solvers.hinge.HingeNewton`.

    Examples
    --------
    >>> from isthmus._core.rows import ArrayRows
    >>> rows = ArrayRows(np.array([[1.0], [2.0], [-1.0]]), np.array([0, 0, 1]))
    >>> sign = np.array([[1.0], [-1.0]])
    >>> problem = HingeBlocks(rows, np.eye(1), np.ones((1, 1)), sign, np.maximum(sign, 0.0), 1.0)
    >>> BlockHingeNewton().solve(problem).components().round(4)  # 2 w = 2 (1 - w) + 4 (1 - 2 w)
    array([[0.5]])
    """

    tol: float = 1e-10
    max_iter: int = 100

    def iterates(self, start: HingeBlockPoint) -> Iterator[HingeBlockPoint]:
        """Ever better points, the last of them without end unless no progress is possible."""
        yield start
        problem = start.problem
        sample = problem.draw_sample(np.random.default_rng(0))
        point, first = problem.at(_optimum(sample, start.W)), start.gradient_norm
        if point.primal > start.primal:
            point = start
        squares = np.outer((sample.source**2).sum(axis=0), (sample.target**2).sum(axis=0))
        preconditioner = 1.0 / (2.0 + 2.0 * sample.weight * squares).ravel()
        while True:
            yield point
            accuracy = min(LOOSEST_STEP, max(BEST_STEP, point.gradient_norm / first))
            following = _line_search(point, _step(sample.at(point.W), point.gradient, preconditioner, accuracy))
            if following is None:
                return
            point = following


def _step(model: HingePoint, gradient: FloatArray, preconditioner: FloatArray, accuracy: float) -> FloatArray:
    """Newton's step for a gradient, with the curvature of a model."""
    V = conjugate_gradients(
        lambda v: model.curvature(v.reshape(gradient.shape)).ravel(), -gradient.ravel(), preconditioner, accuracy
    )
    return V.reshape(gradient.shape)


def _optimum(sample: HingeProblem, W: FloatArray) -> FloatArray:
    """Of the sample, nearly."""
    for step, point in enumerate(HingeNewton().iterates(sample.start(W))):
        if relative_gap(point.gap, point.scale) <= SAMPLE_GAP or step == SAMPLE_STEPS:
            return point.W
    return point.W


def _line_search(point: HingeBlockPoint, V: FloatArray) -> HingeBlockPoint | None:
    slope, step = float(np.vdot(point.gradient, V)), 1.0
    while step > SHORTEST_STEP:
        following = point.problem.at(point.W + step * V)
        lower = following.primal < point.primal + DECREASE * step * slope
        # Where values can't be told apart any more, slopes still can.
        level = following.primal <= point.primal * (1.0 + ROUNDING)
        if lower or (level and np.vdot(following.gradient, V) <= -0.9 * slope):
            return following
        step *= 0.5
    return None
