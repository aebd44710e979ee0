r"""A small basis in which the prior is the identity.

Only the span of the rows matters: outside it the optimum is the prior :math:`P^{-1}`. With
:math:`A P^{-1} A^T = F F^T` (F has as many columns as the rows have rank) every quantity of the problem is one of
:math:`S = I + F^T L_w F`, and

.. math:: M = P^{-1} + U (S^{-1} - I) U^T, \qquad \log\det M^{-1} = \log\det P + \log\det S.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray, IntArray
from isthmus.linalg import pivoted_cholesky


@dataclass(frozen=True, eq=False)
class Prior:
    r"""The precision :math:`P = I + \sum_k \lambda_k \bar z_k \bar z_k^T`, never formed for large d."""

    rows: FloatArray
    weight: FloatArray

    @property
    def _scaled(self) -> FloatArray:
        return self.rows * np.sqrt(self.weight)[:, None]

    def power(self, exponent: float, B: FloatArray) -> FloatArray:
        r""":math:`P^e B` for columns ``B`` (d, k), without the cancellation of a formed inverse."""
        if not len(self.rows):
            return B
        _, s, V = np.linalg.svd(self._scaled, full_matrices=False)
        return np.asarray(B + V.T @ (((1.0 + s**2) ** exponent - 1.0)[:, None] * (V @ B)))

    def logdet(self) -> float:
        """Log det P."""
        Z = self._scaled
        return float(np.linalg.slogdet(np.eye(len(Z)) + Z @ Z.T)[1])

    def solve(self, B: FloatArray) -> FloatArray:
        r""":math:`P^{-1} B` for columns ``B`` (d, k)."""
        Z = self._scaled
        return np.asarray(B - Z.T @ np.linalg.solve(np.eye(len(Z)) + Z @ Z.T, Z @ B))


def row_factor(rows: FloatArray, prior: Prior) -> tuple[FloatArray, IntArray | None]:
    """F (n, r), and the numbers of r rows that span all of them; None where the columns do, because d ≤ n."""
    n, d = rows.shape
    if d <= n:
        return rows @ prior.power(-0.5, np.eye(d)), None
    return pivoted_cholesky(rows @ prior.solve(rows.T), name=None)


def basis(rows: FloatArray, prior: Prior, F: FloatArray, spanning: IntArray | None) -> FloatArray:
    """U (d, r), with ``F = rows @ U`` and ``Uᵀ P U = I`` up to rounding."""
    if spanning is not None:
        return np.asarray(sla.solve_triangular(F[spanning], prior.solve(rows[spanning].T).T, lower=True).T)
    return prior.power(-0.5, np.eye(rows.shape[1]))
