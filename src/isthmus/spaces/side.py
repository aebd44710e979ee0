"""One domain in coordinates: the rows that are learned from, and what counts of all the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from isthmus._arrays import FloatArray, IntArray, Matrix, as_dense, is_sparse
from isthmus.domains import UNLABELLED, Domain
from isthmus.exceptions import InputError
from isthmus.kernels import RBF, Cosine, Kernel, Laplacian, Linear, Precomputed, as_kernel
from isthmus.landmarks import Landmarks, OnLandmarks
from isthmus.linalg import RANK_TOLERANCE, column_moments, pivoted_cholesky, principal_axes
from isthmus.spaces.space import BLOCK_BYTES, FeatureSpace, KernelSpace, Space, centred, mean_products, mean_square

WIDE = 1024
"""Up to this many columns, dense linear features are their own coordinates even if there are fewer rows."""
CANCELLED = 1e-13
"""A variance that is a difference of two sums means nothing below this part of them."""


@dataclass(frozen=True, eq=False)
class Side:
    """A domain's space, its rows that are learned from, and the mean and the size of all its rows.

    Parameters
    ----------
    space : Space
        Where new rows get their coordinates.
    points : array (m, r)
        Coordinates of the rows that are learned from.
    y : array (m,)
        Their label codes, -1 for none.
    mean : array (r,)
        The mean of all rows, labelled or not: it lies in the span too. NaN, as the next two, where nobody asked.
    variance, squared : float
        The mean squared length of all rows, around their mean and as they are.
    """

    space: Space
    points: FloatArray
    y: IntArray
    mean: FloatArray
    variance: float
    squared: float

    @property
    def labelled(self) -> IntArray:
        """Which of the points have a label."""
        return np.flatnonzero(self.y != UNLABELLED)


def feature_side(domain: Domain, rows: IntArray, kernel: Kernel | None = None) -> Side:
    """A domain whose coordinates are its features: as they are, or at unit length where the kernel is the cosine."""
    y, space = domain.y[rows], FeatureSpace(domain.X.shape[1], kernel or Linear())
    if not is_sparse(domain.X):
        Z = as_dense(space.coordinates(as_dense(domain.X)))
        mean, variances = column_moments(Z)
        squared = float(np.einsum("ij,ij->i", Z, Z).mean())
        return Side(space, Z if len(rows) == len(Z) else Z[rows], y, mean, float(variances.sum()), squared)
    X = space.coordinates(domain.X.astype(np.float64))  # squares of single precision would lose digits
    mean, squares = (np.asarray(S.mean(axis=0)).ravel() for S in (X, X.multiply(X)))
    variance = float(np.maximum(squares - mean**2, 0.0).sum())
    return Side(space, as_dense(X[rows]), y, mean, variance, float(squares.sum()))


def kernel_side(
    domain: Domain, rows: IntArray, kernel: Kernel, *, outside: str, every_row: bool, mean: bool, name: str
) -> Side:
    """A domain under a kernel, whose words are resolved on all rows; ``rows`` are those that are learned from.

    The span of these, and of the mean of all where that is learned from too (``mean``), carries the optimum. The span
    of ``every_row`` costs their Gram matrix; where the metric is zero ``outside``, there is no other way.
    """
    n, d = domain.X.shape
    narrow = outside == "identity" and d <= (n if is_sparse(domain.X) else max(n, WIDE))
    if isinstance(kernel, Linear | Cosine) and narrow:
        return feature_side(domain, rows, kernel)
    if isinstance(kernel, Linear) and d < n:
        return _in_row_space(domain, rows)
    of_differences = _is_of_differences(kernel) and not is_sparse(domain.X)
    centre = domain.X.mean(axis=0, dtype=np.float64) if of_differences else None
    X = centred(domain.X, centre)
    kernel = kernel.resolved(X)
    if isinstance(kernel, OnLandmarks):
        return _on_landmarks(X, domain.y, rows, kernel, centre)
    complete = outside == "zero" or isinstance(kernel, Precomputed)
    if every_row or complete or len(rows) == n:
        return _spanned_by_all(X, domain.y, rows, kernel, complete, centre, name)
    return _anchored(X, domain.y, rows, kernel, centre) if mean else _spanned(X, domain.y, rows, kernel, centre)


def _spanned_by_all(
    X: Matrix, y: IntArray, rows: IntArray, kernel: Kernel, complete: bool, centre: FloatArray | None, name: str
) -> Side:
    """The span of all rows."""
    precomputed = isinstance(kernel, Precomputed)
    K, whose = (_square(X, name), name) if precomputed else (kernel.gram(X, X), "kernel")
    C, pivots = pivoted_cholesky(K, whose)
    space = KernelSpace(kernel, pivots if precomputed else X[pivots], C[pivots], X.shape[1], complete, centre)
    return _measured(space, C, y, rows)


def _spanned(X: Matrix, y: IntArray, rows: IntArray, kernel: Kernel, centre: FloatArray | None) -> Side:
    """The span of some rows; nothing is known of the mean of all."""
    C, pivots = pivoted_cholesky(kernel.gram(X[rows], X[rows]))
    space = KernelSpace(kernel, X[rows[pivots]], C[pivots], X.shape[1], complete=False, centre=centre)
    return Side(space, C, y[rows], np.full(C.shape[1], np.nan), np.nan, np.nan)


def _anchored(X: Matrix, y: IntArray, rows: IntArray, kernel: Kernel, centre: FloatArray | None) -> Side:
    """The span of some rows and of the mean of all, which has kernel values though it may be no row."""
    m, R = len(rows), X[rows]
    if isinstance(kernel, Linear):  # here it is one
        mean = X.mean(axis=0, dtype=np.float64)
        R = sp.vstack([R, sp.csr_matrix(mean)], format="csr") if is_sparse(X) else np.vstack([R, mean])
        K = kernel.gram(R, R)
    else:
        g = mean_products(kernel, R, X)
        K = np.block([[kernel.gram(R, R), g[:, None]], [g[None], np.full((1, 1), mean_square(kernel, X))]])
    C, pivots = pivoted_cholesky(K)
    places = np.flatnonzero(pivots == m)
    averaged = X if len(places) and not isinstance(kernel, Linear) else None
    space = KernelSpace(
        kernel,
        R[pivots] if averaged is None else R[pivots[pivots != m]],
        C[pivots],
        X.shape[1],
        complete=False,
        centre=centre,
        averaged=averaged,
        place=int(places[0]) if averaged is not None else 0,
    )
    squared = float(kernel.diagonal(X).mean())
    variance = squared - float(K[m, m])
    return Side(space, C[:m], y[rows], C[m], variance if variance > CANCELLED * squared else 0.0, squared)


def _is_of_differences(kernel: Kernel) -> bool:
    """Whether a kernel sees rows only through their differences, so that any centre will do."""
    return isinstance(as_kernel(kernel.kernel) if isinstance(kernel, Landmarks) else kernel, RBF | Laplacian)


def _on_landmarks(X: Matrix, y: IntArray, rows: IntArray, kernel: OnLandmarks, centre: FloatArray | None) -> Side:
    """The span of landmarks; all other rows enter by blocks, and leave their sum and their squared length."""
    d, r = X.shape[1], len(kernel.factor)
    space = KernelSpace(kernel.kernel, kernel.rows, kernel.factor, d, complete=True, centre=centre)
    n, size, total, squared = X.shape[0], max(1, BLOCK_BYTES // (8 * r)), np.zeros(r), 0.0
    for start in range(0, n, size):
        C = kernel.coordinates(X[start : start + size])
        total += C.sum(axis=0)
        squared += float(np.einsum("ij,ij->", C, C))
    mean, squared = total / n, squared / n
    variance = squared - float(mean @ mean)
    variance = variance if variance > CANCELLED * squared else 0.0
    return Side(space, kernel.coordinates(X[rows]), y[rows], mean, variance, squared)


def _in_row_space(domain: Domain, rows: IntArray) -> Side:
    """The span of many rows with few columns; nothing counts outside it."""
    X = domain.X
    basis = principal_axes(X, centre=False, tolerance=RANK_TOLERANCE**0.5).axes.T
    space = KernelSpace(Linear(), basis, np.eye(len(basis)), X.shape[1], complete=True)
    return _measured(space, space.coordinates(X), domain.y, rows)


def _measured(space: Space, C: FloatArray, y: IntArray, rows: IntArray) -> Side:
    """The side of a domain all of whose rows have coordinates C (n, r)."""
    squared = float((C**2).sum(axis=1).mean())
    return Side(space, C[rows], y[rows], C.mean(axis=0), float(C.var(axis=0).sum()), squared)


def _square(X: Matrix, name: str) -> FloatArray:
    K = as_dense(X)
    if K.shape[0] != K.shape[1]:
        raise InputError(f"{name}: expected a square Gram matrix for a precomputed kernel, got {K.shape}.")
    scale = np.abs(K).max(initial=0.0)
    if not np.allclose(K, K.T, atol=1e-8 * scale):
        raise InputError(f"{name}: expected a symmetric Gram matrix, got one that is not.")
    return K
