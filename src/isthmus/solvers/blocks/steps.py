"""Newton steps in the frame of the metric, until somebody stops them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray
from isthmus.solvers.blocks.curvature import curvature, direction
from isthmus.solvers.blocks.point import Place, place
from isthmus.solvers.blocks.reduction import triangular
from isthmus.solvers.blocks.rows import Rows
from isthmus.solvers.blocks.search import Path, step_length

CG_TOLERANCE_FAR, CG_TOLERANCE_NEAR = 0.25, 0.1
SHRINK, GROW = -0.5, 1.5
"""A step that changes no axis of M by more than this is short: the next one may be straight."""
FALL = 1e-4
"""The part of the fall that the slope promises without which no step is taken."""
BACKTRACK, SHORTEST = 0.4, 1e-6
NOISE = {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 1e-14}
"""What rounding may do to a value, relative to it."""


@dataclass(frozen=True, eq=False)
class Step:
    """A place that was reached, and what the step to it tells."""

    at: Place
    promised: float
    """The fall that the model promised, for the step before; infinite at the start."""
    near: bool
    """Whether the step was short."""


def newton_steps(
    at: Place, rows: Rows, sample: int, random: np.random.Generator, near: bool = False
) -> Iterator[Step]:
    """Ever better places on these rows, without end unless no further step falls."""
    while True:
        H = curvature(at, rows.sample(sample, random), rows.n, near=near)
        R = np.eye(len(at.E)) - at.E
        D = direction(H, R, CG_TOLERANCE_NEAR if near else CG_TOLERANCE_FAR)
        slope = -float(np.vdot(R, D))
        if not slope < 0.0 or not np.isfinite(D).all():
            return
        path = Path(at.frame.L, *sla.eigh(D, driver="evd", check_finite=False), straight=near)
        found = _moved(at, rows, path, slope, step_length(path, H, slope))
        if found is None:
            return
        at, t = found
        near = t * float(path.mu[0]) > SHRINK and t * float(path.mu[-1]) < GROW
        yield Step(at, -0.5 * slope, near)


def _moved(at: Place, rows: Rows, path: Path, slope: float, t: float) -> tuple[Place, float] | None:
    """The next place and the length of the step to it: shorter and shorter until the value falls."""
    noise = NOISE[np.dtype(at.frame.dtype)] * max(1.0, abs(at.primal))
    while t >= SHORTEST:
        new = place(at.frame.task, rows, triangular(path.factor(t)), at.frame.dtype)
        if new.primal <= at.primal + FALL * t * slope + noise:
            return new, t
        t *= BACKTRACK
    return None


def start_factor(precision: FloatArray) -> FloatArray:
    """The factor of the prior's metric, the inverse of P."""
    return np.asarray(np.linalg.cholesky(np.linalg.inv(precision)))
