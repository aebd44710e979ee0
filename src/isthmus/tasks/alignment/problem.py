"""The problem of an alignment: two collections, each with a sample of its rows and the costs between these."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from isthmus._core.validation import FloatArray, IntArray, Matrix, as_dense
from isthmus.data.domains import TwoDomains
from isthmus.exceptions import InputError
from isthmus.geometry.similarity import graph_distances, normalize_rows

NAMES = "A", "B"
CORRELATION, EUCLIDEAN = "correlation", "euclidean"
METRICS = (CORRELATION, EUCLIDEAN)
FEWEST_ROWS = 20
# Rows of a collection that distances are computed between; of more rows, a random sample.
MOST_ROWS = 1_200
# Neighbours in the graphs, as shares of the rows: few follow a curved sheet, many bridge its gaps.
SHARES = (0.02, 0.05, 0.1, 0.2)
# Sampled rows whose plan a row takes the mean of.
N_NEAREST = 5


@dataclass(frozen=True, eq=False)
class Collection:
    """One collection of rows, and what is computed of a sample of them.

    Parameters
    ----------
    rows : array (n, d)
        All rows, of unit length if they are compared by correlation.
    sample : array (s,)
        The numbers of the sampled rows, in an order that depends on their content alone.
    metric : {"correlation", "euclidean"}
        How neighbours in the graphs are found.
    """

    rows: FloatArray
    sample: IntArray
    metric: str

    @classmethod
    def of(cls, X: Matrix, metric: str, name: str, rng: Generator) -> Collection:
        """Scale the rows and draw the sample."""
        rows = as_dense(X)
        rows = normalize_rows(rows) if metric == CORRELATION else rows
        if np.ptp(rows, axis=0).max() == 0.0:
            remedy = ' up to their length; metric="euclidean" compares lengths too' if metric == CORRELATION else ""
            raise InputError(f"{name}: expected rows that differ, got {len(rows)} equal ones{remedy}.")
        # Sorted by content, so that the order in which rows are given changes nothing.
        drawn = np.sort(rng.permutation(len(rows))[:MOST_ROWS])
        return cls(rows, np.lexsort(rows.T)[drawn], metric)

    @cached_property
    def points(self) -> FloatArray:
        """The sampled rows (s, d)."""
        return np.asarray(self.rows[self.sample])

    @cached_property
    def distances(self) -> FloatArray:
        """Euclidean distances between the sampled rows (s, s), the largest one."""
        D = cdist(self.points, self.points).astype(np.float32)
        return np.asarray(D / D.max())

    @cached_property
    def costs(self) -> tuple[FloatArray, ...]:
        """Distances (s, s) in graphs with few to many neighbours, Euclidean ones, and last their mean."""
        D = self.distances
        if self.metric == CORRELATION:
            # Centred rows of unit length are at squared distance 2 - 2 times their correlation.
            centred = normalize_rows(self.points - self.points.mean(axis=1, keepdims=True))
            D = cdist(centred, centred).astype(np.float32)
        several = [*(graph_distances(D, share) for share in SHARES), self.distances]
        return (*several, np.mean(several, axis=0))

    def spread(self, landmarks: IntArray) -> FloatArray:
        """Return how the mass of each landmark, a place in the sample, is spread over the sample (s, k)."""
        near = np.argsort(self.distances[:, landmarks], axis=1)[:, :N_NEAREST]
        weights = np.zeros((len(self.sample), len(landmarks)), np.float32)
        np.put_along_axis(weights, near, 1.0, axis=1)
        return np.asarray(weights / np.maximum(weights.sum(axis=0), 1.0))

    def spread_sample(self) -> Any:
        """Return how the mass of each sampled row is spread over all rows (n, s), in CSR format."""
        n, s = len(self.rows), len(self.sample)
        if n == s:
            return sp.csr_array((np.ones(n), (self.sample, np.arange(n))), shape=(n, n))
        near = NearestNeighbors(n_neighbors=N_NEAREST).fit(self.points).kneighbors(self.rows, return_distance=False)
        counts = np.maximum(np.bincount(near.ravel(), minlength=s), 1)
        pointers = np.arange(0, near.size + 1, N_NEAREST)
        return sp.csr_array((1.0 / counts[near.ravel()], near.ravel(), pointers), shape=(n, s))


@dataclass(frozen=True, eq=False)
class AlignmentProblem:
    """Two collections, and whether they changed places."""

    first: Collection
    second: Collection
    swapped: bool

    @classmethod
    def of(cls, A: Any, B: Any, metric: str, rng: Generator) -> AlignmentProblem:
        """Check the rows, and put the collections in an order that depends on their content alone."""
        domains = TwoDomains.of(A, None, B, None, names=NAMES, min_rows=FEWEST_ROWS, optional_labels=True)
        tables = [(domains.source.X, NAMES[0]), (domains.target.X, NAMES[1])]
        keys = [(X.shape, np.sort(as_dense(X), axis=None).tobytes()) for X, _ in tables]
        # Rounding, and so one of several equal minima, would else depend on which of the two is called A.
        swapped = keys[0] > keys[1]
        first, second = (Collection.of(X, metric, name, rng) for X, name in (tables[::-1] if swapped else tables))
        return cls(first, second, swapped)
