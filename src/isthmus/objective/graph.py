r"""Pairs as a graph: :math:`\sum w_{ij} z_{ij} z_{ij}^T` is the signed Laplacian of that graph, between rows.

Every sum over pairs is therefore a few products of blocks. With :math:`L_w` the Laplacian, rows :math:`B`
(in coordinates where the learned metric is Euclidean) and :math:`G = B B^T`,

.. math:: \sum_{kl} v_{kl} (z_{ij}^T M z_{kl})^2 = (e_i - e_j)^T\, G L_v G\, (e_i - e_j)

which costs :math:`O(n_s^2 n_l)` for all :math:`n_s n_l` pairs at once, instead of a rank-one product per pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.objective.pairs import Pairs

CHUNK = 2**16
"""Numbers that are copied at a time, or 256 rows of them."""


@dataclass(frozen=True, eq=False)
class PairGraph:
    """Blocks of pairs over ``n_rows`` rows; a vector over its pairs lists them block by block, row by row."""

    blocks: tuple[Pairs, ...]
    n_rows: int
    sign: FloatArray = field(init=False)
    """δ of each pair."""
    weight: FloatArray = field(init=False)
    """λ of each pair."""
    bound: FloatArray = field(init=False)
    """ξ⁰ of each pair."""

    def __post_init__(self) -> None:
        for name in ("sign", "weight", "bound"):
            values = (np.ravel(getattr(block, name)) for block in self.blocks)
            object.__setattr__(self, name, np.concatenate([np.empty(0), *values]))

    @cached_property
    def ends(self) -> IntArray:
        """The row numbers at either end of each pair (2, n)."""
        grids = (np.mgrid[block.left, block.right].reshape(2, -1) for block in self.blocks)
        return np.concatenate([np.empty((2, 0), dtype=np.intp), *grids], axis=1)

    def loss(self, distances: FloatArray) -> float:
        r"""The sum of :math:`\lambda\varphi(d^2/\xi^0)` over the pairs whose squared distance breaks the bound.

        :math:`\varphi(r) = r - \log r - 1`: the least :math:`\mathrm{LogDet}(\xi, \xi^0)` of a slack that permits it.
        """
        broken = (self.sign * (distances - self.bound) > 0) & (self.weight > 0)
        ratio = distances[broken] / self.bound[broken]
        with np.errstate(divide="ignore"):
            return float(self.weight[broken] @ (ratio - np.log(ratio) - 1.0))

    def split(self, v: FloatArray) -> list[FloatArray]:
        """A vector over all pairs as one (p, q) array per block."""
        stops = np.cumsum([block.sign.size for block in self.blocks], dtype=np.intp)
        return [part.reshape(block.shape) for block, part in zip(self.blocks, np.split(v, stops), strict=False)]

    def degrees(self, v: FloatArray) -> FloatArray:
        """The diagonal of the Laplacian of ``v``."""
        g = np.zeros(self.n_rows)
        for block, V in zip(self.blocks, self.split(v), strict=True):
            g[block.left] += V.sum(axis=1)
            g[block.right] += V.sum(axis=0)
        return g

    def laplacian_product(self, v: FloatArray, B: FloatArray) -> FloatArray:
        """The Laplacian of ``v`` times rows ``B`` (n, r)."""
        product = self.degrees(v)[:, None] * B
        for block, V in zip(self.blocks, self.split(v), strict=True):
            product[block.left] -= V @ B[block.right]
            product[block.right] -= V.T @ B[block.left]
        return product

    def laplacian_form(self, v: FloatArray, B: FloatArray) -> FloatArray:
        """``Bᵀ L_v B`` (r, r), the sum of ``v z zᵀ`` over all pairs of rows ``B`` (n, r)."""
        size = max(1024, CHUNK // max(1, B.shape[1]))
        if len(B) <= size:
            return np.asarray(B.T @ self.laplacian_product(v, B))
        degrees, S = self.degrees(v)[:, None], np.zeros((B.shape[1], B.shape[1]))
        for start in range(0, len(B), size):  # many rows: in parts that stay in the cache
            part = slice(start, start + size)
            S += B[part].T @ (degrees[part] * B[part])
        for block, V in zip(self.blocks, self.split(v), strict=True):
            cross = np.linalg.multi_dot([B[block.left].T, V, B[block.right]])  # from the shorter side
            S -= cross
            S -= cross.T
        return np.asarray(S)

    def distances(self, B: FloatArray) -> FloatArray:
        """Squared Euclidean distances of all pairs of rows of ``B`` (n, r); exact zeros where rows coincide."""
        size = max(256, CHUNK // max(1, B.shape[1]))
        parts = []
        for block in self.blocks:
            # A common offset would only cost digits; that of a domain is common to pairs within it.
            centre = (B[block.left] if block.left == block.right else B).mean(axis=0)
            right = B[block.right] - centre
            for start in range(block.left.start, block.left.stop, size):
                left = B[start : min(start + size, block.left.stop)] - centre
                total = np.einsum("ij,ij->i", left, left)[:, None] + np.einsum("ij,ij->i", right, right)
                d2 = total - 2.0 * (left @ right.T)
                d2[d2 < 1e-13 * total] = 0.0
                parts.append(d2.ravel())
        return np.concatenate(parts) if parts else np.empty(0)


def curvature(graph: PairGraph, B: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """The Hessian of log det over all pairs, as an operator: ``v ↦ [Σ_kl v_kl (z_ijᵀ M z_kl)²]``.

    It works on the Gram matrix of the rows B (n, r) or on the rows themselves, whichever costs less.
    """
    n, r = B.shape
    narrow = sum(min(block.shape) for block in graph.blocks)
    # Entries of G are touched again and again, which costs about a tenth of a product with them.
    if n * (r / 10 + 2 * narrow + 8) >= 2 * r * (r + narrow):
        return partial(curvature_by_coordinates, graph, B)
    G = B @ B.T
    return partial(curvature_by_gram, graph, G, G * G)


def curvature_by_coordinates(graph: PairGraph, B: FloatArray, v: FloatArray) -> FloatArray:
    """One product with the Hessian, from the rows B."""
    T = B @ graph.laplacian_form(v, B)
    diagonal = np.einsum("ij,ij->i", T, B)
    return _gathered(graph, diagonal, [T[b.left] @ B[b.right].T for b in graph.blocks])


def curvature_by_gram(graph: PairGraph, G: FloatArray, G_squared: FloatArray, v: FloatArray) -> FloatArray:
    """One product with the Hessian, from the rows' Gram matrix and its elementwise square."""
    degrees, parts = graph.degrees(v), graph.split(v)
    sides = [G[:, b.left] @ V for b, V in zip(graph.blocks, parts, strict=True)]
    diagonal = G_squared @ degrees
    for b, R in zip(graph.blocks, sides, strict=True):
        diagonal -= 2.0 * np.einsum("ij,ij->i", R, G[:, b.right])
    cross: list[FloatArray] = []
    for a in graph.blocks:
        product = degrees[:, None] * G[:, a.right]  # to become the Laplacian times these columns
        for b, V, R in zip(graph.blocks, parts, sides, strict=True):
            product[b.left] -= V @ G[b.right, a.right]
            product[b.right] -= R[a.right].T
        cross.append(G[a.left] @ product)
    return _gathered(graph, diagonal, cross)


def _gathered(graph: PairGraph, diagonal: FloatArray, cross: Sequence[FloatArray]) -> FloatArray:
    """``(e_i − e_j)ᵀ T (e_i − e_j)`` for each pair, from the diagonal of T and its blocks."""
    parts = [
        (diagonal[b.left, None] + diagonal[None, b.right] - 2.0 * T).ravel()
        for b, T in zip(graph.blocks, cross, strict=True)
    ]
    return np.concatenate(parts)
