r"""The LogDet problem: bounds on the distances of pairs, small mean shifts, and its dual.

The primal and the dual stand in :class:`LogDetProblem`. The parts, from the bottom up:

- :class:`Pairs` and :class:`MeanAlignment` are the bounds and the shifts, :class:`Prior` is the precision P of the
  shifts.
- The rows A are replaced by a factor F (n, r) with :math:`F F^T = A P^{-1} A^T`, in whose r coordinates the prior
  is the identity; F = A U with a basis U (d, r) that no iteration needs.
- :class:`PairGraph` has sums over all pairs as products with a graph Laplacian: :math:`\sum w z z^T = F^T L_w F`.
- :class:`DualPoint` is a vector of multipliers with the Cholesky factor of :math:`I + F^T L_w F` and both values.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg as sla
from numpy.typing import ArrayLike
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dtrtri
from scipy.sparse import coo_array, csr_array, diags_array

from isthmus._core.linalg import pivoted_cholesky
from isthmus._core.validation import FloatArray, IntArray, ShortRepr
from isthmus.exceptions import InputError

# Lengths up to this, and down to its inverse, have fourth powers that are doubles: the Hessian is made of them.
LONGEST = 1e70


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(ShortRepr):
    r"""Bounds on the squared distances between each row of one run and each row of another.

    .. math:: \delta_{ij} = +1: \; d^2_{ij} \le \xi_{ij} \qquad \delta_{ij} = -1: \; d^2_{ij} \ge \xi_{ij}
       \qquad \text{at the price } \lambda_{ij}\, \mathrm{LogDet}(\xi_{ij}, \xi^0_{ij})

    Parameters
    ----------
    left, right : slice
        Which rows of the problem: p rows against q rows. The same run twice is allowed; give
        weight to one triangle only, so that no pair counts double.
    sign : array (p, q) or number
        +1 where the pair belongs together, -1 where it belongs apart.
    weight : array (p, q) or number
        :math:`\lambda \ge 0`. Zero means that there is no such pair.
    bound : array (p, q) or number
        :math:`\xi^0 > 0`, a squared distance.

    Examples
    --------
    >>> Pairs(slice(0, 2), slice(2, 3), sign=[[1], [-1]], weight=1.0, bound=[[0.5], [2.0]]).shape
    (2, 1)
    """

    left: slice
    right: slice
    sign: Any
    weight: Any = 1.0
    bound: Any = 1.0

    def __post_init__(self) -> None:
        for name in ("left", "right"):
            run = getattr(self, name)
            ends = (run.start, run.stop) if isinstance(run, slice) and run.step is None else (None,)
            if not (all(isinstance(end, numbers.Integral) for end in ends) and 0 <= run.start <= run.stop):
                raise InputError(f"pairs.{name}: expected a slice of row numbers from first to last, got {run!r}.")
        shape = self.shape
        for name in ("sign", "weight", "bound"):
            object.__setattr__(self, name, _fill(getattr(self, name), shape, f"pairs.{name}"))
        if not np.isin(self.sign, (-1.0, 1.0)).all():
            raise InputError("pairs.sign: expected +1 or -1, got other numbers.")
        if (self.weight < 0).any():
            raise InputError(f"pairs.weight: expected no negative weight, got {self.weight.min():g}.")
        if (self.bound <= 0).any():
            raise InputError(f"pairs.bound: expected positive squared distances, got {self.bound.min():g}.")
        check_range(self.bound, "pairs.bound", power=2)

    @property
    def shape(self) -> tuple[int, int]:
        """(p, q), the number of rows on either side."""
        return self.left.stop - self.left.start, self.right.stop - self.right.start


@dataclass(frozen=True, eq=False, repr=False)
class MeanAlignment(ShortRepr):
    r"""Mean shifts :math:`\bar z_k` that should be short in the learned metric.

    Without ``slack`` each costs :math:`\lambda_k\, \bar z_k^T M \bar z_k` (the paper's own model, a changed
    prior). With it, :math:`\bar z_k^T M \bar z_k \le t_k` at the price
    :math:`\lambda_k\,\mathrm{LogDet}(t_k, t^0_k)` (the paper's relaxed model, one more constraint).

    Parameters
    ----------
    rows : array (K, d)
        One shift per row: overall means, class means, or any other difference of means.
    weight : array (K,) or number
        :math:`\lambda_k \ge 0`.
    slack : array (K,) or number, optional
        :math:`t^0_k > 0`.
    """

    rows: Any
    weight: Any = 1.0
    slack: Any = None

    def __post_init__(self) -> None:
        rows = np.atleast_2d(np.asarray(self.rows, dtype=np.float64))
        if not np.isfinite(rows).all():
            raise InputError("alignment.rows: expected finite numbers, got NaN or inf.")
        check_range(np.abs(rows).max(initial=1.0), "alignment.rows")  # a shift may well be as short as it likes
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "weight", _fill(self.weight, (len(rows),), "alignment.weight"))
        if (self.weight < 0).any():
            raise InputError(f"alignment.weight: expected no negative weight, got {self.weight.min():g}.")
        if self.slack is not None:
            object.__setattr__(self, "slack", _fill(self.slack, (len(rows),), "alignment.slack"))
            if (self.slack <= 0).any():
                raise InputError(f"alignment.slack: expected positive numbers, got {self.slack.min():g}.")
            check_range(self.slack, "alignment.slack", power=2)


def check_range(sizes: ArrayLike, name: str, power: int = 1) -> None:
    """Raise unless each size is zero or such that its powers, up to fourth ones of lengths, are doubles."""
    array, high = np.asarray(sizes), LONGEST**power
    bad = array[(array != 0.0) & ~((array >= 1.0 / high) & (array <= high))]
    if bad.size:
        raise InputError(f"{name}: expected sizes from {1.0 / high:.0e} to {high:.0e}, got {bad[0]:.3g}.")


def _fill(values: ArrayLike, shape: tuple[int, ...], name: str) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    try:
        array = np.broadcast_to(array, shape)
    except ValueError:
        raise InputError(f"{name}: expected a number or shape {shape}, got {array.shape}.") from None
    if not np.isfinite(array).all():
        raise InputError(f"{name}: expected finite numbers, got NaN or inf.")
    return array


@dataclass(frozen=True, eq=False)
class Prior:
    r"""The precision :math:`P = I + \sum_k \lambda_k \bar z_k \bar z_k^T`, never formed for large d."""

    rows: FloatArray
    weight: FloatArray

    @property
    def _scaled(self) -> FloatArray:
        return self.rows * np.sqrt(self.weight)[:, None]

    def power(self, exponent: float, B: FloatArray) -> FloatArray:
        r"""Return :math:`P^e B` for columns ``B`` (d, k), without the cancellation of a formed inverse."""
        if not len(self.rows):
            return B
        _, s, V = np.linalg.svd(self._scaled, full_matrices=False)
        return np.asarray(B + V.T @ (((1.0 + s**2) ** exponent - 1.0)[:, None] * (V @ B)))

    def logdet(self) -> float:
        """Return log det P."""
        Z = self._scaled
        return float(np.linalg.slogdet(np.eye(len(Z)) + Z @ Z.T)[1])

    def solve(self, B: FloatArray) -> FloatArray:
        r"""Return :math:`P^{-1} B` for columns ``B`` (d, k)."""
        Z = self._scaled
        return np.asarray(B - Z.T @ np.linalg.solve(np.eye(len(Z)) + Z @ Z.T, Z @ B))


# Rows are a basis where no larger share depends on others, with a condition up to this, and where those that depend
# do so on few: numbers per row, of those that are not rounding.
SPARE, WORST_CONDITION, FULL, ROUNDING = 0.05, 1e8, 5, 1e-10


@dataclass(frozen=True, eq=False)
class RowBasis:
    r"""Coordinates in which r of n rows are unit vectors: no product with rows is needed any more.

    With rows :math:`F = J F_s` and :math:`K = F_s F_s^T`, the dual's matrix is
    :math:`F_s^T (K^{-1} + J^T L_w J) F_s`.

    Parameters
    ----------
    J : sparse array (n, r)
        All rows in this basis.
    inverse, metric : array (r, r)
        Of F_s and of K.
    """

    J: Any
    inverse: FloatArray
    metric: FloatArray

    def precision(self, graph: PairGraph, v: FloatArray) -> FloatArray:
        """Return the matrix of the dual for multipliers v."""
        used, S = np.flatnonzero(v), self.metric.copy()
        W = coo_array((v[used], graph.ends[:, used]), shape=(graph.n_rows, graph.n_rows)).tocsr()
        L = (self.J.T @ (diags_array(graph.degrees(v)) - W - W.T) @ self.J).tocoo()
        S[L.row, L.col] += L.data
        return S


# Rows up to which products with the Hessian are in double precision.
MOST_DOUBLE = 1000
# Numbers that are copied at a time, or 256 rows of them.
CHUNK = 2**16


@dataclass(frozen=True, eq=False)
class PairGraph:
    """Blocks of pairs over ``n_rows`` rows; a vector over its pairs lists them block by block, row by row."""

    blocks: tuple[Pairs, ...]
    n_rows: int
    sign: FloatArray = field(init=False)  # δ of each pair.
    weight: FloatArray = field(init=False)  # λ of each pair.
    bound: FloatArray = field(init=False)  # ξ⁰ of each pair.

    def __post_init__(self) -> None:
        for name in ("sign", "weight", "bound"):
            values = (np.ravel(getattr(block, name)) for block in self.blocks)
            object.__setattr__(self, name, np.concatenate([np.empty(0), *values]))

    @cached_property
    def ends(self) -> IntArray:
        """The row numbers at either end of each pair (2, n)."""
        grids = (np.mgrid[block.left, block.right].reshape(2, -1) for block in self.blocks)
        return np.concatenate([np.empty((2, 0), dtype=np.intp), *grids], axis=1)

    def loss(self, distances: FloatArray) -> float:
        r"""Return the sum of :math:`\lambda\varphi(d^2/\xi^0)` over the pairs that break their bound.

        :math:`\varphi(r) = r - \log r - 1`: the least :math:`\mathrm{LogDet}(\xi, \xi^0)` of a slack that permits it.
        """
        broken = (self.sign * (distances - self.bound) > 0) & (self.weight > 0)
        ratio = distances[broken] / self.bound[broken]
        with np.errstate(divide="ignore"):
            return float(self.weight[broken] @ (ratio - np.log(ratio) - 1.0))

    def split(self, v: FloatArray) -> list[FloatArray]:
        """Split a vector over all pairs into one (p, q) array per block."""
        stops = np.cumsum([block.sign.size for block in self.blocks], dtype=np.intp)
        return [part.reshape(block.shape) for block, part in zip(self.blocks, np.split(v, stops), strict=False)]

    def degrees(self, v: FloatArray) -> FloatArray:
        """Return the diagonal of the Laplacian of ``v``."""
        g = np.zeros(self.n_rows, dtype=v.dtype)
        for block, V in zip(self.blocks, self.split(v), strict=True):
            g[block.left] += V.sum(axis=1)
            g[block.right] += V.sum(axis=0)
        return g

    def laplacian_form(self, v: FloatArray, B: FloatArray) -> FloatArray:
        """Return ``Bᵀ L_v B`` (r, r), the sum of ``v z zᵀ`` over all pairs of rows ``B`` (n, r)."""
        size = max(1024, CHUNK // max(1, B.shape[1]))
        degrees, S = self.degrees(v), np.zeros((B.shape[1], B.shape[1]), dtype=B.dtype)
        # Rows of a domain may be zero in the columns of the other, which cost nothing then.
        edges = {0, len(B), *(e for b in self.blocks for run in (b.left, b.right) for e in (run.start, run.stop))}
        for first, last in pairwise(sorted(edges)):
            for start in range(first, last, size):  # many rows: in parts that stay in the cache
                part = slice(start, min(start + size, last))
                used = _used_columns(B[part])
                for sign in (1.0, -1.0):  # a product of rows with themselves costs half of one with others
                    some = sign * degrees[part] > 0
                    rows = np.sqrt(np.abs(degrees[part][some]))[:, None] * B[part, used][some]
                    S[used, used] += B.dtype.type(sign) * (rows.T @ rows)
        for block, V in zip(self.blocks, self.split(v), strict=True):
            left, right = (_used_columns(B[run]) for run in (block.left, block.right))
            cross = np.linalg.multi_dot([B[block.left, left].T, V, B[block.right, right]])  # from the shorter side
            S[left, right] -= cross
            S[right, left] -= cross.T
        return np.asarray(S)

    def distances(self, B: FloatArray) -> FloatArray:
        """Return squared distances of all pairs of rows of ``B`` (n, r); exact zeros where rows coincide."""
        size = max(256, CHUNK // max(1, B.shape[1]))
        parts = []
        for block in self.blocks:
            # A common offset would only cost digits; that of a domain is common to pairs within it.
            centre = (B[block.left] if block.left == block.right else B).mean(axis=0)
            right = B[block.right] - centre
            for start in range(block.left.start, block.left.stop, size):
                left = B[start : min(start + size, block.left.stop)] - centre
                total = np.einsum("ij,ij->i", left, left)[:, None] + np.einsum("ij,ij->i", right, right)
                d2 = total - 2.0 * (left @ right.T)
                d2[d2 < 1e-13 * total] = 0.0  # of equal rows the difference of squares leaves rounding
                parts.append(d2.ravel())
        return np.concatenate(parts) if parts else np.empty(0)


def _used_columns(B: FloatArray) -> slice:
    """Return the columns of rows from the first to the last that is not zero."""
    used = np.flatnonzero(B.any(axis=0))
    return slice(int(used[0]), int(used[-1]) + 1) if len(used) else slice(0, 0)


def curvature(graph: PairGraph, B: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the Hessian of log det over all pairs, as an operator: ``v ↦ [Σ_kl v_kl (z_ijᵀ M z_kl)²]``.

    It works on the Gram matrix of the rows B (n, r) or on the rows themselves, whichever costs less; with many of
    them in single precision, as the direction of a step needs no more.
    """
    n, r = B.shape
    if n > MOST_DOUBLE and B.dtype == np.float64:
        unit = float(np.sqrt(np.einsum("ij,ij->i", B, B).max())) or 1.0
        single = curvature(graph, (B / unit).astype(np.float32))

        def product(v: FloatArray) -> FloatArray:
            size = float(np.abs(v).max()) or 1.0
            return size * unit**4 * single((v / size).astype(np.float32)).astype(np.float64)

        return product
    narrow = sum(min(block.shape) for block in graph.blocks)
    # Entries of G are touched again and again, which costs about a tenth of a product with them.
    if n * (r / 10 + 2 * narrow + 8) >= 2 * r * (r + narrow):
        return partial(curvature_by_coordinates, graph, B)
    G = B @ B.T
    return partial(curvature_by_gram, graph, G, G * G)


def curvature_by_coordinates(graph: PairGraph, B: FloatArray, v: FloatArray) -> FloatArray:
    """Return one product with the Hessian, from the rows B."""
    T = B @ graph.laplacian_form(v, B)
    diagonal = np.einsum("ij,ij->i", T, B)
    return _gather(graph, diagonal, [T[b.left] @ B[b.right].T for b in graph.blocks])


def curvature_by_gram(graph: PairGraph, G: FloatArray, G_squared: FloatArray, v: FloatArray) -> FloatArray:
    """Return one product with the Hessian, from the rows' Gram matrix and its elementwise square."""
    degrees, parts = graph.degrees(v), graph.split(v)
    sides = [G[:, b.left] @ V for b, V in zip(graph.blocks, parts, strict=True)]
    diagonal = G_squared @ degrees
    for b, R in zip(graph.blocks, sides, strict=True):
        diagonal -= 2.0 * np.einsum("ij,ij->i", R, G[:, b.right])
    cross: list[FloatArray] = []
    for a in graph.blocks:
        product = degrees[:, None] * G[:, a.right]  # to become the Laplacian times these columns
        for b, V, R in zip(graph.blocks, parts, sides, strict=True):
            product[b.left] -= V @ G[b.right, a.right]
            product[b.right] -= R[a.right].T
        cross.append(G[a.left] @ product)
    return _gather(graph, diagonal, cross)


def _gather(graph: PairGraph, diagonal: FloatArray, cross: Sequence[FloatArray]) -> FloatArray:
    """Return ``(e_i − e_j)ᵀ T (e_i − e_j)`` for each pair, from the diagonal of T and its blocks."""
    both = zip(graph.blocks, cross, strict=True)
    return np.concatenate([(diagonal[b.left, None] + diagonal[b.right] - 2.0 * T).ravel() for b, T in both])


class Compact:
    """A dataclass whose copies and pickles keep its fields and cached numbers, but no cached arrays."""

    def __getstate__(self) -> dict[str, Any]:
        names = {field.name for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in vars(self).items() if name in names or isinstance(value, float)}


class Point(Compact):
    """An iterate, as the loop and the result of a solver need it. The loop keeps a copy of the best one."""

    problem: Any  # Its ``value(W)`` is the objective at :meth:`components`; its ``start(given)`` a feasible point.
    primal: Any  # The objective here: a field of one point, computed when needed by others.
    gap: Any  # Primal less dual, with all the digits that it has.

    @property
    def dual(self) -> float:
        """A lower bound of the objective everywhere."""
        return float(self.primal - self.gap)

    @property
    def scale(self) -> float:
        """The unit of a relative gap: the objective, or one nat where the objective is smaller than that."""
        return float(max(1.0, abs(self.primal), abs(self.dual) if np.isfinite(self.gap) else 0.0))

    def components(self) -> FloatArray:
        """Return the matrix that the caller gets."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class DualPoint(ShortRepr, Point):
    """Multipliers w; all else follows from them, and from the problem's data."""

    problem: LogDetProblem
    multipliers: FloatArray

    @cached_property
    def cholesky(self) -> FloatArray:
        r"""The Cholesky factor C of :math:`S = I + F^T L_w F`; LinAlgError where S is not positive definite."""
        S = self.problem.precision(self.multipliers)
        if not len(S):
            return S
        C, failed = dpotrf(S.T, lower=1, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError("the dual's matrix is not positive definite")
        return np.asarray(C)

    @cached_property
    def inverse(self) -> FloatArray:
        """The inverse of C, lower triangular."""
        if not len(self.cholesky):
            return self.cholesky
        return np.asarray(dtrtri(self.cholesky, lower=1)[0])

    @cached_property
    def rows(self) -> FloatArray:
        """The problem's rows in coordinates where the metric of this point is Euclidean."""
        if not len(self.cholesky):
            return self.problem.factor
        if (basis := self.problem.row_basis) is not None:
            return np.asarray(basis.J @ self.inverse.T)
        return np.asarray(dtrmm(1.0, self.inverse, self.problem.factor.T, lower=1).T)

    @cached_property
    def distances(self) -> FloatArray:
        """The squared distance of each pair under the matrix of this point."""
        return self.problem.graph.distances(self.rows)

    @cached_property
    def _logdet(self) -> float:
        C, basis = np.diagonal(self.cholesky), self.problem.row_basis
        own = np.log(C).sum() - (0.0 if basis is None else np.log(np.diagonal(basis.inverse)).sum())
        return self.problem.prior.logdet() + 2.0 * float(own)

    @cached_property
    def dual(self) -> float:
        r"""The dual value: log det S P and the sum of :math:`\lambda\log(1 - w\xi^0/\lambda)`.

        Minus infinity where a multiplier has the wrong sign, or no pair, or leaves that logarithm's domain.
        """
        graph, used = self.problem.graph, self.multipliers != 0
        sign, weight, w = graph.sign[used], graph.weight[used], self.multipliers[used]
        share = w * graph.bound[used]
        if ((sign * w < 0) | (weight == 0) | (share >= weight)).any():
            return -np.inf
        return self._logdet + float(weight @ np.log1p(-share / weight))

    @cached_property
    def primal(self) -> float:
        """The primal value of the matrix that belongs to the multipliers."""
        # The trace of S⁻¹ - I: S⁻¹ Fᵀ L_w F is I - S⁻¹.
        trace = -float(self.multipliers @ self.distances)
        return trace + self._logdet + self.problem.graph.loss(self.distances)

    @cached_property
    def gap(self) -> float:
        """No matrix has an objective lower than the primal value by more than this."""
        return self.primal - self.dual

    @cached_property
    def slack(self) -> FloatArray:
        r"""ξ of each pair: :math:`1/\xi = 1/\xi^0 - w/\lambda`."""
        graph, w = self.problem.graph, self.multipliers
        share = np.divide(w, graph.weight, out=np.zeros_like(w), where=graph.weight > 0)
        return np.asarray(1.0 / (1.0 / graph.bound - share))

    def components(self) -> FloatArray:
        r"""Return a factor W (d, d) of the matrix: :math:`W W^T = M = (P + \sum w z z^T)^{-1}`.

        With the orthonormal :math:`Q = P^{1/2} U`, :math:`W = P^{-1/2} (I + Q (C^{-T} - I) Q^T)`; no inverse is
        formed and factored again, so W is as good where M is nearly singular.
        """
        prior = self.problem.prior
        if self.problem._factor[1] is None:  # U is P to the power -1/2, so Q is the identity
            return prior.power(-0.5, self.inverse.T)
        Q, basis = prior.power(0.5, self.problem.basis()), self.problem.row_basis
        root = self.inverse.T if basis is None else basis.inverse @ self.inverse.T
        inner = Q @ ((root - np.eye(len(root))) @ Q.T)
        inner[np.diag_indices_from(inner)] += 1.0
        return prior.power(-0.5, inner)


@dataclass(frozen=True, eq=False, repr=False)
class LogDetProblem(ShortRepr, Compact):
    r"""Find the metric nearest to the identity that respects bounds on pairs and keeps mean shifts short.

    .. math::

       \min_{M \succ 0}\; \operatorname{tr} M - \log\det M - d \;+\; \sum_k \lambda_k \bar z_k^T M \bar z_k
       \;+\; \sum_{ij} \lambda_{ij}\, \varphi_\pm\!\left(z_{ij}^T M z_{ij} / \xi^0_{ij}\right),
       \qquad z_{ij} = a_i - a_j

    Its dual, over one signed multiplier per pair (:math:`\delta w \ge 0`), is smooth:

    .. math:: \log\det\Big(P + \sum_{ij} w_{ij} z_{ij} z_{ij}^T\Big)
       + \sum_{ij} \lambda_{ij} \log(1 - w_{ij}\xi^0_{ij}/\lambda_{ij})

    and never exceeds the primal, at any M and any multipliers.

    Parameters
    ----------
    rows : array (n, d)
        The points :math:`a_i`, of whatever origin.
    pairs : tuple of Pairs
        Bounds on squared distances between them.
    alignment : MeanAlignment, optional
        Mean shifts. With a slack they become constraints and add one multiplier each, after the pairs'.

    Examples
    --------
    >>> pairs = Pairs(slice(0, 1), slice(1, 2), sign=1, weight=1.0, bound=0.5)
    >>> problem = LogDetProblem(np.eye(2), (pairs,))
    >>> problem.primal(np.eye(2)) >= problem.dual(np.array([0.3]))
    True
    """

    rows: Any
    pairs: tuple[Pairs, ...] = ()
    alignment: MeanAlignment | None = None

    @property
    def held_shape(self) -> tuple[int, int]:
        """The shape of the rows, for :func:`isthmus._core.threads.cap_threads`."""
        n, d = self.rows.shape
        return n, d

    def __post_init__(self) -> None:
        rows = np.asarray(self.rows, dtype=np.float64)
        if rows.ndim != 2:
            raise InputError(f"rows: expected a two-dimensional array, got {rows.ndim} dimension(s).")
        if not np.isfinite(rows).all():
            raise InputError("rows: expected finite numbers, got NaN or inf.")
        check_range(np.abs(rows).max(initial=0.0), "rows")
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "pairs", tuple(self.pairs))
        last = max((run.stop for block in self.pairs for run in (block.left, block.right)), default=0) - 1
        if last >= len(rows):
            raise InputError(f"pairs: expected row numbers below {len(rows)}, got {last}.")
        if self.alignment is not None and self.alignment.rows.shape[1] != rows.shape[1]:
            d, got = rows.shape[1], self.alignment.rows.shape[1]
            raise InputError(f"alignment.rows: expected {d} columns as in rows, got {got}.")
        hopeless = (self.graph.sign < 0) & (self.graph.weight > 0) & (self.graph.distances(self._points) == 0)
        if hopeless.any():
            got = f"{hopeless.sum()} pair(s) of equal rows; give them weight 0"
            raise InputError(f"pairs: expected distinct rows where a pair belongs apart, got {got}.")

    @cached_property
    def _constraint(self) -> MeanAlignment | None:
        return self.alignment if self.alignment is not None and self.alignment.slack is not None else None

    @cached_property
    def _points(self) -> FloatArray:
        """The rows, then each constrained mean shift and the origin that it is measured from."""
        if self._constraint is None:
            return np.asarray(self.rows)
        return np.vstack([self.rows, self._constraint.rows, np.zeros((1, self.rows.shape[1]))])

    @cached_property
    def graph(self) -> PairGraph:
        """All constraints as pairs of points: a mean shift is one more pair, of the same-class kind."""
        blocks = self.pairs
        if (shift := self._constraint) is not None:
            n, K = len(self.rows), len(shift.rows)
            column = [values[:, None] for values in (shift.weight, shift.slack)]
            blocks = (*blocks, Pairs(slice(n, n + K), slice(n + K, n + K + 1), 1.0, *column))
        return PairGraph(blocks, len(self._points))

    @cached_property
    def prior(self) -> Prior:
        """The precision P: the identity, raised along each penalised mean shift."""
        if self.alignment is None or self._constraint is not None:
            return Prior(np.empty((0, self.rows.shape[1])), np.empty(0))
        return Prior(self.alignment.rows, self.alignment.weight)

    @cached_property
    def _factor(self) -> tuple[FloatArray, IntArray | None]:
        """F (n, r), and the numbers of r rows that span all of them; None where d ≤ n, and the columns do."""
        rows, prior = self._points, self.prior
        n, d = rows.shape
        if d <= (n if n < MOST_DOUBLE else (1.0 - SPARE) * n):
            return np.ascontiguousarray(prior.power(-0.5, rows.T).T), None
        return pivoted_cholesky(rows @ prior.solve(rows.T), name=None)

    @property
    def factor(self) -> FloatArray:
        """F (n, r): the rows in a basis where the prior is the identity."""
        return self._factor[0]

    @cached_property
    def row_basis(self) -> RowBasis | None:
        """The rows as their own basis, where there are many and nearly all are independent by far."""
        F, spanning = self._factor
        if spanning is None or len(F) < MOST_DOUBLE or F.shape[1] < (1.0 - SPARE) * len(F):
            return None
        inverse = np.asarray(dtrtri(F[spanning], lower=1)[0])
        J, metric = F @ inverse, inverse.T @ inverse
        J[np.abs(J) < ROUNDING] = 0.0
        certain = float(np.einsum("ij,ij->", F, F) * np.diagonal(metric).max()) <= WORST_CONDITION
        return RowBasis(csr_array(J), inverse, metric) if certain and np.count_nonzero(J) < FULL * len(F) else None

    def precision(self, multipliers: FloatArray) -> FloatArray:
        """Return I + Fᵀ L F (r, r), or the same in the basis of the rows."""
        if self.row_basis is not None:
            return self.row_basis.precision(self.graph, multipliers)
        S = self.scatter(multipliers)
        S[np.diag_indices_from(S)] += 1.0
        return S

    def scatter(self, multipliers: FloatArray) -> FloatArray:
        """Return Fᵀ L F (r, r); from the rows where they have as many columns, since theirs may be zeros."""
        if self._factor[1] is not None:
            return self.graph.laplacian_form(multipliers, self.factor)
        half = self.prior.power(-0.5, self.graph.laplacian_form(multipliers, self._points))
        return np.ascontiguousarray(self.prior.power(-0.5, half.T))

    def basis(self) -> FloatArray:
        """Return the basis U (d, r), with F = A U and Uᵀ P U = I up to rounding; no iteration needs it."""
        F, spanning = self._factor
        if spanning is None:
            return self.prior.power(-0.5, np.eye(self.rows.shape[1]))
        right = self.prior.solve(self._points[spanning].T).T
        return np.asarray(sla.solve_triangular(F[spanning], right, lower=True).T)

    @property
    def n_pairs(self) -> int:
        """The number of multipliers."""
        return len(self.graph.sign)

    def primal(self, M: FloatArray) -> float:
        """Return the objective at any symmetric matrix (d, d); infinite unless it is positive definite."""
        d = self.rows.shape[1]
        if np.shape(M) != (d, d):
            raise InputError(f"M: expected shape ({d}, {d}), got {np.shape(M)}.")
        return self._objective(np.array(M, dtype=np.float64))

    def _objective(self, M: FloatArray) -> float:
        """Return the objective at M, which the Cholesky factor overwrites."""
        trace = float(np.trace(M))
        try:
            L = sla.cholesky(M.T, lower=True, overwrite_a=True)
        except sla.LinAlgError:
            return np.inf
        shifts = self.prior.rows @ L
        value = trace - 2.0 * np.log(np.diagonal(L)).sum() - len(M)
        value += self.prior.weight @ np.einsum("ij,ij->i", shifts, shifts)
        value += self.graph.loss(self.distances(L))
        return float(value) if np.isfinite(value) else np.inf

    def value(self, W: FloatArray) -> float:
        """Return the objective at W Wᵀ as rounded to doubles: infinite where that is not positive definite."""
        return self._objective(W @ W.T)

    def distances(self, W: FloatArray) -> FloatArray:
        """Return the squared distance of each pair under W Wᵀ."""
        return self.graph.distances(self._points @ W)

    def block_distances(self, W: FloatArray) -> list[FloatArray]:
        """Return the squared distances under W Wᵀ, one array per block of pairs."""
        return self.graph.split(self.distances(W))

    def dual(self, multipliers: FloatArray) -> float:
        """Return the dual value at any multipliers, a lower bound of the primal; minus infinity if infeasible."""
        if np.shape(multipliers) != (self.n_pairs,):
            raise InputError(f"multipliers: expected shape ({self.n_pairs},), got {np.shape(multipliers)}.")
        point = self.at(multipliers)
        return -np.inf if point is None else point.dual

    def at(self, multipliers: FloatArray) -> DualPoint | None:
        """Return the point of the dual at multipliers, or None where ``P + Σ w z zᵀ`` is not positive definite."""
        point = DualPoint(self, multipliers)
        try:
            point.cholesky  # noqa: B018  (kept by the point, which needs it for all else)
        except np.linalg.LinAlgError:
            return None
        return point

    def start(self, multipliers: FloatArray | None = None) -> DualPoint:
        """Return a feasible point: at zero, or at multipliers of a similar problem, shrunk where they have to be."""
        w: FloatArray = np.zeros(self.n_pairs)
        if multipliers is not None:
            graph, w = self.graph, np.array(multipliers, dtype=np.float64)
            if w.shape != (self.n_pairs,):
                raise InputError(f"start: expected shape ({self.n_pairs},), got {w.shape}.")
            w = np.where((graph.sign * w > 0) & (graph.weight > 0), w, 0.0)
            w = np.where(w * graph.bound < graph.weight, w, 0.9 * graph.weight / graph.bound)
        while (point := self.at(w)) is None:  # zero is feasible, so halving ends
            w = 0.5 * w
        return point
