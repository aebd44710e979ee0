"""A start for a problem from what was learned from other rows: the path changes, the optimum does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray, IntArray
from isthmus.estimators.training_data import TrainingData
from isthmus.kernels import Precomputed
from isthmus.objective import DualPoint, LogDetProblem
from isthmus.solvers import Result
from isthmus.solvers.blocks import as_blocks
from isthmus.solvers.choice import prefers_blocks
from isthmus.spaces import FeatureSpace, Space


@dataclass(frozen=True, eq=False)
class WarmStart:
    """A result from one set of rows, as the start of a problem over another.

    Blocks start from a metric, in the coordinates of the new problem; the dual starts from multipliers. These belong
    to pairs of rows: those of pairs that are in both problems are kept, new pairs begin with zero. So it does not
    matter that coordinates change, as those of a kernel do with their rows.
    """

    result: Result[Any]
    spaces: tuple[Space, Space]
    before: TrainingData
    after: TrainingData
    takes_blocks: bool
    """Whether the solver can work over blocks."""

    def __call__(self, problem: Any, *spaces: Space) -> FloatArray | None:
        """A factor of a metric, or multipliers; None where neither can be told."""
        start = self.factor(*spaces) if self.takes_blocks and spaces and self._by_blocks(problem) else None
        written_out = isinstance(problem, LogDetProblem) and isinstance(self.result.problem, LogDetProblem)
        return self.multipliers(problem) if start is None and written_out else start

    def _by_blocks(self, problem: Any) -> bool:
        """Whether blocks are the quicker way from here, however few the rows are."""
        if not isinstance(problem, LogDetProblem) or not isinstance(self.result.point, DualPoint):
            return True
        found = as_blocks(problem)
        return found is not None and prefers_blocks(found[0], fewest=0)

    def multipliers(self, problem: LogDetProblem) -> FloatArray:
        """Of each pair of the new problem what it had in the old one."""
        places, old, new = self._places(), self.result.problem.graph, problem.graph
        kept = [np.zeros(block.shape) for block in new.blocks]
        alike = len(old.blocks) == len(new.blocks) and len(self.result.problem.pairs) == len(problem.pairs)
        values = old.split(self.result.multipliers)
        for k, (before, after) in enumerate(zip(old.blocks, new.blocks, strict=False)):
            if before.left.start >= len(places) and alike:  # a constrained shift is one in both
                kept[k] = values[k]
            elif k == 0 or alike:  # else parameters have changed: what both have is the pairs across
                rows = places[before.left] - after.left.start, places[before.right] - after.right.start
                found = [row >= 0 for row in rows]
                kept[k][np.ix_(rows[0][found[0]], rows[1][found[1]])] = values[k][np.ix_(*found)]
        return np.concatenate([block.ravel() for block in kept])

    def _places(self) -> IntArray:
        """The row of the new problem that each row of the old one is; below zero for those without a label now."""
        found, n = [], 0
        for domain in ("source", "target"):
            old, new = self.before.labelled(domain), self.after.labelled(domain)
            places = n + np.searchsorted(new, old)
            found.append(np.where(np.isin(old, new), places, -1 - len(new) - n))
            n += len(new)
        return np.concatenate(found)

    def factor(self, *spaces: Space) -> FloatArray | None:
        """W (d, d) with W Wᵀ = I + T (M − I) Tᵀ, where T is the new basis in the old coordinates."""
        bases = [turned(new, old) for new, old in zip(spaces, self.spaces, strict=True)]
        known = [basis for basis in bases if basis is not None]
        if len(known) < len(bases):
            return None
        T, M = sla.block_diag(*known), self.result.matrix()
        try:
            return np.asarray(np.linalg.cholesky(np.eye(len(T)) + T @ (M - np.eye(len(M))) @ T.T))
        except np.linalg.LinAlgError:  # another kernel: lengths are not kept
            return None


def turned(new: Space, old: Space) -> FloatArray | None:
    """The orthonormal basis of a space in the coordinates of another (r, r'); None where one is not of the other.

    Examples
    --------
    >>> turned(FeatureSpace(2), FeatureSpace(2))
    array([[1., 0.],
           [0., 1.]])
    """
    if isinstance(new, FeatureSpace) or isinstance(old, FeatureSpace):
        return np.eye(new.dimension) if type(new) is type(old) and new.n_features == old.n_features else None
    if new.averaged is not None or isinstance(new.kernel, Precomputed) or new.n_features != old.n_features:
        return None
    rows = new.landmarks if new.centre is None else new.landmarks + new.centre
    return np.asarray(sla.solve_triangular(new.factor, old.coordinates(rows), lower=True))
