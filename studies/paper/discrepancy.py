"""The squared maximum mean discrepancy of two samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._core.threads import cap_threads
from isthmus._core.validation import as_dense, check_matrix, column_names, is_sparse
from isthmus.data.blocks import as_partitions
from isthmus.exceptions import InputError
from isthmus.geometry.kernels import RBF, KernelSpec, Laplacian, Linear, Precomputed, as_kernel
from isthmus.geometry.spaces import mean_products, mean_square

__all__ = ["mmd"]


@cap_threads
def mmd(X: Any, Y: Any, kernel: KernelSpec = "rbf") -> float:
    r"""Return the squared maximum mean discrepancy of two samples.

    .. math:: \frac1{n^2}\sum_{i,j} k(x_i, x_j) + \frac1{m^2}\sum_{i,j} k(y_i, y_j)
              - \frac2{nm}\sum_{i,j} k(x_i, y_j)

    It is never negative, and zero for equal samples; in time O((n + m)²), and without memory for a whole Gram matrix.

    With a linear, an RBF or a Laplacian kernel, dense rows are taken around the mean of all of them first: that
    changes nothing but the rounding, and rows far from zero lose no digits. Sparse rows would not stay sparse; they
    are taken as they are.

    Dask arrays are refused: take a sample of their rows, or call ``compute()`` first.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
        The first sample.
    Y : array, sparse matrix or data frame of shape (m, d)
        The second sample, described by the same features.
    kernel : Kernel or str
        Words such as the bandwidth "median" are resolved on the rows of X and Y together.

    Examples
    --------
    >>> mmd([[0.0], [1.0]], [[2.0], [3.0]], kernel="linear")
    4.0
    """
    if as_partitions(X, "X") or as_partitions(Y, "Y"):
        raise InputError("X, Y: expected rows in memory, got a Dask array; sample its rows, or call compute() first.")
    names = column_names(X), column_names(Y)
    X, Y = check_matrix(X, "X"), check_matrix(Y, "Y")
    if X.shape[1] != Y.shape[1]:
        raise InputError(f"Y: expected {X.shape[1]} columns as in X, got {Y.shape[1]}.")
    if None not in names and names[0] != names[1]:
        raise InputError(f"Y: expected the columns of X in order, {names[0]!s:.40}, got {names[1]!s:.40}.")
    sparse = is_sparse(X) and is_sparse(Y)
    Z: Any = sp.vstack([X, Y], format="csr", dtype=float) if sparse else np.vstack([as_dense(X), as_dense(Y)])
    kernel = as_kernel(kernel)
    if isinstance(kernel, Precomputed):
        raise InputError("kernel: expected a kernel that is computed from rows, got Precomputed.")
    if isinstance(kernel, Linear | RBF | Laplacian) and not sparse:
        Z = Z - Z.mean(axis=0)
    kernel, A, B = kernel.resolve(Z), Z[: X.shape[0]], Z[X.shape[0] :]
    across = float(mean_products(kernel, A, B).mean())
    return max(mean_square(kernel, A) + mean_square(kernel, B) - 2.0 * across, 0.0)
