"""Conjugate gradients: the Hessian of the dual is only ever applied, never formed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isthmus._arrays import FloatArray

MOST_PRODUCTS = 500


def conjugate_gradients(
    apply: Callable[[FloatArray], FloatArray], b: FloatArray, preconditioner: FloatArray, tolerance: float
) -> FloatArray:
    """Solve ``apply(x) = b``; entries whose preconditioner is zero stay zero."""
    x, r = np.zeros_like(b), b
    z = preconditioner * r
    p, rz = z, float(r @ z)
    enough = tolerance**2 * rz
    for _ in range(MOST_PRODUCTS):
        if rz <= enough:
            break
        Ap = apply(p)
        alpha = rz / float(p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        z = preconditioner * r
        rz, previous = float(r @ z), rz
        p = z + (rz / previous) * p
    return x
