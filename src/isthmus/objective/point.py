"""A point of the dual and everything that follows from it: the matrix, the distances, both values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dtrtri

from isthmus._arrays import FloatArray
from isthmus._validation import short_repr

if TYPE_CHECKING:
    from isthmus.objective.problem import LogDetProblem


class Compact:
    """A dataclass whose copies and pickles carry its fields and cached numbers, no arrays to be computed again."""

    def __getstate__(self) -> dict[str, Any]:
        names = {field.name for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in vars(self).items() if name in names or isinstance(value, float)}


@short_repr
@dataclass(frozen=True, eq=False)
class DualPoint(Compact):
    """Multipliers w; all else follows from them, and from the problem's data."""

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
        trace = float(np.einsum("ij,ij->", self.inverse, self.inverse)) - len(self.cholesky)
        return trace + self._logdet + self.problem.graph.loss(self.distances)

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
        r"""ξ of each pair: :math:`1/\xi = 1/\xi^0 - w/\lambda`."""
        graph, w = self.problem.graph, self.multipliers
        share = np.divide(w, graph.weight, out=np.zeros_like(w), where=graph.weight > 0)
        return np.asarray(1.0 / (1.0 / graph.bound - share))

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
