"""What kind of rows a caller has, found out without importing what he does not use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus.exceptions import InputError
from isthmus.solvers.blocks import Rows


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array.

    Examples
    --------
    >>> is_dask([[1.0]])
    False
    """
    module = type(X).__module__
    return module.startswith("dask.array") and type(X).__name__ == "Array"


def is_rows(X: Any) -> bool:
    """Whether X is rows with codes that make their own sums.

    Examples
    --------
    >>> from isthmus.solvers.blocks import ArrayRows
    >>> is_rows(ArrayRows(np.eye(2), np.array([0, 1])))
    True
    """
    return all(callable(getattr(X, name, None)) for name in ("total", "blocks", "sample"))


def as_rows(X: Any, y: Any, name: str = "source") -> tuple[Rows, NDArray[Any]]:
    """Rows with their codes, and the classes that these count through.

    Parameters
    ----------
    X : Rows or Dask array (n, d)
        The rows.
    y : array
        A label (n,) for each row of a Dask array; of rows that bring their codes, the classes (C,), or None where
        they bring these too.
    name : str
        What a message calls them.

    Examples
    --------
    >>> from isthmus.solvers.blocks import ArrayRows
    >>> rows, classes = as_rows(ArrayRows(np.eye(2), np.array([0, 1])), ["cat", "dog"])
    >>> rows.n, classes
    (2, array(['cat', 'dog'], dtype='<U3'))
    """
    if is_dask(X):
        from isthmus.scale.dask_rows import DaskRows

        X, y = DaskRows.of(X, y, name), None
    own = getattr(X, "classes", None)
    if (y is None) == (own is None):
        raise InputError(
            f"y_{name}: expected the classes that the codes of the rows count through, once, got "
            f"{'them twice' if y is not None else 'None'}."
        )
    classes = np.asarray(own if y is None else y)
    if classes.ndim != 1 or not len(classes) or len(np.unique(classes)) != len(classes):
        raise InputError(f"y_{name}: expected different classes, got {classes!r:.60}.")
    return X, classes
