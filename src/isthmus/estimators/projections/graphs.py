"""Who is near to whom within a domain: sparse graphs of nearest neighbours, with heat weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from isthmus._arrays import FloatArray, Matrix


@dataclass(frozen=True, eq=False)
class HeatGraph:
    r""":math:`W_{ij} = \exp(-\|x_i - x_j\|^2 / \bar d^2)` for rows and their nearest neighbours, else zero.

    :math:`\bar d^2` is the mean squared distance of rows and neighbours. A pair of rows of which only one is a
    neighbour of the other has half the weight.

    Examples
    --------
    >>> HeatGraph.of(np.array([[0.0], [1.0], [3.0]]), 1).weights.toarray().round(3)
    array([[0.   , 0.607, 0.   ],
           [0.607, 0.   , 0.068],
           [0.   , 0.068, 0.   ]])
    """

    weights: Matrix
    """W (n, n), symmetric and sparse."""

    @classmethod
    def of(cls, X: FloatArray, n_neighbors: int) -> HeatGraph:
        """Of rows X (n, r); where there are no more rows than neighbours, all rows are neighbours of each other."""
        n = len(X)
        k = min(n_neighbors, n - 1)
        if k < 1:
            return cls(sp.csr_array((n, n)))
        graph = sp.csr_array(kneighbors_graph(X, k, mode="distance"))
        squares = graph.data**2
        graph.data = np.exp(-squares / (float(squares.mean()) or 1.0))
        return cls(sp.csr_array(0.5 * (graph + graph.T)))

    @property
    def degrees(self) -> FloatArray:
        """Row sums (n,) of W."""
        return np.asarray(self.weights.sum(axis=1)).ravel()

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self.weights.sum())

    def products(self, X: FloatArray) -> FloatArray:
        """XᵀWX (r, r)."""
        return np.asarray(X.T @ (self.weights @ X))

    def roughness(self, X: FloatArray) -> FloatArray:
        """Xᵀ(D − W)X: half the weighted sum of squared differences of neighbours."""
        return np.asarray((self.degrees[:, None] * X).T @ X - self.products(X))
