"""What was learned over the partitions of a Dask array: each is mapped where it lies, and points are fetched."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray
from isthmus._threads import single_threaded_blas
from isthmus._validation import matrix, ordinary
from isthmus.common_space import CommonSpace
from isthmus.exceptions import InputError
from isthmus.retrieval.measure import kept_points
from isthmus.retrieval.rules import DecisionRule
from isthmus.spaces.transformed import transformed


@dataclass(frozen=True, eq=False)
class RowMap:
    """What is sent to the partitions: rows of a domain to points of the common space, or to what a rule says of them.

    Parameters
    ----------
    transformer : transformer or None
        The domain's own preparation.
    n_features : int
        The columns after that.
    space : CommonSpace
        Where the points lie.
    domain : {"source", "target"}
        Whose rows they are.
    rule, method : DecisionRule and str, optional
        What is asked of whom.
    """

    transformer: Any
    n_features: int
    space: CommonSpace
    domain: str
    rule: DecisionRule | None = None
    method: str = ""

    def __call__(self, X: Any) -> NDArray[Any]:
        """Points (n, k), or what the rule says."""
        rows = matrix(transformed(self.transformer, X, "X"), "X", n_columns=self.n_features, min_rows=0)
        points = self.space.embed(ordinary(rows, "X", smallest=0.0), self.domain)
        return points if self.rule is None else np.asarray(getattr(self.rule, self.method)(points))


def mapped_partitions(made: RowMap, X: Any, width: int | None, dtype: Any) -> Any:
    """A Dask array (n, width), or (n,) where that is None, with the partitions of X (n, d)."""
    from isthmus.scale.dask_rows import dask

    if X.ndim != 2:
        raise InputError(f"X: expected a two-dimensional array, got {X.ndim} dimension(s).")
    whole, shape = X.rechunk({1: -1}), {"drop_axis": 1} if width is None else {"chunks": (X.chunks[0], (width,))}
    sent = dask().delayed(made, traverse=False)  # once, not with every partition
    meta = np.empty((0,) * (1 if width is None else 2), dtype=dtype)
    return whole.map_blocks(_mapped, made=sent, dtype=dtype, meta=meta, **shape)


def _mapped(X: Any, made: RowMap) -> NDArray[Any]:
    with single_threaded_blas(threading.current_thread() is not threading.main_thread()):  # others are at work too
        return made(X)


def fetched(points: Any, dtype: str, width: int | None = None) -> FloatArray:
    """The points (n, k) of a Dask array as an index keeps them: so they travel, and lie here in their order."""
    from isthmus.scale.dask_rows import computed, dask, partitions

    if points.ndim != 2:
        raise InputError(f"X: expected a two-dimensional array, got {points.ndim} dimension(s).")
    kept = dask().delayed(kept_points)
    parts = [kept(part, dtype, width=width, least=0) for part in partitions(points.rechunk({1: -1}))]
    return kept_points(np.concatenate(computed(parts)), dtype)
