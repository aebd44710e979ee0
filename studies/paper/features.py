"""Features as an experiment sees them: rows of length one, then principal components."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from isthmus._core.validation import FloatArray, IntArray, Matrix, is_sparse
from studies.datasets.collection import Collection


@lru_cache(maxsize=8)
def load_once(load: Callable[[Path | None], Collection], folder: Path | None) -> Collection:
    """A data set, read once in each process."""
    return load(folder)


def scale_rows(X: Matrix, histogram: bool) -> Matrix:
    """Rows of length one; counts of a histogram by their square roots, whose inner product is Hellinger's."""
    return normalize(np.sqrt(X) if histogram else X)


def components(X: Matrix, size: int, rows: IntArray | None = None) -> FloatArray:
    """Principal components of all rows, along the axes of some of them; fewer than ``size`` where these are few."""
    basis = X if rows is None else X[rows]
    size = min(size, basis.shape[0] - 1, basis.shape[1])
    if is_sparse(X) and size < min(basis.shape):
        # By iteration, which takes sparse rows as they are; its start is fixed.
        return np.asarray(PCA(size, svd_solver="arpack", random_state=0).fit(basis).transform(X))
    basis, every = (table.toarray() if is_sparse(table) else table for table in (basis, X))
    solver = "covariance_eigh" if basis.shape[1] <= basis.shape[0] else "full"
    return np.asarray(PCA(size, svd_solver=solver).fit(basis).transform(every))


@lru_cache(maxsize=32)
def whole_domain(
    load: Callable[[Path | None], Collection], folder: Path | None, domain: str, size: int, histogram: bool
) -> FloatArray:
    """A domain by the principal components of all its rows, computed once in each process."""
    return components(scale_rows(load_once(load, folder)[domain].X, histogram), size)
