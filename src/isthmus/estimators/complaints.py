"""What in the data a method does badly on, told once at the end of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray, IntArray, is_sparse
from isthmus.common_space import DOMAINS
from isthmus.domains import Domain, TwoDomains
from isthmus.exceptions import DataWarning, warn
from isthmus.kernels import Kernel, Linear
from isthmus.linalg import column_moments

OFF_CENTRE = 1.0
"""The squared length of a mean, in units of the variance around it, from which on features count as uncentred."""
DOMINANT = 0.999
"""The part of the variance with which one of several columns drowns all others."""
SHOWN = 5
"""Of several classes or columns, so many are named."""


def warn_about_data(domains: TwoDomains, kernels: tuple[Kernel, Kernel], *, intercept: bool) -> None:
    """Warn, once of each kind, of what a system does badly on.

    With a linear kernel features enter as they are; with an ``intercept``, their origin does not matter.
    """
    for name, domain, kernel in zip(DOMAINS, (domains.source, domains.target), kernels, strict=True):
        warn_about_columns(domain, kernel, name, intercept=intercept)
    # Known pairs draw rows of any class together, and a system that learns without target labels misses none.
    if domains.pairs is None and len(domains.target.labelled):
        warn_about_classes(domains.source.y, domains.target.y, domains.classes)


def warn_about_columns(domain: Domain, kernel: Kernel, name: str, *, intercept: bool) -> None:
    """Warn of the columns of a domain where these are its coordinates."""
    if isinstance(kernel, Linear) and not is_sparse(domain.X):
        mean, variance = column_moments(domain.X)
        warn_about_features(mean, np.sqrt(variance), name, intercept=intercept)


def warn_about_features(mean: FloatArray, deviation: FloatArray, name: str, *, intercept: bool) -> None:
    """Warn of columns with these means and standard deviations (d,)."""
    for text in _about_features(mean, deviation, name, intercept):
        warn(text, DataWarning)


def warn_about_classes(source: IntArray, target: IntArray, classes: NDArray[Any]) -> None:
    """Warn of classes that no target row is labelled with, from the codes of either domain."""
    for text in _about_classes(source, target, classes):
        warn(text, DataWarning)


def _about_features(mean: FloatArray, deviation: FloatArray, name: str, intercept: bool) -> Iterator[str]:
    variances = np.where(deviation > 1e-12 * np.abs(mean), deviation**2, 0.0)
    total, constant = float(variances.sum()), np.flatnonzero(variances == 0.0)
    if total == 0.0:
        return
    if not intercept and float(mean @ mean) > OFF_CENTRE * total:
        yield (
            f"X_{name}: the mean is farther from the origin than the rows are from the mean, and the maps have no "
            f"intercept; centre the rows first, as {name}_transformer=StandardScaler() does."
        )
    if len(variances) - len(constant) > 1 and variances.max() > DOMINANT * total:
        yield (
            f"X_{name}: column {int(variances.argmax())} has {variances.max() / total:.2%} of the variance, and the "
            "others hardly count; bring the columns to one scale."
        )
    if len(constant):
        numbers = ", ".join(map(str, constant[:SHOWN])) + (", …" if len(constant) > SHOWN else "")
        yield f"X_{name}: {len(constant)} of {len(mean)} columns are constant ({numbers}) and say nothing."


def _about_classes(source: IntArray, target: IntArray, classes: NDArray[Any]) -> Iterator[str]:
    without = np.setdiff1d(source, target)
    if len(without):
        names = ", ".join(str(classes[c]) for c in without[:SHOWN]) + (", …" if len(without) > SHOWN else "")
        yield (
            f"y_target: {len(without)} of {len(classes)} classes have no labelled row ({names}); nothing "
            "draws target rows to them."
        )
