r"""Cyclic Bregman projections: Algorithm 1 of the paper, corrected.

Exact coordinate ascent on the dual of :mod:`isthmus.solvers.logdet`, one pair after the other. With
:math:`p = z^T M z` and δ = ±1,

.. math::

   \alpha = \min\!\Big(\beta,\; \frac{\delta\lambda}{1+\lambda}\big(\tfrac1p - \tfrac1\xi\big)\Big), \quad
   \beta \leftarrow \beta - \alpha, \quad \xi \leftarrow \frac{\lambda\xi}{\lambda + \delta\alpha\xi}, \quad
   M \leftarrow M + \frac{\delta\alpha}{1 - \delta\alpha p} M z z^T M,

carried out on the Gram matrix of the rows, where :math:`M z` is a difference of two columns. It needs no line
search and no linear solve, and is slow: it is here as an independent check and as the paper's own algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from isthmus._core.validation import FloatArray, IntArray
from isthmus.exceptions import import_extra
from isthmus.solvers.logdet import DualPoint
from isthmus.solvers.result import IterativeSolver


@dataclass(frozen=True)
class BregmanProjections(IterativeSolver[DualPoint]):
    """Cyclic projections; one iteration is one sweep over all pairs.

    Compiled when numba is installed (``pip install "isthmus[fast]"``), plain NumPy otherwise; both give the
    same iterates.

    Parameters
    ----------
    tol, max_iter
        As in :class:`~isthmus.solvers.result.IterativeSolver`. Expect hundreds of sweeps or more.
    compiled : bool or None
        Whether to use numba; None means when it is there.
    """

    compiled: bool | None = None

    def iterates(self, start: DualPoint) -> Iterator[DualPoint]:
        """Yield a point per sweep; the Gram matrix is rebuilt from the multipliers before each, so none drifts."""
        compiled = find_spec("numba") is not None if self.compiled is None else self.compiled
        sweep = _compile_sweep() if compiled else _sweep
        problem, graph = start.problem, start.problem.graph
        used = np.flatnonzero(graph.weight > 0)
        ends, sign, weight = graph.ends[:, used], graph.sign[used], graph.weight[used]
        point: DualPoint | None = start
        while point is not None:
            yield point
            w = point.multipliers.copy()
            xi = point.slack[used]
            beta = sign * w[used]
            sweep(point.rows @ point.rows.T, ends, sign, weight, xi, beta)
            w[used] = sign * beta
            point = problem.at(w)


def _sweep(
    K: FloatArray, ends: IntArray, sign: FloatArray, weight: FloatArray, xi: FloatArray, beta: FloatArray
) -> None:
    """Project onto each pair in turn, in place: the Gram matrix K, the slacks ξ and the multipliers β."""
    for k in range(len(sign)):
        i, j, s = ends[0, k], ends[1, k], sign[k]
        p = K[i, i] + K[j, j] - 2.0 * K[i, j]
        if p <= 0.0:
            continue
        alpha = min(beta[k], s * weight[k] / (1.0 + weight[k]) * (1.0 / p - 1.0 / xi[k]))
        if alpha == 0.0:
            continue
        beta[k] -= alpha
        xi[k] = weight[k] * xi[k] / (weight[k] + s * alpha * xi[k])
        column = K[i] - K[j]
        scaled = (s * alpha / (1.0 - s * alpha * p)) * column
        for row in range(len(K)):
            K[row] += scaled[row] * column


@lru_cache(maxsize=1)
def _compile_sweep() -> Any:
    numba = import_extra("numba", "fast", "compiled=True needs")
    try:
        return numba.njit(cache=True)(_sweep)
    except RuntimeError:  # no folder for the cache can be written to: compile once per process
        return numba.njit(_sweep)
