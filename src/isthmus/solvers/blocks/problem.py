r"""The LogDet problem of two domains over source rows that come in blocks, and a metric with its certificate.

.. math::

   f(M) = \operatorname{tr} P M - \log\det M - d
   + \sum_{ij} \lambda_{ij}\,\varphi_\pm(z_{ij}^T M z_{ij}/\xi^0_{ij}), \qquad z_{ij} = [x_i; -y_j]

The bound of a pair depends on the target row and on the *code* of the source row (its class, as a rule), so that
signs, weights and bounds are small tables, and nothing has the size of all pairs (:class:`BlockProblem`).

:class:`ReducedProblem` is the problem in an orthonormal basis of what the pairs and shifts span. With M = L Lᵀ and L
lower triangular, a source row has the whitened coordinates t = L₁₁ᵀx, around a centre, a labelled target row b and c
(:class:`WhitenedFrame`), and

.. math:: d^2_{ij} = \|t_i\|^2 - 2\, t_i^T b_j + \|b_j\|^2 + \|c_j\|^2.

:class:`BlockMetric` is the part of this that a block of source rows has to know: small, and sent to wherever the rows
are. One pass over the rows (:func:`evaluate_metric`) gives value, gradient and certificate of a metric:

.. math:: w_{ij} = \lambda_{ij} (1/\xi^0_{ij} - 1/d^2_{ij}) \;\text{where the bound is broken}, \qquad
   E = L^T \Big(P + \sum w_{ij} z_{ij} z_{ij}^T\Big) L

In the frame of M = L Lᵀ the gradient is E − I. The same multipliers w are a point of the dual and prove the gap
:math:`\operatorname{tr} E - \log\det E - d`, exactly; it is finite where E is positive definite.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla
from numpy.typing import DTypeLike
from scipy.linalg.blas import dsyrk, dtrmm, ssyrk, strmm

from isthmus._core.linalg import principal_axes
from isthmus._core.rows import ArrayRows, Rows, sample_systematically
from isthmus._core.validation import FloatArray, IntArray, Matrix, ShortRepr, as_dense, is_sparse
from isthmus.exceptions import InputError
from isthmus.solvers.logdet import LogDetProblem, MeanAlignment, Pairs


@dataclass(frozen=True, eq=False, repr=False)
class BlockProblem(ShortRepr):
    """The convex problem of :class:`~isthmus.solvers.logdet.LogDetProblem`, for pairs across two domains in blocks.

    Parameters
    ----------
    rows : Rows
        Source rows (n_s, d_s), with codes.
    target : array (n_l, d_t)
        Labelled target rows.
    sign, weight, bound : array (C, n_l) or number
        δ, λ and ξ⁰ of the pairs of source rows with a code and each target row.
    alignment : MeanAlignment, optional
        Mean shifts, over d_s + d_t columns.

    Examples
    --------
    >>> rows = ArrayRows(np.array([[1.0], [3.0]]), np.array([0, 1]))
    >>> problem = BlockProblem(rows, [[1.0], [2.0]], sign=[[1, -1], [-1, 1]], weight=1.0, bound=2.0)
    >>> problem.n_pairs, round(problem.value(np.eye(2)), 3)
    (4, 3.628)
    """

    rows: Rows
    target: Any
    sign: Any
    weight: Any
    bound: Any
    alignment: MeanAlignment | None = None

    def __post_init__(self) -> None:
        target = np.asarray(self.target, dtype=np.float64)
        if target.ndim != 2 or not np.isfinite(target).all():
            got = "NaN or inf" if target.ndim == 2 else f"shape {target.shape}"
            raise InputError(f"target: expected finite numbers (n_l, d_t), got {got}.")
        object.__setattr__(self, "target", target)
        n_codes = max((len(each) for each in (self.sign, self.weight, self.bound) if np.ndim(each) == 2), default=1)
        if isinstance(self.rows, ArrayRows):
            self.rows.check_codes(n_codes)
        # Every check of a block of pairs is one of a table, too.
        tables = Pairs(slice(0, n_codes), slice(n_codes, n_codes + len(target)), self.sign, self.weight, self.bound)
        for name in ("sign", "weight", "bound"):
            object.__setattr__(self, name, getattr(tables, name))
        columns = self.rows.d + target.shape[1]
        if self.alignment is not None and self.alignment.rows.shape[1] != columns:
            raise InputError(f"alignment.rows: expected {columns} columns, got {self.alignment.rows.shape[1]}.")

    @property
    def n_pairs(self) -> int:
        """The number of pairs, and of constrained shifts."""
        return self.rows.n * len(self.target) + len(self.constraint.rows)

    @property
    def constraint(self) -> MeanAlignment:
        """The shifts that are bounded; none of them where they are penalised."""
        if self.alignment is not None and self.alignment.slack is not None:
            return self.alignment
        return MeanAlignment(np.empty((0, self.rows.d + self.target.shape[1])), 1.0, 1.0)

    @property
    def penalty(self) -> MeanAlignment:
        """The shifts that are penalised; none of them where they are bounded."""
        if self.alignment is not None and self.alignment.slack is None:
            return self.alignment
        return MeanAlignment(np.empty((0, self.rows.d + self.target.shape[1])), 1.0)

    def value(self, W: FloatArray) -> float:
        """Return the objective at W Wᵀ, in double precision; infinite where that is not definite."""
        task, rows = reduce_problem(self)
        try:
            logdet = 2.0 * float(np.log(np.diagonal(np.linalg.cholesky(W @ W.T))).sum())
        except np.linalg.LinAlgError:
            return np.inf
        frame = WhitenedFrame(task, task.restrict(W), np.float64)
        Z, shifts = task.shifts @ frame.L, self.penalty.rows @ W
        loss = float(rows.total(partial(sum_losses, frame.metric))[0])
        loss += pair_losses(np.einsum("ij,ij->i", Z, Z), shift_bounds(task))[0]
        loss += float(self.penalty.weight @ np.einsum("ij,ij->i", shifts, shifts))
        value = float(np.einsum("ij,ij->", W, W)) - logdet - len(W) + loss
        return value if np.isfinite(value) else np.inf

    def block_distances(self, W: FloatArray) -> list[FloatArray]:
        """Return squared distances under W Wᵀ: of all pairs (n_s, n_l), and of any constrained shifts (K, 1)."""
        B, parts, shifts = self.target @ W[self.rows.d :], [], self.constraint.rows @ W
        for X, _ in self.rows.blocks():
            A = X @ W[: self.rows.d]
            parts.append((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2.0 * (A @ B.T))
        across = np.maximum(np.concatenate(parts), 0.0)
        return [across, (shifts**2).sum(axis=1)[:, None]] if len(shifts) else [across]


def as_blocks(problem: LogDetProblem) -> tuple[BlockProblem, IntArray] | None:
    """Return a LogDet problem as one over blocks, and the columns' order; None unless it is across two domains.

    It is where all pairs are between two runs of rows that have no column in common: then a source row is [x; 0] and
    a target row [0; y], in some order of the columns.
    """
    if len(problem.pairs) != 1:
        return None
    (pairs,) = problem.pairs
    left, right = problem.rows[pairs.left], problem.rows[pairs.right]
    tables = [pairs.sign, pairs.weight, pairs.bound]
    if len(left) < len(right):  # blocks are of the longer run; a pair has no direction
        left, right, tables = right, left, [table.T for table in tables]
    of_left, of_right = left.any(axis=0), right.any(axis=0)
    if (of_left & of_right).any() or not len(right):
        return None
    order, d, alignment = np.argsort(~of_left, kind="stable"), int(of_left.sum()), problem.alignment
    first, codes = equal_rows(np.hstack(tables))  # rows with equal bounds share a code
    sign, weight, bound = (np.ascontiguousarray(table[first]) for table in tables)
    if alignment is not None:
        alignment = MeanAlignment(alignment.rows[:, order], alignment.weight, alignment.slack)
    rows = ArrayRows(np.ascontiguousarray(left[:, order[:d]]), codes)
    return BlockProblem(rows, right[:, order[d:]], sign, weight, bound, alignment), order


def equal_rows(table: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first row of each kind (C,), and which kind each row is (n,).

    Examples
    --------
    >>> equal_rows(np.array([[1.0, 2.0], [0.0, 2.0], [1.0, 2.0]]))[0].size
    2
    """
    table = np.ascontiguousarray(table)
    keys = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    return first, codes.ravel()


