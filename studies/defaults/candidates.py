"""The library's systems with settings that don't depend on how many pairs there are, nor on the unit of features."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy.spatial.distance import pdist

from isthmus import ARC, ITML, MLHD
from isthmus._core.validation import Matrix
from isthmus.data.domains import TwoDomains
from isthmus.estimators.itml import SignedPairs
from isthmus.estimators.logdet_base import SolverRun
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.kernels import RBF, Kernel
from isthmus.geometry.spaces import JointSpace

Bounds = tuple[float, float]


@dataclass(frozen=True)
class MedianMultiple(RBF):
    """An RBF kernel whose bandwidth is a multiple of the median distance.

    Examples
    --------
    >>> MedianMultiple(factor=2.0).resolve(np.array([[0.0], [3.0]]))
    RBF(bandwidth=6.0)
    """

    factor: float = 1.0

    def resolve(self, X: Matrix) -> RBF:  # type: ignore[override]
        """With a number as bandwidth."""
        return RBF(self.factor * float(RBF().resolve(X).bandwidth))


class WeighedMLHD(MLHD):
    """MLHD with one kernel, a weight of all pairs together (None: one on each), and bounds in units of the spread."""

    def __init__(
        self,
        kernel: Kernel | str = "linear",
        *,
        total_weight: float | None = None,
        alignment_weight: float = 1.0,
        factors: Bounds = (0.5, 1.5),
    ) -> None:
        super().__init__(kernel, kernel, alignment_weight=alignment_weight, pair_weight=1.0)
        self.kernel = kernel
        self.total_weight = total_weight
        self.factors = factors

    def _pair_weight(self, n_pairs: int) -> float:
        return 1.0 if self.total_weight is None else self.total_weight / n_pairs

    def _fit_joint(
        self, domains: TwoDomains, joint: JointSpace, settings: SolverRun
    ) -> tuple[CommonSpace, dict[str, Any]]:
        bounded = copy(self)
        bounded.bounds = (self.factors[0] * joint.spread, self.factors[1] * joint.spread)
        return super(WeighedMLHD, bounded)._fit_joint(domains, joint, settings)


class WeighedARC(ARC):
    """ARC with one kernel and a weight of all pairs together, for rows of length one (None: the library's own)."""

    def __init__(
        self, kernel: Kernel | str = "linear", *, total_weight: float | None = None, bounds: Bounds = (0.0, 1.0)
    ) -> None:
        super().__init__(kernel, kernel, bounds=bounds)
        self.kernel = kernel
        self.total_weight = total_weight

    def _fit_joint(
        self, domains: TwoDomains, joint: JointSpace, settings: SolverRun
    ) -> tuple[CommonSpace, dict[str, Any]]:
        weighed = copy(self)
        if self.total_weight is not None:
            A, B = joint.source.points, joint.target.points
            weighed.pair_weight = self.total_weight / float((A**2).sum() * (B**2).sum())
        return super(WeighedARC, weighed)._fit_joint(domains, joint, settings)


class WeighedITML(ITML):
    """ITML with a weight of all pairs together (None: one on each), and bounds at percentiles of the distances."""

    def __init__(
        self, *, total_weight: float | None = None, percentiles: Bounds = (5.0, 95.0), random_state: Any = None
    ) -> None:
        super().__init__(1.0, random_state=random_state)
        self.total_weight = total_weight
        self.percentiles = percentiles

    def _pair_weight(self, n_pairs: int) -> float:
        return 1.0 if self.total_weight is None else self.total_weight / n_pairs

    def _bounds(self, pairs: SignedPairs, random: RandomState) -> Bounds:
        u, l = np.percentile(pdist(pairs.points, "sqeuclidean"), self.percentiles)  # noqa: E741
        return float(u), float(l)
