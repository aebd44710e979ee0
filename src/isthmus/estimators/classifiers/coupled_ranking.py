"""Two rankings whose directions share a subspace: hinges over preferences, and the squared trace norm of both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from isthmus._arrays import FloatArray

TEMPERATURES = np.repeat(10.0 ** -np.arange(1.0, 9.0), 2)
"""Of the soft maximum of two eigenvalues, in units of the larger one: lowered step by step, each started twice."""
STEPS = 1000
"""Of L-BFGS, at each temperature."""


@dataclass(frozen=True, eq=False)
class CoupledRanking:
    r"""The convex problem of two rankings.

    .. math::

       \min_{A = [a_s\, a_t]}\; \sum_t c_t \sum_p \max(0, 1 - a_t^T \delta_{tp}) + \lambda \|A\|_*^2, \qquad
       \max_{0 \le \alpha \le c}\; 1^T \alpha - \frac{1}{4\lambda} \|[\Delta_s^T \alpha_s,\ \Delta_t^T \alpha_t]\|_2^2

    The dual is smooth but where the two singular values of its d × 2 matrix are equal, which is where the optimum
    usually is. So the larger of their squares is replaced by a soft maximum, whose temperature is lowered step by
    step; each step starts from the one before. Its gradient is a feasible A, and the gap to the dual a certificate.

    Parameters
    ----------
    source, target : array (P_s, d) and (P_t, d)
        Differences δ of a row that is preferred and one that is not.
    costs : (float, float)
        c, of one preference in either domain.
    weight : float
        λ > 0.
    """

    source: FloatArray
    target: FloatArray
    costs: tuple[float, float]
    weight: float

    def primal(self, A: FloatArray) -> float:
        """The objective at A (d, 2)."""
        hinges = [
            c * float(np.maximum(0.0, 1.0 - D @ a).sum())
            for c, D, a in zip(self.costs, (self.source, self.target), A.T, strict=True)
        ]
        return sum(hinges) + self.weight * float(np.linalg.svd(A, compute_uv=False).sum() ** 2)

    def dual(self, x: FloatArray) -> float:
        """The lower bound that multipliers (P_s + P_t,) between 0 and c prove."""
        return float(x.sum() - np.linalg.norm(self._sums(x), 2) ** 2 / (4.0 * self.weight))

    def _sums(self, x: FloatArray) -> FloatArray:
        n = len(self.source)
        return np.column_stack([self.source.T @ x[:n], self.target.T @ x[n:]])

    def solved(self, tol: float) -> tuple[FloatArray, float, float]:
        """A (d, 2), its objective, and its gap: at most ``tol`` of the objective, unless digits run out."""
        most = np.repeat(self.costs, [len(self.source), len(self.target)])
        t, bound = np.full(len(most), 0.5), -np.inf
        best: tuple[FloatArray, float] = np.zeros((self.source.shape[1], 2)), np.inf
        for temperature in TEMPERATURES:
            unit = temperature * float(np.linalg.norm(self._sums(most * t), 2) ** 2) or 1.0
            found = minimize(
                self._scaled,
                t,
                args=(most, unit),
                jac=True,
                method="L-BFGS-B",
                bounds=[(0.0, 1.0)] * len(most),
                options={"maxiter": STEPS, "maxfun": 5 * STEPS, "ftol": 1e-15, "gtol": 1e-12},
            )
            t = np.clip(found.x, 0.0, 1.0)
            A = self._smooth(most * t, unit)[2]
            bound, best = max(bound, self.dual(most * t)), min(best, (A, self.primal(A)), key=lambda pair: pair[1])
            if best[1] - bound <= tol * abs(best[1]):
                break
        return best[0], best[1], max(best[1] - bound, 0.0)

    def _scaled(self, t: FloatArray, most: FloatArray, unit: float) -> tuple[float, FloatArray]:
        """What is minimised, of multipliers in units of their bounds."""
        value, gradient, _ = self._smooth(most * t, unit)
        return value, most * gradient

    def _smooth(self, x: FloatArray, unit: float) -> tuple[float, FloatArray, FloatArray]:
        """Minus the dual with a soft maximum, its gradient, and the directions A that it stands for."""
        G = self._sums(x)
        values, V = np.linalg.eigh(G.T @ G)
        shares = np.exp((values - values[-1]) / unit)
        soft = float(values[-1] + unit * np.log(shares.sum()))
        A = G @ (V * (shares / shares.sum())) @ V.T / (2.0 * self.weight)
        margins = np.concatenate([self.source @ A[:, 0], self.target @ A[:, 1]])
        return soft / (4.0 * self.weight) - float(x.sum()), margins - 1.0, A