# Labelled target rows that a block is compared with at once: tables of these pairs stay in the cache.
WIDTH = 512
EVERY = slice(None)


class Sums(NamedTuple):
    """The sums over pairs of a block, or of several: lower triangle of Tᵀ diag(W 1) T, Tᵀ W, Wᵀ 1."""

    rows: FloatArray
    across: FloatArray
    target: FloatArray


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


@dataclass(frozen=True, eq=False, repr=False)
class ReducedProblem(ShortRepr):
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
    small = _in_basis(problem.target, target)
    return ReducedProblem(small, *tables, precision, *bounded, rows.d, (source, target)), rows


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


@dataclass(frozen=True, eq=False)
class Place:
    """A metric L Lᵀ with its losses and its gradient, from one pass over the rows."""

    frame: WhitenedFrame
    loss: float  # The losses of all pairs and shifts.
    E: FloatArray  # (d, d), the gradient plus the identity.

    @cached_property
    def spectrum(self) -> tuple[FloatArray, FloatArray]:
        """The eigenvalues of E, in rising order, and its axes."""
        values, axes = sla.eigh(self.E, driver="evd", check_finite=False)
        return values, axes

    @cached_property
    def primal(self) -> float:
        """f(M)."""
        task, L = self.frame.task, self.frame.L
        trace = float(np.einsum("ij,ij->", L, task.precision @ L))
        return trace - 2.0 * float(np.log(np.diagonal(L)).sum()) - task.d + self.loss

    @cached_property
    def gap(self) -> float:
        """f(M) is at most this far above its minimum."""
        e = self.spectrum[0]
        return float((e - 1.0 - np.log(e)).sum()) if not len(e) or e[0] > 0.0 else np.inf

    @property
    def relative_gap(self) -> float:
        """The gap in units of the objective, or of one nat."""
        return self.gap / max(1.0, abs(self.primal), abs(self.primal - self.gap)) if self.gap < np.inf else np.inf


