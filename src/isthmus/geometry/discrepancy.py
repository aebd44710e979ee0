"""The squared maximum mean discrepancy of two samples, and a permutation test of it.

:func:`mmd` has two estimators, :func:`mmd_test` the test.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._core.threads import cap_threads
from isthmus._core.validation import (
    BoolArray,
    FloatArray,
    Matrix,
    as_dense,
    as_generator,
    check_choice,
    check_matrix,
    check_number,
    column_names,
    is_sparse,
    short_repr,
)
from isthmus.data.blocks import as_partitions
from isthmus.exceptions import InputError
from isthmus.geometry.kernels import RBF, Kernel, KernelSpec, Laplacian, Linear, Precomputed, as_kernel

__all__ = ["MMDTest", "mmd", "mmd_test"]


# No more of a Gram matrix, or of the permutations it meets, is held at once than this many bytes.
BLOCK_BYTES = 2**25
# Two statistics closer than this, relative to the mean k(z, z), differ by rounding only.
TIE = 32 * np.finfo(np.float64).eps


@short_repr
@dataclass(frozen=True)
class MMDTest:
    """The outcome of :func:`mmd_test`."""

    # The squared MMD of the two samples.
    statistic: float
    # The chance of a statistic at least as large if both samples came from one distribution.
    p_value: float
    # By which formula: "biased" or "unbiased".
    estimator: str
    # Resolved: with every word replaced by its number.
    kernel: Kernel
    # The statistic after each permutation, (n_permutations,).
    null_statistics: FloatArray = field(repr=False, compare=False)

    @property
    def n_permutations(self) -> int:
        """The number of permutations."""
        return len(self.null_statistics)

    def __str__(self) -> str:
        return (
            f"MMD² = {self.statistic:.4g} ({self.estimator}, {self.kernel}), "
            f"p = {self.p_value:.4g} from {self.n_permutations} permutations"
        )


@cap_threads
def mmd(X: Any, Y: Any, kernel: KernelSpec = "rbf", estimator: str = "biased") -> float:
    r"""Estimate the squared maximum mean discrepancy of two samples.

    .. math::

       \text{biased}\quad & \frac1{n^2}\sum_{i,j} k(x_i, x_j) + \frac1{m^2}\sum_{i,j} k(y_i, y_j)
       - \frac2{nm}\sum_{i,j} k(x_i, y_j) \\
       \text{unbiased}\quad & \frac1{n(n-1)}\sum_{i\ne j} k(x_i, x_j)
       + \frac1{m(m-1)}\sum_{i\ne j} k(y_i, y_j) - \frac2{nm}\sum_{i,j} k(x_i, y_j)

    The first is never negative, and zero for equal samples; the second is right on average, and therefore negative
    about half the time when the distributions agree. They take time O((n + m)²), and no memory for a whole Gram
    matrix.

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
    estimator : {"biased", "unbiased"}
        Which of the two.

    Examples
    --------
    >>> mmd([[0.0], [1.0]], [[2.0], [3.0]], kernel="linear")
    4.0
    >>> mmd([[0.0], [1.0]], [[2.0], [3.0]], kernel="linear", estimator="unbiased")
    3.5
    """
    check_choice(estimator, "estimator", ("biased", "unbiased"))
    resolved, Z, n = _prepare(kernel, X, Y, min_rows=1 if estimator == "biased" else 2)
    observed = np.arange(Z.shape[0])[None] < n
    return float(_statistics(resolved, Z, observed, unbiased=estimator == "unbiased")[0][0])


@cap_threads
def mmd_test(
    X: Any,
    Y: Any,
    kernel: KernelSpec = "rbf",
    *,
    estimator: str = "unbiased",
    n_permutations: int = 999,
    random_state: Any = None,
) -> MMDTest:
    r"""Test whether two samples come from one distribution, by permutations of the squared MMD.

    .. math:: p = \frac{1 + \#\{\text{permutations with } \mathrm{MMD}^2_\pi \ge \mathrm{MMD}^2\}}
                       {1 + \text{permutations}}

    Each permutation assigns the rows at random to the two samples. If they come from one distribution, p is at most
    α with probability at most α, for samples of any size.

    Parameters
    ----------
    X, Y, kernel
        As in :func:`mmd`.
    estimator : {"unbiased", "biased"}
        The statistic.
    n_permutations : int
        At least 1; no p-value is below 1 / (1 + n_permutations).
    random_state : int, Generator, RandomState or None
        Where the permutations come from: the same number gives the same p-value, a generator moves on.

    Examples
    --------
    >>> X = np.arange(20.0)[:, None]
    >>> mmd_test(X, X + 20.0, random_state=0).p_value
    0.001
    """
    check_choice(estimator, "estimator", ("unbiased", "biased"))
    check_number(n_permutations, "n_permutations", low=1, whole=True)
    rng = as_generator(random_state)
    unbiased = estimator == "unbiased"
    resolved, Z, n = _prepare(kernel, X, Y, min_rows=2 if unbiased else 1)
    members = np.tile(np.arange(Z.shape[0]) < n, (n_permutations + 1, 1))
    rng.permuted(members[1:], axis=1, out=members[1:])
    statistics, scale = _statistics(resolved, Z, members, unbiased=unbiased)
    observed, null = float(statistics[0]), statistics[1:]
    null.setflags(write=False)
    # Rows assigned as observed, or exchanged with their equals, must count however the sums were rounded.
    exceeding = int(np.count_nonzero(null >= observed - TIE * scale))
    return MMDTest(observed, (1 + exceeding) / (1 + n_permutations), estimator, resolved, null)


def _statistics(kernel: Kernel, Z: Matrix, members: BoolArray, *, unbiased: bool) -> tuple[FloatArray, float]:
    """Return MMD² of the rows in each sample a of ``members`` (p, N) against the other rows, and the mean k(z, z).

    With b = 1 − a, aᵀKb = aᵀK1 − aᵀKa and bᵀKb = 1ᵀK1 − 2aᵀKb − aᵀKa: each sample costs one product aᵀKa.
    K is symmetric: its rows from the diagonal on are computed, once, in blocks.
    """
    N, n = Z.shape[0], int(np.count_nonzero(members[0]))
    if 2 * n > N:  # the sum that is had by subtraction must be the larger one
        members, n = ~members, N - n
    within = np.zeros(len(members))
    row_sums, diagonal = np.zeros(N), np.zeros(N)
    start = 0
    while start < N:
        size = max(1, BLOCK_BYTES // (8 * (N - start)))
        c = min(size, N - start)
        stop = start + c
        K = kernel.gram(Z[start:stop], Z[start:])
        diagonal[start:stop] = np.diagonal(K)
        row_sums[start:stop] += K.sum(axis=1)
        row_sums[stop:] += K[:, c:].sum(axis=0)
        for first in range(0, len(members), size):
            a = members[first : first + size, start:].astype(np.float64)
            a[:, c:] *= 2.0
            within[first : first + size] += np.einsum("pi,pi->p", a[:, :c], a @ K.T)
        start = stop
    if unbiased:
        within -= np.einsum("pi,i->p", members, diagonal)
        row_sums -= diagonal
    across, m = np.einsum("pi,i->p", members, row_sums) - within, N - n
    others = row_sums.sum() - 2.0 * across - within
    statistics = within / (n * (n - unbiased)) + others / (m * (m - unbiased)) - 2.0 * across / (n * m)
    return statistics if unbiased else np.maximum(statistics, 0.0), float(diagonal.mean())


def _prepare(kernel: KernelSpec, X: Any, Y: Any, *, min_rows: int) -> tuple[Kernel, Matrix, int]:
    """Return the resolved kernel; the rows of X, then those of Y, in double precision; the number of rows of X."""
    if as_partitions(X, "X") or as_partitions(Y, "Y"):
        raise InputError("X, Y: expected rows in memory, got a Dask array; sample its rows, or call compute() first.")
    names = column_names(X), column_names(Y)
    X, Y = check_matrix(X, "X", min_rows=min_rows), check_matrix(Y, "Y", min_rows=min_rows)
    if X.shape[1] != Y.shape[1]:
        raise InputError(f"Y: expected {X.shape[1]} columns as in X, got {Y.shape[1]}.")
    if None not in names and names[0] != names[1]:
        raise InputError(f"Y: expected the columns of X in order, {names[0]!s:.40}, got {names[1]!s:.40}.")
    kernel, Z = as_kernel(kernel), _stack(X, Y)
    if isinstance(kernel, Precomputed):
        raise InputError("kernel: expected a kernel that is computed from rows, got Precomputed.")
    if isinstance(kernel, Linear | RBF | Laplacian) and not is_sparse(Z):
        Z = Z - Z.mean(axis=0)
    return kernel.resolve(Z), Z, X.shape[0]


def _stack(A: Matrix, B: Matrix) -> Matrix:
    if is_sparse(A) and is_sparse(B):
        return sp.vstack([A, B], format="csr", dtype=np.float64)
    return np.vstack([as_dense(A), as_dense(B)])
