"""Newton steps in the frame of the metric, until somebody stops them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray
from isthmus._rows import Rows
from isthmus.solvers.blocks.curvature import curvature, direction
from isthmus.solvers.blocks.point import Place, place
from isthmus.solvers.blocks.reduction import triangular
from isthmus.solvers.blocks.search import Path, step_length

CG_TOLERANCE = 0.15
LONG, SHORT = 0.6, 0.3
"""After a step of at least the first length the next is less bent, after one of less than the second more."""
LEAST_BEND = 0.004
"""A smaller bend than this becomes none at all."""
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
    """The fall that the model promised."""
    bend: float
    """The bend κ of the next step."""


def newton_steps(
    at: Place, rows: Rows, sample: tuple[int, int], random: np.random.Generator, bend: float = 1.0
) -> Iterator[Step]:
    """Ever better places on these rows, without end unless no further step falls.

    Steps begin with a bend, and are straighter the better they do. Their curvature is that of a sample: of so many
    rows, and so many labelled target rows.
    """
    while True:
        H = curvature(at, at.frame.among(sample[1], random), rows.sample(sample[0], random), rows.n, bend=bend)
        R = np.eye(len(at.E)) - at.E
        D = direction(H, R, CG_TOLERANCE)
        slope = -float(np.vdot(R, D))
        if not slope < 0.0 or not np.isfinite(D).all():
            return
        path = Path(at.frame.L, *sla.eigh(D, driver="evd", check_finite=False), bend)
        found = _moved(at, rows, path, slope, step_length(path, H, slope))
        if found is None:
            return
        at, t = found
        if t >= LONG:
            bend = bend / 2.0 if bend > LEAST_BEND else 0.0
        elif t < SHORT:
            bend = min(1.0, max(LEAST_BEND, 2.0 * bend))
        yield Step(at, -0.5 * slope, bend)


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
