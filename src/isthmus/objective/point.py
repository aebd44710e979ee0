"""A point of the dual and everything that follows from it: the matrix, the distances, both values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dtrtri

from isthmus._arrays import FloatArray
from isthmus.objective.compact import Compact
from isthmus.objective.graph import curvature
from isthmus.objective.loss import dual_pair_value, pair_loss, slack

if TYPE_CHECKING:
    from isthmus.objective.problem import LogDetProblem


@dataclass(frozen=True, eq=False)
class DualPoint(Compact):
    r"""Multipliers w; all else follows from them, and from the problem's data."""

    problem: LogDetProblem
    multipliers: FloatArray

    @cached_property
    def cholesky(self) -> FloatArray:
        r"""The Cholesky factor C of :math:`S = I + F^T L_w F`; LinAlgError where S is not positive definite."""
        S = self.problem.graph.laplacian_form(self.multipliers, self.problem.factor)
        S[np.diag_indices_from(S)] += 1.0
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
        return np.asarray(dtrmm(1.0, self.inverse, self.problem.factor.T, lower=1).T)

    @cached_property
    def distances(self) -> FloatArray:
        """The squared distance of each pair under the matrix of this point."""
        return self.problem.graph.distances(self.rows)

    @cached_property
    def _logdet(self) -> float:
        return self.problem.prior.logdet() + 2.0 * float(np.log(np.diagonal(self.cholesky)).sum())

    @cached_property
    def dual(self) -> float:
        """The dual value of the multipliers; minus infinity where one has the wrong sign, or no pair."""
        graph, w = self.problem.graph, self.multipliers
        if ((graph.sign * w < 0) | ((graph.weight == 0) & (w != 0))).any():
            return -np.inf
        return self._logdet + dual_pair_value(w, graph.weight, graph.bound)

    @cached_property
    def primal(self) -> float:
        """The primal value of the matrix that belongs to the multipliers."""
        graph = self.problem.graph
        trace = float(np.einsum("ij,ij->", self.inverse, self.inverse)) - len(self.cholesky)
        loss = pair_loss(self.distances, graph.sign, graph.weight, graph.bound)
        return trace + self._logdet + loss

    @property
    def gap(self) -> float:
        """No matrix has an objective lower than the primal value by more than this."""
        return self.primal - self.dual

    @property
    def scale(self) -> float:
        """The unit of a relative gap: the objective, or one nat where the objective is smaller than that."""
        return max(1.0, abs(self.primal), abs(self.dual))

    @cached_property
    def slack(self) -> FloatArray:
        """ξ of each pair."""
        return slack(self.multipliers, self.problem.graph.weight, self.problem.graph.bound)

    def curvature(self) -> Callable[[FloatArray], FloatArray]:
        """The Hessian of log det here, as an operator over pairs."""
        return curvature(self.problem.graph, self.rows)

    def components(self) -> FloatArray:
        r"""A factor W (d, d) of the matrix: :math:`W W^T = M = (P + \sum w z z^T)^{-1}`.

        With the orthonormal :math:`Q = P^{1/2} U`, :math:`W = P^{-1/2} (I + Q (C^{-T} - I) Q^T)`; no inverse is
        formed and factored again, so W is as good where M is nearly singular.
        """
        prior = self.problem.prior
        Q = prior.power(0.5, self.problem.basis())
        inner = Q @ ((self.inverse.T - np.eye(len(self.inverse))) @ Q.T)
        inner[np.diag_indices_from(inner)] += 1.0
        return prior.power(-0.5, inner)

    def matrix(self) -> FloatArray:
        r""":math:`M = (P + \sum w z z^T)^{-1}`, (d, d)."""
        W = self.components()
        return np.asarray(W @ W.T)
