"""The kinds of maps between two spaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.maps.regression import AffineMap, KernelMap, fit_kernel_ridge, fit_low_rank, fit_procrustes, fit_ridge

Map: TypeAlias = AffineMap | KernelMap
Fit: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray | None], Map]

AUTO = "auto"
KINDS: Mapping[str, Fit] = {
    "ridge": lambda X, Y, w: fit_ridge(X, Y, weights=w).map,
    "procrustes": lambda X, Y, w: fit_procrustes(X, Y, weights=w, scale=True).map,
    "low_rank": lambda X, Y, w: fit_low_rank(X, Y, weights=w).map,
    "kernel_ridge": lambda X, Y, w: fit_kernel_ridge(X, Y, weights=w),
}
"""Inputs (m, d), outputs (m, e) and weights (m,), or None, to a map; in the order in which ties are broken."""
CURVED = "kernel_ridge"
MARGIN = 0.02
"""By which a curved map has to be better than the best plain matrix: it can't be exported as one, and costs more for
each row."""


ORDINARY = 1e-10, 1e10
"""Between these are the largest numbers of a map whose products single precision can hold."""


def to_single_precision(found: Map) -> Map:
    """The map in single precision; as it is where its numbers are too large or too small for that."""
    low, high = ORDINARY
    sizes = [(np.ndim(part), float(np.abs(part).max(initial=0.0))) for part in vars(found).values()]
    fits = all(size == 0.0 or (size <= high and (ndim == 1 or low <= size)) for ndim, size in sizes)  # means may be 0
    return found.astype(np.float32) if fits else found


def choose_kind(quality: Mapping[str, float]) -> str:
    """The kind of the highest quality, a curved one with a margin.

    Examples
    --------
    >>> choose_kind({"ridge": 0.5, "kernel_ridge": 0.51}), choose_kind({"ridge": 0.5, "kernel_ridge": 0.6})
    ('ridge', 'kernel_ridge')
    """
    return max(quality, key=lambda kind: quality[kind] - MARGIN * (kind == CURVED))
