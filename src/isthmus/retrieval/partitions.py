"""What was learned over the partitions of a Dask array: each is mapped where it lies, and points are fetched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray
from isthmus._validation import matrix, ordinary
from isthmus.common_space import CommonSpace
from isthmus.domains.blocks import Partitions
from isthmus.retrieval.measure import kept_points
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
    function : callable, optional
        What is computed of the points.
    """

    transformer: Any
    n_features: int
    space: CommonSpace
    domain: str
    function: Callable[[FloatArray], NDArray[Any]] | None = None

    def __call__(self, X: Any) -> NDArray[Any]:
        """Return points (n, k), or the function of them."""
        rows = matrix(transformed(self.transformer, X, "X"), "X", n_columns=self.n_features, min_rows=0)
        points = self.space.embed(ordinary(rows, "X", smallest=0.0), self.domain)
        return points if self.function is None else self.function(points)


def fetched(points: Partitions, dtype: str, width: int | None = None) -> FloatArray:
    """The points (n, k) of a Dask array as an index keeps them: so they travel, and lie here in their order."""
    parts = points.collect(partial(kept_points, dtype=dtype, width=width, least=0))
    return kept_points(np.concatenate(parts), dtype)
