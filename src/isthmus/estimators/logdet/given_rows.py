"""The rows that a system was fitted to, and the same with more of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from isthmus._arrays import IntArray, is_sparse
from isthmus._validation import length
from isthmus.domains import KnownPairs, as_labels, is_unlabelled
from isthmus.domains.pairs import as_pairs
from isthmus.exceptions import InputError
from isthmus.scale import is_dask, is_rows
from isthmus.scale.dask_rows import dask


@dataclass(frozen=True, eq=False)
class GivenRows:
    """The arguments of a fit as they were given: references to the caller's arrays, no copies."""

    X_source: Any
    y_source: Any
    X_target: Any
    y_target: Any
    pairs: Any = None

    @property
    def arguments(self) -> tuple[Any, Any, Any, Any, Any]:
        """In the order in which ``fit`` takes them."""
        return self.X_source, self.y_source, self.X_target, self.y_target, self.pairs

    def labelled(self, domain: str) -> IntArray:
        """The numbers of the labelled rows of a domain."""
        y = getattr(self, f"y_{domain}")
        return np.flatnonzero(~is_unlabelled(as_labels(y, f"y_{domain}")))

    def numbered_pairs(self) -> KnownPairs | None:
        """The known pairs by row numbers, which rows that come after do not change."""
        if self.pairs is None:
            return None
        return as_pairs(self.pairs, *(_count(X) for X in (self.X_source, self.X_target)))

    def with_more(self, domain: str, X: Any, y: Any) -> tuple[Any, Any]:
        """The rows and labels of a domain with new ones after them, or, without rows, with other labels."""
        names = f"X_{domain}", f"y_{domain}"
        rows, labels = (getattr(self, name) for name in names)
        if X is None:
            return rows, labels if y is None else y
        if is_rows(rows):
            raise InputError(
                f"{names[0]}: expected None, as rows in blocks get no others appended (fit to all of them), got rows."
            )
        if y is None and labels is not None:
            raise InputError(f"{names[1]}: expected a label for each new row (-1 where there is none), got None.")
        if labels is None and y is None:
            return appended_rows(rows, X, names[0]), None
        if labels is None:
            labels = np.full(_count(rows), -1)
        new = y if is_dask(y) else as_labels(y, names[1])
        length(new, _count(X), names[1], names[0])
        return appended_rows(rows, X, names[0]), appended_labels(labels, new, names[1])


def _count(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def appended_rows(old: Any, new: Any, name: str) -> Any:
    """Rows of a kind, and after them others of the same kind.

    Examples
    --------
    >>> appended_rows([[1.0, 2.0]], np.array([[3.0, 4.0]]), "X")
    array([[1., 2.],
           [3., 4.]])
    """
    framed, module = hasattr(old, "columns"), type(old).__module__.partition(".")[0]
    if is_dask(old):
        array = dask().array
        return array.concatenate([old, array.asarray(new)])
    if framed != hasattr(new, "columns") or (framed and type(old) is not type(new)):
        raise InputError(f"{name}: expected {_kind(old)}, as in fit, got {_kind(new)}.")
    if framed and module == "pandas":
        import pandas

        return pandas.concat([old, new], ignore_index=True)
    if framed and module == "polars":
        import polars

        return polars.concat([old, new], how="vertical_relaxed")
    if is_sparse(old) != is_sparse(new):
        kinds = ("sparse", "dense") if is_sparse(old) else ("dense", "sparse")
        raise InputError(f"{name}: expected {kinds[0]} rows, as in fit, got {kinds[1]} ones.")
    if is_sparse(old):
        return sp.vstack([old, new], format="csr")
    return np.concatenate([np.asarray(old), np.asarray(new)])


def _kind(rows: Any) -> str:
    return f"{type(rows).__module__.partition('.')[0]}.{type(rows).__name__}"


def appended_labels(old: Any, new: Any, name: str) -> Any:
    """Labels of any type, and after them others.

    Examples
    --------
    >>> appended_labels(np.array([1, 2]), [2, -1], "y"), appended_labels(["a", None], ["b"], "y")
    (array([ 1,  2,  2, -1]), ['a', None, 'b'])
    """
    if is_dask(old) or is_dask(new):
        array = dask().array
        return array.concatenate([array.asarray(old), array.asarray(new)])
    both: list[NDArray[Any]] = [as_labels(labels, name) for labels in (old, new)]
    if both[0].dtype.kind == both[1].dtype.kind != "O":
        return np.concatenate(both)
    return [*both[0].tolist(), *both[1].tolist()]  # of which as_labels makes what it would have made of all at once
