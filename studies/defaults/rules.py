"""Rules for the two bounds of MLHD, and MLHD with bounds by a rule."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from isthmus import MLHD
from isthmus._core.validation import FloatArray
from isthmus.data.domains import TwoDomains
from isthmus.estimators.logdet_base import SolverRun
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.spaces import JointSpace


def spread_of_both(joint: JointSpace, alignment_weight: float) -> tuple[float, float]:
    """The sum of the variances of both domains."""
    return joint.spread, joint.spread


def median_at_identity(joint: JointSpace, alignment_weight: float) -> tuple[float, float]:
    """The median squared distance of the labelled pairs at M = I."""
    m = float(np.median(_across(joint)))
    return m, m


def median_at_prior(joint: JointSpace, alignment_weight: float) -> tuple[float, float]:
    """The same under the alignment penalty alone, at M = (I + λ1 z̄ z̄ᵀ)⁻¹, by Sherman and Morrison."""
    a, b = joint.source.mean, joint.target.mean
    along = (joint.source.points @ a)[:, None] + joint.target.points @ b
    shrink = alignment_weight / (1.0 + alignment_weight * (a @ a + b @ b))
    m = float(np.median(_across(joint) - shrink * along**2))
    return m, m


def source_classes(joint: JointSpace, alignment_weight: float) -> tuple[float, float]:
    """Median distances within the source, same class and different class, brought to the spread of both."""
    distances = pdist(joint.source.points, "sqeuclidean")
    same = pdist(joint.source.y[:, None], "hamming") == 0
    ratio = joint.spread / (2.0 * joint.source.variance)
    return ratio * float(np.median(distances[same])), ratio * float(np.median(distances[~same]))


def _across(joint: JointSpace) -> FloatArray:
    """Squared distances of the labelled rows of either domain at M = I: they have no coordinate in common."""
    source, target = ((side.points**2).sum(axis=1) for side in (joint.source, joint.target))
    return np.asarray(source[:, None] + target)


SCALES: dict[str, Callable[[JointSpace, float], tuple[float, float]]] = {
    "spread": spread_of_both,
    "median at I": median_at_identity,
    "median at prior": median_at_prior,
    "source classes": source_classes,
}
"""What u and what l are multiples of, given the joint space and λ1."""


@dataclass(frozen=True)
class Rule:
    """u and l as multiples of what a scale gives for them.

    Examples
    --------
    >>> print(Rule("spread", 0.5, 1.5))
    spread × (0.5, 1.5)
    """

    scale: str
    upper: float
    lower: float

    def __str__(self) -> str:
        return f"{self.scale} × ({self.upper:g}, {self.lower:g})"

    def bounds(self, joint: JointSpace, alignment_weight: float) -> tuple[float, float]:
        """Squared distances (u, l), the first below the second."""
        for_upper, for_lower = SCALES[self.scale](joint, alignment_weight)
        u, l = self.upper * for_upper, self.lower * for_lower  # noqa: E741
        # Source classes that overlap may give u ≥ l, which no problem may have.
        return min(u, 0.99 * l), l


FACTORS = {
    "spread": (
        *((0.25, 1.0), (0.5, 1.0), (0.75, 1.0), (0.25, 2.0), (0.5, 1.5), (0.5, 2.0)),
        *((0.75, 1.25), (0.9, 1.1), (1.0, 1.5), (1.0, 2.0)),
    ),
    "median at I": ((0.5, 1.0), (0.5, 1.5), (0.75, 1.25)),
    "median at prior": ((0.5, 1.0), (0.5, 1.5), (0.75, 1.25)),
    "source classes": ((0.5, 1.0), (1.0, 1.0), (0.75, 1.25)),
}
RULES = tuple(Rule(scale, *factors) for scale, pairs in FACTORS.items() for factors in pairs)
BEFORE = Rule("spread", 0.5, 1.5)
"""The rule before the study, which every other one is compared with."""
SHORT_LIST = (
    *(BEFORE, Rule("spread", 0.25, 1.0), Rule("spread", 0.5, 1.0)),
    *(Rule("median at prior", 0.5, 1.0), Rule("source classes", 0.5, 1.0)),
)
"""Those that the first study does not tell apart: they are fitted with other weights λ1, λ2 as well."""


class RuledMLHD(MLHD):
    """MLHD with one kernel for both domains, and bounds by a rule that sees the joint space of the fit."""

    def __init__(
        self,
        bounds_rule: Rule = BEFORE,
        kernel: str = "linear",
        *,
        alignment_weight: float = 1.0,
        pair_weight: float = 1.0,
    ) -> None:
        super().__init__(kernel, kernel, alignment_weight=alignment_weight, pair_weight=pair_weight)
        self.bounds_rule = bounds_rule
        self.kernel = kernel

    def _fit_joint(
        self, domains: TwoDomains, joint: JointSpace, settings: SolverRun
    ) -> tuple[CommonSpace, dict[str, Any]]:
        bounded = copy(self)
        bounded.bounds = self.bounds_rule.bounds(joint, self._alignment_weight(joint.spread))
        return super(RuledMLHD, bounded)._fit_joint(domains, joint, settings)
