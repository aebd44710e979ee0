"""Which rows of two domains lie alike among their neighbours: correspondences from nothing but geometry."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from isthmus._arrays import FloatArray, Matrix
from isthmus.common_space import largest

BLOCK_ENTRIES = 2**22
"""No more comparisons than this are held at once."""


def local_distances(R: FloatArray, S: FloatArray) -> FloatArray:
    r"""How differently rows lie among their neighbours (n, m), whatever the order of these and the scale.

    .. math:: \min_h \min\Big(\min_a \|S_j^h - a R_i\|_F,\; \min_b \|R_i - b S_j^h\|_F\Big)
              = \sqrt{\frac{\|R_i\|^2 \|S_j\|^2 - m_{ij}^2}{\max(\|R_i\|^2, \|S_j\|^2)}}, \qquad
              m_{ij} = \max_h \langle R_i, S_j^h \rangle

    over the k! orders h of the neighbours. All entries are distances, so that the largest product is the nearest fit.

    Parameters
    ----------
    R, S : array (n, k + 1, k + 1) and (m, k + 1, k + 1)
        The distances among a row, which comes first, and its k neighbours.

    Examples
    --------
    >>> R = np.array([[[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]])
    >>> turned = 3.0 * R[:, [0, 2, 1]][:, :, [0, 2, 1]]
    >>> local_distances(R, turned).round(6)
    array([[0.]])
    """
    size = R.shape[1]
    above = np.triu_indices(size, k=1)
    # Each distance is in R twice.
    r, s = (np.sqrt(2.0) * T[:, *above] for T in (R, S))
    products = np.zeros((len(R), len(S)))
    for order in permutations(range(1, size)):
        h = [0, *order]
        np.maximum(products, r @ (np.sqrt(2.0) * S[:, h][:, :, h][:, *above]).T, out=products)
    squares = np.einsum("ij,ij->i", r, r)[:, None], np.einsum("ij,ij->i", s, s)[None, :]
    larger = np.maximum(*squares)
    left = np.maximum(squares[0] * squares[1] - products**2, 0.0)
    return np.asarray(np.sqrt(left / np.where(larger > 0.0, larger, 1.0)))


def local_correspondence(X: FloatArray, Y: FloatArray, n_neighbors: int, kept: int) -> Matrix:
    """Weights (n, m), sparse: exp(−distance/δ²) for the ``kept`` rows of Y that lie most like each row of X.

    δ² is the mean of the distances that are kept. It takes n m k! products of k(k + 1)/2 numbers.
    """
    k = min(n_neighbors, len(X) - 1, len(Y) - 1)
    R, S = _patterns(X, k), _patterns(Y, k)
    kept, size = min(kept, len(Y)), max(1, BLOCK_ENTRIES // len(Y))
    found = [largest(-local_distances(R[i : i + size], S), kept) for i in range(0, len(X), size)]
    distances, places = -np.concatenate([d for d, _ in found]), np.concatenate([p for _, p in found])
    weights = np.exp(-distances / (float(distances.mean()) or 1.0))
    rows = np.repeat(np.arange(len(X)), kept)
    return sp.csr_array((weights.ravel(), (rows, places.ravel())), shape=(len(X), len(Y)))


def _patterns(X: FloatArray, k: int) -> FloatArray:
    """Distances (n, k + 1, k + 1) among each row and its k nearest ones."""
    others = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(return_distance=False)
    places = np.hstack([np.arange(len(X))[:, None], others])
    D = np.empty((len(X), k + 1, k + 1))
    for a in range(k + 1):
        for b in range(k + 1):
            D[:, a, b] = np.linalg.norm(X[places[:, a]] - X[places[:, b]], axis=1)
    return D
