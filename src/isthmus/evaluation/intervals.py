"""Intervals of shares."""

from __future__ import annotations

import numpy as np

Z = 1.959963984540054
"""The quantile of the normal distribution that leaves 2.5 % on either side."""


def wilson_interval(hits: float, n: int, z: float = Z) -> tuple[float, float]:
    r"""Wilson's interval for the share of hits among n.

    .. math:: \frac{p + z^2 / 2n \pm z \sqrt{p (1 - p) / n + z^2 / 4n^2}}{1 + z^2 / n}, \qquad p = \text{hits} / n

    Examples
    --------
    >>> low, high = wilson_interval(9, 10)
    >>> round(low, 3), round(high, 3)
    (0.596, 0.982)
    """
    p, z2 = hits / n, z**2 / n
    centre = (p + z2 / 2.0) / (1.0 + z2)
    half = z * np.sqrt(p * (1.0 - p) / n + z2 / (4.0 * n)) / (1.0 + z2)
    return min(p, max(0.0, float(centre - half))), max(p, min(1.0, float(centre + half)))  # p, but for rounding
