"""A test that needs only one thing: under the null hypothesis a difference is as likely as its negative."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._arrays import FloatArray
from isthmus._validation import as_generator

MOST_EXACT = 20
"""Up to so many units all signs are tried: half a million sums, a few milliseconds."""

N_DRAWS = 9999
"""Random signs beyond that."""


def sign_flip_p_value(units: FloatArray, random_state: Any = 0) -> float:
    r"""The share of sign vectors s with :math:`|\sum s_k u_k| \ge |\sum u_k|`, two-sided by symmetry.

    Exact up to 20 units. Beyond, signs are drawn at random, and the observed ones count as one draw more, which keeps
    the test's level: :math:`(b + 1) / (m + 1)` with b of m = 9,999 draws.

    Examples
    --------
    >>> sign_flip_p_value(np.array([1.0, 2.0, 3.0, 4.0]))
    0.125
    """
    rng = as_generator(random_state)
    sizes = np.sort(np.abs(units))  # the order of the units, and which side is which, must not matter
    # Rounding must not separate sums that are equal on paper.
    observed = abs(units.sum()) - 1e-9 * sizes.sum()
    if len(units) <= MOST_EXACT:
        return float(np.mean(np.abs(_all_sums(sizes)) >= observed))
    signs = 1.0 - 2.0 * rng.integers(0, 2, size=(N_DRAWS, len(units)))
    as_large = np.count_nonzero(np.abs(signs @ sizes) >= observed)
    return (as_large + 1) / (N_DRAWS + 1)


def _all_sums(sizes: FloatArray) -> FloatArray:
    """The sums with every choice of signs, but for the first: to turn all signs changes no absolute value."""
    sums = sizes[:1]
    for size in sizes[1:]:
        sums = np.concatenate([sums + size, sums - size])
    return sums
