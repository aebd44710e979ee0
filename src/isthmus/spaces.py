"""A domain's coordinates: what a kernel is once the rows of ``fit`` are known.

A kernel is a change of coordinates. The rows of ``fit`` span a space; a row's coordinates are those of its
projection onto that span, in an orthonormal basis, and ``outside`` is the squared length of what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray, Matrix, is_sparse
from isthmus.exceptions import InputError
from isthmus.kernels import Kernel, Linear, Precomputed
from isthmus.linalg import RANK_TOLERANCE, pivoted_cholesky

WIDE = 1024
"""Up to this many columns, dense linear features are their own coordinates even if there are fewer rows."""


class Space(Protocol):
    """What the metric needs to know of a domain."""

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
    """Dense features as their own coordinates: the linear kernel, with nothing outside."""

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


@dataclass(frozen=True, eq=False)
class KernelSpace:
    r"""The span of landmark rows under a kernel: :math:`c(x) = L^{-1} k(\text{landmarks}, x)`.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    landmarks : array or CSR (r, d), or row numbers (r,) where the kernel is precomputed
        Linearly independent rows that span all rows of ``fit``.
    factor : array (r, r)
        The Cholesky factor L of their Gram matrix.
    n_features : int
        d.
    complete : bool
        Whether to leave out of account what lies outside the span.
    """

    kernel: Kernel
    landmarks: Matrix
    factor: FloatArray
    n_features: int
    complete: bool

    @property
    def dimension(self) -> int:
        """The rank of the rows of ``fit``."""
        return len(self.factor)

    def coordinates(self, X: Matrix) -> Matrix:
        """Kernel rows times the inverse factor."""
        if self.dimension == 0:
            return np.zeros((X.shape[0], 0))
        if isinstance(self.kernel, Precomputed):
            part = X[:, self.landmarks]
            K: FloatArray = np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)
        else:
            K = self.kernel.gram(X, self.landmarks)
        return sla.solve_triangular(self.factor, K.T, lower=True).T

    def outside(self, X: Matrix, C: FloatArray) -> FloatArray:
        """k(x, x) less the squared length of the coordinates."""
        if self.complete:
            return np.zeros(X.shape[0])
        total = self.kernel.diagonal(X)
        left = total - np.einsum("ij,ij->i", C, C)
        return np.where(left > 10 * RANK_TOLERANCE * total, left, 0.0)

    def outside_products(self, A: Matrix, B: Matrix, CA: FloatArray, CB: FloatArray) -> FloatArray:
        """k(a, b) less the inner products of the coordinates."""
        if self.complete:
            return np.zeros((A.shape[0], B.shape[0]))
        return self.kernel.gram(A, B) - CA @ CB.T

    def basis(self) -> FloatArray:
        """Landmarks times the inverse factor, for a linear kernel."""
        if not isinstance(self.kernel, Linear):
            raise InputError(
                f"kernel: expected a linear one, whose metric is a matrix over features, got {self.kernel}."
            )
        rows: Any = self.landmarks.toarray() if is_sparse(self.landmarks) else self.landmarks
        return np.asarray(sla.solve_triangular(self.factor, rows, lower=True).T)


def fitted_space(X: Matrix, kernel: Kernel, *, outside: str, name: str) -> tuple[Space, FloatArray]:
    """The space of a domain and the coordinates (n, r) of its rows.

    Parameters
    ----------
    X : array or CSR (n, d)
        All rows of the domain, labelled or not.
    kernel : Kernel
        Its words are resolved here.
    outside : {"identity", "zero"}
        What the metric will be outside the span of these rows.
    name : str
        For messages.
    """
    n, d = X.shape
    kernel = kernel.resolved(X)
    if isinstance(kernel, Linear) and outside == "identity" and d <= (n if is_sparse(X) else max(n, WIDE)):
        # With d ≤ n the coordinates are a dense table of this size whatever one does.
        return FeatureSpace(d), np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    if isinstance(kernel, Linear) and d < n:
        space = _row_space(X)
        return space, space.coordinates(X)
    K = _precomputed(X, name) if isinstance(kernel, Precomputed) else kernel.gram(X, X)
    coordinates, pivots = pivoted_cholesky(K)
    landmarks = pivots if isinstance(kernel, Precomputed) else X[pivots]
    complete = outside == "zero" or isinstance(kernel, Precomputed)
    return KernelSpace(kernel, landmarks, coordinates[pivots], d, complete), coordinates


def _row_space(X: Matrix) -> KernelSpace:
    """The span of many rows with few columns, from the (d, d) products of the columns; nothing counts outside it."""
    products = X.T @ X
    spectrum, vectors = np.linalg.eigh(
        products.toarray() if is_sparse(products) else np.asarray(products, dtype=float)
    )
    basis = vectors[:, spectrum > RANK_TOLERANCE * max(spectrum[-1], 0.0)].T
    return KernelSpace(Linear(), basis, np.eye(len(basis)), X.shape[1], complete=True)


def _precomputed(X: Matrix, name: str) -> FloatArray:
    K: FloatArray = np.array(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    if K.shape[0] != K.shape[1]:
        raise InputError(f"{name}: expected a square Gram matrix for a precomputed kernel, got {K.shape}.")
    scale = np.abs(K).max(initial=0.0)
    if not np.allclose(K, K.T, atol=1e-8 * scale):
        raise InputError(f"{name}: expected a symmetric Gram matrix, got one that is not.")
    if scale > 0 and np.linalg.eigvalsh(K)[0] < -1e-8 * len(K) * scale:
        raise InputError(f"{name}: expected a positive semi-definite Gram matrix, got a negative eigenvalue.")
    return K
