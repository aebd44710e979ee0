r"""The price of a pair, with its slack eliminated, and the conjugate that the dual needs.

Minimising :math:`\lambda\,\mathrm{LogDet}(\xi, \xi^0)` over the slack leaves a smooth convex loss of the ratio
:math:`r = d^2/\xi^0`: :math:`\lambda\varphi(r)` with :math:`\varphi(r) = r - \log r - 1` on the wrong side of the
bound, zero on the right side. A pair of weight zero costs nothing and has the multiplier zero.
"""

from __future__ import annotations

import numpy as np

from isthmus._arrays import FloatArray


def pair_loss(distance: FloatArray, sign: FloatArray, weight: FloatArray, bound: FloatArray) -> float:
    r"""The sum of :math:`\lambda\varphi(d^2/\xi^0)` over the pairs that break their bound."""
    broken = (sign * (distance - bound) > 0) & (weight > 0)
    ratio = distance[broken] / bound[broken]
    with np.errstate(divide="ignore"):
        return float(weight[broken] @ (ratio - np.log(ratio) - 1.0))


def dual_pair_value(multiplier: FloatArray, weight: FloatArray, bound: FloatArray) -> float:
    r"""The sum of :math:`\lambda\log(1 - w\xi^0/\lambda)`; minus infinity outside its domain."""
    used = multiplier != 0
    share = multiplier[used] * bound[used]
    weight = weight[used]
    if (share >= weight).any():
        return -np.inf
    return float(weight @ np.log1p(-share / weight))


def slack(multiplier: FloatArray, weight: FloatArray, bound: FloatArray) -> FloatArray:
    r"""The slack that belongs to a multiplier: :math:`1/\xi = 1/\xi^0 - w/\lambda`."""
    share = np.divide(multiplier, weight, out=np.zeros_like(multiplier), where=weight > 0)
    return np.asarray(1.0 / (1.0 / bound - share))
