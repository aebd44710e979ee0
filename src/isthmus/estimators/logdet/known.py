r"""Known pairs as constraints: what they ask of which rows, and the coordinates in which they can ask it.

Few pairs span a small part of either domain, and nothing is learned about the rest: only that part is kept, together
with the mean of all rows. The domains are brought to one scale there; the one in larger units would count alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray, IntArray
from isthmus.domains import KnownPairs
from isthmus.exceptions import InputError
from isthmus.linalg import RANK_TOLERANCE, principal_axes
from isthmus.objective import Pairs
from isthmus.spaces import JointSpace, Side

KNOWN_BOUNDS = 0.03, 1.0
"""The automatic bounds on known pairs and on pairs of different objects, in units of the spread of the domains."""
KNOWN_WEIGHT = 1.0
"""The automatic λ1 and λ2 with known pairs: what each weighs is given with it."""


def with_known(block: Pairs, known: KnownPairs, bounds: tuple[float, float]) -> Pairs:
    r"""A block of label pairs between all points of the domains, with what known pairs ask of them.

    Each pair of points counts once: as a known pair where it is one; else by its labels, where it has both; else,
    where both points are in known pairs with others, as two different objects. With the weights
    :math:`\omega_{ij}` of the known pairs and their sums :math:`r_i` and :math:`c_j` over the pairs of a point, such
    a pair weighs :math:`r_i c_j`, scaled so that all of them together weigh as much as the known pairs:
    1/(P − 1) each where no point is in two pairs and every weight is one.

    Examples
    --------
    >>> none = Pairs(slice(0, 3), slice(3, 6), sign=1, weight=0.0)
    >>> with_known(none, KnownPairs([[0, 0], [1, 1], [2, 2]]), bounds=(0.1, 1.0)).weight
    array([[1. , 0.5, 0.5],
           [0.5, 1. , 0.5],
           [0.5, 0.5, 1. ]])
    """
    omega = np.zeros(block.shape)
    omega[known.source, known.target] = known.weights
    paired, labelled = omega > 0.0, block.weight > 0.0
    apart = np.where(paired, 0.0, np.outer(omega.sum(axis=1), omega.sum(axis=0)))
    apart *= omega.sum() / (apart.sum() or 1.0)  # no two objects differ where one point is paired with all others
    return Pairs(
        block.left,
        block.right,
        np.where(paired, 1.0, np.where(labelled, block.sign, -1.0)),
        np.where(paired, omega, np.where(labelled, block.weight, apart)),
        np.where(paired, bounds[0], np.where(labelled, block.bound, bounds[1])),
    )


def require_different(joint: JointSpace, known: KnownPairs) -> None:
    """Raise where the paired rows of a domain are all the same: such pairs say nothing."""
    for side, rows, name in ((joint.source, known.source, "source"), (joint.target, known.target, "target")):
        if not principal_axes(side.points[rows]).axes.size:
            raise InputError(f"pairs: expected {name} rows that differ from each other, got equal ones.")


def in_use(blocks: tuple[Pairs, ...], n_rows: int, factor: float) -> tuple[tuple[Pairs, ...], IntArray]:
    """The blocks without rows that are in no pair, with weights times a factor, and the rows that are left."""
    used = np.zeros(n_rows, dtype=bool)
    for block in blocks:
        used[block.left] |= (block.weight > 0.0).any(axis=1)
        used[block.right] |= (block.weight > 0.0).any(axis=0)
    place = np.concatenate([[0], np.cumsum(used)])

    def kept(block: Pairs) -> Pairs:
        both = np.ix_(used[block.left], used[block.right])
        left, right = (slice(int(place[run.start]), int(place[run.stop])) for run in (block.left, block.right))
        return Pairs(left, right, block.sign[both], factor * block.weight[both], block.bound[both])

    return tuple(kept(block) for block in blocks), np.flatnonzero(used)


@dataclass(frozen=True, eq=False)
class PairedSpace:
    """Both domains in the span of the rows that are learned from, at one scale."""

    rows: FloatArray
    """Those rows (m, q), source first."""
    shift: FloatArray
    """z̄ (q,)."""
    maps: FloatArray
    """The coordinates of the joint space in terms of these, (r_s + r_t, q)."""

    @classmethod
    def of(cls, joint: JointSpace, used: IntArray, *, mean: bool) -> PairedSpace:
        """The span of these rows of the joint space, and of the means of all rows where they count too."""
        n, sides = len(joint.source.points), (joint.source, joint.target)
        points = [side.points[rows] for side, rows in zip(sides, (used[used < n], used[used >= n] - n), strict=True)]
        bases = [scale * _basis(P, side, mean) for P, side, scale in zip(points, sides, _scales(*sides), strict=True)]
        rows = sla.block_diag(*(P @ Q for P, Q in zip(points, bases, strict=True)))
        maps = sla.block_diag(*bases)
        return cls(np.asarray(rows), joint.shift @ maps, np.asarray(maps))


def _basis(points: FloatArray, side: Side, mean: bool) -> FloatArray:
    """An orthonormal basis (r, q) of the span of points (m, r) and, maybe, of the mean of all rows."""
    rows = np.vstack([points, side.mean]) if mean else points
    return principal_axes(rows, centre=False, tolerance=RANK_TOLERANCE**0.5).axes


def _scales(source: Side, target: Side) -> tuple[float, float]:
    """Factors that give both domains the mean of their variances; one where a domain does not vary."""
    if min(source.variance, target.variance) <= 0.0:
        return 1.0, 1.0
    mean = 0.5 * (source.variance + target.variance)
    return float(np.sqrt(mean / source.variance)), float(np.sqrt(mean / target.variance))
