"""What a search finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Matches:
    """The nearest rows of an index for each query, the nearest first.

    Where fewer than k rows can be found, the places that are left at the end of a row hold the id -1 (None where ids
    are text), the distance infinity, the label -1 (None where labels are not numbers), and the domain "".

    Parameters
    ----------
    ids : array (n, k)
        Of the rows that were found.
    distances : array (n, k)
        The smaller the nearer: Euclidean distances; for a similarity, minus the inner product; with CSLS, minus the
        score.
    labels : array (n, k)
        Of the rows that were found; -1 (None where labels are not numbers) for those without one.
    domains : array (n, k)
        "source" or "target".

    Examples
    --------
    >>> ids, distances = np.array([[7, -1]]), np.array([[0.5, np.inf]])
    >>> Matches(ids, distances, labels=ids, domains=np.array([["source", ""]])).counts
    array([1])
    """

    ids: NDArray[Any]
    distances: FloatArray
    labels: NDArray[Any]
    domains: NDArray[Any]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def counts(self) -> IntArray:
        """How many rows were found for each query (n,)."""
        return np.asarray(np.isfinite(self.distances).sum(axis=1), dtype=np.intp)
