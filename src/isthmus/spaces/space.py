"""A domain's coordinates: what a kernel is once the rows of ``fit`` are known.

A kernel is a change of coordinates. Some elements of its feature space are learned from: the labelled rows, and the
mean of all rows. A row's coordinates are those of its projection onto their span, in an orthonormal basis, and
``outside`` is the squared length of what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from isthmus._arrays import FloatArray, Matrix
from isthmus.kernels import Kernel, Linear


class Space(Protocol):
    """What the common space needs to know of a domain."""

    @property
    def kernel(self) -> Kernel:
        """The resolved kernel."""
        ...

    @property
    def dimension(self) -> int:
        """The number r of coordinates."""
        ...

    @property
    def n_features(self) -> int:
        """The number d of columns of the domain's rows."""
        ...

    @property
    def complete(self) -> bool:
        """Whether nothing lies (or nothing is counted) outside the coordinates."""
        ...

    def coordinates(self, X: Matrix) -> Matrix:
        """Coordinates (n, r) of rows (n, d)."""
        ...

    def outside(self, X: Matrix, C: FloatArray) -> FloatArray:
        """Squared lengths (n,) outside the span, for rows with coordinates C."""
        ...

    def outside_products(self, A: Matrix, B: Matrix, CA: FloatArray, CB: FloatArray) -> FloatArray:
        """Inner products (n, m) of what lies outside the span."""
        ...

    def basis(self) -> FloatArray:
        """The basis (d, r) in terms of the features; only where the kernel is linear."""
        ...


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """Features as their own coordinates: the linear kernel, with nothing outside."""

    n_features: int
    kernel: Kernel = field(default_factory=Linear)
    complete: bool = True

    @property
    def dimension(self) -> int:
        """As many as there are features."""
        return self.n_features

    def coordinates(self, X: Matrix) -> Matrix:
        """The rows themselves, of either precision, dense or sparse."""
        return X

    def outside(self, X: Matrix, C: FloatArray) -> FloatArray:
        """Zeros."""
        return np.zeros(X.shape[0])

    def outside_products(self, A: Matrix, B: Matrix, CA: FloatArray, CB: FloatArray) -> FloatArray:
        """Zeros."""
        return np.zeros((A.shape[0], B.shape[0]))

    def basis(self) -> FloatArray:
        """The identity."""
        return np.eye(self.n_features)
