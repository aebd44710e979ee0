r"""The squared MMD of rows that lie in partitions: sums of kernel values, made where the rows are.

.. math:: \sum_{ij} k(x_i, y_j) = \sum_{P, Q} \sum_{i \in P,\, j \in Q} k(x_i, y_j)

over all pairs of partitions P and Q; of a linear kernel it is the product of two sums of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, Matrix, as_dense
from isthmus._validation import matrix
from isthmus.domains.blocks import as_partitions, computed, dask, partitions
from isthmus.exceptions import InputError
from isthmus.kernels import MEDIAN_ROWS, RBF, Kernel, Laplacian, Linear, Precomputed

TILE = 2048
"""Rows of either side whose kernel values are held at once."""


def partition_mmd(
    kernel: Kernel, X: Any, Y: Any, estimator: str, linear_time: Callable[[Kernel, Matrix, Matrix], float]
) -> float:
    """The squared MMD of Dask arrays X (n, d) and Y (m, d), one of which may be an ordinary array.

    Words of a kernel are resolved on :data:`~isthmus.kernels.MEDIAN_ROWS` rows of either.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.from_array(np.array([[0.0], [1.0]]), chunks=1)
    >>> partition_mmd(Linear(), X, np.array([[2.0], [3.0]]), "unbiased", None)
    3.5
    """
    X, Y = (_rows(each, name, 1 if estimator == "biased" else 2) for each, name in ((X, "X"), (Y, "Y")))
    if X.shape[1] != Y.shape[1]:
        raise InputError(f"Y: expected {X.shape[1]} columns as in X, got {Y.shape[1]}.")
    if isinstance(kernel, Precomputed):
        raise InputError("kernel: expected a kernel that is computed from rows, got Precomputed.")
    centre = _centre(X, Y) if isinstance(kernel, Linear | RBF | Laplacian) else np.zeros(X.shape[1])
    kernel = kernel.resolved(np.vstack([_some(X, centre), _some(Y, centre)]))
    if estimator == "linear":
        return _linear(kernel, X, Y, centre, linear_time)
    n, m, unbiased = X.shape[0], Y.shape[0], estimator == "unbiased"
    sums = [_sums(kernel, A, B, centre) for A, B in ((X, X), (Y, Y), (X, Y))]
    lengths = [_diagonal(kernel, A, centre) if unbiased else 0.0 for A in (X, Y)]
    within = (sums[0] - lengths[0]) / (n * (n - unbiased)) + (sums[1] - lengths[1]) / (m * (m - unbiased))
    value = float(within - 2.0 * sums[2] / (n * m))
    return value if unbiased else max(value, 0.0)


def _rows(X: Any, name: str, least: int) -> Any:
    if as_partitions(X) is None:
        table = matrix(X, name, min_rows=least)
        return dask().array.from_array(as_dense(table), chunks=(TILE, -1))
    if X.ndim != 2 or np.isnan(X.shape[0]) or X.shape[0] < least:
        raise InputError(f"{name}: expected a two-dimensional array of at least {least} row(s), got shape {X.shape}.")
    return X.rechunk({1: -1})


def _centre(X: Any, Y: Any) -> FloatArray:
    parts = [dask().delayed(_sum)(part) for part in (*partitions(X), *partitions(Y))]
    return np.asarray(sum(computed(parts)) / (X.shape[0] + Y.shape[0]))


def _some(X: Any, centre: FloatArray) -> FloatArray:
    n = X.shape[0]
    chosen = np.sort(np.random.default_rng(0).choice(n, min(n, MEDIAN_ROWS), replace=False))
    return as_dense(computed([X[chosen]])[0]) - centre


def _sums(kernel: Kernel, A: Any, B: Any, centre: FloatArray) -> float:
    """Of all kernel values; the two halves of those of A with itself are equal."""
    left, right = partitions(A), partitions(B)
    tile, same = dask().delayed(_tile_sum), A is B
    if isinstance(kernel, Linear):
        both = computed([dask().delayed(_sum)(part) for part in (*left, *([] if same else right))])
        sums = [sum(both[: len(left)]) - A.shape[0] * centre]
        sums.append(sums[0] if same else sum(both[len(left) :]) - B.shape[0] * centre)
        return float(sums[0] @ sums[1])
    pairs = [(i, j) for i in range(len(left)) for j in range(i if same else 0, len(right))]
    values = computed([tile(kernel, left[i], right[j], centre) for i, j in pairs])
    return float(sum(value * (2.0 if same and i != j else 1.0) for (i, j), value in zip(pairs, values, strict=True)))


def _diagonal(kernel: Kernel, A: Any, centre: FloatArray) -> float:
    return float(sum(computed([dask().delayed(_diagonal_sum)(kernel, part, centre) for part in partitions(A)])))


def _linear(
    kernel: Kernel, X: Any, Y: Any, centre: FloatArray, linear_time: Callable[[Kernel, Matrix, Matrix], float]
) -> float:
    h = min(X.shape[0], Y.shape[0]) // 2
    size = 2 * max(1, max(X.chunks[0]) // 2)
    both = [partitions(each[: 2 * h].rechunk((size, -1))) for each in (X, Y)]
    means = computed(
        [dask().delayed(_linear_mean)(linear_time, kernel, x, y, centre) for x, y in zip(*both, strict=True)]
    )
    weights = np.diff([*range(0, 2 * h, size), 2 * h]) / (2.0 * h)
    return float(weights @ means)


def _sum(X: Matrix) -> FloatArray:
    total = as_dense(X).sum(axis=0)
    if not np.isfinite(total).all():
        raise InputError("X: expected finite numbers without NaN or inf, got others.")
    return np.asarray(total)


def _tile_sum(kernel: Kernel, A: Matrix, B: Matrix, centre: FloatArray) -> float:
    return float(sum(kernel.gram(a, b).sum() for a in _tiles(A, centre) for b in _tiles(B, centre)))


def _diagonal_sum(kernel: Kernel, A: Matrix, centre: FloatArray) -> float:
    return float(sum(kernel.diagonal(a).sum() for a in _tiles(A, centre)))


def _linear_mean(linear_time: Any, kernel: Kernel, X: Matrix, Y: Matrix, centre: FloatArray) -> float:
    return float(linear_time(kernel, as_dense(X) - centre, as_dense(Y) - centre))


def _tiles(A: Matrix, centre: FloatArray) -> Sequence[FloatArray]:
    return [as_dense(A[start : start + TILE]) - centre for start in range(0, A.shape[0], TILE)]
