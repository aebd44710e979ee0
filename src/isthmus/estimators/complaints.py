"""What in the data a method does badly on, told once at the end of a fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isthmus._arrays import as_dense, is_sparse
from isthmus.common_space import DOMAINS
from isthmus.domains import Domain, TwoDomains
from isthmus.exceptions import DataWarning, warn
from isthmus.kernels import Kernel, Linear

OFF_CENTRE = 1.0
"""The squared length of a mean, in units of the variance around it, from which on features count as uncentred."""
DOMINANT = 0.999
"""The part of the variance with which one of several columns drowns all others."""
SHOWN = 5
"""Of several classes or columns, so many are named."""


def complain(domains: TwoDomains, kernels: tuple[Kernel, Kernel], *, intercept: bool) -> None:
    """Warn, once of each kind, of what a system does badly on.

    With a linear kernel features enter as they are; with an ``intercept``, their origin does not matter.
    """
    for name, domain, kernel in zip(DOMAINS, (domains.source, domains.target), kernels, strict=True):
        if isinstance(kernel, Linear) and not is_sparse(domain.X):
            for text in _about_features(domain, name, intercept):
                warn(text, DataWarning)
    if domains.pairs is None:  # known pairs draw rows of any class together
        for text in _about_classes(domains):
            warn(text, DataWarning)


def _about_features(domain: Domain, name: str, intercept: bool) -> Iterator[str]:
    X = as_dense(domain.X)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
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
        yield f"X_{name}: {len(constant)} of {X.shape[1]} columns are constant ({numbers}) and say nothing."


def _about_classes(domains: TwoDomains) -> Iterator[str]:
    without = np.setdiff1d(domains.source.y, domains.target.y)
    if len(without):
        names = ", ".join(str(domains.classes[c]) for c in without[:SHOWN]) + (", …" if len(without) > SHOWN else "")
        yield (
            f"y_target: {len(without)} of {len(domains.classes)} classes have no labelled row ({names}); nothing "
            "draws target rows to them."
        )
