"""Rows through a map, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, Matrix, is_sparse
from isthmus._validation import matrix
from isthmus.exceptions import InputError

BLOCK_VALUES = 2**22
"""Numbers in a block of rows, in or out: 32 MB in double precision."""


def mapped(
    X: Any,
    apply: Callable[[Matrix], FloatArray],
    bound: Callable[[float], float],
    shape: tuple[int, int],
    out: Any = None,
) -> FloatArray:
    """Rows X (n, d) mapped to (n, e), with no more than a block beside the result.

    Parameters
    ----------
    X : array, memory map or CSR (n, d)
        All rows are checked before any is mapped.
    apply : function
        From rows to rows.
    bound : function
        From the largest entry of a row, in size, to what no entry of its image is above.
    shape : (d, e)
        The columns of either side.
    out : array or memory map (n, e), optional
        Where the result goes.
    """
    if not (is_sparse(X) or isinstance(X, np.ndarray)) or X.ndim != 2:
        X = matrix(X, "X", n_columns=shape[0])
    X = X.tocsr() if is_sparse(X) else X
    blocks = list(_blocks(X.shape[0], max(shape)))
    single = X.dtype == np.float32
    largest = max((_largest(matrix(X[block], "X", n_columns=shape[0])) for block in blocks), default=0.0)
    matrix(X[:0], "X", n_columns=shape[0], min_rows=0)
    result = _result(out, (X.shape[0], shape[1]), np.float32 if single else np.float64)
    limit = float(np.finfo(result.dtype).max)
    if not bound(largest) < limit:  # only then may an image be too large: look before anything is written
        for block in blocks:
            _require_below(limit, apply, matrix(X[block], "X"), result.dtype)
    for block in blocks:
        result[block] = apply(matrix(X[block], "X"))
    return result


def _largest(X: Matrix) -> float:
    values = X.data if is_sparse(X) else X
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _require_below(limit: float, apply: Callable[[Matrix], FloatArray], X: Matrix, dtype: Any) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        fits = bool((np.abs(apply(X)) < limit).all())
    if not fits:
        raise InputError(f"X: expected rows whose images are within {dtype}, got one that is too large; scale first.")


def _blocks(n: int, widest: int) -> Iterator[slice]:
    step = max(1, BLOCK_VALUES // widest)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _result(out: Any, shape: tuple[int, int], dtype: Any) -> FloatArray:
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype.kind != "f" or not out.flags.writeable:
        got = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(f"out: expected a writeable array of floating-point numbers of shape {shape}, got {got}.")
    return out
