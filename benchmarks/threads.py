"""One thread for every system, so that a ratio of times compares methods and not core counts."""

from __future__ import annotations

import os

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def pin() -> None:
    """Pin this process and its children; call before NumPy is imported, which reads these only once."""
    os.environ.update(dict.fromkeys(VARIABLES, "1"))


def most_threads() -> int:
    """The largest thread pool that is loaded now, as the libraries themselves report it."""
    import numpy  # noqa: F401  (loads BLAS, so that there is something to ask)
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    return max((int(pool["num_threads"]) for pool in threadpool_info()), default=1)
