"""The arrays that the library speaks of: their types, and whether one is sparse."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
Matrix: TypeAlias = Any
"""A dense two-dimensional float array or a SciPy CSR matrix."""


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix or array."""
    return bool(sp.issparse(X))


def as_dense(X: Matrix) -> FloatArray:
    """Rows as a dense array of double precision; the caller's own where they are that already."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