def sum_block(metric: BlockMetric, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
    """Return the share of a block in a pass: its pairs' loss (), and their :class:`Sums`."""
    T = metric.rows(X)
    across, target = np.empty((T.shape[1], len(metric.lengths))), np.empty(len(metric.lengths))
    loss, degrees = 0.0, np.zeros(len(T), dtype=T.dtype)
    for strip in metric.strips():
        part, W = pair_losses(metric.distances(T, strip), metric.select_bounds(codes, strip))
        loss, degrees = loss + part, degrees + W.sum(axis=1)
        across[:, strip], target[strip] = T.T @ W, W.sum(axis=0, dtype=np.float64)
    return np.asarray(loss), *Sums(metric.squares(T, degrees), across, target)


def sum_losses(metric: BlockMetric, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
    """Return the loss () of a block's pairs alone, which takes two thirds of the time of :func:`sum_block`."""
    T = metric.rows(X)
    strips = ((metric.distances(T, strip), metric.select_bounds(codes, strip)) for strip in metric.strips())
    return (np.asarray(sum(pair_losses(*strip)[0] for strip in strips)),)


def evaluate_metric(task: ReducedProblem, rows: Rows, L: FloatArray, dtype: DTypeLike = np.float32) -> Place:
    """Evaluate a metric by one pass over all rows."""
    frame = WhitenedFrame(task, L, dtype)
    loss, *sums = rows.total(partial(sum_block, frame.metric))
    Z = task.shifts @ L
    share, w = pair_losses(np.einsum("ij,ij->i", Z, Z), shift_bounds(task))
    E = L.T @ task.precision @ L + frame.assemble(Sums(*sums)) + (Z.T * w) @ Z
    return Place(frame, float(loss) + share, 0.5 * (E + E.T))


def check_finite(at: Place) -> Place:
    """Return the place, or raise where rows that are not finite have spoilt it."""
    if not np.isfinite(at.E).all():
        raise InputError("rows: expected finite numbers, got NaN, inf, or numbers too large to be squared.")
    return at


def shift_bounds(task: ReducedProblem) -> PairBounds:
    """Return the bounds of the constrained shifts."""
    return PairBounds(1.0 / task.shift_bound, np.ones(len(task.shifts)), task.shift_weight)


def pair_losses(distances: FloatArray, bounds: PairBounds) -> tuple[float, FloatArray]:
    """Return the loss of pairs at these squared distances, which are overwritten, and w."""
    W = multipliers(distances, bounds)
    distances *= bounds.inverse_bound
    ratio = np.where(W != 0.0, distances, 1.0)
    with np.errstate(divide="ignore"):
        losses = ratio - np.log(ratio)
    losses -= 1.0
    losses *= bounds.weight
    return float(losses.sum(dtype=np.float64)), W


def pair_multipliers(problem: Any, W: FloatArray) -> FloatArray:
    """Return the multipliers (n_pairs,) at the metric W Wᵀ, the shifts' after the pairs'."""
    if isinstance(problem, LogDetProblem):
        graph = problem.graph
        return multipliers(problem.distances(W), PairBounds(1.0 / graph.bound, graph.sign, graph.weight))
    task, rows = reduce_problem(problem)
    L = task.restrict(W)
    frame, Z = WhitenedFrame(task, L, np.float64), task.shifts @ L
    metric = frame.metric
    blocks = ((metric.distances(metric.rows(X)), metric.select_bounds(codes)) for X, codes in rows.blocks())
    parts = [multipliers(*block).ravel() for block in blocks]
    return np.concatenate([*parts, multipliers(np.einsum("ij,ij->i", Z, Z), shift_bounds(task))])
