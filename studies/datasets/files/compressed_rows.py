"""A sparse matrix from parts that somebody else wrote: every one is checked before the matrix is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from isthmus._core.archives import Expected, read_npz, show_shape
from isthmus._core.files import show_path
from isthmus.exceptions import InputError


def read_csr(path: Path, prefix: str, expected_shape: tuple[int | None, int | None]) -> sp.csr_matrix:
    """A sparse matrix from its parts ``<prefix>data``, ``…indices``, ``…indptr`` and ``…shape`` in an archive.

    Columns come out sorted, entries of the same place summed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.npz"
    ...     np.savez(path, EN_data=[0.5, 2.0], EN_indices=[3, 0], EN_indptr=[0, 1, 2], EN_shape=[2, 4])
    ...     read_csr(path, "EN_", (None, 4)).toarray()
    array([[0. , 0. , 0. , 0.5],
           [2. , 0. , 0. , 0. ]])
    """
    wanted = {
        f"{prefix}data": Expected((None,), "number"),
        f"{prefix}indices": Expected((None,), "whole", low=0),
        f"{prefix}indptr": Expected((None,), "whole", low=0),
        f"{prefix}shape": Expected((2,), "whole", low=1, high=2**31 - 1),
    }
    data, indices, indptr, (rows, columns) = read_npz(path, wanted).values()
    name = f"{show_path(path)}, '{prefix}…'" if prefix else show_path(path)
    for want, got in zip(expected_shape, (rows, columns), strict=True):
        if want not in (None, got):
            raise InputError(f"{name}: expected shape {show_shape(expected_shape)}, got ({rows}, {columns}).")
    return csr_from_parts(data, indices, indptr, (int(rows), int(columns)), name)


def csr_from_parts(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int], name: str
) -> sp.csr_matrix:
    """The matrix in canonical form: columns sorted, duplicates summed, float32 or float64.

    Examples
    --------
    >>> parts = np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])
    >>> csr_from_parts(*parts, (1, 2), "X").toarray()
    array([[2., 1.]])
    >>> csr_from_parts(*parts, (1, 1), "X")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: X: expected the parts of a sparse matrix, got: ...
    """
    if (indptr[1:] < indptr[:-1]).any():  # which SciPy overlooks where the last of them is zero
        raise InputError(f"{name}: expected row ends that never decrease, got some that do.")
    values = data if data.dtype in (np.float32, np.float64) else data.astype(np.float64)
    try:
        matrix = sp.csr_matrix((values, indices, indptr), shape=shape)
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise InputError(f"{name}: expected the parts of a sparse matrix, got: {str(error).rstrip('.')}.") from None
    if matrix.nnz != len(data):
        raise InputError(f"{name}: expected {matrix.nnz} values, as the row ends say, got {len(data)}.")
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise InputError(f"{name}: expected finite numbers, got entries of one place whose sum is not.")
    return matrix
