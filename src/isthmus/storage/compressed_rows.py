"""A sparse matrix from parts that somebody else wrote: every one is checked before the matrix is made."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from isthmus.exceptions import InputError
from isthmus.storage.expected import shown_shape


def csr_from_parts(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    shape: tuple[int, int],
    expected_shape: tuple[int | None, int | None],
    name: str,
) -> sp.csr_matrix:
    """The matrix in canonical form: columns sorted, duplicates summed, float32 or float64.

    Examples
    --------
    >>> parts = np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])
    >>> csr_from_parts(*parts, (1, 2), (None, 2), "X").toarray()
    array([[2., 1.]])
    >>> csr_from_parts(*parts, (1, 1), (None, None), "X")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: X: expected column numbers from 0 to 0, got 1.
    """
    if any(want not in (None, got) for want, got in zip(expected_shape, shape, strict=True)):
        raise InputError(f"{name}: expected shape {shown_shape(expected_shape)}, got {shape}.")
    rows, columns = shape
    if len(indptr) != rows + 1:
        raise InputError(f"{name}: expected {rows + 1} row ends for {rows} rows, got {len(indptr)}.")
    if len(data) != len(indices) or indptr[0] != 0 or indptr[-1] != len(data):
        got = f"{len(data)}, {len(indices)} and {indptr[0]} to {indptr[-1]}"
        raise InputError(f"{name}: expected as many values as column numbers and row ends say, got {got}.")
    if (indptr[1:] < indptr[:-1]).any():
        raise InputError(f"{name}: expected row ends that never decrease, got some that do.")
    if len(indices) and not (indices.min() >= 0 and indices.max() < columns):
        worst = indices.min() if indices.min() < 0 else indices.max()
        raise InputError(f"{name}: expected column numbers from 0 to {columns - 1}, got {worst}.")
    values = data if data.dtype in (np.float32, np.float64) else data.astype(np.float64)
    matrix = sp.csr_matrix((values, indices, indptr), shape=shape)
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise InputError(f"{name}: expected finite numbers, got entries of one place whose sum is not.")
    return matrix
