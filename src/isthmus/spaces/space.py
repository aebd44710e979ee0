"""A domain's coordinates: what a kernel is once the rows of ``fit`` are known.

A kernel is a change of coordinates. Some elements of its feature space are learned from: the labelled rows, and the
mean of all rows. A row's coordinates are those of its projection onto their span, in an orthonormal basis, and
``outside`` is the squared length of what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from isthmus._arrays import FloatArray, Matrix, as_dense, is_sparse
from isthmus._validation import short_repr
from isthmus.exceptions import InputError
from isthmus.kernels import Cosine, Kernel, Linear, Precomputed
from isthmus.linalg import RANK_TOLERANCE

BLOCK_BYTES = 2**25
"""No more kernel values than this are held at once while they are summed."""
SHORTER = 1e-6
"""A row whose projection is longer than itself by more than this part proves that a kernel is indefinite."""


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """Features as their own coordinates, with nothing outside: the linear kernel, or, at unit length, the cosine."""

    n_features: int
    kernel: Kernel = field(default_factory=Linear)
    complete: bool = True
    """Whether nothing lies, or nothing is counted, outside the coordinates."""

    @property
    def dimension(self) -> int:
        """The number r of coordinates: as many as there are features."""
        return self.n_features

    def coordinates(self, X: Matrix) -> Matrix:
        """Coordinates (n, r) of rows (n, d): the rows, as they are or scaled, in their precision, dense or sparse."""
        return _unit_rows(X) if isinstance(self.kernel, Cosine) else X

    def outside(self, X: Matrix, C: FloatArray) -> FloatArray:
        """Squared lengths (n,) outside the span, for rows with coordinates C: zeros."""
        return np.zeros(X.shape[0])

    def outside_products(self, A: Matrix, B: Matrix, CA: FloatArray, CB: FloatArray) -> FloatArray:
        """Inner products (n, m) of what lies outside the span: zeros."""
        return np.zeros((A.shape[0], B.shape[0]))

    def basis(self) -> FloatArray:
        """The basis (d, r) in terms of the features: the identity."""
        _require_linear(self.kernel)
        return np.eye(self.n_features)


@short_repr
@dataclass(frozen=True, eq=False)
class KernelSpace:
    r"""The span of anchors under a kernel: :math:`c(x) = L^{-1} k(\text{anchors}, x)`.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    landmarks : array or CSR (r, d) or (r - 1, d); row numbers where the kernel is precomputed
        The anchors that are rows. All anchors are linearly independent.
    factor : array (r, r)
        The Cholesky factor L of the anchors' Gram matrix.
    n_features : int
        d.
    complete : bool
        Whether to leave out of account what lies outside the span.
    centre : array (d,), optional
        Taken off every row before the kernel sees it, where the kernel is of differences: far from the origin those
        would be rounding. The landmarks are centred already.
    averaged : array or CSR (n, d), optional
        One more anchor is the mean of these rows in feature space, whose kernel values are means.
    place : int
        Which anchor that one is.
    """

    kernel: Kernel
    landmarks: Matrix
    factor: FloatArray
    n_features: int
    complete: bool
    centre: FloatArray | None = None
    averaged: Matrix | None = None
    place: int = 0

    @property
    def dimension(self) -> int:
        """The number of anchors."""
        return len(self.factor)

    def coordinates(self, X: Matrix) -> Matrix:
        """Kernel values with the anchors, times the inverse factor."""
        if self.dimension == 0:
            return np.zeros((X.shape[0], 0))
        if isinstance(self.kernel, Precomputed):
            K = as_dense(X[:, self.landmarks])
        else:
            X = centred(X, self.centre)
            K = self.kernel.gram(X, self.landmarks)
            if self.averaged is not None:
                K = np.insert(K, self.place, mean_products(self.kernel, X, self.averaged), axis=1)
        return sla.solve_triangular(self.factor, K.T, lower=True).T

    def outside(self, X: Matrix, C: FloatArray) -> FloatArray:
        """k(x, x) less the squared length of the coordinates."""
        if self.complete:
            return np.zeros(X.shape[0])
        total = self.kernel.diagonal(centred(X, self.centre))
        left = total - np.einsum("ij,ij->i", C, C)
        if (left < -SHORTER * total).any():
            raise InputError("kernel: expected a positive semi-definite one, got a row shorter than its projection.")
        return np.where(left > 10 * RANK_TOLERANCE * total, left, 0.0)

    def outside_products(self, A: Matrix, B: Matrix, CA: FloatArray, CB: FloatArray) -> FloatArray:
        """k(a, b) less the inner products of the coordinates."""
        if self.complete:
            return np.zeros((A.shape[0], B.shape[0]))
        return self.kernel.gram(centred(A, self.centre), centred(B, self.centre)) - CA @ CB.T

    def basis(self) -> FloatArray:
        """Landmarks times the inverse factor, for a linear kernel."""
        _require_linear(self.kernel)
        rows: Any = self.landmarks.toarray() if is_sparse(self.landmarks) else self.landmarks
        return np.asarray(sla.solve_triangular(self.factor, rows, lower=True).T)


Space: TypeAlias = FeatureSpace | KernelSpace
"""What the common space needs to know of a domain."""


def _require_linear(kernel: Kernel) -> None:
    if not isinstance(kernel, Linear):
        raise InputError(f"kernel: expected a linear one, whose metric is a matrix over features, got {kernel}.")


def _unit_rows(X: Matrix) -> Matrix:
    """Rows of length one, of their own precision; rows of zeros stay zero."""
    lengths = np.sqrt(Linear().diagonal(X))
    factors = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    scaled = sp.diags_array(factors) @ X if is_sparse(X) else X * factors[:, None]
    return scaled.astype(X.dtype, copy=False)


def centred(X: Matrix, centre: FloatArray | None) -> Matrix:
    """Rows around a centre, if there is one."""
    return X if centre is None else as_dense(X) - centre


def mean_products(kernel: Kernel, A: Matrix, X: Matrix) -> FloatArray:
    """The mean over the rows x of X (n, d) of k(a, x), for each row a of A (m, d), in blocks of X."""
    size = max(1, BLOCK_BYTES // (8 * max(1, A.shape[0])))
    sums = [kernel.gram(A, X[i : i + size]).sum(axis=1) for i in range(0, X.shape[0], size)]
    return np.asarray(np.sum(sums, axis=0) / X.shape[0])


def mean_square(kernel: Kernel, X: Matrix) -> float:
    """The squared length of the mean of rows X (n, d) in feature space: the mean of all n² values k(x, x').

    In blocks of rows, each from the diagonal on.
    """
    n, start, total = X.shape[0], 0, 0.0
    while start < n:
        stop = min(n, start + max(1, BLOCK_BYTES // (8 * (n - start))))
        K = kernel.gram(X[start:stop], X[start:])
        total += 2.0 * float(K.sum()) - float(K[:, : stop - start].sum())
        start = stop
    return total / float(n) ** 2
