"""What a search finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import short_repr
from isthmus.common_space import DOMAINS
from isthmus.retrieval.catalogue import Catalogue, names


@short_repr
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

    @classmethod
    def of(cls, rows: Catalogue, places: IntArray, distances: FloatArray, k: int) -> Self:
        """Rows of a catalogue that were found, by their places (n, at most k), filled up to k."""
        n, found = places.shape
        ids: NDArray[Any] = np.full((n, k), None if rows.text_ids else -1, dtype=rows.ids.dtype)
        codes, domains = np.full((n, k), -1, dtype=np.intp), np.full((n, k), len(DOMAINS))
        far = np.full((n, k), np.inf)
        if found:
            ids[:, :found], codes[:, :found] = rows.ids[places], rows.codes[places]
            domains[:, :found], far[:, :found] = rows.domains[places], distances
        return cls(ids, far, names(rows.classes)[codes], np.array([*DOMAINS, ""])[domains])

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def counts(self) -> IntArray:
        """How many rows were found for each query (n,)."""
        return np.asarray(np.isfinite(self.distances).sum(axis=1), dtype=np.intp)
