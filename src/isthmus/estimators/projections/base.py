"""What the systems share whose maps are leading directions of both domains."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, as_dense
from isthmus._validation import choice, number
from isthmus.common_space import CommonSpace
from isthmus.domains import TwoDomains
from isthmus.estimators.mapped import MetricEstimator
from isthmus.exceptions import DataWarning, InputError, warn
from isthmus.linalg import principal_axes
from isthmus.maps import JointDirections
from isthmus.spaces import JointSpace

POINTS = ("unit", "plain")
CERTIFIED = 1e-8
"""A residual above this is told."""
Both = tuple[FloatArray, FloatArray]
"""Coordinates of rows of the source and of the target, (n, r_s) and (m, r_t)."""


class Projection(MetricEstimator):
    """The base of systems in closed form that map a row by its own domain's part of each direction v = [w_s; w_t]."""

    n_components: int | None
    points: str
    eigenvalues_: FloatArray
    residual_: float

    def _validate(self) -> Any:
        super()._validate()
        choice(self.points, "points", POINTS)
        if self.n_components is not None:
            number(self.n_components, "n_components", low=1, whole=True)

    def _size(self, usual: int, most: int) -> int:
        """How many directions to keep: as many as the parameter says, else as usual."""
        if self.n_components is None:
            return min(usual, most)
        if self.n_components > most:
            raise InputError(f"n_components: expected at most {most} with these rows, got {self.n_components}.")
        return int(self.n_components)

    def _space(self, joint: JointSpace, found: JointDirections, mean: FloatArray) -> CommonSpace:
        """The common space; at unit length, points are seen from a mean (k,) of rows there."""
        if found.tied:
            warn(
                f"n_components: direction {len(found.values)} has the eigenvalue of the next one; which of them is "
                "kept is arbitrary.",
                DataWarning,
            )
        if found.residual > CERTIFIED:
            warn(
                f"residual_: the directions solve their problem up to a part of {found.residual:.1e} only; these "
                "rows say too little, and the directions are hardly more than rounding.",
                DataWarning,
            )
        spaces, W = (joint.source.space, joint.target.space), np.vstack([found.source, found.target])
        if self.points == "plain":
            return CommonSpace(*spaces, W, projected=True)
        return CommonSpace(*spaces, W, projected=True, offsets=-np.vstack([mean, mean]), parts=(W.shape[1],))


def all_rows(domains: TwoDomains, joint: JointSpace) -> Both:
    """The coordinates of all rows, whether they are learned from with a label or without."""
    source, target = (
        as_dense(side.space.coordinates(domain.X))
        for side, domain in ((joint.source, domains.source), (joint.target, domains.target))
    )
    return source, target


def mean_point(found: JointDirections, rows: Both) -> FloatArray:
    """The mean (k,) of rows of both domains along the directions."""
    return np.asarray(np.vstack([rows[0] @ found.source, rows[1] @ found.target]).mean(axis=0))


def require_classes(domains: TwoDomains, system: str) -> None:
    """Raise where there is one class only: nothing is to be told apart."""
    if len(domains.classes) < 2:
        raise InputError(f"y_source: expected at least two classes for {system}, got one.")


def require_difference(rows: Both) -> None:
    """Raise where all rows of a domain are the same: no direction tells them apart."""
    for X, name in zip(rows, ("X_source", "X_target"), strict=True):
        if not len(principal_axes(X).deviations):
            raise InputError(f"{name}: expected rows that differ from each other, got equal ones.")
