"""The LogDet problem: one PSD matrix, pairs of rows with bounds, mean shifts; primal value, dual value, gap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import short_repr
from isthmus.exceptions import InputError
from isthmus.objective.basis import Prior, basis, row_factor
from isthmus.objective.graph import PairGraph
from isthmus.objective.pairs import Alignment, Pairs, in_range
from isthmus.objective.point import Compact, DualPoint


@short_repr
@dataclass(frozen=True, eq=False)
class LogDetProblem(Compact):
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
    alignment : Alignment, optional
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
    alignment: Alignment | None = None

    @property
    def held_shape(self) -> tuple[int, int]:
        """The shape of the rows, for :func:`isthmus._threads.cap_threads`."""
        n, d = self.rows.shape
        return n, d

    def __post_init__(self) -> None:
        rows = np.asarray(self.rows, dtype=np.float64)
        if rows.ndim != 2:
            raise InputError(f"rows: expected a two-dimensional array, got {rows.ndim} dimension(s).")
        if not np.isfinite(rows).all():
            raise InputError("rows: expected finite numbers, got NaN or inf.")
        in_range(np.abs(rows).max(initial=0.0), "rows")
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "pairs", tuple(self.pairs))
        last = max((run.stop for block in self.pairs for run in (block.left, block.right)), default=0) - 1
        if last >= len(rows):
            raise InputError(f"pairs: expected row numbers below {len(rows)}, got {last}.")
        if self.alignment is not None and self.alignment.rows.shape[1] != rows.shape[1]:
            raise InputError(
                f"alignment.rows: expected {rows.shape[1]} columns as in rows, got {self.alignment.rows.shape[1]}."
            )
        hopeless = (self.graph.sign < 0) & (self.graph.weight > 0) & (self.graph.distances(self._points) == 0)
        if hopeless.any():
            raise InputError(
                f"pairs: expected distinct rows where a pair belongs apart, got {hopeless.sum()} such pair(s) "
                "of equal rows; give them weight 0."
            )

    @cached_property
    def _constraint(self) -> Alignment | None:
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
        return row_factor(self._points, self.prior)

    @property
    def factor(self) -> FloatArray:
        """F (n, r) of :mod:`isthmus.objective.basis`: the rows in a basis where the prior is the identity."""
        return self._factor[0]

    def basis(self) -> FloatArray:
        """U (d, r) of :mod:`isthmus.objective.basis`: the basis itself, which no iteration needs."""
        return basis(self._points, self.prior, *self._factor)

    @property
    def n_pairs(self) -> int:
        """The number of multipliers."""
        return len(self.graph.sign)

    def primal(self, M: FloatArray) -> float:
        """The objective at any symmetric matrix (d, d); infinite unless it is positive definite."""
        d = self.rows.shape[1]
        if np.shape(M) != (d, d):
            raise InputError(f"M: expected shape ({d}, {d}), got {np.shape(M)}.")
        return self._objective(np.array(M, dtype=np.float64))

    def _objective(self, M: FloatArray) -> float:
        """The same, in whose memory the Cholesky factor is written."""
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
        """The objective at W Wᵀ as doubles hold it: infinite where the rounding of the product takes definiteness."""
        return self._objective(W @ W.T)

    def distances(self, W: FloatArray) -> FloatArray:
        """The squared distance of each pair under W Wᵀ."""
        return self.graph.distances(self._points @ W)

    def block_distances(self, W: FloatArray) -> list[FloatArray]:
        """The same, as one array per block of pairs."""
        return self.graph.split(self.distances(W))

    def dual(self, multipliers: FloatArray) -> float:
        """The dual value at any multipliers, a lower bound of every primal value; minus infinity if infeasible."""
        if np.shape(multipliers) != (self.n_pairs,):
            raise InputError(f"multipliers: expected shape ({self.n_pairs},), got {np.shape(multipliers)}.")
        point = self.at(multipliers)
        return -np.inf if point is None else point.dual

    def at(self, multipliers: FloatArray) -> DualPoint | None:
        """The point of the dual at these multipliers, or None where ``P + Σ w z zᵀ`` is not positive definite."""
        point = DualPoint(self, multipliers)
        try:
            point.cholesky  # noqa: B018  (kept by the point, which needs it for all else)
        except np.linalg.LinAlgError:
            return None
        return point

    def start(self, multipliers: FloatArray | None = None) -> DualPoint:
        """A feasible point: at zero, or at multipliers of a similar problem, shrunk where they have to be."""
        w: FloatArray = np.zeros(self.n_pairs)
        if multipliers is not None:
            graph, w = self.graph, np.array(multipliers, dtype=np.float64)
            if w.shape != (self.n_pairs,):
                raise InputError(f"start: expected shape ({self.n_pairs},), got {w.shape}.")
            w = np.where((graph.sign * w > 0) & (graph.weight > 0), w, 0.0)
            w = np.where(w * graph.bound < graph.weight, w, 0.9 * graph.weight / graph.bound)
        while (point := self.at(w)) is None:
            w = 0.5 * w
        return point
