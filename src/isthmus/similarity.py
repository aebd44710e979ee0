"""A similarity across two domains, and the common space whose inner products it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray, Matrix
from isthmus.exceptions import InputError
from isthmus.spaces import Space


@dataclass(frozen=True, eq=False)
class CrossDomainSimilarity:
    r"""A bilinear similarity, as two linear maps into a common space. It is defined across the domains only.

    .. math:: s(x, y) = x^T W y, \qquad W = W_s W_t^T

    Parameters
    ----------
    source, target : Space
        The coordinates of either domain, :math:`r_s` and :math:`r_t` of them.
    source_map, target_map : array (r_s, k) and (r_t, k)
        :math:`W_s` and :math:`W_t`.
    """

    source: Space
    target: Space
    source_map: FloatArray
    target_map: FloatArray

    @classmethod
    def from_matrix(
        cls, spaces: tuple[Space, Space], axes: tuple[FloatArray, FloatArray], W: FloatArray
    ) -> CrossDomainSimilarity:
        """The similarity of a matrix over orthonormal axes (r_s, ρ_s) and (r_t, ρ_t), shared evenly by the maps."""
        U, s, Vt = np.linalg.svd(W, full_matrices=False)
        return cls(*spaces, axes[0] @ (U * np.sqrt(s)), axes[1] @ (Vt.T * np.sqrt(s)))

    @property
    def dimension(self) -> int:
        """The number k of columns of :meth:`embed`."""
        return int(self.source_map.shape[1])

    def embed(self, X: Matrix, domain: str) -> FloatArray:
        """Rows as points of the common space (n, k), in their own precision."""
        space, W = (self.source, self.source_map) if domain == "source" else (self.target, self.target_map)
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        return np.asarray(space.coordinates(X) @ W.astype(dtype, copy=False), dtype=dtype)

    def between(self, A: Matrix, B: Matrix, domains: tuple[str, str]) -> FloatArray:
        """All similarities (n, m) of rows of one domain and rows of the other."""
        if domains[0] == domains[1]:
            raise InputError(
                "domains: expected one source and one target, as this similarity is not defined within a domain, "
                f"got {domains!r}."
            )
        return np.asarray(self.embed(A, domains[0]) @ self.embed(B, domains[1]).T)

    def feature_matrix(self) -> FloatArray:
        """W over the features of both domains, (d_s, d_t); linear kernels only."""
        return np.asarray((self.source.basis() @ self.source_map) @ (self.target.basis() @ self.target_map).T)
