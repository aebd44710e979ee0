"""Labels as constraints where there are too many pairs to write them out."""

from __future__ import annotations

import numpy as np

from isthmus.estimators.logdet.constraints import EQUAL
from isthmus.objective import Alignment
from isthmus.solvers.blocks import ArrayRows, BlockProblem, Rows
from isthmus.spaces import JointSpace

MANY_PAIRS = 500_000
"""With more pairs than this nothing of their number is held, and blocks are the method in any case."""


def is_large(joint: JointSpace) -> bool:
    """Whether pairs should not be written out: there are many, and each pair of rows can be told apart.

    Across domains two rows are equal at the start only where both are zero.
    """
    if len(joint.source.points) * len(joint.target.points) <= MANY_PAIRS:
        return False
    shortest = [float(np.einsum("ij,ij->i", side.points, side.points).min()) for side in (joint.source, joint.target)]
    return sum(shortest) > EQUAL * (joint.source.squared + joint.target.squared)


def block_problem(
    joint: JointSpace,
    bounds: tuple[float, float],
    weight: float,
    alignment: Alignment | None,
    rows: Rows | None = None,
) -> BlockProblem:
    """All pairs across the domains, bounded by whether labels agree, as a table of classes and target rows.

    The source rows may be elsewhere than among the points of the joint space.
    """
    sign = np.where(np.arange(joint.n_classes)[:, None] == joint.target.y, 1.0, -1.0)
    rows = ArrayRows(joint.source.points, joint.source.y) if rows is None else rows
    return BlockProblem(rows, joint.target.points, sign, weight, np.where(sign > 0, *bounds), alignment)
